"""A catalogue of rules that is the same whatever rules there are, for tests of everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gradlint.model import Confidence, Report, Severity
from gradlint.rules import Rule

Check = Callable[[Any], Iterator[Report]]


def silent(unit: Any) -> Iterator[Report]:
    """A check that never speaks."""
    yield from ()


def rule(
    code: str,
    slug: str,
    severity: Severity = Severity.ERROR,
    check: Check = silent,
    triggers: tuple[str, ...] = (),
) -> Rule:
    """A rule with nothing to say about itself."""
    page = f"What {code} is about.\n\nBad:\n    x\n"
    return Rule(code, slug, severity, Confidence.HIGH, triggers, page, check)


RULES = {
    made.code: made
    for made in (
        rule("GL000", "not-analysed"),
        rule("GL001", "unused-suppression", Severity.WARNING),
        rule("GL101", "data-read", Severity.WARNING),
        rule("GL102", "data-assign", Severity.WARNING),
        rule("GL201", "detach-cuts-parameters"),
        rule("GL203", "detach-discarded"),
    )
}


@dataclass(frozen=True)
class PedanticRule:
    """Stands for a rule that is off by default."""

    code: str
    slug: str
    triggers: tuple[str, ...] = ()
    pedantic: bool = True
    severity: Severity = Severity.WARNING
    confidence: Confidence = Confidence.HIGH
    check: Check = silent
