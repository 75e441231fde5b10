"""How arguments reach a function: bound to its parameters, and as the function itself sees them."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from gradlint.facts.classes import ClassFacts
from gradlint.facts.literals import literal_of
from gradlint.facts.memory import ArgumentMemory, Memory
from gradlint.facts.values import (
    NOTHING,
    SELF,
    TENSORS,
    UNKNOWN,
    Base,
    Bound,
    Class,
    Constant,
    Each,
    Fields,
    Function,
    Imported,
    Inflow,
    Keys,
    Super,
    Thing,
    Value,
    combined,
    gathered,
    own_graph,
)
from gradlint.model import Graph, Kind
from gradlint.syntax.names import dotted

_ITEMS = 8  # elements of an argument that are told apart


def instance(cls: ClassFacts, at: Thing | None = None) -> Value:
    """An instance of a class of this file, reached at `at` (default: self)."""
    where = at if at is not None else Thing(SELF)
    kind = Kind.OTHER
    if cls.must_be_tensor:
        kind = Kind.TENSOR
    elif cls.must_be_module:
        kind = Kind.MODULE
    return Value(kind, ref=replace(where, cls=cls))


def parameters_of(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    """All parameters, in order, with *args and **kwargs last."""
    params = node.params
    found = [*params.posonly_params, *params.params, *params.kwonly_params]
    if isinstance(params.star_arg, cst.Param):
        found.append(params.star_arg)
    if params.star_kwarg is not None:
        found.append(params.star_kwarg)
    return found


def bind(
    node: cst.FunctionDef | cst.Lambda,
    receiver: Value | None,
    args: list[Value],
    keywords: dict[str, Value],
) -> dict[str, Value]:
    """Which parameter gets which value; literal defaults fill in for what is not given."""
    params = node.params
    positional = [*params.posonly_params, *params.params]
    if receiver is not None and positional and not is_static(node):
        positional = positional[1:]
    bound: dict[str, Value] = {}
    for parameter, value in zip(positional, args, strict=False):
        bound[parameter.name.value] = value
    rest = args[len(positional) :]
    if isinstance(params.star_arg, cst.Param):
        bound[params.star_arg.name.value] = Value(Kind.OTHER, items=tuple(rest), graph=Graph.NO)
    named = {p.name.value for p in (*positional, *params.kwonly_params)}
    bound.update({name: value for name, value in keywords.items() if name in named})
    extra = [value for name, value in keywords.items() if name not in named]
    if params.star_kwarg is not None:
        live, cut = gathered(extra)
        graph = combined(map(own_graph, extra))
        bound[params.star_kwarg.name.value] = Value(Kind.OTHER, live, cut, graph=graph)
    for parameter in (*positional, *params.kwonly_params):
        if parameter.name.value not in bound:
            bound[parameter.name.value] = _default(parameter)
    return bound


def _default(parameter: cst.Param) -> Value:
    if parameter.default is None:
        return UNKNOWN
    literal = literal_of(parameter.default)
    return Value(Kind.OTHER, ref=literal, graph=Graph.NO) if literal is not None else UNKNOWN


def symbolic(value: Value, name: str, scope: int, is_written: bool = False) -> Value:
    """An argument as the callee sees it: its kind, and whatever graph it has as an inflow.

    `is_written` says that the callee may write to it past autograd.
    """
    is_part = len(value.items or ()) <= _ITEMS and name.count(".") < 2
    if value.items is not None and value.kind not in TENSORS and is_part:
        items = tuple(
            symbolic(v, f"{name}.{i}", scope, is_written) for i, v in enumerate(value.items)
        )
        keys = value.ref if isinstance(value.ref, Keys | Fields) else None
        return Value(value.kind, items=items, ref=keys, graph=Graph.NO)
    live = frozenset({Inflow(name)}) if value.has_graph_facts or _is_open(value) else NOTHING
    ref = value.ref
    if isinstance(ref, Thing):
        base = Base("argument", name, scope)
        ref = replace(ref, base=base, path=(), bound=(), chain=ref.unnamed_chain)
    elif isinstance(ref, Each):
        element = symbolic(ref.element, name, scope, is_written)
        return Value(value.kind, ref=replace(ref, element=element), graph=Graph.NO)
    elif isinstance(ref, Constant):
        ref = ref if ref.value is None or isinstance(ref.value, bool) else None
    elif not isinstance(ref, Function | Bound | Class | Imported):
        ref = None
    memory = _seen_inside(value.memory, name, is_written)
    graph = Graph.NO if live and value.graph is Graph.MAYBE else value.graph
    return Value(value.kind, live, ref=ref, graph=graph, memory=memory)


def _seen_inside(memory: Memory | None, name: str, is_written: bool) -> Memory:
    inside = Memory(ArgumentMemory(name))
    if memory is None:
        return inside
    return replace(
        inside,
        saved=memory.saved if is_written else None,
        in_inference=memory.in_inference,
        is_scalar=memory.is_scalar,
    )


def _is_open(value: Value) -> bool:
    return value.kind is Kind.UNKNOWN and not isinstance(value.ref, Class | Super | Imported)


def _first(item: tuple[str, Value]) -> str:
    return item[0]


def first_parameter(node: cst.FunctionDef) -> str | None:
    names = [p.name.value for p in (*node.params.posonly_params, *node.params.params)]
    return names[0] if names else None


def is_static(node: cst.FunctionDef | cst.Lambda) -> bool:
    return has_decorator(node, "staticmethod")


def has_decorator(node: cst.FunctionDef | cst.Lambda, name: str) -> bool:
    return isinstance(node, cst.FunctionDef) and any(
        dotted(d.decorator) == name for d in node.decorators
    )
