"""The file cannot be analysed, so nothing is known about it.

A syntax error, bytes that are no text, nesting so deep that a parser would give up, or a file that
cannot be read. The linter says so rather than let the file look clean. No selection and no comment
switches this off: exclude the file instead. The engine reports it.

Bad:
    features = torch.relu(torch.randn(8, 4).detach()

Good:
    features = torch.relu(torch.randn(8, 4).detach())

Quiet on: files without any expression that an enabled rule could speak about. They are not parsed,
so their syntax errors are left to other tools.
Source: https://docs.python.org/3/reference/grammar.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Report, Severity

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ()


def check(unit: Unit) -> Iterator[Report]:
    """Yields nothing: the engine reports a file that never becomes a unit."""
    yield from ()
