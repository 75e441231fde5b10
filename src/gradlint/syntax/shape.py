"""Is this source of a shape that the parser can take?

The parser recurses once per level and needs the square of the depth, so that one absurd line can
crash it or keep it busy for hours. `check` refuses such a source before it is parsed. It is linear
in the source, and nearly free for ordinary code: each line is reduced to its punctuation, of which
few are distinct, and only where that leaves room for something deep are the tokens read.
"""

from __future__ import annotations

import re

from gradlint.sources.errors import NotAnalysed
from gradlint.sources.lexical import is_formatted, split_literals, unescaped
from gradlint.syntax.depth import MOST_ELIFS, MOST_IN_PATTERN, check_depth

#: Punctuation marks and line ends, strings and comments aside: 5 MB of ordinary code, which takes
#: about 10 seconds and 1.3 GiB to parse.
MOST_MARKS = 400_000

#: A statement with fewer marks cannot hold anything that is too deep.
_PLAIN_STATEMENT = 200
#: An f-string shorter than this (in characters) cannot either.
_PLAIN_FORMATTED = 300
#: Fewer `{` in a file do not make it too large.
_PLAIN_FIELDS = 20_000
_MARKS_PER_FIELD = 4
#: Ordinary code stays far below this (squared marks of a statement, per character).
_PLAIN_WORK = 20

# Marks that make no level, so that lists and dicts of plain values weigh little.
_LEVEL_FREE = re.compile(rb' ?[,=:)\]}]+ ?|"[,:)\]}]+ ?')
# The literal comes first, which makes the search fast; what stands before it is checked after.
_PATTERNS = (
    re.compile(r"case(?<!\wcase)\b[^\n]*"),
    re.compile(r"del(?<!\wdel)\b[^\n]*"),
)
_WORDS = bytes(c for c in range(256) if c >= 128 or chr(c).isalnum() or chr(c) == "_")


def check(source: str, first_line: int = 1) -> None:
    """Raise NotAnalysed when `source` is too large or too deeply nested to be parsed."""
    text = unescaped(source)
    pieces, literals = split_literals(text)
    code = _without_indents("".join(_placeholders(pieces, literals)))
    marks = code.encode("utf-8", "surrogatepass").translate(None, _WORDS)
    size = len(marks.translate(None, b" \t\r\f"))
    if text.count("{") > _PLAIN_FIELDS:
        size += _MARKS_PER_FIELD * _count_fields(pieces, literals)
    if size > MOST_MARKS:
        raise _too_large(size, first_line)
    if (
        _may_hold_deep_statement(marks.split(b"\n"), len(source))
        or _may_hold_deep_pattern(code)
        or _may_hold_deep_field(pieces, literals)
        or code.count("elif") > MOST_ELIFS
        or code.count("lambda") > _PLAIN_STATEMENT
    ):
        check_depth(text, first_line)


def _too_large(size: int, line: int) -> NotAnalysed:
    return NotAnalysed(
        f"the file is too large: {size:,} punctuation marks and lines, not more than "
        f"{MOST_MARKS:,} are read",
        "move generated data out of the code, or exclude the file",
        line,
    )


def _placeholders(pieces: list[str], literals: list[str]) -> list[str]:
    """Return the pieces of code with a quote for every string and nothing for a comment."""
    parts = [""] * (len(pieces) + len(literals))
    parts[::2] = pieces
    parts[1::2] = ["" if literal[0] == "#" else '"' for literal in literals]
    return parts


def _without_indents(code: str) -> str:
    # Once the words are gone, an indent would look like words in a row.
    return "\n".join(map(str.lstrip, code.split("\n")))


def _count_fields(pieces: list[str], literals: list[str]) -> int:
    return sum(
        literal.count("{")
        for piece, literal in zip(pieces, literals, strict=False)
        if is_formatted(piece)
    )


class _LineShapes(dict[bytes, tuple[int, int]]):
    """Per distinct line of marks: brackets left open, and marks that can make a level.

    Files have many lines in common, so one is kept for all of them; long lines are not kept.
    """

    def __missing__(self, line: bytes) -> tuple[int, int]:
        opened = len(line) - len(line.translate(None, b"([{"))
        closed = len(line) - len(line.translate(None, b")]}"))
        shape = (opened - closed, len(_LEVEL_FREE.sub(b"", line)))
        if len(line) < 100 and len(self) < 100_000:
            self[line] = shape
        return shape


_LINE_SHAPES = _LineShapes()


def _may_hold_deep_statement(lines: list[bytes], size: int) -> bool:
    """True when a statement has many marks, or when too many statements have quite a few."""
    work = marks = depth = 0
    for line in lines:
        opened, more = _LINE_SHAPES[line]
        depth += opened
        marks += more
        if depth <= 0:
            if marks > _PLAIN_STATEMENT:
                return True
            work += marks * marks
            marks = depth = 0
    return marks > _PLAIN_STATEMENT or work > _PLAIN_WORK * (size + 10_000)


def _may_hold_deep_pattern(code: str) -> bool:
    """True when a line of `case` or `del` has many brackets, or leaves one open."""
    lines = (match[0] for pattern in _PATTERNS for match in pattern.finditer(code))
    return any(
        (opened := sum(map(line.count, "([{"))) > MOST_IN_PATTERN
        or opened > sum(map(line.count, ")]}"))
        for line in lines
    )


def _may_hold_deep_field(pieces: list[str], literals: list[str]) -> bool:
    """True when an f-string is long."""
    return any(
        len(literal) > _PLAIN_FORMATTED and is_formatted(piece)
        for piece, literal in zip(pieces, literals, strict=False)
    )
