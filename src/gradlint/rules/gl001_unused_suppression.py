"""A suppression comment silences nothing.

The finding is gone, or the comment names the wrong rule, stands on the wrong line or names no rule
at all. It hides the next real finding there. `# gradlint: ignore[GL001]` keeps a comment that is
needed only now and then. The engine reports it.

Bad:
    def forward(model, images):
        return model(images)  # gradlint: ignore[GL201] targets need no gradient

Good:
    def forward(model, images):
        return model(images)

Quiet on: codes of rules that are switched off, which could not find anything; a bare `# noqa` and
the codes of other linters; findings that lie below the wanted confidence count as silenced.
Source: https://docs.astral.sh/ruff/rules/unused-noqa/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Report, Severity

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.WARNING
confidence = Confidence.HIGH
triggers = ()


def check(unit: Unit) -> Iterator[Report]:
    """Yields nothing: the engine knows which comments have silenced something."""
    yield from ()
