"""One line a finding, `path:line:column: CODE message`, for editors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.report._text import plain, position

if TYPE_CHECKING:
    from gradlint.engine import Result
    from gradlint.report import Look


def render(result: Result, look: Look) -> Iterator[str]:
    """Yields the lines; there is no summary."""
    for finding in result.findings:
        yield f"{position(finding)}: {finding.code} {plain(finding.message)}"
