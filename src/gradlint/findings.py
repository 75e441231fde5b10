"""From what rules report to findings: with lines, one for each code and line, and fingerprints."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Finding, Place, Related, Report, Severity, Span

if TYPE_CHECKING:
    from gradlint.rules import Rule

_LONG_STATEMENT = 200
_LINE_END = re.compile(r"\r\n|\r|\n")


def split_lines(source: str) -> list[str]:
    """The lines of `source` as Python counts them, without their ends."""
    return _LINE_END.split(source)


def places(report: Report) -> Iterator[Place]:
    """Every place that a report speaks of."""
    yield report.at
    for label in report.related:
        yield label.place


@dataclass(frozen=True, slots=True)
class Spans:
    """Where the nodes of a file stand, by their id()."""

    by_id: Mapping[int, Span]

    def of(self, place: Place) -> Span:
        """Raises: KeyError when the place lies in no tree of the file."""
        return self.by_id[id(place.node)]

    def lines(self, place: Place) -> range:
        """The lines of a place's statement, where a suppression counts.

        Of a statement with a body only the header counts, not the whole block.
        """
        span = self.of(place)
        statement = self.by_id.get(id(place.statement), span)
        has_block = not isinstance(getattr(place.statement, "body", ()), Sequence)
        end = statement.line if has_block else statement.end_line
        first, last = min(span.line, statement.line), max(span.end_line, end)
        if last - first > _LONG_STATEMENT:  # a table of thousands of lines, with a finding in each
            first, last = span.line, span.end_line
        return range(first, last + 1)


def finding(rule: Rule, report: Report, path: str, spans: Spans) -> Finding:
    """The finding that a report of `rule` becomes.

    Raises: KeyError when one of its places lies in no tree of the file.
    """
    related = tuple(Related(path, spans.of(r.place), r.message) for r in report.related)
    return Finding(
        code=rule.code,
        rule=rule.slug,
        severity=report.severity or rule.severity,
        confidence=report.confidence or rule.confidence,
        path=path,
        span=spans.of(report.at),
        message=report.message,
        why=report.why,
        help=report.help,
        symbol=report.symbol,
        label=report.label,
        parameters=report.parameters,
        related=related,
        silenced_by=frozenset(spans.lines(report.at)) | {note.span.line for note in related},
    )


def united(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in order, those of one code on one line made one."""
    by_line: dict[tuple[str, int, bool], Finding] = {}
    for found in sorted(findings, key=lambda found: found.sort_key):
        key = (found.code, found.span.line, found.confidence is Confidence.LOW)
        by_line[key] = _unite(by_line[key], found) if key in by_line else found
    return list(by_line.values())


def _unite(first: Finding, other: Finding) -> Finding:
    also = () if other.span == first.span else (Related(other.path, other.span, "also here"),)
    return replace(
        first,
        severity=Severity.ERROR
        if Severity.ERROR in (first.severity, other.severity)
        else Severity.WARNING,
        confidence=max(first.confidence, other.confidence, key=lambda confidence: confidence.rank),
        parameters=tuple(dict.fromkeys(first.parameters + other.parameters)),
        related=tuple(dict.fromkeys(first.related + also + other.related)),
        silenced_by=first.silenced_by | other.silenced_by,
    )


def with_fingerprints(findings: Iterable[Finding], source: str) -> list[Finding]:
    """The findings, each with a name that survives edits elsewhere in its file."""
    lines = split_lines(source)
    seen: Counter[tuple[str, ...]] = Counter()
    named = []
    for found in findings:
        key = (found.path, found.code, found.symbol, _flagged(found.span, lines))
        digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode("utf-8", "surrogatepass"))
        seen[key] += 1
        named.append(replace(found, fingerprint=digest.hexdigest()))
    return named


def _flagged(span: Span, lines: Sequence[str]) -> str:
    """The text of `span` without white space."""
    text = list(lines[span.line - 1 : span.end_line])
    if len(text) == span.end_line - span.line + 1:
        text[-1] = text[-1][: span.end_column - 1]
    if text:
        text[0] = text[0][span.column - 1 :]
    return "".join("".join(text).split())
