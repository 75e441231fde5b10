"""The two kept files: how a finding is written down, and read again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Generic, TypeVar

from ecosystem import Stopped
from ecosystem.found import Found

DATA_CODES = ("GL101", "GL102", "GL103")
"""Uses of `.data`: there are hundreds, and one line of source shows whether they are right."""


class Mark(Enum):
    """What a reviewer says of a finding: it is true, it is a false alarm, nothing yet."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Review:
    """A mark and its reason, which only an open one can lack."""

    mark: Mark
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.mark.value}: {self.reason}" if self.reason else self.mark.value


OPEN = Review(Mark.OPEN)


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A line of findings.txt."""

    found: Found
    review: Review

    FORM = "path:line CODE symbol `flagged text` | right, wrong or open: reason"
    _PATTERN = re.compile(
        r"(.+):(\d+) (GL\d{3}) (?:(\S+) )?`([^`]*)` \| (right|wrong|open)(?:: (\S.*))?"
    )

    @classmethod
    def parse(cls, line: str) -> Reviewed:
        """Raises ValueError when `line` is no such line, or a reason is missing."""
        if not (parts := cls._PATTERN.fullmatch(line)):
            raise ValueError(f"a finding is `{cls.FORM}`")
        path, number, code, symbol, text, mark, reason = parts.groups()
        if mark != Mark.OPEN.value and not reason:
            raise ValueError(f"`{mark}` needs a reason: `| {mark}: why`")
        if code in DATA_CODES:
            raise ValueError(f"{code} belongs into {DATA.name}")
        found = Found(path, int(number), code, symbol or "", text)
        return cls(found, Review(Mark(mark), reason or ""))

    def __str__(self) -> str:
        found = self.found
        symbol = f"{found.symbol} " if found.symbol else ""
        return f"{found.path}:{found.line} {found.code} {symbol}`{found.text}` | {self.review}"

    def __lt__(self, other: Reviewed) -> bool:
        return self.found < other.found


@dataclass(frozen=True, slots=True, order=True)
class DataUses:
    """A line of data_findings.txt: where one file has findings of one code."""

    path: str
    code: str
    lines: tuple[int, ...]

    FORM = "path CODE line,line,..."
    _PATTERN = re.compile(rf"(.+) ({'|'.join(DATA_CODES)}) (\d+(?:,\d+)*)")

    @classmethod
    def parse(cls, line: str) -> DataUses:
        """Raises ValueError when `line` is no such line."""
        if not (parts := cls._PATTERN.fullmatch(line)):
            raise ValueError(f"a line is `{cls.FORM}`")
        return cls(parts[1], parts[2], tuple(map(int, parts[3].split(","))))

    def __str__(self) -> str:
        return f"{self.path} {self.code} {','.join(map(str, self.lines))}"


def data_uses(found: Iterable[Found]) -> list[DataUses]:
    """Those findings that are about `.data`, by file and code."""
    about_data = sorted((f.path, f.code, f.line) for f in found if f.code in DATA_CODES)
    return [
        DataUses(path, code, tuple(line for _, _, line in uses))
        for (path, code), uses in groupby(about_data, lambda use: use[:2])
    ]


# ------------------------------------------------------------------------------- whole files

Line = TypeVar("Line", Reviewed, DataUses)


@dataclass(frozen=True, slots=True)
class KeptFile(Generic[Line]):
    """A text file: a heading of comments, then a section for each package.

    A section is the package's title, then its lines, two spaces in. Git takes a title for a
    function, so its diffs say of each hunk which package it is about.
    """

    name: str
    heading: str
    parse_line: Callable[[str], Line]

    def parse(self, text: str) -> dict[str, list[Line]]:
        """The lines of each title. Raises Stopped with the number of a line that is malformed."""
        sections: dict[str, list[Line]] = {}
        for number, line in enumerate(text.split("\n"), 1):
            try:
                self._take(line, sections)
            except ValueError as error:
                raise Stopped(f"{self.name}:{number}: {error}, not {line!r}") from None
        return sections

    def _take(self, line: str, sections: dict[str, list[Line]]) -> None:
        if not line or line.startswith("#"):
            return
        if line.startswith("  "):
            if not sections:
                raise ValueError("a title, `name version`, comes first")
            list(sections.values())[-1].append(self.parse_line(line[2:]))
        elif not re.fullmatch(r"[a-z0-9-]+ \S+", line):
            raise ValueError("a title is `name version`, and all else is two spaces in")
        elif line in sections:
            raise ValueError("this package has a section already")
        else:
            sections[line] = []

    def text(self, sections: Mapping[str, Sequence[Line]]) -> str:
        """The whole file, sorted."""
        titled: list[str] = [_section(title, sections[title]) for title in sorted(sections)]
        return "\n\n".join([self.heading, *titled]) + "\n"


def _section(title: str, lines: Iterable[Line]) -> str:
    return "\n".join([title, *(f"  {line}" for line in sorted(lines))])


FINDINGS = KeptFile(
    "findings.txt",
    f"""\
# What gradlint finds in the packages of packages.txt; for GL101 to GL103 see data_findings.txt.
#
#     {Reviewed.FORM}
#
# `make ecosystem-update` writes what stands before the bar, a reviewer what stands behind it:
#     right     training goes wrong there, or may, as gradlint says
#     wrong     it does not: a false alarm
#     open      not reviewed yet; "was ..." recalls the review of what stood there before
# A review is kept while its path, code, symbol and text stay the same, wherever the line moves.""",
    Reviewed.parse,
)

DATA = KeptFile(
    "data_findings.txt",
    f"""\
# Where gradlint finds uses of `.data` in the packages of packages.txt: GL101 reads it, GL102
# assigns to it, GL103 changes it in place. `make ecosystem-update` writes this file.
#
#     {DataUses.FORM}""",
    DataUses.parse,
)
