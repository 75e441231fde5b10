"""The linter as the tests call it: one source text in, findings out, every rule on."""

from __future__ import annotations

from gradlint.engine import check_source
from gradlint.model import Finding


def lint(source: str, path: str = "example.py") -> list[Finding]:
    """What gradlint finds in `source` by default, in its own order."""
    return check_source(source, path)


def lines_and_codes(source: str) -> list[tuple[int, str]]:
    """The line (from 1) and the code of every finding."""
    return [(finding.span.line, finding.code) for finding in lint(source)]
