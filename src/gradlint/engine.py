"""From source text to sorted findings: gate, parse, rules, suppressions, for each file in turn."""

from __future__ import annotations

import gc
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlint import rules, suppressions
from gradlint.config import Settings
from gradlint.findings import Spans, finding, places, split_lines, united, with_fingerprints
from gradlint.model import Confidence, Finding, Report, Severity, Span
from gradlint.rules import Rule
from gradlint.selection import NOT_ANALYSED, enabled
from gradlint.sources.errors import NotAnalysed
from gradlint.sources.gate import can_matter
from gradlint.syntax.stack import on_big_stack

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

Cell = tuple[str, int | None]
"""A path, and the number of a code cell where the path is a notebook's."""


_FILES_BETWEEN_COLLECTIONS = 60


@dataclass(frozen=True, slots=True)
class Job:
    """One file to check: `path` as it is reported, and how to get its text."""

    path: str
    settings: Settings
    read: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Result:
    """What a run has found.

    `problems` are crashes of the linter itself, as sentences. `files` counts the files looked at
    and `failing` the findings that reach their file's `fail-on`. `sources` holds the text of every
    file with findings.
    """

    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()
    files: int = 0
    failing: int = 0
    sources: Mapping[Cell, str] = field(default_factory=dict)

    def lines(self, path: str, cell: int | None) -> Sequence[str]:
        """The lines of a file (or cell) that has findings; none of another."""
        source = self.sources.get((path, cell))
        return [] if source is None else split_lines(source)


def shown_path(path: Path) -> str:
    """`path` as it is reported: with `/`, and relative to the working directory if below it."""
    full, here = os.path.abspath(path), os.getcwd()
    # A working directory reached through a link is known by its real name only.
    for candidate in (full, os.path.join(os.path.realpath(path.parent), path.name)):
        if candidate.startswith(os.path.join(here, "")):
            return os.path.relpath(candidate, here).replace(os.sep, "/")
    return full.replace(os.sep, "/")


def check_source(source: str, path: str, settings: Settings | None = None) -> list[Finding]:
    """The findings in one source text, sorted by line, column and code.

    Without `settings` the defaults hold. An exception of a rule comes through.
    """
    known = settings or Settings(enabled(rules.all_rules(), ()))
    return on_big_stack(_check, source.removeprefix("\ufeff"), path, known, None)


def check_files(jobs: Iterable[Job], progress: Callable[[int], None] = lambda done: None) -> Result:
    """Checks every file and calls `progress` with the number of files that are done.

    A rule that crashes is named in the result's `problems` and spares all other findings.
    """
    run = _Run(progress)
    on_big_stack(run.check_all, jobs)
    return run.result()


class _Run:
    """Goes through files and gathers what is found."""

    def __init__(self, progress: Callable[[int], None]) -> None:
        self._progress = progress
        self._files = 0
        self._failing = 0
        self._findings: list[Finding] = []
        self._problems: list[str] = []
        self._sources: dict[Cell, str] = {}

    def check_all(self, jobs: Iterable[Job]) -> None:
        """Checks the file of every job."""
        with _collecting_seldom() as collect:
            for job in jobs:
                self._progress(self._files)
                self._files += 1
                self._check(job)
                collect()

    def _check(self, job: Job) -> None:
        try:
            source = job.read().removeprefix("\ufeff")
        except NotAnalysed as error:
            self._add("", job.settings, [_not_analysed(error, job.path, "", job.settings)])
        except OSError as error:
            self._add("", job.settings, [_not_analysed(_unread(error), job.path, "", job.settings)])
        except Exception as error:
            _note(self._problems, error, f"{job.path}: reading it crashed")
        else:
            found = _check(source, job.path, job.settings, self._problems)
            self._add(source, job.settings, found)

    def _add(self, source: str, settings: Settings, findings: list[Finding]) -> None:
        self._findings += findings
        if source:
            self._sources.update({(found.path, found.cell): source for found in findings})
        self._failing += sum(
            found.severity is Severity.ERROR or settings.fail_on is Severity.WARNING
            for found in findings
        )

    def result(self) -> Result:
        """What was found so far."""
        findings = sorted(self._findings, key=lambda found: found.sort_key)
        problems = tuple(self._problems)
        return Result(tuple(findings), problems, self._files, self._failing, self._sources)


@contextmanager
def _collecting_seldom() -> Iterator[Callable[[], None]]:
    """The garbage collector off, but for a call after every so many files.

    A tree is many objects that all live until its file is done: looking at them again and again
    finds nothing and takes a tenth of the run.
    """
    since, was_enabled = count(1), gc.isenabled()
    gc.disable()
    try:
        yield lambda: _collect_at(next(since))
    finally:
        if was_enabled:
            gc.enable()


def _collect_at(files: int) -> None:
    if files % _FILES_BETWEEN_COLLECTIONS == 0:
        gc.collect()


def _check(source: str, path: str, settings: Settings, problems: list[str] | None) -> list[Finding]:
    """The findings of one text; crashes go to `problems`, or come through when that is None."""
    try:
        found, ran = _analyse(source, path, settings.rules_for(Path(path)), problems)
    except NotAnalysed as error:
        return [_not_analysed(error, path, source, settings)]
    except (RecursionError, MemoryError):
        return [_not_analysed(_too_deep(), path, source, settings)]
    except Exception as error:
        _note(problems, error, f"{path}: the analysis crashed")
        return []
    named = with_fingerprints(united(found), source)
    known = rules.all_rules()
    silencing = suppressions.read(source, known)
    left, unused = suppressions.apply(named, silencing, known, ran, path)
    left += with_fingerprints(unused, source)
    shown = (f for f in left if f.confidence.rank >= settings.min_confidence.rank)
    return sorted(_with_severity(shown, settings), key=lambda found: found.sort_key)


def _analyse(
    source: str, path: str, on: Sequence[Rule], problems: list[str] | None
) -> tuple[list[Finding], list[Rule]]:
    """The findings before suppression, and the rules that did not crash."""
    triggers = sorted({trigger for rule in on for trigger in rule.triggers})
    if not triggers or not can_matter(source, triggers):
        return [], list(on)
    # libcst is slow to import, and many a run needs it for no file.
    from gradlint.facts.unit import Unit
    from gradlint.syntax import shape, tree

    shape.check(source)
    parsed = tree.parse(source)
    unit = Unit([parsed], triggers)
    reports: list[tuple[Rule, Report]] = []
    ran = []
    for rule in on:
        said, is_complete = _ask(rule, unit, path, problems)
        reports += ((rule, report) for report in said)
        ran += [rule] if is_complete else []
    nodes: list[Any] = [
        node
        for _, report in reports
        for place in places(report)
        for node in (place.node, place.statement)
    ]
    spans = Spans(parsed.locate(nodes) if nodes else {})
    return [finding(rule, report, path, spans) for rule, report in reports], ran


def _ask(
    rule: Rule, unit: Unit, path: str, problems: list[str] | None
) -> tuple[list[Report], bool]:
    """What a rule reports, and whether it came to its end."""
    reports: list[Report] = []
    try:
        reports.extend(rule.check(unit))
    except (NotAnalysed, RecursionError, MemoryError):
        raise
    except Exception as error:
        _note(problems, error, f"{path}: rule {rule.code} crashed")
        return reports, False
    return reports, True


def _note(problems: list[str] | None, error: Exception, what: str) -> None:
    """Adds a crash to the problems, or raises it again when nobody keeps them."""
    if problems is None:
        raise error
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    problems.append(f"{what}: {type(error).__name__}: {error} (at {where})")


def _with_severity(findings: Iterable[Finding], settings: Settings) -> Iterator[Finding]:
    for found in findings:
        yield replace(found, severity=settings.severity.get(found.code, found.severity))


def _unread(error: OSError) -> NotAnalysed:
    reason = error.strerror or str(error)
    return NotAnalysed(f"the file cannot be read: {reason}", "make it readable, or exclude it")


def _too_deep() -> NotAnalysed:
    return NotAnalysed(
        "the code is too deeply nested, or too large, to be analysed",
        "split up its deepest expression or function",
    )


def _not_analysed(error: NotAnalysed, path: str, source: str, settings: Settings) -> Finding:
    span = Span(error.line, error.column, error.line, error.column + 1)
    found = Finding(
        code=NOT_ANALYSED,
        rule="not-analysed",
        severity=settings.severity.get(NOT_ANALYSED, Severity.ERROR),
        confidence=Confidence.HIGH,
        path=path,
        span=span,
        message=error.message,
        why="Nothing in this file was checked.",
        help=error.help,
    )
    return with_fingerprints([found], source)[0]
