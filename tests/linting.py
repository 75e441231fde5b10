"""The linter as the tests call it: one source text in, findings out."""

from __future__ import annotations

from gradlint.config import Settings
from gradlint.engine import check_source
from gradlint.model import Finding
from gradlint.rules import all_rules
from gradlint.selection import Layer, enabled


def lint(source: str, path: str = "example.py", also: str = "") -> list[Finding]:
    """What gradlint finds in `source` by default, and with the pedantic rule `also`, if given."""
    layers = (Layer(extend_select=(also,)),) if also else ()
    return check_source(source, path, Settings(enabled(all_rules(), layers)))


def lines_and_codes(source: str, also: str = "") -> list[tuple[int, str]]:
    """The line (from 1) and the code of every finding."""
    return [(finding.span.line, finding.code) for finding in lint(source, also=also)]
