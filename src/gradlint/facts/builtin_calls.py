"""Calls of Python's builtins: what they do with the values that they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import attribute, mark, note_deletion
from gradlint.facts.elements import asks_requires_grad, element_of, few_elements, listed
from gradlint.facts.mappings import any_dict, dict_of, may_be_key, updated_by
from gradlint.facts.recorder import AttributeRecord
from gradlint.facts.sequences import any_list, elements_in, part_of
from gradlint.facts.values import (
    OTHER,
    TENSORS,
    UNKNOWN,
    Constant,
    Function,
    ParametersOf,
    Super,
    Value,
    constant,
    listed_value,
    must_be_dict,
)
from gradlint.knowledge.training import KEEPS_NOTHING
from gradlint.model import Form, Kind
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter

_PLAIN = {"list", "tuple", "dict", "str", "int", "float"}


def _nothing(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    return OTHER


def _same(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """list(x), tuple(x), iter(x): the same elements."""
    return listed(run, arguments.positional[0]) if arguments.positional else listed_value(())


def _reversed(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    value = _same(run, node, arguments)
    return listed_value(value.items[::-1]) if value.items is not None else value


def _sorted(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    """The same elements in an order that is known of words only."""
    value = _same(run, node, arguments)
    if value.items is None:
        return value
    words = {item.constant: item for item in value.items if isinstance(item.constant, str)}
    if len(words) < len(value.items) or arguments.keywords:
        return any_list(value.items)
    return listed_value([words[word] for word in sorted(words, key=str)])


def _zip(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    known = [few_elements(value) for value in arguments.positional]
    if known and all(known):
        return listed_value([listed_value(each) for each in zip(*known, strict=False)])
    return any_list([listed_value([element_of(run, value) for value in arguments.positional])])


def _enumerate(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    value, start = arguments.get(0, "iterable") or UNKNOWN, arguments.get(1, "start")
    first = start.constant if start is not None else 0
    if isinstance(first, int) and (known := few_elements(value)):
        return listed_value([listed_value((constant(first + i), v)) for i, v in enumerate(known)])
    return any_list([listed_value((OTHER, element_of(run, value)))])


def _range(run: Interpreter, node: cst.Call, arguments: Arguments) -> Value:
    return any_list([OTHER])


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
    known = [few_elements(value) for value in iterables]
    if all(known):
        rounds = [Arguments(list(each), {}, ()) for each in zip(*known, strict=False)]
        return listed_value([run.call(node, function, given) for given in rounds])
    given = Arguments([element_of(run, value) for value in iterables], {}, ())
    return any_list([run.call(node, function, given)])


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
    result = _dict_of(run, arguments.positional[0]) if arguments.positional else dict_of({})
    return updated_by(result, arguments.keywords)


def _dict_of(run: Interpreter, value: Value) -> Value:
    """A dict of a dict, or of pairs: its values are what these end in."""
    if must_be_dict(value) or value.kind is Kind.UNKNOWN:
        return value
    pairs = elements_in(value)
    if pairs is None:
        pair = element_of(run, value)
        return any_dict(list(pair.items[-1:]) if pair.items else [pair])
    items = {p.items[0].constant: p.items[-1] for p in pairs if p.items}
    is_known = len(items) == len(pairs) and all(map(may_be_key, items))
    return dict_of(items) if is_known else any_dict([(p.items or (p,))[-1] for p in pairs])


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
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "iter"), _same),
    "reversed": _reversed,
    "sorted": _sorted,
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
