"""What iterating, subscripting and unpacking a value gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.joining import join_all
from gradlint.facts.mappings import value_at, with_key, without_key
from gradlint.facts.memory import Memory, ObjectMemory
from gradlint.facts.records import field_of
from gradlint.facts.sequences import (
    any_list,
    elements_in,
    held_in,
    item_at,
    part_of,
    parted,
    sliced,
    with_item,
    without_item,
)
from gradlint.facts.values import (
    OTHER,
    TENSORS,
    UNKNOWN,
    Class,
    Each,
    Fields,
    Keys,
    ParametersOf,
    Source,
    Thing,
    Value,
    gathered,
    is_collection,
    listed_value,
    must_be_dict,
)
from gradlint.knowledge.modules import KEYED_CONTAINERS, PARAMETER_CONTAINERS
from gradlint.model import NOT_CONSTANT, Graph, Kind, Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def element_of(run: Interpreter, value: Value) -> Value:
    """Any one element of an iterable."""
    ref = value.ref
    if must_be_dict(value):
        return OTHER
    if value.items is not None:
        return join_all(value.items) or UNKNOWN
    if value.kind in TENSORS:
        return replace(value, items=None, ref=None, kind=Kind.TENSOR)
    if isinstance(ref, Each):
        return ref.element
    if isinstance(ref, ParametersOf):
        parameter = _parameter_of(run, ref)
        if not ref.named:
            return parameter
        return Value(Kind.OTHER, items=(OTHER, parameter), graph=Graph.NO)
    if isinstance(ref, Thing):
        return OTHER if ref.layer in KEYED_CONTAINERS else member_of(run, value, ref)
    return part_of(value)


def graph_of_view(run: Interpreter, whole: Value, view: Value) -> Graph:
    """A view under a mode says that it requires gradient, and has no grad_fn."""
    if run.mode is not None and whole.graph in (Graph.COMPUTED, Graph.LEAF):
        return Graph.MAYBE
    return view.graph


def _parameter_of(run: Interpreter, ref: ParametersOf) -> Value:
    if not ref.things:
        return Value(Kind.PARAMETER, graph=Graph.LEAF)
    if len(ref.things) == 1:
        return parameter_in(run, ref.things[0])
    live, _ = gathered(parameter_in(run, thing) for thing in ref.things)
    return Value(Kind.PARAMETER, live, ref=ParametersOf(ref.things), graph=Graph.LEAF)


def parameter_in(run: Interpreter, thing: Thing) -> Value:
    """Any parameter of the module `thing`."""
    live = run.source(thing, is_parameter=True)
    graph = Graph.NO if thing.trainable is Trainable.NO else Graph.LEAF
    memory = Memory(ObjectMemory(thing.base, thing.path))
    return Value(Kind.PARAMETER, live, ref=thing, graph=graph, memory=memory)


def member_of(run: Interpreter, value: Value, thing: Thing, index: object = None) -> Value:
    """An element of a ModuleList and the like: it stands for the whole list."""
    element = replace(thing, cls=thing.element, element=None, layer="", chain=())
    if thing.layer in PARAMETER_CONTAINERS:
        return _parameter_at(run, element, index)
    kind = Kind.MODULE if value.kind is Kind.MODULE or thing.element is not None else Kind.UNKNOWN
    return Value(kind, value.live, value.cut, None, element, value.graph)


def _parameter_at(run: Interpreter, thing: Thing, index: object) -> Value:
    """A parameter in a list or dict of them: each has memory of its own."""
    memory = None
    if isinstance(index, str) or (isinstance(index, int) and index >= 0):
        memory = Memory(ObjectMemory(thing.base, (*thing.path, str(index))))
    return replace(parameter_in(run, thing), memory=memory)


def merged_parameters(values: list[Value]) -> Value | None:
    """[*a.parameters(), *b.parameters()]: the parameters of both; None if there are others."""
    things: list[Thing] = []
    for value in values:
        if value.items == ():
            continue
        part = _parameters_in(value)
        if not part:
            return None
        things.extend(part)
    return Value(Kind.OTHER, ref=ParametersOf(tuple(things))) if things else None


def _parameters_in(value: Value) -> tuple[Thing, ...]:
    """Whose parameters a list, or a parameter itself, holds; empty if it holds anything else."""
    if isinstance(value.ref, ParametersOf) and not value.ref.named:
        return value.ref.things
    if value.kind is Kind.PARAMETER and isinstance(value.ref, Thing):
        return (value.ref,)
    if value.items:
        parts = [_parameters_in(item) for item in value.items]
        return tuple(t for part in parts for t in part) if all(parts) else ()
    return ()


Index = Value | slice | None
"""An index: its value, a slice with known bounds, or None for several and for what is not known."""


def item_of(run: Interpreter, node: cst.CSTNode, value: Value, index: Index) -> Value:
    """`value[index]`."""
    at = index.constant if isinstance(index, Value) else NOT_CONSTANT
    if at == "params":  # a param group of an optimizer
        return Value(Kind.OTHER, ref=ParametersOf(()))
    if value.kind in TENSORS and (value.items is None or not isinstance(index, Value)):
        return run.operation(node, (value,))
    if must_be_dict(value):
        return value_at(value, at)
    if isinstance(value.ref, Fields) and isinstance(at, str):
        return field_of(value, at)
    if value.items is not None:
        return _item_of_known(value.items, index)
    if isinstance(value.ref, Each | ParametersOf):
        return element_of(run, value) if isinstance(index, Value) else value
    if isinstance(value.ref, Thing):
        if isinstance(index, Value):
            return member_of(run, value, value.ref, at)
        return replace(value, ref=replace(value.ref, cls=None, chain=()))
    if value.kind is Kind.ARRAY:
        return Value(Kind.ARRAY, cut=value.cut, graph=Graph.NO)
    return part_of(value)


def _item_of_known(items: tuple[Value, ...], index: Index) -> Value:
    if isinstance(index, Value):
        return item_at(items, index.constant)
    return sliced(items, index)


def with_stored(value: Value, index: Index, element: Value) -> Value:
    """A list or dict after `value[index] = element`."""
    at = index.constant if isinstance(index, Value) else NOT_CONSTANT
    if must_be_dict(value) or isinstance(at, str):
        return with_key(value, at, element)
    if isinstance(index, Value):
        return with_item(value, at, element)
    added = held_in(element) if is_collection(element) else [element]  # a slice, or a tensor
    return any_list([*held_in(value), *added])


def without(value: Value, index: Index) -> Value:
    """A list or dict after `del value[index]`."""
    at = index.constant if isinstance(index, Value) else NOT_CONSTANT
    if must_be_dict(value):
        return without_key(value, at)
    if isinstance(index, slice) and value.items is not None and index.step != 0:
        items = list(value.items)
        del items[index]
        return listed_value(items)
    return without_item(value, at)


def unpacked(run: Interpreter, value: Value, targets: Sequence[cst.BaseElement]) -> list[Value]:
    """What each target gets when `value` is unpacked into them."""
    stars = [i for i, one in enumerate(targets) if isinstance(one, cst.StarredElement)]
    items = elements_in(value)
    if items is not None and not stars and len(items) == len(targets):
        return list(items)
    if items is not None and stars:
        parts = parted(items, stars[0], len(targets) - stars[0] - 1)
        if parts is not None:
            return parts
    element = element_of(run, value)
    each = (replace(element) for _ in targets)  # not the same one
    return [any_list([one]) if i in stars else one for i, one in enumerate(each)]


def listed(run: Interpreter, value: Value) -> Value:
    """What list(value) is, apart from a list of parameters or layers, which stays what it is."""
    known = elements_in(value)
    if known is not None:
        return listed_value(known)
    if value.kind in TENSORS or must_be_dict(value):
        return any_list([element_of(run, value)])
    return value


def joint_trainable(values: list[Value]) -> Trainable:
    """Whether a container of these modules can be trained."""
    known = {trainable_of(value) for value in values}
    for answer in (Trainable.YES, Trainable.MAYBE):
        if answer in known:
            return answer
    return Trainable.NO


def trainable_of(value: Value) -> Trainable:
    """Whether the module, or the modules in the list, can be trained."""
    if value.items is not None:
        return joint_trainable(list(value.items))
    if isinstance(value.ref, Each):
        return trainable_of(value.ref.element)
    if isinstance(value.ref, Thing):
        return value.ref.trainable
    return Trainable.NO if value.kind in (Kind.OTHER, Kind.TENSOR) else Trainable.MAYBE


_UNROLLED = 8  # a loop over more known elements than this is taken as one over any of them


def few_elements(value: Value) -> tuple[Value, ...]:
    """The elements of an iterable that is known and short: each is looked at by itself."""
    items = elements_in(value) or ()
    return items if len(items) <= _UNROLLED else ()


def worth_unrolling(items: Sequence[Value]) -> bool:
    """Whether a loop meets different modules, parameters, tensors or names."""
    return len(items) > 1 and any(map(_is_worth_telling_apart, items))


def _is_worth_telling_apart(item: Value) -> bool:
    if item.kind in TENSORS or isinstance(item.ref, Thing | ParametersOf | Class):
        return True
    return isinstance(item.constant, str) or any(map(_is_worth_telling_apart, item.items or ()))


def some_of(value: Value) -> Value:
    """An element that was selected by a test: which parameters it stands for is not known."""
    if value.kind is Kind.PARAMETER:
        return replace(value, ref=None)
    return value


def asks_requires_grad(test: cst.CSTNode) -> bool:
    """`p.requires_grad` as a test selects nothing that could be trained otherwise."""
    return isinstance(test, cst.Attribute) and test.attr.value == "requires_grad"


def things_in(value: Value) -> tuple[Thing, ...]:
    """Whose parameters an optimizer is given; empty when some of it cannot be told."""
    if isinstance(value.ref, ParametersOf):
        return value.ref.things
    if isinstance(value.ref, Keys) and value.items is not None:  # a param group
        names = value.ref.names
        return things_in(value.items[names.index("params")]) if "params" in names else ()
    if value.items is not None:
        parts = [things_in(item) for item in value.items]
        return tuple(t for part in parts for t in part) if all(parts) else ()
    if isinstance(value.ref, Each):
        return things_in(value.ref.element)
    if value.kind is Kind.PARAMETER and isinstance(value.ref, Thing):
        return (value.ref,)
    origins = value.live | {severed.origin for severed in value.cut}
    sources = [o for o in origins if isinstance(o, Source)]
    if value.kind is Kind.OTHER and origins and len(sources) == len(origins):
        return tuple(Thing(s.base, s.path, None, s.trainable) for s in sources)
    return ()
