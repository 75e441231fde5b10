"""A rule's page is true: its examples run, and the linter finds in them what it says."""

from __future__ import annotations

from collections import Counter

import pytest

import pages
from gradlint.rules import Rule, all_rules
from linting import lint

RULES = list(all_rules().values())
NOT_RUN = {"GL000", "GL001"}
"""Pages about the linter: a syntax error, and a comment; neither says anything about torch."""

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


@each_rule
def test_form(rule: Rule) -> None:
    assert pages.form_problems(rule.page) == []


@each_rule
def test_bad_gives_this_rule_once(rule: Rule) -> None:
    findings = lint(pages.PRELUDE + rule.examples["Bad"], also=rule.code)
    found = Counter(finding.code for finding in findings)
    assert found.pop(rule.code, 0) == 1
    assert set(found) <= pages.also(rule.page), "other rules: only those below `Also:`"


@each_rule
def test_good_gives_nothing(rule: Rule) -> None:
    assert lint(pages.PRELUDE + rule.examples["Good"], also=rule.code) == []


@pytest.mark.parametrize("rule", [r for r in RULES if r.code not in NOT_RUN], ids=lambda r: r.code)
def test_examples_run(rule: Rule) -> None:
    pytest.importorskip("torch")
    examples = rule.examples
    assert pages.run_problems(rule.page, examples["Bad"], examples["Good"]) == []
