"""Calls of Python's builtins: what they do with the values that they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import attribute, mark, note_deletion
from gradlint.facts.elements import asks_requires_grad, element_of, part_of
from gradlint.facts.recorder import AttributeRecord
from gradlint.facts.values import (
    OTHER,
    TENSORS,
    UNKNOWN,
    Constant,
    Each,
    Function,
    Keys,
    ParametersOf,
    Super,
    Value,
    combined,
    gathered,
    listed_value,
    own_graph,
)
from gradlint.knowledge.training import KEEPS_NOTHING
from gradlint.model import Form, Graph, Kind
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter

_PLAIN = {"list", "tuple", "dict", "str", "int", "float"}


def _nothing(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    return OTHER


def _same(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """list(x), tuple(x), reversed(x), iter(x): the same elements."""
    if not arguments.positional:
        return listed_value(())
    value = arguments.positional[0]
    if value.kind in TENSORS:
        return Value(Kind.OTHER, ref=Each(element_of(run, value)), graph=Graph.NO)
    if isinstance(value.ref, Each) and value.ref.keyed:  # the keys of a dict
        return Value(Kind.OTHER, ref=Each(OTHER), graph=Graph.NO)
    return value


def _zip(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    elements = tuple(element_of(run, value) for value in arguments.positional)
    return Value(Kind.OTHER, ref=Each(listed_value(elements)), graph=Graph.NO)


def _enumerate(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    values = arguments.positional
    element = element_of(run, values[0]) if values else UNKNOWN
    return Value(Kind.OTHER, ref=Each(listed_value((OTHER, element))), graph=Graph.NO)


def _range(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    return Value(Kind.OTHER, ref=Each(OTHER), graph=Graph.NO)


def _number(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """float(loss): the number without the graph."""
    return run.ended(node, arguments.all, "host", Kind.OTHER)


def _reduce(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """sum(losses), max(a, b), abs(x): arithmetic on the elements."""
    values = arguments.positional
    if len(values) == 1 and values[0].kind not in TENSORS:
        values = [element_of(run, values[0])]
    kinds = {value.kind for value in values}
    kind = Kind.TENSOR if kinds & set(TENSORS) else Kind.UNKNOWN
    result = run.operation(node, arguments.all, kind, name=f"builtins.{dotted(node.func)}")
    return replace(result, memory=None) if len(arguments.all) > 1 else result


def _next(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    return element_of(run, arguments.positional[0]) if arguments.positional else UNKNOWN


def _map(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    function, *iterables = arguments.positional
    given = Arguments([element_of(run, value) for value in iterables], {}, ())
    return Value(Kind.OTHER, ref=Each(run.call(node, function, given)), graph=Graph.NO)


def _filter(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """filter(lambda p: p.requires_grad, parameters) leaves out nothing that could be trained."""
    if len(arguments.positional) < 2:
        return UNKNOWN
    test, values = arguments.positional[:2]
    function = test.ref.node if isinstance(test.ref, Function) else None
    if isinstance(function, cst.Lambda) and asks_requires_grad(function.body):
        return values
    return replace(values, ref=ParametersOf(())) if isinstance(values.ref, ParametersOf) else values


def _super(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    cls = run.frame.cls
    return Value(ref=Super(cls)) if cls is not None else UNKNOWN


def _getattr(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    if len(arguments.positional) < 2:
        return UNKNOWN
    receiver, name = arguments.positional[:2]
    if isinstance(name.constant, str):
        return attribute(run, node, receiver, name.constant)
    return part_of(receiver)


def _setattr(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    run.escape(*arguments.all)
    if len(arguments.positional) == 3:
        target, name, value = arguments.positional
        _record_setattr(run, node, arguments)
        if name.constant == "requires_grad":
            mark(run, target, frozen=value.constant is not True)
    return OTHER


def _delattr(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    note_deletion(run, _getattr(run, node, arguments))
    return OTHER


def _record_setattr(run: Interpreter, node: cst.Call, arguments: Arguments) -> None:
    """setattr(x, "name", value) sets the attribute as `x.name = value` does."""
    if len(arguments.nodes) < 3:
        return
    target, name, value = arguments.nodes[:3]
    if isinstance(name.value.constant, str):
        run.recorder.attribute(
            AttributeRecord(
                name.value.constant,
                run.place(node),
                run.context(),
                target,
                Form.ASSIGN,
                "setattr",
                value,
            )
        )


def _dict(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """dict(a=x): a dict of what it is given."""
    if not arguments.positional and "**" not in arguments.keywords:
        keys = Keys(tuple(arguments.keywords))
        return listed_value(tuple(arguments.keywords.values()), keys)
    if len(arguments.all) == 1:
        return _dict_of(run, arguments.all[0])
    live, cut = gathered(arguments.all)
    return Value(Kind.OTHER, live, cut, graph=combined(map(own_graph, arguments.all)))


def _dict_of(run: Interpreter, value: Value) -> Value:
    """dict(model.named_parameters()): its values are what the pairs end in."""
    if isinstance(value.ref, ParametersOf) and value.ref.named:
        pair = element_of(run, value)
        return Value(Kind.OTHER, ref=Each((pair.items or (pair,))[-1], keyed=True), graph=Graph.NO)
    return value


def _isinstance(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """isinstance(x, torch.Tensor), where x is known."""
    if len(arguments.nodes) == 2:
        name = run.declarations.resolve(arguments.nodes[1].node)
        value, wanted = arguments.nodes[0].value, _names_in(arguments.nodes[1].node)
        if name == "torch.Tensor" and value.kind in TENSORS:
            return Value(Kind.OTHER, ref=Constant(True))
        if wanted <= _PLAIN and value.kind in (*TENSORS, Kind.MODULE):
            return Value(Kind.OTHER, ref=Constant(False))
        if wanted and wanted <= {"list", "tuple"} and value.items and value.ref is None:
            return Value(Kind.OTHER, ref=Constant(True))
    return OTHER


def _names_in(node: cst.CSTNode) -> set[str]:
    """The types that isinstance is asked about."""
    options = [e.value for e in node.elements] if isinstance(node, cst.Tuple) else [node]
    return {dotted(option) or "" for option in options}


Builtin = Callable[["Interpreter", cst.Call, Arguments], Value]

BUILTINS: dict[str, Builtin] = {
    **dict.fromkeys(KEEPS_NOTHING, _nothing),
    **dict.fromkeys(("list", "tuple", "set", "sorted", "reversed", "iter"), _same),
    **dict.fromkeys(("int", "float", "bool", "complex"), _number),
    **dict.fromkeys(("sum", "max", "min", "abs"), _reduce),
    "zip": _zip,
    "enumerate": _enumerate,
    "range": _range,
    "next": _next,
    "map": _map,
    "filter": _filter,
    "super": _super,
    "getattr": _getattr,
    "dict": _dict,
    "setattr": _setattr,
    "delattr": _delattr,
    "isinstance": _isinstance,
}
"""The transfer function of every builtin that matters here."""
