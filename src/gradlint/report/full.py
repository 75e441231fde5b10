"""The format for people: every finding with its source, its reason and its remedy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from gradlint.model import Finding, Related, Severity
from gradlint.report._excerpt import Mark, excerpt
from gradlint.report._text import counted, paint, plain, position

if TYPE_CHECKING:
    from gradlint.engine import Result
    from gradlint.report import Look


def render(result: Result, look: Look) -> Iterator[str]:
    """Yields a block for each finding, an empty line after each, and a summary."""
    for finding in result.findings:
        yield from _block(finding, result, look.colour)
        yield ""
    if look.summary:
        yield paint(summary(result), "strong", look.colour)


def _block(finding: Finding, result: Result, colour: bool) -> Iterator[str]:
    level = finding.severity.value
    head = paint(f"{position(finding)}:", "strong", colour)
    code = paint(f"{level}[{finding.code}]", level, colour)
    yield f"{head} {code} {plain(finding.message)}"
    here = [note for note in finding.related if note.path == finding.path]
    marks = [Mark(finding.span, finding.label, level, "^"), *map(_mark, here)]
    yield from excerpt(result.lines(finding.path, finding.cell), marks, colour)
    elsewhere = [note for note in finding.related if note.path != finding.path]
    for path, notes in groupby(sorted(elsewhere, key=_path), key=_path):
        yield from _elsewhere(path, list(notes), result, colour)
    yield from _advice("why", finding.why, colour)
    yield from _advice("fix", finding.help, colour)


def _elsewhere(path: str, notes: list[Related], result: Result, colour: bool) -> Iterator[str]:
    lines = result.lines(path, None)
    for note in notes if not lines else notes[:1]:
        text = "" if lines else f": {plain(note.message)}"
        yield f"  --> {plain(path)}:{note.span.line}:{note.span.column}{text}"
    yield from excerpt(lines, [_mark(note) for note in notes], colour)


def _path(note: Related) -> str:
    return note.path


def _mark(note: Related) -> Mark:
    return Mark(note.span, note.message, "note")


def _advice(name: str, text: str, colour: bool) -> Iterator[str]:
    for number, line in enumerate(text.splitlines()):
        lead = paint(f"{name}:", "note", colour) if number == 0 else " " * (len(name) + 1)
        yield f"  {lead} {plain(line)}"


def summary(result: Result) -> str:
    """How many findings there are, in how many files, of how many."""
    errors = sum(finding.severity is Severity.ERROR for finding in result.findings)
    counts = ((errors, "error"), (len(result.findings) - errors, "warning"))
    checked = counted(result.files, "file")
    if result.findings:
        found = " and ".join(counted(number, noun) for number, noun in counts if number)
        files = counted(len({finding.path for finding in result.findings}), "file")
        return f"Found {found} in {files} ({result.files} checked)."
    if result.problems:
        return f"Found nothing, but the check is incomplete ({checked} checked)."
    return f"All clear: {checked} checked."
