"""From a source text to findings, with rules made for the test: they speak of calls of `mark`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import libcst as cst
import pytest

from fake_rules import RULES, Check, rule
from gradlint.config import Patterns, Settings
from gradlint.engine import Job, Result, check_files, check_source
from gradlint.model import Confidence, Finding, Label, Place, Report, Severity, Span
from gradlint.rules import Rule
from gradlint.selection import enabled
from gradlint.sources.errors import NotAnalysed


@dataclass
class Trees:
    """Stands for the facts of a file."""

    trees: list[Any]
    triggers: Iterable[str] = ()


def calls(unit: Trees, name: str) -> Iterator[tuple[cst.Call, cst.CSTNode]]:
    """Every call of `name`, with the statement around it."""
    for tree in unit.trees:
        for statement in tree.body:
            yield from _calls(statement, statement, name)


def _calls(
    node: cst.CSTNode, statement: cst.CSTNode, name: str
) -> Iterator[tuple[cst.Call, cst.CSTNode]]:
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == name:
        yield node, statement
    for child in node.children:
        is_statement = isinstance(
            child, cst.BaseSmallStatement | cst.BaseCompoundStatement | cst.Decorator
        )
        yield from _calls(child, child if is_statement else statement, name)


def reporting(name: str, **rest: Any) -> Check:
    """A check that reports every call of `name`, with its arguments as parameters."""

    def check(unit: Trees) -> Iterator[Report]:
        for call, statement in calls(unit, name):
            names = [a.value.value for a in call.args if isinstance(a.value, cst.Name)]
            at = Place(call, statement)
            yield Report(at, f"{name} is called", "why", "help", parameters=tuple(names), **rest)

    return check


def broken(unit: Trees) -> Iterator[Report]:
    """A check that reports one call and then crashes."""
    yield from reporting("mark")(unit)
    raise KeyError("layer1")


def related(unit: Trees) -> Iterator[Report]:
    """Reports `mark()` with every `cause()` as a related place."""
    causes = tuple(Label(Place(*pair), "the cause") for pair in calls(unit, "cause"))
    for report in reporting("mark")(unit):
        yield replace(report, related=causes)


Catalogue = Callable[..., dict[str, Rule]]


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> Catalogue:
    """Sets the checks of rules, as in `catalogue(GL201=check)`."""
    monkeypatch.setattr("gradlint.facts.unit.Unit", Trees)
    monkeypatch.setattr("gradlint.engine.can_matter", lambda source, triggers: "mark" in source)

    def make(**checks: Check) -> dict[str, Rule]:
        rules = {code: replace(one, triggers=("mark",)) for code, one in RULES.items()}
        rules |= {code: replace(rules[code], check=check) for code, check in checks.items()}
        monkeypatch.setattr("gradlint.rules.all_rules", lambda: rules)
        return rules

    return make


def check_many(rules: dict[str, Rule], sources: dict[str, Any], **settings: Any) -> Result:
    known = Settings(enabled(rules, ()), **settings)
    jobs = [Job(path, known, partial(raised, text)) for path, text in sources.items()]
    return check_files(jobs)


def raised(text: Any) -> str:
    if isinstance(text, BaseException):
        raise text
    assert isinstance(text, str)
    return text


def short(findings: list[Finding] | tuple[Finding, ...]) -> list[tuple[str, int, int]]:
    return [(found.code, found.span.line, found.span.column) for found in findings]


# -------------------------------------------------------------------------------- one source


def test_findings_are_located_and_sorted(catalogue: Catalogue) -> None:
    catalogue(GL203=reporting("mark"), GL101=reporting("mark", severity=Severity.ERROR))
    found = check_source("a = 1\nif a: b = mark(a)\n\nmark(\n  b)\n", "pkg/model.py")
    assert short(found) == [("GL101", 2, 11), ("GL203", 2, 11), ("GL101", 4, 1), ("GL203", 4, 1)]
    first = found[1]
    assert first.span == Span(2, 11, 2, 18)
    assert (first.path, first.rule, first.message) == (
        "pkg/model.py",
        "detach-discarded",
        "mark is called",
    )
    assert (first.why, first.help, first.parameters) == ("why", "help", ("a",))
    assert (first.severity, first.confidence) == (Severity.ERROR, Confidence.HIGH)
    assert found[0].severity is Severity.ERROR, "a report may set its own"
    assert found[3].span == Span(4, 1, 5, 5)


def test_one_code_one_line(catalogue: Catalogue) -> None:
    catalogue(GL203=reporting("mark"))
    (found,) = check_source("x = mark(b), mark(a, b), mark(c)\n", "model.py")
    assert found.span == Span(1, 5, 1, 12)
    assert found.parameters == ("b", "a", "c")
    notes = [(note.span.column, note.message, note.path) for note in found.related]
    assert notes == [(14, "also here", "model.py"), (26, "also here", "model.py")]


def test_one_place_reported_twice(catalogue: Catalogue) -> None:
    def twice(unit: Trees) -> Iterator[Report]:
        yield from reporting("mark", severity=Severity.WARNING, confidence=Confidence.LOW)(unit)
        yield from reporting("mark", severity=Severity.ERROR)(unit)
        yield from reporting("mark", severity=Severity.WARNING)(unit)

    catalogue(GL203=twice)
    (found,) = check_source("mark(a)\n", "model.py")
    assert (found.related, found.parameters) == ((), ("a",))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.HIGH)


def test_nothing_without_a_trigger(catalogue: Catalogue) -> None:
    catalogue(GL203=broken)
    assert check_source("x = 1\n", "model.py") == []
    with pytest.raises(KeyError):
        check_source("mark(x)\n", "model.py")


def test_a_crash_of_the_analysis_comes_through(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = catalogue(GL203=reporting("mark"))

    def unit(trees: list[Any], triggers: Iterable[str]) -> Trees:
        raise LookupError("facts")

    monkeypatch.setattr("gradlint.facts.unit.Unit", unit)
    with pytest.raises(LookupError):
        check_source("mark(x)\n", "model.py")
    result = check_many(rules, {"a.py": "mark(x)  # gradlint: ignore[GL203]\n", "b.py": "x = 1\n"})
    assert result.findings == ()
    (problem,) = result.problems
    assert problem.startswith("a.py: the analysis crashed: LookupError: facts (at test_engine.py:")


# ------------------------------------------------------------------------------ suppressions


@pytest.mark.parametrize(
    ("source", "silenced"),
    [
        ("mark(a)  # gradlint: ignore[GL203]\n", True),
        ("# gradlint: ignore[GL203]\nmark(a)\n", True),
        ("x = f(\n  mark(a),\n)  # gradlint: ignore[GL203]\n", True),
        ("x = f(  # noqa: GL203\n  mark(a),\n)\n", True),
        ("# noqa: GL203\nx = f(\n\n  mark(a),\n)\n", True),
        ("if mark(a):  # gradlint: ignore[GL203]\n  pass\n", True),
        ("if (x and\n  mark(a)):  # gradlint: ignore[GL203]\n  pass\n", True),
        ("if mark(a):\n  pass  # gradlint: ignore[GL203]\n", False),
        ("@mark(a)  # gradlint: ignore[GL203]\ndef f():\n  pass\n", True),
        ("mark(a)\nx = 1  # gradlint: ignore[GL203]\n", False),
    ],
)
def test_where_a_suppression_counts(catalogue: Catalogue, source: str, silenced: bool) -> None:
    catalogue(GL203=reporting("mark"))
    codes = [found.code for found in check_source(source, "model.py")]
    assert codes == ([] if silenced else ["GL203", "GL001"])


def test_a_suppression_at_the_cause_counts(catalogue: Catalogue) -> None:
    catalogue(GL203=related)
    source = "with cause():{}\n  x = 1\n  mark(a)\n"
    (found,) = check_source(source.format(""), "model.py")
    assert [(note.span, note.message) for note in found.related] == [
        (Span(1, 6, 1, 13), "the cause")
    ]
    assert check_source(source.format("  # gradlint: ignore[GL203] teacher"), "model.py") == []


def test_unused_suppressions_are_findings(catalogue: Catalogue) -> None:
    catalogue(GL203=reporting("mark"))
    assert short(check_source("x = 1  # gradlint: ignore[GL201]\n", "m.py")) == [("GL001", 1, 27)]
    source = "mark(a)\nx = 1  # gradlint: ignore[GL201]\nx = 1  # gradlint: ignore[GL201]\n"
    found = check_source(source, "m.py")
    assert short(found) == [("GL203", 1, 1), ("GL001", 2, 27), ("GL001", 3, 27)]
    assert len({one.fingerprint for one in found}) == 3


def test_a_suppression_of_an_unsure_finding_is_of_use(catalogue: Catalogue) -> None:
    catalogue(GL203=reporting("mark", confidence=Confidence.LOW))
    assert check_source("mark(a)  # gradlint: ignore[GL203]\n", "m.py") == []
    assert check_source("mark(a)\n", "m.py") == []


# ---------------------------------------------------------------------------------- settings


def test_settings(catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rules = catalogue(
        GL203=reporting("mark"),
        GL201=reporting("mark", confidence=Confidence.LOW),
        GL101=reporting("mark"),
    )
    settings = Settings(
        enabled(rules, ()),
        min_confidence=Confidence.LOW,
        severity={"GL203": Severity.WARNING, "GL000": Severity.WARNING},
        per_file_ignores=((Patterns.of(tmp_path, ("m.py",)), ("GL1",)),),
    )
    found = check_source("mark(a)\n", "m.py", settings)
    assert [(one.code, one.severity.value) for one in found] == [
        ("GL201", "error"),
        ("GL203", "warning"),
    ]
    assert (
        short(check_source("mark(a)\n", "m.py", replace(settings, rules=settings.rules[:3]))) == []
    )
    (broken_file,) = check_source("mark(a\n", "m.py", settings)
    assert (broken_file.code, broken_file.severity) == ("GL000", Severity.WARNING)


# ------------------------------------------------------------------------------ fingerprints


def test_a_fingerprint_is_what_the_contract_says(catalogue: Catalogue) -> None:
    catalogue(GL203=reporting("mark", symbol="Model.forward"))
    found = check_source("mark( a )\nx = [mark(\n  a)]\nmark(b)\n", "m.py")

    def digest(*parts: str) -> str:
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    assert [one.fingerprint for one in found] == [
        digest("m.py", "GL203", "Model.forward", "mark(a)", "0"),
        digest("m.py", "GL203", "Model.forward", "mark(a)", "1"),
        digest("m.py", "GL203", "Model.forward", "mark(b)", "0"),
    ]


def test_a_fingerprint_survives_edits_and_suppressions_elsewhere(catalogue: Catalogue) -> None:
    catalogue(GL203=reporting("mark"))
    before = check_source("mark(a)\nmark(a)\n", "m.py")
    after = check_source("mark(a)  # gradlint: ignore[GL203]\n\nx = 2\nif x:\n\tmark(a)\n", "m.py")
    assert [one.fingerprint for one in after] == [before[1].fingerprint]


# -------------------------------------------------------------------------------- many files


def test_files_are_sorted_and_counted(catalogue: Catalogue) -> None:
    rules = catalogue(GL203=reporting("mark"), GL101=reporting("mark"))
    done: list[int] = []
    known = Settings(enabled(rules, ()))
    errors_only = replace(known, fail_on=Severity.ERROR)
    jobs = [
        Job("z.py", known, lambda: "x = 1\n"),
        Job("b.py", errors_only, lambda: "\nmark(a)\n"),
        Job("y.py", known, lambda: ""),
        Job("a.py", known, lambda: "mark(a)\n"),
    ]
    result = check_files(jobs, done.append)
    assert [(one.path, one.code) for one in result.findings] == [
        ("a.py", "GL101"),
        ("a.py", "GL203"),
        ("b.py", "GL101"),
        ("b.py", "GL203"),
    ]
    assert (result.files, result.failing, result.problems) == (4, 3, ())
    assert done == [0, 1, 2, 3]
    assert result.lines("b.py", None) == ["", "mark(a)", ""]
    assert result.lines("z.py", None) == []


def test_a_crash_of_a_rule_names_both_and_spares_the_rest(catalogue: Catalogue) -> None:
    rules = catalogue(GL201=broken, GL203=reporting("mark"))
    text = "mark(a)\nx = 1  # gradlint: ignore[GL201, GL203]\n"
    result = check_many(rules, {"b.py": text, "a.py": "mark(a)\n"})
    assert [(one.path, one.code, one.span.line) for one in result.findings] == [
        ("a.py", "GL201", 1),
        ("a.py", "GL203", 1),
        ("b.py", "GL201", 1),
        ("b.py", "GL203", 1),
        ("b.py", "GL001", 2),
    ], "GL201 is not called unused: its rule did not get to the end"
    assert len(result.problems) == 2
    assert re.fullmatch(
        r"b.py: rule GL201 crashed: KeyError: 'layer1' \(at test_engine.py:\d+\)",
        result.problems[0],
    )


def test_a_crash_while_reading_spares_the_rest(catalogue: Catalogue) -> None:
    result = check_many(catalogue(GL203=reporting("mark")), {"a": LookupError("x"), "b": "mark()"})
    assert [found.path for found in result.findings] == ["b"]
    assert result.problems[0].startswith("a: reading it crashed: LookupError: x (at ")
    assert result.files == 2


def test_a_byte_order_mark_moves_nothing(catalogue: Catalogue) -> None:
    rules = catalogue(GL203=reporting("mark"))
    result = check_many(rules, {"a.py": "\ufeffmark(a)\n"})
    assert result.findings[0].span == Span(1, 1, 1, 8)
    assert result.lines("a.py", None)[0] == "mark(a)"


def test_a_place_in_no_tree_is_a_crash_of_the_analysis(catalogue: Catalogue) -> None:
    def elsewhere(unit: Trees) -> Iterator[Report]:
        yield Report(Place(cst.Pass(), cst.Pass()), "m", "w", "h")

    result = check_many(catalogue(GL203=elsewhere), {"a.py": "mark(a)\n"})
    assert result.problems[0].startswith("a.py: the analysis crashed: KeyError")


def test_a_place_whose_statement_is_unknown_still_counts(catalogue: Catalogue) -> None:
    def loose(unit: Trees) -> Iterator[Report]:
        for call, _ in calls(unit, "mark"):
            yield Report(Place(call, cst.Pass()), "m", "w", "h")

    catalogue(GL203=loose)
    assert short(check_source("\nmark(a)\n", "m.py")) == [("GL203", 2, 1)]
    assert check_source("mark(a)  # noqa: GL203\n", "m.py") == []


# ------------------------------------------------------------------------------ not analysed


def test_a_broken_file_beside_a_good_one(catalogue: Catalogue) -> None:
    rules = catalogue(GL203=reporting("mark"))
    result = check_many(
        rules,
        {
            "c.py": "mark(a)\n",
            "b.py": "x = 1\nmark(a  # gradlint: ignore-file[GL]\n",
            "a.py": NotAnalysed("not UTF-8", "save it as UTF-8", 3, 5),
            "d.py": FileNotFoundError(2, "No such file or directory"),
        },
    )
    assert [(one.path, one.code) for one in result.findings] == [
        ("a.py", "GL000"),
        ("b.py", "GL000"),
        ("c.py", "GL203"),
        ("d.py", "GL000"),
    ]
    undecoded, syntax, _, vanished = result.findings
    assert (undecoded.message, undecoded.help) == ("not UTF-8", "save it as UTF-8")
    assert undecoded.span == Span(3, 5, 3, 6)
    assert vanished.message == "the file cannot be read: No such file or directory"
    assert syntax.why == "Nothing in this file was checked."
    assert all(len(one.fingerprint) == 64 for one in result.findings)
    assert (result.files, result.failing, result.problems) == (4, 4, ())


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_code_that_is_too_much_is_not_analysed(
    catalogue: Catalogue, error: type[Exception]
) -> None:
    def overwhelmed(unit: Trees) -> Iterator[Report]:
        if unit.trees:
            raise error
        yield from ()

    rules = catalogue(GL203=overwhelmed)
    result = check_many(rules, {"a.py": "mark(a)\n", "b.py": "x = 1\n"})
    assert [(one.path, one.code) for one in result.findings] == [("a.py", "GL000")]
    assert "too deeply nested" in result.findings[0].message and result.problems == ()


def test_deep_code_is_refused_before_it_is_parsed(
    catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(source: str) -> None:
        pytest.fail("must not be parsed")

    monkeypatch.setattr("gradlint.syntax.tree.parse", parse)
    catalogue(GL203=reporting("mark"))
    source = "mark(" * 3000 + ")" * 3000
    assert [one.code for one in check_source(source, "m.py")] == ["GL000"]


# ------------------------------------------------------------------------------ default rules


def test_the_rules_that_there_are_hold_by_default() -> None:
    assert [one.code for one in check_source("x = 1  # gradlint: ignore\n", "m.py")] == ["GL001"]


def test_a_rule_without_triggers_opens_no_file() -> None:
    settings = Settings((rule("GL203", "detach-discarded", check=broken),))
    assert check_source("mark(a)\n", "m.py", settings) == []
