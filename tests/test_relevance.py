"""Interpreting only what can matter gives the findings of interpreting everything."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import libcst
import pytest

from gradlint.facts.unit import Unit
from gradlint.rules import all_rules
from gradlint.sources.errors import NotAnalysed
from gradlint.sources.files import read
from gradlint.sources.gate import can_matter
from gradlint.syntax import shape
from gradlint.syntax.stack import on_big_stack
from gradlint.syntax.tree import parse

FIXTURES = sorted((Path(__file__).parent / "fixtures").rglob("*.py"))
TRIGGERS = sorted({t for rule in all_rules().values() for t in rule.triggers})


def reports(source: str, triggers: list[str]) -> list[tuple[str, int, int, str, tuple[str, ...]]]:
    """What the rules report, with places, when only code with `triggers` is interpreted."""
    tree = parse(source)
    unit = Unit([tree], triggers)
    found = [(rule, report) for rule in all_rules().values() for report in rule.check(unit)]
    nodes = [report.at.node for _, report in found]
    spans = tree.locate([node for node in nodes if isinstance(node, libcst.CSTNode)])
    return sorted(
        (
            rule.code,
            spans[id(report.at.node)].line,
            spans[id(report.at.node)].column,
            report.message,
            report.parameters,
        )
        for rule, report in found
    )


def assert_same(path: Path) -> None:
    try:
        source = read(path)
        shape.check(source)
        everything = on_big_stack(reports, source, [])
    except NotAnalysed:
        return
    assert on_big_stack(reports, source, TRIGGERS) == everything, path
    if everything:
        assert can_matter(source, TRIGGERS), path


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.name)
def test_fixtures(path: Path) -> None:
    assert_same(path)


def installed() -> Iterator[Path]:
    """Files of installed packages in which a trigger stands."""
    for folder in map(Path, sys.path):
        if folder.name == "site-packages":
            for path in sorted(folder.rglob("*.py")):
                if b"torch" in path.read_bytes():
                    yield path


def test_a_sample_of_installed_packages() -> None:
    paths = list(installed())
    for path in random.Random(7).sample(paths, min(60, len(paths))):
        assert_same(path)


@pytest.mark.slow
def test_all_installed_packages() -> None:
    for path in installed():
        assert_same(path)
