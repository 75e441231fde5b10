"""What README.md shows is true: its tables, commands, outputs, settings and examples.

A failing table prints the right one, ready to be pasted.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pre_commit import clientlib
from pre_commit.yaml import yaml_load

import gradlint
from gradlint import model
from gradlint.cli import app
from gradlint.config import Overrides, Resolver
from gradlint.engine import check_source
from gradlint.facts.unit import Unit
from gradlint.model import Confidence, Severity
from gradlint.rules import all_rules
from gradlint.selection import is_pedantic
from gradlint.sources import files
from gradlint.syntax import depth, shape
from linting import lines_and_codes, lint
from pages import PRELUDE

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "freezing.py"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROSE = FENCE.sub("", README)


def block(language: str, containing: str) -> str:
    """The one block of code in that language that holds that text."""
    blocks = [str(text) for name, text in FENCE.findall(README) if name == language]
    (found,) = (text for text in blocks if containing in text)
    return found


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose first heading is given."""
    lines = README.partition(f"\n| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def run(
    *arguments: str, cwd: Path = ROOT, source: Path = ROOT / "src"
) -> subprocess.CompletedProcess[str]:
    """Runs Python with the gradlint that lies in `source`, unmeasured by coverage."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("COVERAGE_", "FORCE_"))}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**environ, "PYTHONPATH": str(source), "PYTHONUTF8": "1"},
        timeout=120,
        check=False,
    )


# ------------------------------------------------------------------------------------- rules


def rules_table() -> Iterator[str]:
    yield row("code", "name", "severity", "confidence", "what it finds")
    yield "|---|---|---|---|---|"
    for code, rule in all_rules().items():
        severity = rule.severity.value + (" (off by default)" if is_pedantic(rule) else "")
        yield row(code, rule.slug, severity, rule.confidence.value, rule.title)


def test_the_table_of_rules() -> None:
    table = "\n".join(rules_table())
    shown = re.search(r"^<!-- rules:.*-->\n(.*?)\n*<!-- end of rules -->", README, re.M | re.S)
    assert shown is not None
    if shown[1] == table:
        return
    if "UPDATE_README" in os.environ:
        (ROOT / "README.md").write_text(README.replace(shown[1], table), encoding="utf-8")
        return
    pytest.fail(f"`make readme` writes this into README.md:\n\n{table}\n", pytrace=False)


# ----------------------------------------------------------------------- commands and options


def options_of(command: str) -> set[str]:
    return {name for parameter in app.commands[command].params for name in parameter.opts}


def commands() -> Iterator[list[str]]:
    """The words of every call of gradlint in blocks and in `code`, from the command on."""
    code = [text for _, text in FENCE.findall(README)] + re.findall(r"`([^`\n]+)`", PROSE)
    for text in code:
        for line in text.replace("\\ ", " ").splitlines():
            if found := re.search(r"(?<![\w/.-])gradlint ([a-z]+[^#\",]*)", line):
                yield found[1].split()


def test_every_command_exists() -> None:
    found = list(commands())
    assert {name for name, *_ in found} == set(app.commands)
    for name, *words in found:
        given = [word.replace("CODE", "GL301") for word in words if word != "--help"]
        app.commands[name].make_context("gradlint", given)  # UsageError when it cannot be called


def test_every_option_exists() -> None:
    used = set(re.findall(r"(?<![\w<-])--[a-z][a-z-]+", README))
    assert used
    assert used <= {"--help"}.union(*map(options_of, app.commands))


def test_every_rule_exists() -> None:
    codes = set(re.findall(r"\bGL\d{3}\b", README)) - {"GL790"}
    assert codes <= set(all_rules())


def test_every_make_target_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.M)) <= set(targets)


def test_every_file_exists() -> None:
    linked = re.findall(r"\]\((?!https?:)([^)]+)\)", README)
    package = Path(gradlint.__file__).parent
    places = re.findall(r"`(\S+)`", " ".join(cells[1] for cells in rows("to add or change")))
    inside = [p for p in places if p.endswith(("/", ".py"))]
    assert linked
    assert inside
    assert all((ROOT / path).exists() for path in linked)
    assert all((package / path).exists() for path in inside)
    folders = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    assert folders <= {path.partition("/")[0] for path in inside}


def test_nothing_is_said_that_holds_only_here() -> None:
    assert not re.search(r"/(?:work|tmp|home|root)\b", README)
    assert "pip install gradlint" not in README


# ----------------------------------------------------------------------- the founding example


def test_the_example_is_quoted() -> None:
    assert block("python", "x = self.layer3(x)") in EXAMPLE.read_text(encoding="utf-8")


def test_the_output_is_real() -> None:
    command, _, shown = block("console", "gradlint check").partition("\n")
    done = run("-m", *command.removeprefix("$ ").split())
    assert done.stdout == shown, done.stderr
    assert done.returncode == 1


def mended() -> str:
    """The example after the diff of the README."""
    source = EXAMPLE.read_text(encoding="utf-8")
    for hunk in block("diff", "layer1").split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] != "+")
        assert source.count(old) == 1
        source = source.replace(old, "".join(line[1:] for line in lines if line[0] != "-"))
    return source


def test_the_mended_example_is_silent() -> None:
    assert lint(mended()) == []


def test_the_mended_example_trains_the_third_layer_only() -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, object] = {"__name__": "mended"}
    exec(mended(), names)
    build, train = names["ThreeLayers"], names["train_one_step"]
    assert callable(build)
    assert callable(train)
    layers = build()
    train(layers, torch.randn(8, 10), torch.randn(8, 1))
    trained = {name for name, p in layers.named_parameters() if p.grad is not None}
    assert trained == {"layer3.weight", "layer3.bias"}


# --------------------------------------------------------------------- hooks, CI and editors


@pytest.mark.parametrize("repository", ["repo: https:", "repo: local"])
def test_pre_commit_takes_the_snippet(repository: str, tmp_path: Path) -> None:
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(block("yaml", repository), encoding="utf-8")
    ((hook,),) = (repo["hooks"] for repo in clientlib.load_config(config)["repos"])
    (ours,) = clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert hook["id"] == ours["id"]
    for key in ("entry", "types_or", "require_serial"):
        assert hook.get(key, ours[key]) == ours[key]


def test_the_workflow_is_one() -> None:
    (job,) = yaml_load(block("yaml", "runs-on"))["jobs"].values()
    assert [set(step) & {"uses", "run"} for step in job["steps"]] == [{"uses"}] * 2 + [{"run"}] * 2


CONCISE = "a.py:4:5: GL203 the result of `x.detach()` is thrown away: `x` keeps its graph\n"


@pytest.fixture(scope="module")
def concise(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Real output for editors."""
    folder = tmp_path_factory.mktemp("editor")
    source = "import torch\n\ndef f(x: torch.Tensor):\n    x.detach()\n    return x.data\n"
    (folder / "a.py").write_text(source, encoding="utf-8")
    done = run("-m", "gradlint", "check", "--output-format", "concise", "a.py", cwd=folder)
    assert done.stdout.startswith(CONCISE)
    return done.stdout.splitlines()


def from_errorformat(text: str) -> str:
    """The regular expression that an errorformat of Vim stands for."""
    parts = {"%f": r"(?P<file>.+?)", "%l": r"(?P<line>\d+)", "%c": r"(?P<column>\d+)"}
    for part, pattern in {**parts, "%m": r"(?P<message>.+)"}.items():
        text = text.replace(part, pattern)
    assert "%" not in text
    return text


def from_emacs(text: str) -> str:
    """The regular expression that the pattern of the Flycheck checker stands for."""
    words = {
        "line-start": "",
        "(file-name)": r"(?P<file>.+?)",
        "line": r"(?P<line>\d+)",
        "column": r"(?P<column>\d+)",
        '(id "GL" (= 3 digit))': r"(?P<code>GL\d{3})",
        "(message)": r"(?P<message>.+)",
        "line-end": "",
    }
    (pattern,) = re.findall(r"\(warning (.*)\)\)$", text, re.M | re.S)
    pieces = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    found = re.findall(rf'"([^"]*)"|({pieces})', pattern)
    return "".join(literal or words[word] for literal, word in found)


def from_vs_code() -> str:
    (task,) = json.loads(block("json", "problemMatcher"))["tasks"]
    pattern = dict(task["problemMatcher"]["pattern"])
    regexp: str = pattern.pop("regexp")
    for name in sorted(pattern, key=lambda name: pattern[name]):
        regexp = re.sub(r"(?<!\\)\((?!\?)", f"(?P<{name}>", regexp, count=1)
    return regexp


def vim() -> str:
    (found,) = re.findall(r"errorformat=(\S+(?:\\ \S+)*)$", block("vim", "makeprg"), re.M)
    return from_errorformat(str(found).replace("\\ ", " "))


def nvim_lint() -> str:
    (found,) = re.findall(r'from_errorformat\("([^"]+)"', block("lua", "from_errorformat"))
    return from_errorformat(found)


def flycheck() -> str:
    return from_emacs(block("elisp", "flycheck"))


@pytest.mark.parametrize("pattern", [vim, nvim_lint, flycheck, from_vs_code])
def test_editors_read_the_output(pattern: object, concise: list[str]) -> None:
    assert callable(pattern)
    matches = [re.fullmatch(pattern(), line) for line in concise]
    assert len(matches) == 2
    for match, line in zip(matches, ("4", "5"), strict=True):
        assert match is not None
        assert (match["file"], match["line"]) == ("a.py", line)
        assert "code" in match.groupdict() or match["message"].startswith("GL")


# --------------------------------------------------------------------------- how it decides

TRAINING = """\
a, b = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
x, history = torch.randn(3, 4), []
{code}
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


def training(code: str) -> str:
    """A training step around the code of a cell."""
    lines = code.strip("`").split("; ")
    frame = TRAINING
    if lines[0].startswith("optimizer = "):
        frame = re.sub(r"^optimizer = .*", lines.pop(0).replace("\\", ""), TRAINING, flags=re.M)
    return PRELUDE + frame.format(code="\n".join(lines))


@pytest.mark.parametrize("cells", rows("what is meant"), ids=lambda cells: str(cells[0]))
def test_what_is_meant_is_silent(cells: list[str]) -> None:
    source = training(cells[1])
    assert "detach()" in source
    assert lint(source) == []
    if cells[0] in ("frozen", "in no optimizer", "kept by hand"):
        undone = training(cells[1].rpartition("; ")[2])
        assert [finding.code for finding in lint(undone)] == ["GL201"]


def test_the_table_of_what_is_meant_is_read() -> None:
    assert len(rows("what is meant")) == 10


def test_the_same_cut_without_another_path_is_found() -> None:
    (code,) = re.findall(r"(`loss = [^`]+`) is GL201", PROSE)
    assert [finding.code for finding in lint(training(code))] == ["GL201"]


MAYBE = """
from layers import Encoder

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.encoder(x).detach())
"""


def test_maybe_trainable_is_shown_with_low_confidence_only() -> None:
    assert lint(PRELUDE + MAYBE) == []
    settings = Resolver(all_rules(), Overrides(min_confidence=Confidence.LOW)).settings(
        Path("a.py")
    )
    (finding,) = check_source(PRELUDE + MAYBE, "a.py", settings)
    assert finding.confidence is Confidence.LOW


# ------------------------------------------------------------------- comments and settings


def test_the_comments_silence() -> None:
    source = PRELUDE + block("python", "noqa")
    assert lint(source) == []
    bare = re.sub(r"#.*", "", source)
    assert sorted(code for _, code in lines_and_codes(bare)) == ["GL101", "GL103", "GL203"]


def test_the_settings_load(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(block("toml", "tool.gradlint"), encoding="utf-8")
    resolver = Resolver(all_rules())
    settings = resolver.settings(tmp_path / "a.py")
    assert "GL102" not in {rule.code for rule in settings.rules}
    assert settings.min_confidence is Confidence.MEDIUM
    assert settings.fail_on is Severity.ERROR
    assert settings.severity == {"GL101": Severity.ERROR}
    left = {rule.code for rule in settings.rules_for(tmp_path / "tests" / "deep" / "test_a.py")}
    silent = {rule.code for rule in settings.rules if rule.code.startswith("GL1")} | {"GL203"}
    assert left == {rule.code for rule in settings.rules} - silent
    assert resolver.excludes(tmp_path / "third_party" / "a.py")


# ---------------------------------------------------------------------------------- limits


def test_the_caps_are_those_of_the_code() -> None:
    (caps,) = re.findall(r"^- \*\*Caps\*\*: (.*?)^- ", README, re.M | re.S)
    numbers = {int(number.replace(",", "")) for number in re.findall(r"\b[1-9][\d,]+", caps)}
    most = {files._MOST_BYTES >> 20, shape.MOST_MARKS, depth.MOST_LEVELS, depth.MOST_BRACKETS}
    assert numbers == most


@pytest.mark.parametrize("source", ["x = (1\n", "import torch\nx = (1\n"])
def test_a_file_that_cannot_matter_is_not_parsed(source: str) -> None:
    assert lint(source) == []
    assert [f.code for f in lint(f"import torch\ny = x.detach()\n{source}")] == ["GL000"]


# ------------------------------------------------------------------------------- a new rule


def test_what_a_rule_may_ask_exists() -> None:
    questions = [cells[0].strip("`").partition("(")[0] for cells in rows("question")]
    assert questions
    assert all(callable(getattr(Unit, name)) for name in questions)
    told = README.partition("\n**Questions**")[2].partition("\n**Marks**")[0]
    words = set(re.findall(r"`([a-z]+(?:_[a-z]+)*)`", told)) - {"unit", "no_grad"}
    kinds = (
        model.Call,
        model.AttributeUse,
        model.Operand,
        model.Starvation,
        model.UnrecordedWrite,
        model.ModeUse,
        model.Report,
    )
    fields = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    assert words <= fields | set(dir(model.Operand))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what a new rule needs, with the two files of the README in it."""
    tests = ROOT / "tests"
    shutil.copytree(Path(gradlint.__file__).parent, tmp_path / "src" / "gradlint")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "tests" / "fixtures").mkdir(parents=True)
    for name in ("expectations", "pages", "linting", "test_fixtures", "test_pages", "test_layers"):
        shutil.copy(tests / f"{name}.py", tmp_path / "tests")
    for path, text in zip(paths_of_the_new_rule(), codes_of_the_new_rule(), strict=True):
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def paths_of_the_new_rule() -> list[str]:
    return re.findall(r"`((?:src|tests)/\S+/gl790_\w+\.py)`", PROSE)


def codes_of_the_new_rule() -> list[str]:
    return [block("python", "def check(unit"), block("python", "# expect: GL790")]


def test_the_new_rule_works_as_printed(copy: Path) -> None:
    (command,) = block("sh", "-k GL790").splitlines()
    done = run(*command.split()[1:], "-p", "no:cacheprovider", cwd=copy, source=copy / "src")
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 5


def test_the_new_rule_is_as_tidy_as_the_others(copy: Path) -> None:
    assert all(len(line) <= 100 for text in codes_of_the_new_rule() for line in text.splitlines())
    done = run("-m", "gradlint", "explain", "backward-creates-graph", cwd=copy, source=copy / "src")
    assert done.stdout.startswith("GL790 backward-creates-graph (warning, high confidence)\n")
    done = run(
        "-m", "gradlint", "check", "tests/fixtures", "--isolated", cwd=copy, source=copy / "src"
    )
    assert "Found 1 warning in 1 file" in done.stdout
    (message,) = re.findall(r"warning\[GL790\] (.*)", done.stdout)
    assert len(message) <= 88
