"""Paths of attributes: which lead to the same object, and what marks on them leave frozen."""

from __future__ import annotations

from collections.abc import Iterable

from gradlint.facts.values import ANY

Path = tuple[str, ...]


def covers(one: Path, other: Path) -> bool:
    """True when one path is the other, or leads to it or from it."""
    return all(a == b or ANY in (a, b) for a, b in zip(one, other, strict=False))


def left_frozen(marks: Iterable[tuple[Path, bool]], path: Path) -> bool:
    """Whether the last mark at or above `path` freezes it, or any mark freezes a part of it."""
    frozen = False
    for at, value in marks:
        if covers(at, path) and (value or len(at) <= len(path)):
            frozen = value
    return frozen
