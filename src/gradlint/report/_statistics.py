"""How often each rule was broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradlint.engine import Result


def statistics(result: Result) -> Iterator[str]:
    """Yields `count code name`, the most frequent first."""
    counts = Counter((finding.code, finding.rule) for finding in result.findings)
    width = len(str(max(counts.values(), default=0)))
    for (code, rule), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count:>{width}} {code} {rule}"
