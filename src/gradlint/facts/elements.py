"""What iterating, subscripting and unpacking a value gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.memory import Memory, ObjectMemory
from gradlint.facts.values import (
    OTHER,
    TENSORS,
    UNKNOWN,
    Class,
    Each,
    Keys,
    ParametersOf,
    Source,
    Thing,
    Value,
    gathered,
    join_all,
    listed_value,
)
from gradlint.model import Graph, Kind, Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def element_of(run: Interpreter, value: Value) -> Value:
    """Any one element of an iterable."""
    ref = value.ref
    if isinstance(ref, Keys) or (isinstance(ref, Each) and ref.keyed):
        return OTHER
    if value.items is not None:
        return join_all(value.items) or part_of(value)
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
        return _member_of_container(value, ref)
    return part_of(value)


def graph_of_view(run: Interpreter, whole: Value, view: Value) -> Graph:
    """A view under a mode says that it requires gradient, and has no grad_fn."""
    if run.mode is not None and whole.graph in (Graph.COMPUTED, Graph.LEAF):
        return Graph.MAYBE
    return view.graph


def part_of(value: Value) -> Value:
    """Something in a value of which only the graph is known."""
    return Value(live=value.live, cut=value.cut, graph=value.graph)


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


def _member_of_container(value: Value, thing: Thing) -> Value:
    """An element of a ModuleList and the like: it stands for the whole list."""
    kind = Kind.MODULE if value.kind is Kind.MODULE or thing.element is not None else Kind.UNKNOWN
    element = replace(thing, cls=thing.element, element=None)
    return Value(kind, value.live, value.cut, None, element, value.graph)


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


def item_of(run: Interpreter, node: cst.CSTNode, value: Value, index: Value | None) -> Value:
    """`value[index]`; `index` is None for a slice or several indices."""
    if index is not None and index.constant == "params":  # a param group of an optimizer
        return Value(Kind.OTHER, ref=ParametersOf(()))
    if value.kind in TENSORS and (value.items is None or index is None):
        return run.operation(node, (value,))
    if value.items is not None:
        return _item_of_known(value, index)
    if isinstance(value.ref, Each) and value.ref.keyed:
        return value.ref.element
    if isinstance(value.ref, Each | ParametersOf):
        return value if index is None else element_of(run, value)
    if isinstance(value.ref, Thing):
        if index is None:
            return replace(value, ref=replace(value.ref, cls=None))
        return _member_of_container(value, value.ref)
    if value.kind is Kind.ARRAY:
        return Value(Kind.ARRAY, cut=value.cut, graph=Graph.NO)
    return part_of(value)


def _item_of_known(value: Value, index: Value | None) -> Value:
    assert value.items is not None
    if isinstance(value.ref, Keys):
        names = value.ref.names
        if index is not None and index.constant in names and len(names) == len(value.items):
            return value.items[names.index(index.constant)]
        return join_all(value.items) or UNKNOWN
    at = index.constant if index is not None else None
    if isinstance(at, int) and -len(value.items) <= at < len(value.items):
        return value.items[at]
    each = join_all(value.items) or part_of(value)
    return Value(Kind.OTHER, ref=Each(each), graph=Graph.NO) if index is None else each


def unpacked(run: Interpreter, value: Value, count: int) -> list[Value]:
    """What `count` targets get when `value` is unpacked into them."""
    if value.items is not None and len(value.items) == count:
        return list(value.items)
    return [element_of(run, value)] * count


def with_key(value: Value, key: object, element: Value, unsure: bool) -> Value:
    """A dict after `element` has been stored under a literal key, or an unknown one (None)."""
    names = value.ref.names if isinstance(value.ref, Keys) else ()
    if value.items is None or (names == () and value.items) or not isinstance(key, str) or unsure:
        return with_element(replace(value, ref=None) if names else value, element, unsure=True)
    items = dict(zip(names, value.items, strict=True))
    items[key] = element
    return listed_value(tuple(items.values()), Keys(tuple(items)))


def with_element(value: Value, element: Value, unsure: bool) -> Value:
    """A list after `element` has been appended to it."""
    if value.items is not None and not unsure:
        return listed_value((*value.items, element))
    before = list(value.items) if value.items is not None else []
    if isinstance(value.ref, Each):
        before.append(value.ref.element)
    elif value.items is None and (value.live or value.cut):
        before.append(part_of(value))
    each = join_all([*before, element]) or UNKNOWN
    keyed = isinstance(value.ref, Each) and value.ref.keyed
    return Value(Kind.OTHER, ref=Each(each, keyed), graph=Graph.NO)


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


def worth_unrolling(value: Value) -> bool:
    """A short list of different modules, parameters or names: each is looked at by itself."""
    items = value.items or ()
    if isinstance(value.ref, Keys) or not 1 < len(items) <= _UNROLLED:
        return False
    return any(_is_worth_telling_apart(item) for item in items)


def _is_worth_telling_apart(item: Value) -> bool:
    if isinstance(item.constant, str) or isinstance(item.ref, Thing | ParametersOf | Class):
        return True
    return any(_is_worth_telling_apart(part) for part in item.items or ())


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
