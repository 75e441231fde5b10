"""Which sources are frozen, held by an optimizer, or kept by hand: reasons to lose gradient."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.facts.analysis import Analysis
from gradlint.facts.classes import ClassFacts
from gradlint.facts.effects import Effects
from gradlint.facts.paths import Path, covers, left_frozen
from gradlint.facts.values import ANY, SELF, Base, Source, Thing


class Intent:
    """What the file says about which parameters are meant to be trained."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._effects = [entry.effects for entry in analysis.entries]
        self._owners = {id(entry.effects): entry.cls for entry in analysis.entries}
        self._by_scope = {entry.node_id: entry.effects for entry in analysis.entries}
        self._constructions = {id(e.effects) for e in analysis.entries if e.name == "__init__"}

    # -------------------------------------------------------------------------- by instance

    def must_be_frozen(self, source: Source, cls: ClassFacts | None) -> bool:
        """Whether requires_grad of the source is set to False somewhere and left so."""
        for effects in self._effects:
            marks = [
                (path, mark.frozen)
                for mark in effects.marks
                for path in self._paths(effects, mark.base, mark.path, source.base, cls)
            ]
            if left_frozen(marks, source.path):
                return True
        return cls is not None and self._frozen_by_class(cls, source.path)

    def _frozen_by_class(self, cls: ClassFacts, path: Path) -> bool:
        """Whether the constructor of the class, or of the member on the path, freezes it."""
        marks = [(at, frozen) for mark, frozen in cls.marks for at in _listed_in(cls, mark)]
        if left_frozen(marks, path):
            return True
        member = cls.attributes.get(path[0]) if path else None
        thing = member.thing if member is not None else None
        inner = _classes_in(thing) - {cls} if thing is not None else set()
        return any(self._frozen_by_class(one, path[1:]) for one in inner)

    # ------------------------------------------------------------------------- by optimizer

    def may_be_optimized(self, source: Source, cls: ClassFacts | None) -> bool:
        """False when optimizers of the object are known, and none is known to hold the source."""
        held = list(self._held(source.base, cls))
        if held:
            return any(path is not None and covers(path, source.path) for path in held)
        return source.base != SELF or cls is None or not self._is_left_out(cls)

    def _is_left_out(self, cls: ClassFacts) -> bool:
        """Whether every instance of the class has a name, beside optimizers that hold others."""
        instances = [
            base
            for base, built in self._analysis.run.class_at.items()
            if built.node is cls.node and base.role == "variable"
        ]
        if not instances or not cls.must_be_module:
            return False
        return all(map(self._must_be_left_out, instances))

    def _must_be_left_out(self, base: Base) -> bool:
        """Whether optimizers that are made where the instance is hold others, and not it."""
        effects = self._by_scope.get(base.scope)
        if effects is None or not effects.optimized or not all(effects.optimized):
            return False
        return all(thing.base != base for things in effects.optimized for thing in things)

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
                    for path in self._paths(effects, thing.base, thing.path, base, cls):
                        yield None if ANY in path else path

    # ------------------------------------------------------------------------------ by hand

    def must_be_written(
        self, source: Source, cls: ClassFacts | None, as_a_whole: bool = False
    ) -> bool:
        """True when something else than a gradient trains it.

        The file sets it from other tensors (moving averages, target networks), or its constructor
        loads it and calls eval() on it.
        """
        return any(
            covers(path, source.path) and not (as_a_whole and len(path) > len(source.path))
            for effects in self._effects
            for written in effects.written | (effects.loaded & effects.set_to_eval)
            for path in self._paths(effects, written.base, written.path, source.base, cls)
        )

    # --------------------------------------------------------------------- the same object

    def _paths(
        self, effects: Effects, base: Base, path: Path, wanted: Base, cls: ClassFacts | None
    ) -> list[Path]:
        """`base.path`, seen in these effects, as paths from the object at `wanted`.

        That object is of class `cls`, where this is known: then self in a method of the class is
        the same object, and `self.model` of another class may be. None of it: no paths.
        """
        owner = self._owners.get(id(effects))
        if base == SELF and owner is not None and cls is not None:
            if id(effects) in self._constructions and owner is not cls and owner.node is cls.node:
                return []  # what it does with the arguments that this object was given is known
            if owner in cls.lineage or cls in owner.lineage or owner.node is cls.node:
                return _listed_in(owner, path)
            return [path[1:]] if _holds(owner, path, cls) else []
        if base == wanted and base != SELF:
            return [path]
        if wanted == SELF and cls is not None:
            found = self._analysis.run.class_at.get(base)
            if found is None and base.role == "argument" and path:
                return [path]  # `model.encoder` of who knows what: it may be this one
            return [path] if found is not None and found.node is cls.node else []
        return []


def _listed_in(owner: ClassFacts, path: Path) -> list[Path]:
    """`self.frozen`, a list of layers, as the layers that are in it; another path as it is."""
    value = owner.attributes.get(path[0]) if path else None
    things = [item.thing for item in (value.items or ())] if value is not None else []
    listed = [(*thing.path, *path[1:]) for thing in things if thing is not None]
    return [*listed, path]


def _classes_in(thing: Thing) -> set[ClassFacts]:
    """The class of an object, and those of what it is known to hold."""
    known = (thing.cls, thing.element, *(link.cls for link in thing.chain))
    return {cls for cls in known if cls is not None}


def _holds(owner: ClassFacts, path: Path, cls: ClassFacts) -> bool:
    """Whether the first attribute of the path, in `owner`, is an instance of `cls`."""
    member = owner.attributes.get(path[0]) if path else None
    held = member.thing.cls if member is not None and member.thing is not None else None
    return held is not None and held.node is cls.node
