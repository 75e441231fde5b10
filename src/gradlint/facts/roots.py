"""Which parameters starve: cut at a root, and live neither there nor anywhere else.

A root is what forward or training_step returns, and the receiver of backward().
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from gradlint.facts.analysis import Analysis, Entry
from gradlint.facts.classes import ClassFacts
from gradlint.facts.effects import Backward, Step
from gradlint.facts.freezing import Intent
from gradlint.facts.interpreter import Summary
from gradlint.facts.paths import covers
from gradlint.facts.values import (
    NOTHING,
    SELF,
    Base,
    Cut,
    Inflow,
    Live,
    Origin,
    Severed,
    Source,
    Value,
    flat,
)
from gradlint.knowledge.training import BUILDERS, ROOT_METHODS
from gradlint.model import MODES, Place, Trainable


@dataclass(frozen=True, slots=True, eq=False)
class Starved:
    """One cut with the sources that it starves, at one root."""

    cut: Cut
    lost: tuple[Severed, ...]
    owner: ClassFacts | None
    root: str
    root_place: Place | None
    survivors: frozenset[str]
    decorates: str = ""

    def under_decorator(self, cls: ClassFacts, name: str) -> Starved:
        """The same, said of the root method `name` of `cls`, if `cls` itself loses parameters."""
        is_own = self.owner is not None and cls.node in [c.node for c in self.owner.lineage]
        if is_own or any(severed.inside for severed in self.lost):
            return replace(self, decorates=name)
        return self

    @property
    def is_told(self) -> bool:
        """Whether a rule speaks of it: a block in which everything runs is no mistake by itself."""
        if self.cut.cause not in MODES or self.decorates or self.survivors:
            return True
        return any(
            not s.inside or (isinstance(s.origin, Source) and s.origin.is_parameter)
            for s in self.lost
        )

    @property
    def is_sure(self) -> bool:
        """Whether any of what is lost must be trainable."""
        return any(
            isinstance(s.origin, Source) and s.origin.trainable is Trainable.YES for s in self.lost
        )


class Roots:
    """Finds what starves in one file."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        if self._may_starve():
            analysis.complete()  # what trains them otherwise, or freezes them, may be anywhere
            self._found = tuple(self._once())
        else:
            self._found = ()

    @cached_property
    def _intent(self) -> Intent:
        return Intent(self._analysis)

    def _may_starve(self) -> bool:
        """Whether any root by itself has lost a source."""
        values = [b.value for entry in self._analysis.entries for b in entry.effects.backwards]
        values += [summary.returned for summary in self._analysis.relevant_roots()]
        return any(map(_has_lost, values))

    def may_be_meant_to_train(self, source: Source, inside: ClassFacts | None) -> bool:
        """Whether nothing says that the source is frozen, kept by hand, or in no optimizer."""
        self._analysis.complete()
        at = self._analysis.run.class_at
        cls = inside if source.base == SELF else at.get(source.base)
        return self._is_meant_to_train(source, cls, as_a_whole=True)

    def must_be_frozen(self, source: Source, inside: ClassFacts | None) -> bool:
        """Whether requires_grad of a source is set to False; `inside` is the class of self."""
        self._analysis.complete()
        at = self._analysis.run.class_at
        cls = inside if source.base == SELF else at.get(source.base)
        return self._intent.must_be_frozen(source, cls)

    def entries_without_callers(self) -> list[Entry]:
        """Entries that no other entry runs: their callers know more than they do."""
        entries = self._analysis.entries
        called: set[int] = set()
        for entry in entries:
            called |= entry.effects.reached - {entry.node_id}
        return [entry for entry in entries if entry.node_id not in called]

    def starved(self) -> tuple[Starved, ...]:
        """Everything that starves, classes first; one cut is told once."""
        return self._found

    def _once(self) -> Iterator[Starved]:
        best: dict[object, Starved] = {}
        decorated = {node: (cls, name) for node, cls, name in self._decorated_roots()}
        for found in self._all():
            key = found.cut.key
            if key in decorated:
                found = found.under_decorator(*decorated[key])
            if key not in best or (found.is_sure and not best[key].is_sure):
                best[key] = found
        yield from best.values()

    def _all(self) -> Iterator[Starved]:
        for cls in self._analysis.classes:
            if cls.must_be_function:
                continue
            if cls.must_be_module:
                for name in ROOT_METHODS:
                    yield from self._of_method(cls, name)
            yield from self._of_steps(cls)
        yield from self._of_script()

    def _decorated_roots(self) -> Iterator[tuple[object, ClassFacts, str]]:
        """The decorators of root methods: a mode there is a statement about the whole method."""
        for cls in self._analysis.classes:
            for name in ROOT_METHODS if cls.must_be_module else ():
                if name in cls.methods:
                    for decorator in cls.methods[name].decorators:
                        yield decorator, cls, f"{cls.name}.{name}"

    # ------------------------------------------------------------------------- by class

    def cut_sources(self, cls: ClassFacts, name: str) -> set[Source]:
        """The bare facts at a root method: sources that are cut there and not live there."""
        summary = self._analysis.method(cls, name)
        if summary is None:
            return set()
        live, cut = flat(summary.returned)
        alive = _paths(live | summary.effects.escapes, SELF)
        return {
            severed.origin
            for severed in cut
            if isinstance(severed.origin, Source)
            and severed.origin.base == SELF
            and not _is_alive(severed.origin, alive)
        }

    def _of_method(self, cls: ClassFacts, name: str) -> Iterator[Starved]:
        summary = self._analysis.method(cls, name)
        if summary is None:
            return
        live, cut = flat(summary.returned)
        alive = self._alive_in(cls, [summary], live)
        lost = [s for s in cut if self._starves(s, SELF, alive, cls)]
        yield from _grouped(lost, cls, None, _names(alive))

    def _of_steps(self, cls: ClassFacts) -> Iterator[Starved]:
        """Methods that call backward(): the parts of self that no backward in them reaches."""
        steps = [s for s in self._uncalled(cls) if any(s.effects.backwards)]
        alive = self._alive_in(cls, steps, NOTHING)
        for summary in steps:
            for backward, step in summary.effects.backwards_with_steps:
                if backward.may_fail:
                    continue
                _, cut = flat(backward.value)
                lost = [
                    s
                    for s in cut
                    if self._starves(s, SELF, alive, cls) and _may_train(step, s.origin)
                ]
                yield from _grouped(lost, cls, backward, _names(alive))

    def _uncalled(self, cls: ClassFacts) -> list[Summary]:
        """Summaries of the methods that no other method of the class calls."""
        found = {}
        for name in cls.method_names():
            method = cls.method(name)
            summary = self._analysis.method(cls, name)
            if name not in BUILDERS and method is not None and summary is not None:
                found[id(method[1])] = summary
        called = {
            inner
            for node_id, summary in found.items()
            for inner in summary.effects.reached - {node_id}
        }
        return [summary for node_id, summary in found.items() if node_id not in called]

    def _alive_in(self, cls: ClassFacts, roots: list[Summary], live: Live) -> set[tuple[str, ...]]:
        """Paths of self that train through the roots, `live` among them, or may otherwise."""
        reached = set().union(*(root.effects.reached for root in roots))
        leaving: set[Origin] = set(live)
        for root in roots:
            leaving |= root.effects.escapes
            for backward in root.effects.backwards:
                leaving |= flat(backward.value)[0]
        for name in cls.method_names():
            found = cls.method(name)
            if name in BUILDERS or found is None or id(found[1]) in reached:
                continue
            summary = self._analysis.method(cls, name)
            if summary is not None:
                leaving |= _leaving(summary)
        leaving |= self._stored_in(cls, leaving)
        return _paths(leaving, SELF) | self._used_outside(cls)

    def _stored_in(self, cls: ClassFacts, leaving: set[Origin]) -> set[Origin]:
        """What the methods of the class keep in the fields that arrive at a root."""
        fields = {o.name.partition(".")[2] for o in leaving if isinstance(o, Inflow)}
        stored: set[Origin] = set()
        for name in cls.method_names():
            summary = self._analysis.method(cls, name)
            if summary is not None:
                for field, value in summary.effects.stores.items():
                    if field in fields:
                        stored |= flat(value)[0]
        return stored

    def _used_outside(self, cls: ClassFacts) -> set[tuple[str, ...]]:
        """Parts of the class that other code of the file uses with gradient, around its roots."""
        alive = set()
        for entry in self._analysis.entries:
            for origin in _leaving(entry.summary):
                if isinstance(origin, Source) and origin.path:
                    if origin.base == SELF:
                        alive |= _below_member(entry.cls, origin, cls)
                        continue
                    owner = self._analysis.run.class_at.get(origin.base)
                    if owner is None or owner.node is cls.node:
                        alive.add(origin.path)
        return alive

    # ------------------------------------------------------------------------- by script

    def _of_script(self) -> Iterator[Starved]:
        """Variables and arguments: what no backward() of the file reaches."""
        entries = self.entries_without_callers()
        alive: dict[Base, set[tuple[str, ...]]] = {}
        for entry in entries:
            for origin in _leaving(entry.summary):
                if isinstance(origin, Source) and origin.base != SELF:
                    alive.setdefault(origin.base, set()).add(origin.path)
        for entry in entries:
            for backward, step in entry.effects.backwards_with_steps:
                if backward.may_fail:
                    continue
                live, cut = flat(backward.value)
                lost = [
                    s
                    for s in cut
                    if self._starves_in_script(s, alive, entry) and _may_train(step, s.origin)
                ]
                survivors = frozenset(
                    ".".join((o.base.name, *o.path)) for o in live if isinstance(o, Source)
                )
                yield from _grouped(lost, None, backward, survivors)

    def _starves_in_script(
        self, severed: Severed, alive: dict[Base, set[tuple[str, ...]]], entry: Entry
    ) -> bool:
        origin = severed.origin
        if not isinstance(origin, Source) or origin.base == SELF:
            return False
        cls = self._analysis.run.class_at.get(origin.base)
        if not self._starves(severed, origin.base, alive.get(origin.base, set()), cls):
            return False
        is_whole_module = severed.inside and not origin.is_parameter
        if not entry.effects.optimized and not is_whole_module:
            return True
        return self._intent.must_be_optimized(origin, cls)

    # ------------------------------------------------------------------------- decisions

    def _starves(
        self, severed: Severed, base: Base, alive: set[tuple[str, ...]], cls: ClassFacts | None
    ) -> bool:
        origin = severed.origin
        if not isinstance(origin, Source) or origin.base != base:
            return False
        return not _is_alive(origin, alive) and self._is_meant_to_train(origin, cls)

    def _is_meant_to_train(
        self, source: Source, cls: ClassFacts | None, as_a_whole: bool = False
    ) -> bool:
        return (
            source.trainable is not Trainable.NO
            and not self._intent.must_be_frozen(source, cls)
            and self._intent.may_be_optimized(source, cls)
            and not self._intent.must_be_written(source, cls, as_a_whole)
        )


def _below_member(user: ClassFacts | None, origin: Source, cls: ClassFacts) -> set[tuple[str, ...]]:
    """`self.net.encoder` in a class whose `net` is or may be a `cls`: its `encoder`."""
    member = user.attributes.get(origin.path[0]) if user is not None else None
    thing = member.thing if member is not None else None
    held = (thing.cls or thing.element) if thing is not None else None
    is_other = held is not None and held.node is not cls.node
    return set() if is_other or len(origin.path) < 2 else {origin.path[1:]}


def _may_train(step: Step | None, origin: Origin) -> bool:
    """Whether the step after a backward can be meant for the source: False if it holds others."""
    if step is None or not step.things or not isinstance(origin, Source):
        return True
    return any(
        thing.base == origin.base and covers(thing.path, origin.path) for thing in step.things
    )


def _has_lost(value: Value) -> bool:
    live, cut = flat(value)
    return bool(cut) and not {s.origin for s in cut if isinstance(s.origin, Source)} <= live


def _leaving(summary: Summary) -> set[Origin]:
    """Sources that leave a function with their gradient: returned, kept, or trained on."""
    live, _ = flat(summary.returned)
    leaving = set(live) | summary.effects.escapes
    for backward in summary.effects.backwards:
        leaving |= flat(backward.value)[0]
    return leaving


def _paths(origins: Iterable[Origin], base: Base) -> set[tuple[str, ...]]:
    return {o.path for o in origins if isinstance(o, Source) and o.base == base}


def _is_alive(source: Source, alive: set[tuple[str, ...]]) -> bool:
    return any(covers(path, source.path) for path in alive)


def _names(paths: set[tuple[str, ...]]) -> frozenset[str]:
    return frozenset(".".join(path) for path in paths)


def _order(severed: Severed) -> tuple[int, tuple[str, ...]]:
    origin = severed.origin
    return severed.cut.order, origin.path if isinstance(origin, Source) else ()


def _grouped(
    lost: list[Severed],
    owner: ClassFacts | None,
    backward: Backward | None,
    survivors: frozenset[str],
) -> Iterator[Starved]:
    """One Starved for each cut, and for each block that cuts in several places."""
    groups: dict[object, list[Severed]] = {}
    for severed in sorted(lost, key=_order):
        groups.setdefault(severed.cut.key, []).append(severed)
    for group in groups.values():
        cut = group[0].cut
        root = "backward" if backward is not None else "return"
        place = backward.place if backward is not None else None
        yield Starved(cut, tuple(group), owner, root, place, survivors)
