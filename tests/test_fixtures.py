"""Every fixture says line by line what gradlint finds in it; more and less both fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import disagreements, read
from gradlint import rules
from gradlint.config import Settings
from gradlint.engine import check_source
from gradlint.model import MESSAGE_LENGTH
from gradlint.rules import Rule, all_rules
from linting import lines_and_codes, lint

ROOT = Path(__file__).parent / "fixtures"
IDIOMS = sorted((ROOT / "idioms").glob("*.py"))
FIXTURES = sorted(ROOT.glob("*.py")) + IDIOMS
NOT_PYTHON = {"GL000"}
"""Rules about files that cannot be read, which no fixture can be."""


def module_name(rule: Rule) -> str:
    """The name of a rule's module, which its fixture has too."""
    return f"{rule.code.lower()}_{rule.slug.replace('-', '_')}"


def rule_of(path: Path) -> str:
    """The code of the rule that a fixture belongs to; "" for an idiom."""
    codes = [rule.code for rule in all_rules().values() if module_name(rule) == path.stem]
    return codes[0] if codes else ""


def test_there_are_rules_and_fixtures() -> None:
    assert all_rules()
    assert FIXTURES


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_findings(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    report = disagreements(source, lines_and_codes(source, also=rule_of(path)))
    assert not report, "\n".join(["", *(f"{path.name}: {words}" for words in report)])


@pytest.mark.parametrize("rule", all_rules().values(), ids=lambda rule: rule.code)
def test_every_rule_has_a_fixture(rule: Rule) -> None:
    if rule.code in NOT_PYTHON:
        return
    marks = read((ROOT / f"{module_name(rule)}.py").read_text(encoding="utf-8"))
    assert any(code == rule.code for _, code in marks.expect), "no expected finding"
    assert len(marks.ok) >= 3, "a rule is known by what it leaves alone: mark three look-alikes"


@pytest.mark.parametrize("rule", all_rules().values(), ids=lambda rule: rule.code)
def test_triggers_open_the_gate_for_the_rule_alone(rule: Rule) -> None:
    """With no other rule on, the fixture gives the same findings: no trigger is missing."""
    if not rule.triggers:
        return
    source = (ROOT / f"{module_name(rule)}.py").read_text(encoding="utf-8")
    for line in source.splitlines():
        assert "gradlint: ignore-file" not in line
    alone = check_source(source, "example.py", Settings((rule,)))
    wanted = [line for line, code in lines_and_codes(source, rule.code) if code == rule.code]
    assert [f.span.line for f in alone if f.code == rule.code] == wanted


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_messages_are_short(path: Path) -> None:
    for finding in lint(path.read_text(encoding="utf-8")):
        assert len(finding.message) <= MESSAGE_LENGTH, finding.message


def test_every_file_of_the_rules_is_one_rule() -> None:
    files = [path.stem for path in Path(rules.__path__[0]).glob("gl*.py")]
    assert len(files) == len(all_rules()), f"two of one code, or not glNNN_slug: {sorted(files)}"


def test_every_fixture_has_a_rule() -> None:
    names = {module_name(rule) for rule in all_rules().values()}
    assert {path.stem for path in ROOT.glob("*.py")} <= names


@pytest.mark.parametrize("path", IDIOMS, ids=lambda path: path.stem)
def test_idioms_expect_nothing(path: Path) -> None:
    marks = read(path.read_text(encoding="utf-8"))
    assert not marks.expect, "correct code belongs here; mistakes belong beside their rule"
