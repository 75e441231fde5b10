"""Imports point one way, only verify/ knows torch, only syntax/ and facts/ know libcst."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gradlint

ROOT = Path(gradlint.__file__).parent
EXAMPLE = Path(__file__).parents[1] / "examples" / "freezing.py"
LAYERS = (
    "model",
    "knowledge",
    "sources",
    "syntax",
    "facts",
    "rules",
    "selection",
    "config",
    "suppressions",
    "findings",
    "engine",
    "cache",
    "workers",
    "fixes",
    "report",
    "output",
    "verify",
    "lsp",
    "cli",
    "__main__",
)
"""From the bottom up: a module imports its own layer and those before it."""

FILES = sorted(ROOT.rglob("*.py"))
RULES = [path for path in FILES if path.parent.name == "rules" and path.name != "__init__.py"]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())


def layer(path: Path) -> str:
    """The first part of a module's path inside the package."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Dotted names of all that is imported anywhere below `tree`, from inside `package`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: 1 - node.level or None]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imports_of(path: Path) -> set[str]:
    """What a file of the package imports."""
    package = ".".join(("gradlint", *path.relative_to(ROOT).parent.parts))
    return set(imports(ast.parse(path.read_text(encoding="utf-8")), package))


def wrong_imports(here: str, names: set[str]) -> list[str]:
    """Those imports that a module of layer `here` may not have."""
    wrong = []
    for name in sorted(names):
        parts = name.split(".")
        if (
            (parts[0] in {"torch", "numpy", "rich"} and here != "verify")
            or (parts[0] == "libcst" and here not in {"syntax", "facts"})
            or name.startswith(("libcst.matchers", "libcst.codemod", "libcst.metadata"))
            or (parts[0] == "pygls" and here != "lsp")
            or (parts[0] == "click" and here != "cli")
        ) or (parts[0] == "gradlint" and parts[1] in LAYERS[LAYERS.index(here) + 1 :]):
            wrong.append(name)
    return wrong


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


@each_file
def test_every_module_has_a_layer(path: Path) -> None:
    assert layer(path) in {*LAYERS, "__init__"}, "say in LAYERS where it belongs"


@each_file
def test_imports_go_down(path: Path) -> None:
    if layer(path) != "__init__":
        assert wrong_imports(layer(path), imports_of(path)) == []


def test_the_package_itself_imports_nothing_of_its_own() -> None:
    assert not any(name.startswith("gradlint") for name in imports_of(ROOT / "__init__.py"))


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_a_rule_imports_the_model_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            guarded |= set(imports(node, "gradlint.rules"))
            tree.body = [other for other in tree.body if other is not node]
    ours = {n for n in imports(tree, "gradlint.rules") if n.startswith("gradlint")}
    assert all(name.startswith("gradlint.model.") for name in ours)
    assert {n for n in guarded if n.startswith("gradlint")} <= {"gradlint.facts.unit.Unit"}


@pytest.mark.parametrize(
    ("here", "name"),
    [
        ("engine", "torch"),
        ("rules", "libcst"),
        ("facts", "libcst.metadata.PositionProvider"),
        ("facts", "gradlint.rules.all_rules"),
        ("syntax", "gradlint.facts"),
        ("report", "click"),
    ],
)
def test_a_wrong_import_is_seen(here: str, name: str) -> None:
    assert wrong_imports(here, {name, "re", "gradlint.model.Span"}) == [name]


def test_relative_imports_are_resolved() -> None:
    tree = ast.parse("from . import a\nfrom .b import c\nfrom ..cli import main\nimport d.e\n")
    found = set(imports(tree, "gradlint.rules"))
    assert found == {"gradlint.rules.a", "gradlint.rules.b.c", "gradlint.cli.main", "d.e"}


def test_importing_all_rules_imports_no_libcst() -> None:
    code = """
import sys
from gradlint.rules import all_rules
assert all_rules()
print(sorted({name.partition(".")[0] for name in sys.modules} & {"libcst", "torch", "click"}))
"""
    assert run_python(code).stdout == "[]\n"


def test_check_runs_where_nothing_but_the_base_install_can_be_imported() -> None:
    code = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "numpy", "rich", "pygls"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
from gradlint.cli import main
main(["check", "--isolated", "--no-cache", "--output-format", "concise", sys.argv[1]])
"""
    done = run_python(code, str(EXAMPLE))
    assert "GL301" in done.stdout, done.stderr
    assert done.returncode == 1
