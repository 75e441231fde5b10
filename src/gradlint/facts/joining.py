"""What is known of a value that is one or another: after a branch, in a loop, of any element."""

from __future__ import annotations

from collections.abc import Iterable

from gradlint.facts.memory import Memory, same_memory
from gradlint.facts.values import (
    TENSORS,
    Constant,
    Each,
    Keys,
    Ref,
    Value,
    gathered,
    is_collection,
    must_be_dict,
    own_graph,
    union,
)
from gradlint.model import Graph, Kind


def join_kinds(one: Kind, other: Kind) -> Kind:
    """What a value of one or the other kind must be. None beside a tensor stays a tensor."""
    if one is other:
        return one
    if one in TENSORS and other in TENSORS:
        return Kind.TENSOR
    if one is Kind.OTHER:
        return other
    if other is Kind.OTHER:
        return one
    return Kind.UNKNOWN


def join(one: Value, other: Value) -> Value:
    """What is known when it is one or the other."""
    if one is other or one == other:
        return one
    if is_collection(one) and is_collection(other) and not _is_alike(one, other):
        return _join_collections(one, other)
    items = None
    if _same_length(one, other):
        items = tuple(map(join, one.items or (), other.items or ()))
        live, cut = union(one.live, other.live), union(one.cut, other.cut)
    else:
        live, cut = gathered((one, other))
    kind, ref = join_kinds(one.kind, other.kind), _join_refs(one, other)
    return Value(kind, live, cut, items, ref, _join_graphs(one, other), _join_memory(one, other))


def _join_graphs(one: Value, other: Value) -> Graph:
    if one.constant is None:
        return own_graph(other)
    if other.constant is None:
        return own_graph(one)
    mine, its = own_graph(one), own_graph(other)
    return mine if mine is its else Graph.MAYBE


def _join_memory(one: Value, other: Value) -> Memory | None:
    """What both look at; a number beside a tensor, as in `total = 0`, looks at nothing."""
    if isinstance(one.ref, Constant):
        return other.memory
    if isinstance(other.ref, Constant):
        return one.memory
    return same_memory(one.memory, other.memory)


def _same_length(one: Value, other: Value) -> bool:
    return one.items is not None and other.items is not None and len(one.items) == len(other.items)


def _is_alike(one: Value, other: Value) -> bool:
    """Whether elements of the one stand where those of the other do."""
    have_keys = type(one.ref) is Keys or type(other.ref) is Keys
    return _same_length(one, other) and (one.ref == other.ref or not have_keys)


def _join_collections(one: Value, other: Value) -> Value:
    """Collections of different length or keys: what holds for any element of either."""
    elements = [*(one.items or ()), *(other.items or ())]
    elements += [v.ref.element for v in (one, other) if type(v.ref) is Each]
    element = join_all(elements)
    if element is None:
        return Value(Kind.OTHER)
    keyed = must_be_dict(one) and must_be_dict(other)
    return Value(Kind.OTHER, ref=Each(element, keyed), graph=Graph.NO)


def _join_refs(one: Value, other: Value) -> Ref | None:
    if one.ref == other.ref:
        return one.ref
    if type(one.ref) is Each and type(other.ref) is Each:
        keyed = one.ref.keyed and other.ref.keyed
        return Each(join(one.ref.element, other.ref.element), keyed)
    if one.constant is None:  # `x = None` before the branch that sets it
        return other.ref
    if other.constant is None:
        return one.ref
    return None


def join_all(values: Iterable[Value]) -> Value | None:
    """The join of all, or None of nothing."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join(result, value)
    return result
