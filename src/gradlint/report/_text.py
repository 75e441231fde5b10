"""Text as a terminal shows it: how wide, in which colour, and without control characters."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradlint.model import Finding

_TAB = 4
_STYLES = {"error": "1;31", "warning": "1;33", "strong": "1", "faint": "2", "note": "1;36"}


def paint(text: str, style: str, colour: bool) -> str:
    """`text` in one of the styles error, warning, strong, faint and note."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if colour and text else text


def plain(text: str) -> str:
    """`text` on one line, without anything that could steer a terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(display(text)[0])


def display(line: str) -> tuple[list[str], list[int]]:
    """What stands for each character, and the column (from 0) where each begins.

    The columns have one more entry: where the line ends.
    """
    pieces, columns = [], [0]
    for character in line:
        piece, width = _cell(character, columns[-1])
        pieces.append(piece)
        columns.append(columns[-1] + width)
    return pieces, columns


def _cell(character: str, column: int) -> tuple[str, int]:
    if character == "\t":
        width = _TAB - column % _TAB
        return " " * width, width
    category = unicodedata.category(character)
    if category in ("Cc", "Cs", "Zl", "Zp"):
        return "?", 1
    if category == "Cf":  # invisible, and some of them reorder what follows
        return "", 0
    if category in ("Mn", "Me"):
        return character, 0
    return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1


def position(finding: Finding) -> str:
    """`path:line:column`; in a notebook `path:cell 2:line:column`."""
    cell = f"cell {finding.cell}:" if finding.cell is not None else ""
    return f"{plain(finding.path)}:{cell}{finding.span.line}:{finding.span.column}"


def counted(number: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
