"""Which sources are frozen, held by an optimizer, or kept by hand: reasons to lose gradient."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradlint.facts.analysis import Analysis
from gradlint.facts.classes import ClassFacts
from gradlint.facts.state import Effects
from gradlint.facts.values import ANY, SELF, Base, Source

Path = tuple[str, ...]
Marks = list[tuple[Path, bool]]


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


class Intent:
    """What the file says about which parameters are meant to be trained."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._effects = [entry.effects for entry in analysis.entries]

    # -------------------------------------------------------------------------- by instance

    def must_be_frozen(self, source: Source, cls: ClassFacts | None) -> bool:
        """Whether requires_grad of the source is set to False somewhere and left so."""
        for effects in self._effects:
            if left_frozen(self._marks_on(effects, source.base, cls), source.path):
                return True
        if cls is None:
            cls = self._analysis.run.class_at.get(source.base)
        return cls is not None and self._frozen_by_class(cls, source.path)

    def _marks_on(self, effects: Effects, base: Base, cls: ClassFacts | None) -> Marks:
        """Marks on the object at `base`, and on other objects of its class, from the object on."""
        return [
            (mark.path, mark.frozen)
            for mark in effects.marks
            if self._is_same(effects, mark.base, base, cls)
        ]

    def _is_same(self, effects: Effects, one: Base, base: Base, cls: ClassFacts | None) -> bool:
        """Whether `one`, in these effects, is the object at `base`, or another of its class."""
        if one == base:
            return base != SELF or self._is_of(effects, cls)
        return cls is not None and self._has_class(one, cls)

    def _is_of(self, effects: Effects, cls: ClassFacts | None) -> bool:
        """Whether self, in these effects, may be an instance of `cls`."""
        if cls is None:
            return True
        owners = [e.cls for e in self._analysis.entries if e.effects is effects]
        return any(
            owner is not None and (owner in cls.lineage or cls in owner.lineage) for owner in owners
        )

    def _has_class(self, base: Base, cls: ClassFacts) -> bool:
        found = self._analysis.run.class_at.get(base)
        return found is not None and found.node is cls.node

    def _frozen_by_class(self, cls: ClassFacts, path: Path) -> bool:
        """Whether the constructor of the class, or of the member on the path, freezes it."""
        if left_frozen(cls.marks, path):
            return True
        member = cls.attributes.get(path[0]) if path else None
        thing = member.thing if member is not None else None
        inner = thing.cls or thing.element if thing is not None else None
        return inner is not None and inner is not cls and self._frozen_by_class(inner, path[1:])

    # ------------------------------------------------------------------------- by optimizer

    def may_be_optimized(self, source: Source, cls: ClassFacts | None) -> bool:
        """False when optimizers of the object are known, and none is known to hold the source."""
        held = list(self._held(source.base, cls))
        return not held or any(path is not None and covers(path, source.path) for path in held)

    def must_be_optimized(self, source: Source, cls: ClassFacts | None) -> bool:
        """True when an optimizer is known to hold it."""
        held = self._held(source.base, cls)
        return any(path is not None and covers(path, source.path) for path in held)

    def _held(self, base: Base, cls: ClassFacts | None) -> Iterator[Path | None]:
        """Paths of the object that optimizers hold; None for an optimizer of unknown contents."""
        for effects in self._effects:
            for things in effects.optimized:
                if not things:
                    yield None
                for thing in things:
                    if self._is_same(effects, thing.base, base, cls):
                        yield None if ANY in thing.path else thing.path

    # ------------------------------------------------------------------------------ by hand

    def must_be_written(self, source: Source, cls: ClassFacts | None) -> bool:
        """True when the file sets it from other tensors: moving averages, target networks."""
        return any(
            covers(written.path, source.path)
            and self._is_same(effects, written.base, source.base, cls)
            for effects in self._effects
            for written in effects.written
        )
