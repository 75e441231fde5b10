"""Workflow commands, which GitHub Actions shows as annotations of a pull request.

Source: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Finding

if TYPE_CHECKING:
    from gradlint.engine import Result
    from gradlint.report import Look

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = str.maketrans({**_DATA, ":": "%3A", ",": "%2C"})
_MESSAGE = str.maketrans(_DATA)


def render(result: Result, look: Look) -> Iterator[str]:
    """Yields one command a finding."""
    yield from map(_command, result.findings)


def _command(finding: Finding) -> str:
    properties = {
        "file": finding.path,
        "line": finding.span.line,
        "col": finding.span.column,
        "endLine": finding.span.end_line,
        "title": f"{finding.code} {finding.rule}",
    }
    listed = ",".join(f"{name}={str(v).translate(_PROPERTY)}" for name, v in properties.items())
    return f"::{finding.severity.value} {listed}::{_text(finding).translate(_MESSAGE)}"


def _text(finding: Finding) -> str:
    # An annotation points at a line of the file; a cell's lines are counted anew.
    cell = f"cell {finding.cell}: " if finding.cell is not None else ""
    help_ = f"fix: {finding.help}" if finding.help else ""
    return "\n".join(filter(None, (cell + finding.message, finding.why, help_)))
