"""How deep the syntax tree of a source will be, told from its tokens.

The caps were measured with libcst 1.9.0 in a thread with a stack of 64 MiB: at every cap the worst
shape takes less than a second to parse, and its tree can be walked by recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gradlint.sources.errors import NotAnalysed
from gradlint.sources.lexical import LITERAL, is_formatted, replacement_fields

#: Levels of an expression: brackets, operators, calls and attributes in a chain, strings in a row.
MOST_LEVELS = 500
#: Open brackets. Python itself gives up here.
MOST_BRACKETS = 200
#: Open brackets in the pattern of a `case` or the targets of a `del`: the parser needs 4**n steps.
MOST_IN_PATTERN = 9
#: Branches of one `if`.
MOST_ELIFS = 500
#: Parsing time of all deep statements together, in microseconds.
MOST_WORK = 5_000_000
#: A replacement field of fewer characters adds too little to be read.
_SHORT_FIELD = 100

_TOKEN = re.compile(
    rf"""(?P<literal>{LITERAL})
    |(?P<newline>\n)
    |(?P<branch>^[ \t\f]*(?:el)?if\b)
    |(?<!\w)\d\w*(?:\.\d*)?
    |(?P<postfix>(?<=[\w)\]}}"'])[ \t\r]*[.(\[])
    |(?P<open>[(\[{{])
    |(?P<close>[)\]}}])
    |(?P<chain>\b(?:and|or|not(?!\s+in\b)|else|for)\b|\*\*|//|<<|>>|[-+*/%@&|^~])
    |(?P<nested>\blambda\b)
    |(?P<end>[,;]|(?<![=!<>:])=(?!=))
    |(?P<colon>:)
    |(?P<pattern>\bdel\b|\bcase\b(?=[ \t\r]*[\w"'(\[{{*-]))
    |(?P<guard>\bif\b)
    |(?P<statement>\b(?:def|class|return|import|while|try|with|raise|assert)\b)""",
    re.VERBOSE | re.MULTILINE,
)


def check_depth(text: str, first_line: int = 1) -> None:
    """Raise NotAnalysed when `text`, which `unescaped` has made, is too deeply nested."""
    reader = _Reader()
    try:
        reader.read(text)
    except _TooDeep as too_deep:
        before = text[: reader.at]
        line_start = max(before.rfind("\n"), before.rfind("\r")) + 1
        line = first_line + before.count("\n") + before.count("\r")
        raise NotAnalysed(
            f"the code is nested too deeply: {too_deep}",
            "split the statement into smaller ones, or exclude the file",
            line,
            len(before) - line_start + 1,
        ) from None


class _TooDeep(Exception):
    pass


class _Reader:
    """Counts the levels of the statement that is being read, an upper bound.

    `base` counts the levels outside the innermost bracket; `operators`, `postfixes` (calls,
    subscripts and attributes in a row), `strings` (in a row) and `lambdas` (whose colon is still
    to come) belong to the innermost bracket, `outer` holds those of the brackets around it.
    `unclosed` counts f-strings that are cut short by a string in them with the same quotes.
    """

    def __init__(self, base: int = 0, brackets: int = 0) -> None:
        self.base = base
        self.brackets = brackets
        self.outer: list[tuple[int, int, int, int]] = []
        self.operators = self.postfixes = self.strings = self.lambdas = 0
        self.unclosed = 0
        self.in_pattern = False
        self.branches: dict[int, int] = {}
        self.deepest = self.most_brackets = self.work = 0
        self.at = 0

    def read(self, text: str) -> None:
        """Read `text`; `at` is where the reader is, in characters."""
        handlers: dict[str | None, Callable[[re.Match[str]], None]] = {
            kind: getattr(self, f"_{kind}") for kind in _TOKEN.groupindex
        }
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            if kind is None:
                continue
            self.at = match.start()
            if kind not in ("literal", "newline"):
                self.strings = 0
            handlers[kind](match)
        self._finish()

    def _check(self) -> None:
        levels = self.base + self.operators + self.postfixes + self.strings + 2 * self.unclosed
        if levels > self.deepest:
            self.deepest = levels
            if levels > MOST_LEVELS:
                raise _TooDeep(f"an expression of more than {MOST_LEVELS} levels")

    def _literal(self, match: re.Match[str]) -> None:
        literal = match[0]
        if literal[0] == "#":
            return
        self.strings += 1
        self._check()
        start = match.start()
        if is_formatted(match.string[max(0, start - 2) : start]):
            for field in replacement_fields(literal):
                self.unclosed += field[-1] != "}"
                if len(field) > _SHORT_FIELD:
                    self._field(field)

    def _field(self, field: str) -> None:
        inner = _Reader(
            self.base + self.operators + self.postfixes, self.brackets + len(self.outer)
        )
        inner.read(field)
        self.deepest = max(self.deepest, inner.deepest)
        self.most_brackets = max(self.most_brackets, inner.most_brackets)

    def _newline(self, match: re.Match[str]) -> None:
        if not self.outer:
            self._finish()

    def _finish(self) -> None:
        """End a statement and charge what it will cost to parse."""
        if self.deepest > 40:
            self.work += 9 * self.most_brackets**2 + self.deepest**2
            if self.work > MOST_WORK:
                raise _TooDeep("too many statements of many levels")
        self.deepest = self.most_brackets = 0
        self.operators = self.postfixes = self.strings = self.lambdas = self.unclosed = 0
        self.in_pattern = False

    def _statement(self, match: re.Match[str]) -> None:
        # No such word can stand in brackets: those that seem open are part of a string.
        if self.outer:
            self.base = self.outer[0][0]
            self.outer.clear()
        self._finish()

    def _branch(self, match: re.Match[str]) -> None:
        if self.outer:
            return
        word = match[0].lstrip()
        column = len(match[0]) - len(word)
        self.branches[column] = self.branches.get(column, 0) + 1 if word == "elif" else 0
        if self.branches[column] > MOST_ELIFS:
            raise _TooDeep(f"more than {MOST_ELIFS} elif in a row")

    def _postfix(self, match: re.Match[str]) -> None:
        self.postfixes += 1
        self._check()
        if match[0][-1] != ".":
            self._open(match)

    def _open(self, match: re.Match[str]) -> None:
        self.outer.append((self.base, self.operators, self.postfixes, self.lambdas))
        self.base += self.operators + self.postfixes + 1
        self.operators = self.postfixes = self.lambdas = 0
        brackets = self.brackets + len(self.outer)
        self.most_brackets = max(self.most_brackets, brackets)
        self._check()
        if brackets > MOST_BRACKETS:
            raise _TooDeep(f"more than {MOST_BRACKETS} open brackets")
        if self.in_pattern and len(self.outer) > MOST_IN_PATTERN:
            raise _TooDeep(f"a pattern or del with more than {MOST_IN_PATTERN} open brackets")

    def _close(self, match: re.Match[str]) -> None:
        if self.outer:
            self.base, self.operators, self.postfixes, self.lambdas = self.outer.pop()

    def _chain(self, match: re.Match[str]) -> None:
        self.operators += 1
        self.postfixes = 0
        self._check()

    def _nested(self, match: re.Match[str]) -> None:
        self.lambdas += 1
        self._chain(match)

    def _end(self, match: re.Match[str]) -> None:
        if not self.lambdas:
            self.operators = self.postfixes = 0

    def _colon(self, match: re.Match[str]) -> None:
        if self.lambdas:
            self.lambdas -= 1
        else:
            self.operators = self.postfixes = 0
            self._guard(match)

    def _pattern(self, match: re.Match[str]) -> None:
        self.in_pattern = not self.outer

    def _guard(self, match: re.Match[str]) -> None:
        if not self.outer:
            self.in_pattern = False
