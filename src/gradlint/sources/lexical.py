"""Strings and comments: which characters of a source are code.

Everything here is linear in the source, whatever the source is: no pattern can fail after it has
read ahead, so none is ever tried twice on the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

#: One comment or one string without its prefix, in a text that `unescaped` has made. A string that
#: is never closed ends with its line, a triple-quoted one with the file.
LITERAL = r"""(?:\#[^\n\r]*
    |\"\""[^"]*(?:\"{1,2}(?!")[^"]*)*(?:\"\""|\Z)
    |'''[^']*(?:'{1,2}(?!')[^']*)*(?:'''|\Z)
    |"[^"\n]*"?
    |'[^'\n]*'?)"""

_SPLIT = re.compile(f"({LITERAL})", re.VERBOSE)
_BRACES = re.compile(r"\{\{|\}\}|[{}]")
_STEP = {"{": 1, "{{": 2, "}": -1, "}}": -2}


def unescaped(source: str) -> str:
    r"""Return `source` without escapes in strings, on the same lines and columns.

    Lines end in "\n"; a "\r" that is left stands for a line end after a backslash.
    """
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    if "\\" not in source:
        return source
    text = source.replace("\\\\", "__").replace('\\"', "__").replace("\\'", "__")
    return text.replace("\\\n", " \r")


def split_literals(text: str) -> tuple[list[str], list[str]]:
    """Return code pieces and, one fewer, the comments and strings between them."""
    parts = _SPLIT.split(text)
    return parts[::2], parts[1::2]


def is_formatted(before: str) -> bool:
    """True when a string after the text `before` is an f-string or a t-string."""
    last = before[-1:]
    return last in tuple("fFtT") or (last in tuple("rR") and before[-2:-1] in tuple("fFtT"))


def replacement_fields(literal: str) -> Iterator[str]:
    """Yield the outermost `{...}` of an f-string."""
    depth = start = 0
    for match in _BRACES.finditer(literal):
        if depth:
            depth += _STEP[match[0]]
            if depth <= 0:
                yield literal[start : match.end()]
                depth = 0
        elif match[0] == "{":
            depth, start = 1, match.start()
    if depth:
        yield literal[start:]
