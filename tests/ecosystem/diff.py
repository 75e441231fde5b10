"""A unified diff in which each hunk names its package."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def diff(old: str, new: str, name: str) -> Iterator[str]:
    """Lines without their ends; none when the texts are equal."""
    lines = old.splitlines()
    for line in difflib.unified_diff(
        lines, new.splitlines(), f"{name}, kept", f"{name}, found now", n=0, lineterm=""
    ):
        hunk = _HUNK.fullmatch(line)
        yield f"{line} {_title(lines[: int(hunk[1])])}".rstrip() if hunk else line


def _title(lines: list[str]) -> str:
    """The title of the section that the last line belongs to."""
    return next((line for line in reversed(lines) if line[:1].isalnum()), "")
