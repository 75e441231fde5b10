"""A piece of source with its line numbers, and several places underlined and labelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradlint.model import Span
from gradlint.report._text import display, paint, plain

_WIDTH = 100
"""Columns of source that are shown of one line."""

_LEAD = 20
"""Columns that stay visible before a mark in a line that is clipped."""

_WHOLE = 4
"""A span of more lines than this is shown by its first and last one."""

_NEAR = 9
"""More lines than this left out between two marks are shown as `...`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to underline, what to say there, and the style to say it in."""

    span: Span
    label: str
    style: str
    sign: str = "-"


@dataclass(frozen=True, slots=True)
class _Underline:
    """The part of a mark that lies in one line; columns from 0."""

    line: int
    start: int
    end: int
    label: str
    mark: Mark

    @property
    def is_empty(self) -> bool:
        """Whether it is an empty line in the middle of a mark."""
        return self.end <= self.start and not self.label and self.line != self.mark.span.line


def excerpt(lines: Sequence[str], marks: Sequence[Mark], colour: bool) -> Iterator[str]:
    """Yields the marked lines, each above its underlines. Marks outside `lines` are left out."""
    underlines = [part for mark in marks for part in _parts(mark, lines)]
    numbers = sorted({part.line for part in underlines})
    gutter = max(5, len(str(numbers[-1])) + 2) if numbers else 0
    for before, number in zip([None, *numbers], numbers, strict=False):
        if before is not None and _is_far(before, number, marks):
            yield paint(f"{'...':>{gutter}}", "faint", colour)
        here = sorted((p for p in underlines if p.line == number), key=lambda part: part.start)
        yield from _annotated(f"{number:>{gutter}}", lines[number - 1], here, colour)


def _is_far(before: int, after: int, marks: Sequence[Mark]) -> bool:
    left_out = after - before - 1
    inside = any(mark.span.line <= before and after <= mark.span.end_line for mark in marks)
    return left_out > (0 if inside else _NEAR)


def _parts(mark: Mark, lines: Sequence[str]) -> Iterator[_Underline]:
    first, last = mark.span.line, mark.span.end_line
    if last > first and mark.span.end_column == 1:
        last -= 1
    if not 1 <= first <= len(lines):
        return
    last = min(last, len(lines))
    shown = range(first, last + 1) if last - first < _WHOLE else (first, last)
    for number in shown:
        text = lines[number - 1]
        start = mark.span.column - 1 if number == first else len(text) - len(text.lstrip())
        ends_here = number == mark.span.end_line
        end = mark.span.end_column - 1 if ends_here else len(text.rstrip())
        yield _Underline(number, start, end, mark.label if number == last else "", mark)


def _annotated(
    number: str, line: str, underlines: Sequence[_Underline], colour: bool
) -> Iterator[str]:
    focus = next((part for part in underlines if part.mark.sign == "^"), underlines[0])
    text, columns = _clip(line, focus.start)
    bar = paint("|", "faint", colour)
    yield f"{paint(number, 'faint', colour)} {bar} {text}".rstrip()
    for part in underlines:
        if part.is_empty:
            continue
        start, end = (columns[min(max(at, 0), len(line))] for at in (part.start, part.end))
        sign = part.mark.sign * max(end - start, 1)
        note = f"{sign} {plain(part.label)}".rstrip()
        yield f"{' ' * len(number)} {bar} {' ' * start}{paint(note, part.mark.style, colour)}"


def _clip(line: str, focus: int) -> tuple[str, list[int]]:
    """A line of at most `_WIDTH` columns around the character `focus`.

    Returns it with the column of every character of the whole line; those cut off lie at its ends.
    """
    pieces, columns = display(line)
    if columns[-1] <= _WIDTH:
        return "".join(pieces), columns
    left = max(0, min(columns[min(focus, len(line))] - _LEAD, columns[-1] - _WIDTH))
    left = left if left > 3 else 0
    shown = [i for i in range(len(line)) if left <= columns[i] and columns[i + 1] <= left + _WIDTH]
    start, stop = columns[shown[0]], columns[shown[-1] + 1]
    head, tail = ("..." if left else ""), ("..." if stop < columns[-1] else "")
    text = head + "".join(pieces[shown[0] : shown[-1] + 1]) + tail
    return text, [min(max(column, start), stop) - start + len(head) for column in columns]
