"""Instances of classes of this file: what __init__ says about their attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.binding import instance, symbolic
from gradlint.facts.classes import ClassFacts
from gradlint.facts.elements import joint_trainable, trainable_of
from gradlint.facts.fitting import Fit, descend
from gradlint.facts.memory import Memory, ObjectMemory
from gradlint.facts.substitution import substitute
from gradlint.facts.values import (
    MEMBER,
    NOTHING,
    OTHER,
    SELF,
    UNBROKEN,
    Base,
    Bound,
    Each,
    Fields,
    Function,
    Inflow,
    Keys,
    ParametersOf,
    Source,
    Thing,
    Value,
    is_collection,
)
from gradlint.knowledge.training import BUILDERS
from gradlint.model import Graph, Kind, Trainable

if TYPE_CHECKING:
    from gradlint.facts.effects import Effects
    from gradlint.facts.interpreter import Interpreter


def prepare(run: Interpreter, cls: ClassFacts) -> ClassFacts:
    """Fill in what the class itself says, whatever its constructor is given."""
    if not cls.prepared:
        cls.prepared = True
        _build(run, cls, {})
    return cls


def _build(run: Interpreter, cls: ClassFacts, given: dict[str, Value]) -> dict[str, Value]:
    """Run the methods that set attributes; returns those that the constructor was handed."""
    bound: dict[str, Value] = {}
    for name in BUILDERS:
        found = cls.method(name)
        if found is None:
            continue
        function = Function(found[1], found[0])
        summary = run.summary(function, instance(cls), given if name == "__init__" else {})
        if summary is not None:
            bound.update(_take_attributes(cls, summary.effects))
        if summary is not None and name == "__init__":
            cls.construction = summary.effects
    _class_level(run, cls)
    return bound


def _take_attributes(cls: ClassFacts, effects: Effects) -> dict[str, Value]:
    bound = {}
    known = {
        thing.base: Thing(SELF, (name,))
        for name, value in effects.stores.items()
        for thing in _held(value)
        if thing.base != SELF and not thing.path
    }
    for name, value in effects.stores.items():
        if isinstance(value.ref, Thing) and value.ref.base.role == "argument":
            bound[name] = value
        cls.attributes[name] = as_attribute(value, name, known)
    for mark in effects.marks:
        at = () if mark.base == SELF else known[mark.base].path if mark.base in known else None
        if at is not None:
            cls.marks.append(((*at, *mark.path), mark.frozen))
    for things in effects.optimized:
        paths = tuple(thing.path for thing in things if thing.base == SELF)
        if len(paths) == len(things):
            cls.optimized.append(paths)  # empty when what it holds cannot be told
    return bound


def _held(value: Value) -> Iterator[Thing]:
    """The objects that an attribute holds: itself, or those in a list."""
    if value.thing is not None:
        yield value.thing
    for item in value.items or ():
        yield from _held(item)


def _class_level(run: Interpreter, cls: ClassFacts) -> None:
    for facts in reversed(cls.lineage):
        if facts is not cls:
            prepare(run, facts)
            for name, value in facts.attributes.items():
                cls.attributes.setdefault(name, value)


def as_attribute(value: Value, name: str, known: dict[Base, Thing]) -> Value:
    """The value as it is seen from any method: without graphs and constants of one constructor.

    `known` are the attributes that hold what the constructor calls otherwise.
    """
    ref = value.ref
    if is_collection(value):
        return _collection_as_attribute(value, name, known)
    if isinstance(ref, Thing):
        return _thing_as_attribute(value, ref, name, known)
    if isinstance(ref, ParametersOf):
        inside = all(thing.base == SELF for thing in ref.things)
        return Value(value.kind, ref=ref if inside else ParametersOf(()))
    if isinstance(ref, Function | Bound):
        return Value(value.kind, ref=ref)
    if value.kind is Kind.OTHER and value.constant is None:
        return Value(Kind.OTHER)  # set to None: what it becomes later is not known
    if value.kind is Kind.OTHER and value.graph is Graph.NO:
        return OTHER
    kind = value.kind if value.kind is not Kind.OTHER else Kind.UNKNOWN
    memory = _lasting_memory(value.memory, name, known)
    return Value(kind, graph=_lasting(value.graph), memory=memory)


def _collection_as_attribute(value: Value, name: str, known: dict[Base, Thing]) -> Value:
    ref = value.ref
    if isinstance(ref, Fields):  # whose fields may be set from anywhere
        return instance(ref.cls, Thing(SELF, (name,), trainable=trainable_of(value)))
    if isinstance(ref, Each):
        element = as_attribute(ref.element, name, known)
        return Value(value.kind, ref=replace(ref, element=element), graph=Graph.NO)
    items = tuple(as_attribute(item, name, known) for item in value.items or ())
    keys = ref if isinstance(ref, Keys) else None
    return Value(value.kind, items=items, ref=keys, graph=Graph.NO)


def _thing_as_attribute(value: Value, thing: Thing, name: str, known: dict[Base, Thing]) -> Value:
    parts = tuple(known.get(part.base, part) for part in thing.parts)
    parts = tuple(part for part in parts if part.base == SELF)
    ref = replace(thing, parts=parts, chain=tuple(_link(link, known) for link in thing.chain))
    if ref.base != SELF:
        held = known[ref.base].path if ref.base in known and not ref.path else (name,)
        ref = replace(ref, base=SELF, path=held, bound=())
    is_source = value.kind is Kind.PARAMETER and any(isinstance(o, Source) for o in value.live)
    live = frozenset({Source(SELF, ref.path, ref.trainable, True)}) if is_source else NOTHING
    graph, memory = _lasting(value.graph), Memory(ObjectMemory(SELF, ref.path))
    return Value(value.kind, live, ref=ref, graph=graph, memory=memory)


def _link(link: Thing, known: dict[Base, Thing]) -> Thing:
    """A layer of a Sequential, by its own attribute if it has one."""
    if link.base == SELF:
        return link
    at = known.get(link.base)
    return replace(link, base=at.base, path=at.path) if at else replace(link, base=MEMBER, path=())


def _lasting_memory(memory: Memory | None, name: str, known: dict[Base, Thing]) -> Memory:
    """That of the field, or of the parameter from which the constructor has detached it."""
    owner = memory.owner if memory is not None and memory.alias is not None else None
    if memory is not None and isinstance(owner, ObjectMemory):
        if owner.base == SELF:
            return replace(memory, is_kept=True)
        if owner.base in known:
            path = (*known[owner.base].path, *owner.path)
            return replace(memory, owner=ObjectMemory(SELF, path), is_kept=True)
    return Memory(ObjectMemory(SELF, (name,)))


def _lasting(graph: Graph) -> Graph:
    """What the constructor says of a field; that it has no graph yet says nothing of later."""
    return Graph.MAYBE if graph is Graph.NO else graph


def build_instance(
    run: Interpreter, node: cst.CSTNode, cls: ClassFacts, given: dict[str, Value]
) -> Value:
    """The object that `cls(...)` makes, with what its literal and class-typed arguments imply."""
    prepare(run, cls)
    variant, handed = _variant(run, cls, given)
    bound = tuple(
        (name, actual)
        for name, value in handed.items()
        if (actual := given.get(_argument_name(value))) is not None and not _is_made_here(actual)
    )
    trainable, made_in = trainable_class(run, variant), run.inference_at(node)
    thing = Thing(run.make(node), (), variant, trainable, None, (), bound, made_in=made_in)
    made = instance(variant, thing)
    if variant.construction is not None:
        Fit(run, node, made, given).take_over_settings(variant.construction)
    for paths in variant.optimized:
        held = (descend(made, Thing(SELF, path)).thing for path in paths)
        run.frame.effects.optimized.append(tuple(one for one in held if one is not None))
    return made


def _is_made_here(value: Value) -> bool:
    """Model(Encoder()): the encoder has no other name, so it is `model.encoder`."""
    return value.thing is not None and value.thing.base.role == "made"


def _argument_name(value: Value) -> str:
    assert isinstance(value.ref, Thing)
    return value.ref.base.name if not value.ref.path else ""


def _variant(
    run: Interpreter, cls: ClassFacts, given: dict[str, Value]
) -> tuple[ClassFacts, dict[str, Value]]:
    """The class as built with these arguments; the same variant for arguments of one kind."""
    found = cls.method("__init__")
    scope = id(found[1]) if found is not None else 0
    seen = {name: symbolic(value, name, scope) for name, value in given.items()}
    key = (cls, tuple(sorted(seen.items(), key=lambda item: item[0])))
    if key not in run.variants:
        variant = replace(
            cls,
            attributes={},
            made=cls.made,
            marks=[],
            optimized=[],
            prepared=True,
            construction=None,
            _lineage=(),
        )
        run.variants[key] = (variant, {})
        handed = _build(run, variant, seen)
        run.variants[key] = (variant, handed)
    return run.variants[key]


def trainable_class(run: Interpreter, cls: ClassFacts) -> Trainable:
    """Whether an instance owns parameters that are meant to be trained."""
    prepare(run, cls)
    if ((), True) in cls.marks and ((), False) not in cls.marks:
        return Trainable.NO
    mine = joint_trainable([v for v in cls.attributes.values() if _owns_parameters(v)])
    if mine is Trainable.YES or not cls.must_be_module:
        return mine
    return Trainable.MAYBE if cls.inherits_unknown or mine is Trainable.MAYBE else Trainable.NO


def _owns_parameters(value: Value) -> bool:
    return value.ref is not None and trainable_of(value) is not Trainable.NO


# ------------------------------------------------------------------------------- attributes


def attribute_of(run: Interpreter, node: cst.CSTNode, receiver: Value, name: str) -> Value | None:
    """The value of an attribute or method of an instance, or None if the class doesn't say."""
    thing = receiver.thing
    if thing is None or thing.cls is None:
        return None
    for attribute, value in thing.bound:
        if attribute == name:
            return value
    prepare(run, thing.cls)
    known = thing.cls.attributes.get(name)
    if known is not None and not _says_nothing(known):
        if known.graph is not Graph.MAYBE and run.is_set_again(thing.cls, name):
            kind = Kind.UNKNOWN if known.kind is Kind.OTHER else known.kind
            known = replace(known, kind=kind, graph=Graph.MAYBE)
        return known if thing.base == SELF and not thing.path else _seen_from(known, thing)
    method = thing.cls.method(name)
    if method is None:
        return None
    owner, function = method
    value = Value(Kind.OTHER, ref=Bound(Function(function, owner), receiver))
    return _property(run, node, value, function)


def _says_nothing(value: Value) -> bool:
    return value.kind is Kind.UNKNOWN and value.ref is None


def _property(
    run: Interpreter, node: cst.CSTNode, value: Value, function: cst.FunctionDef
) -> Value:
    names = [getattr(d.decorator, "value", None) for d in function.decorators]
    if "property" in names or "cached_property" in names:
        assert isinstance(value.ref, Bound)
        return run.call_function(node, value.ref.function, value.ref.receiver, [], {})
    return value


@dataclass(frozen=True, slots=True)
class _From:
    """An attribute of the class of `at`, with paths that start where `at` does."""

    at: Thing
    kind: Kind

    def inflow(self, inflow: Inflow) -> Value:
        return Value()

    def source(self, source: Source) -> Source:
        return replace(source, base=self.at.base, path=self._below(source.base, source.path)[1])

    def thing(self, thing: Thing) -> Value:
        base, path = self._below(thing.base, thing.path)
        at = self.at
        parts = tuple(replace(p, base=at.base, path=(*at.path, *p.path)) for p in thing.parts)
        chain = tuple(self._link(link) for link in thing.chain)
        return Value(self.kind, ref=replace(thing, base=base, path=path, parts=parts, chain=chain))

    def _link(self, link: Thing) -> Thing:
        base, path = self._below(link.base, link.path)
        return replace(link, base=base, path=path)

    def memory(self, memory: Memory) -> Memory | None:
        owner = memory.owner
        if not isinstance(owner, ObjectMemory):
            return None
        return replace(memory, owner=ObjectMemory(*self._below(owner.base, owner.path)))

    def _below(self, base: Base, path: tuple[str, ...]) -> tuple[Base, tuple[str, ...]]:
        return (self.at.base, (*self.at.path, *path)) if base == SELF else (base, path)


def _seen_from(value: Value, at: Thing) -> Value:
    return substitute(value, _From(at, value.kind))


def parameters_of(receiver: Value, named: bool) -> Value:
    """What parameters() or named_parameters() of a module returns."""
    assert isinstance(receiver.ref, Thing)
    things = [receiver.ref]
    things += [v.thing for _, v in receiver.ref.bound if v.thing is not None]
    return Value(Kind.OTHER, NOTHING, UNBROKEN, None, ParametersOf(tuple(things), named))
