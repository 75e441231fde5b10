"""Which review belongs to which finding, when the findings are made anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from ecosystem.found import Found
from ecosystem.kept import DATA_CODES, OPEN, Mark, Review, Reviewed


def reviewed(
    found: Iterable[Found], kept: Iterable[Reviewed], same_version: bool
) -> list[Reviewed]:
    """Those findings that need a review, each with the one of its equal in `kept`, or open.

    Equal are the path, the code, the symbol and the flagged text. In the same version of a package
    the line is equal too: another line with the same text is another finding. In another version
    lines move, so equal findings are taken in their order, if they are as many as before.
    """
    return list(_reviewed(found, kept, same_version))


def _reviewed(
    found: Iterable[Found], kept: Iterable[Reviewed], same_version: bool
) -> Iterator[Reviewed]:
    def key(finding: Found) -> Hashable:
        return replace(finding, line=finding.line if same_version else 0)

    before: defaultdict[Hashable, list[Reviewed]] = defaultdict(list)
    for old in sorted(kept):
        before[key(old.found)].append(old)
    now: defaultdict[Hashable, list[Found]] = defaultdict(list)
    for new in sorted(found):
        if new.code not in DATA_CODES:
            now[key(new)].append(new)
    unsure: list[Found] = []
    for equal, findings in now.items():
        if len(before[equal]) == len(findings):
            for new, old in zip(findings, before.pop(equal), strict=True):
                yield Reviewed(new, old.review)
        else:
            unsure += findings
    yield from _reopened(unsure, [old for group in before.values() for old in group])


def _reopened(findings: Iterable[Found], vanished: Iterable[Reviewed]) -> Iterator[Reviewed]:
    """The findings as open ones, that recall what was said of the same function before."""
    reviews: defaultdict[Hashable, list[Review]] = defaultdict(list)
    for old in vanished:
        reviews[_function(old.found)].append(old.review)
    for new in findings:
        earlier = reviews[_function(new)]
        yield Reviewed(new, _recalled(earlier.pop(0)) if earlier else OPEN)


def _function(found: Found) -> Hashable:
    return (found.path, found.code, found.symbol)


def _recalled(review: Review) -> Review:
    return review if review.mark is Mark.OPEN else Review(Mark.OPEN, f"was {review}")
