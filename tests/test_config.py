"""Which settings hold for a file, and what gradlint says of settings that make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_rules import RULES, PedanticRule
from gradlint.config import ConfigError, Overrides, Resolver, Settings
from gradlint.model import Confidence, Severity
from gradlint.selection import Layer, UnknownRule, enabled, selector

EVERYTHING = ("GL000", "GL001", "GL101", "GL102", "GL201", "GL203")


def codes(settings: Settings, path: Path | None = None) -> tuple[str, ...]:
    rules = settings.rules if path is None else settings.rules_for(path)
    return tuple(rule.code for rule in rules)


def settings(folder: Path, toml: str, overrides: Overrides | None = None) -> Settings:
    (folder / "gradlint.toml").write_text(toml)
    return Resolver(RULES, overrides or Overrides()).settings(folder / "model.py")


def message(folder: Path, toml: str) -> str:
    with pytest.raises(ConfigError) as caught:
        settings(folder, toml)
    text = str(caught.value)
    assert text.startswith(f"{folder / 'gradlint.toml'}: ")
    return text.removeprefix(f"{folder / 'gradlint.toml'}: ")


# ---------------------------------------------------------------------------------- selection


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([], EVERYTHING),
        ([Layer(select=("GL2",))], ("GL000", "GL201", "GL203")),
        ([Layer(select=())], ("GL000",)),
        ([Layer(ignore=("GL2",))], ("GL000", "GL001", "GL101", "GL102")),
        ([Layer(("GL2", "GL201"), ignore=("GL20",))], ("GL000", "GL201")),
        ([Layer(("GL201",), ignore=("GL201",))], ("GL000",)),
        ([Layer(("GL1",), ("GL203",))], ("GL000", "GL101", "GL102", "GL203")),
        ([Layer(ignore=("GL",))], ("GL000",)),
        ([Layer(("GL201",)), Layer(ignore=("GL2",))], ("GL000",)),
        ([Layer(ignore=("GL201",)), Layer(("GL2",))], ("GL000", "GL201", "GL203")),
        ([Layer(("GL201",)), Layer(extend_select=("GL101",))], ("GL000", "GL101", "GL201")),
    ],
)
def test_the_longest_selector_of_the_last_layer_wins(
    layers: list[Layer], expected: tuple[str, ...]
) -> None:
    assert tuple(rule.code for rule in enabled(RULES, layers)) == expected


@pytest.mark.parametrize(
    ("layers", "pedantic", "on"),
    [
        ([], False, False),
        ([], True, True),
        ([Layer(("GL2",))], False, False),
        ([Layer(("GL2",))], True, True),
        ([Layer(("GL204",))], False, True),
        ([Layer(ignore=("GL2",))], True, False),
    ],
)
def test_a_pedantic_rule_is_on_when_asked_for(
    layers: list[Layer], pedantic: bool, on: bool
) -> None:
    rules = {**RULES, "GL204": PedanticRule("GL204", "redundant-detach")}
    found = enabled(rules, layers, pedantic)  # type: ignore[arg-type]
    assert ("GL204" in [rule.code for rule in found]) is on


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("GL201", "GL201"),
        ("gl2", "GL2"),
        ("GL", "GL"),
        ("detach-discarded", "GL203"),
        ("Data-Read", "GL101"),
    ],
)
def test_a_selector_is_a_code_a_prefix_or_a_name(word: str, meant: str) -> None:
    assert selector(word, RULES) == meant


@pytest.mark.parametrize(
    ("word", "guess"),
    [("GL204", "GL20"), ("GL9", "GL"), ("detach-discard", "detach-discarded")],
)
def test_an_unknown_selector_names_the_nearest(word: str, guess: str) -> None:
    with pytest.raises(UnknownRule, match=f"no rule is called `{word}`; did you mean `{guess}"):
        selector(word, RULES)


# -------------------------------------------------------------------------------- every key


def test_defaults(tmp_path: Path) -> None:
    found = Resolver(RULES).settings(tmp_path / "model.py")
    assert codes(found) == EVERYTHING
    assert found.min_confidence is Confidence.MEDIUM
    assert found.fail_on is Severity.WARNING
    assert not found.excludes(tmp_path / "model.py")


def test_every_key_is_read(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        """
        select = ["GL1", "GL2"]
        extend-select = ["GL001"]
        ignore = ["data-read"]
        exclude = ["build/"]
        extend-exclude = ["/vendored"]
        min-confidence = "low"
        fail-on = "error"
        [per-file-ignores]
        "tests/*" = ["GL2"]
        "*_test.py" = ["detach-discarded"]
        [severity]
        detach-discarded = "warning"
        GL102 = "error"
        [verify]
        cases = ["model.py::Model"]
        frozen = ["teacher.*"]
        steps = 2
        timeout = 1.5
        memory = 1024
        """,
    )
    assert codes(found) == ("GL000", "GL001", "GL102", "GL201", "GL203")
    assert found.min_confidence is Confidence.LOW
    assert found.fail_on is Severity.ERROR
    assert found.severity == {"GL203": Severity.WARNING, "GL102": Severity.ERROR}
    assert found.verify == {
        "cases": ("model.py::Model",),
        "frozen": ("teacher.*",),
        "steps": 2,
        "timeout": 1.5,
        "memory": 1024,
    }


def test_patterns_are_relative_to_the_configuration_file(tmp_path: Path) -> None:
    found = settings(tmp_path, 'exclude = ["build/"]\nextend-exclude = ["/vendored", "a/b.py"]')
    assert found.excludes(tmp_path / "build")
    assert found.excludes(tmp_path / "x" / "build" / "y.py")
    assert not found.excludes(tmp_path / "builder" / "y.py")
    assert found.excludes(tmp_path / "vendored" / "x.py")
    assert not found.excludes(tmp_path / "x" / "vendored" / "x.py")
    assert found.excludes(tmp_path / "a" / "b.py")


def test_per_file_ignores(tmp_path: Path) -> None:
    found = settings(
        tmp_path, '[per-file-ignores]\n"tests/*" = ["GL2", "GL101"]\n"/top.py" = ["GL"]'
    )
    assert codes(found, tmp_path / "model.py") == EVERYTHING
    assert codes(found, tmp_path / "tests" / "x.py") == ("GL000", "GL001", "GL102")
    assert codes(found, tmp_path / "top.py") == ("GL000",)
    assert codes(found, tmp_path / "x" / "top.py") == EVERYTHING


def test_the_command_line_overrides(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        'select = ["GL1"]\nmin-confidence = "low"\nfail-on = "error"',
        Overrides(Layer(("GL203",)), Confidence.HIGH, Severity.WARNING),
    )
    assert codes(found) == ("GL000", "GL203")
    assert found.min_confidence is Confidence.HIGH
    assert found.fail_on is Severity.WARNING


# ----------------------------------------------------------------------------- finding files


def test_the_nearest_file_with_a_table_counts(tmp_path: Path) -> None:
    inner = tmp_path / "package" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text('[tool.gradlint]\nselect = ["GL1"]')
    (tmp_path / "package" / "pyproject.toml").write_text('[project]\nname = "gradlint-user"')
    resolver = Resolver(RULES)
    assert codes(resolver.settings(inner / "model.py")) == ("GL000", "GL101", "GL102")
    (inner / "gradlint.toml").write_text('select = ["GL201"]')
    (inner / "pyproject.toml").write_text('[tool.gradlint]\nselect = ["GL203"]')
    assert codes(resolver.settings(inner / "model.py")) == ("GL000", "GL101", "GL102"), "cached"
    assert codes(Resolver(RULES).settings(inner / "model.py")) == ("GL000", "GL201")
    assert codes(Resolver(RULES).settings(tmp_path / "model.py")) == ("GL000", "GL101", "GL102")


def test_an_empty_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "gradlint.toml").write_text('select = ["GL1"]')
    (inner / "gradlint.toml").write_text("")
    assert codes(Resolver(RULES).settings(inner / "model.py")) == EVERYTHING


def test_relative_paths_are_looked_up_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gradlint.toml").write_text('select = ["GL1"]\nexclude = ["old"]')
    monkeypatch.chdir(tmp_path)
    assert codes(Resolver(RULES).settings(Path("model.py"))) == ("GL000", "GL101", "GL102")
    assert Resolver(RULES).excludes(Path("old/model.py"))


def test_config_and_isolated(tmp_path: Path) -> None:
    (tmp_path / "gradlint.toml").write_text('select = ["GL1"]')
    other = tmp_path / "other.toml"
    other.write_text('select = ["GL201"]')
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text('[tool.gradlint]\nselect = ["GL203"]')
    model = tmp_path / "model.py"
    assert codes(Resolver(RULES, config=other).settings(model)) == ("GL000", "GL201")
    assert codes(Resolver(RULES, config=pyproject).settings(model)) == ("GL000", "GL203")
    assert codes(Resolver(RULES, isolated=True).settings(model)) == EVERYTHING


def test_broken_files_of_other_tools_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project\nname =")
    assert codes(Resolver(RULES).settings(tmp_path / "model.py")) == EVERYTHING


# ---------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ("selct = []", "selct: unknown key; did you mean `select`?"),
        ("min_confidence = 1", "min_confidence: unknown key; did you mean `min-confidence`?"),
        ("zzz = 1", "zzz: unknown key; did you mean `"),
        ("[verify]\nstep = 1", "verify.step: unknown key; did you mean `verify.steps`?"),
        ("select = 'GL1'", "select: must be a list of strings, not 'GL1'"),
        ("ignore = [1]", "ignore: must be a list of strings, not [1]"),
        ("exclude = {}", "exclude: must be a list of strings, not {}"),
        (
            "select = ['GL777']",
            "select: no rule is called `GL777`; did you mean `GL",
        ),
        (
            "extend-select = ['data-reads']",
            "extend-select: no rule is called `data-reads`; did you mean `data-read`?",
        ),
        ("ignore = ['GL000']", "ignore: GL000 cannot be ignored"),
        ("per-file-ignores = []", "per-file-ignores: must be a table, not []"),
        ("per-file-ignores = {'x' = 'GL1'}", "per-file-ignores.'x': must be a list of strings"),
        ("per-file-ignores = {'x' = ['GL7']}", "per-file-ignores.'x': no rule is called `GL7`"),
        ("per-file-ignores = {'x' = ['GL000']}", "per-file-ignores.'x': GL000 cannot be"),
        ("exclude = ['!']", "exclude: is not a pattern as in .gitignore: "),
        (
            "min-confidence = 'hihg'",
            "min-confidence: must be one of high, medium, low, not 'hihg'; did you mean 'high'?",
        ),
        ("fail-on = 3", "fail-on: must be one of error, warning, not 3; did you mean 'error'?"),
        ("severity = {GL2 = 'error'}", "severity.GL2: must be the code or name of one rule"),
        ("severity = {GL9 = 'error'}", "severity.GL9: no rule is called `GL9`"),
        ("severity = {GL201 = 'warn'}", "severity.GL201: must be one of error, warning"),
        ("severity = 'error'", "severity: must be a table, not 'error'"),
        ("baseline = 'x.json'", "baseline: is reserved and not yet supported; remove it"),
        ("verify = 1", "verify: must be a table, not 1"),
        ("verify = {steps = 0}", "verify.steps: must be a whole number above 0, not 0"),
        ("verify = {steps = true}", "verify.steps: must be a whole number above 0, not True"),
        ("verify = {memory = 1.5}", "verify.memory: must be a whole number above 0, not 1.5"),
        ("verify = {timeout = 'x'}", "verify.timeout: must be a number above 0, not 'x'"),
        ("verify = {cases = 'x'}", "verify.cases: must be a list of strings, not 'x'"),
        ("select = [", "is not valid TOML: "),
    ],
)
def test_mistakes_are_named(tmp_path: Path, toml: str, expected: str) -> None:
    assert message(tmp_path, toml).startswith(expected)


def test_mistakes_in_pyproject(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text("[tool]\ngradlint = 3")
    with pytest.raises(ConfigError, match=r"\[tool.gradlint\] must be a table"):
        Resolver(RULES).settings(tmp_path / "model.py")
    file.write_text("tool = 3")
    with pytest.raises(ConfigError, match=r"has no \[tool.gradlint\] table"):
        Resolver(RULES, config=file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent.toml: cannot be read: No such file"):
        Resolver(RULES, config=tmp_path / "absent.toml")
    (tmp_path / "gradlint.toml").write_bytes(b"select = ['\xff']")
    with pytest.raises(ConfigError, match=r"is not valid TOML: .*utf-8"):
        Resolver(RULES).settings(tmp_path / "model.py")
