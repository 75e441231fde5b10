"""Calls: who is called, with what; and the record of it that rules ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import TENSOR_ARGUMENT, written_attribute
from gradlint.facts.builtin_calls import BUILTINS
from gradlint.facts.elements import element_of
from gradlint.facts.imported_calls import imported_call
from gradlint.facts.mappings import known_items
from gradlint.facts.method_calls import method_call
from gradlint.facts.recorder import Argument, CallRecord
from gradlint.facts.sequences import elements_in
from gradlint.facts.values import (
    UNKNOWN,
    Value,
)
from gradlint.knowledge.ops import must_write_in_place
from gradlint.model import Form, Kind
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def call(run: Interpreter, node: cst.Call) -> Value:
    """The value of a call."""
    func = node.func
    name = run.imported(dotted(func))
    if name is not None:
        return _imported(run, node, name)
    if isinstance(func, cst.Attribute):
        return _method(run, node, func)
    if isinstance(func, cst.Name) and func.value in BUILTINS and run.lookup(func.value) is UNKNOWN:
        arguments = evaluate_arguments(run, node)
        record(run, node, func.value, None, arguments)
        return BUILTINS[func.value](run, node, arguments)
    callee = run.evaluate(func)
    arguments = evaluate_arguments(run, node)
    record(run, node, dotted(func) or "", None, arguments)
    return run.call(node, callee, arguments)


def evaluate_arguments(run: Interpreter, node: cst.Call, name: str = "") -> Arguments:
    """Evaluate the arguments in order; `name` is the function, which may write to its first."""
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    nodes: list[Argument] = []
    for i, argument in enumerate(node.args):
        _note_writes(run, argument, name if i == 0 else "")
        value = run.evaluate(argument.value)
        keyword = argument.keyword.value if argument.keyword is not None else ""
        nodes.append(Argument(argument.value, value, keyword))
        if keyword:
            keywords[keyword] = value
        elif argument.star == "*":
            known = elements_in(value)
            positional.extend(known if known is not None else (element_of(run, value),))
        elif argument.star == "**":
            keywords |= _keywords_in(value)
        else:
            positional.append(value)
    return Arguments(positional, keywords, tuple(nodes))


def _keywords_in(value: Value) -> dict[str, Value]:
    """What `**value` passes, by name; by "**" where the names are not known."""
    items = known_items(value)
    if items is None:
        return {"**": value}
    return {name: item for name, item in items.items() if isinstance(name, str)}


def _note_writes(run: Interpreter, argument: cst.Arg, name: str) -> None:
    """`op_(x.data)` and `out=x.data` write to x."""
    is_out = argument.keyword is not None and argument.keyword.value == "out"
    if is_out or (must_write_in_place(name) and argument.keyword is None):
        target = written_attribute(argument.value)
        if target is not None:
            run.intents[id(target)] = (Form.INPLACE, "out=" if is_out else name)


def record(
    run: Interpreter,
    node: cst.Call,
    name: str,
    receiver: Argument | None,
    arguments: Arguments,
) -> None:
    """Keep the call for rules to ask about."""
    if not name:
        return
    run.recorder.call(
        CallRecord(
            name,
            run.place(node),
            run.context(),
            receiver,
            arguments.nodes,
            run.is_statement(node),
            run.followers.get(id(node), ""),
        )
    )


# ----------------------------------------------------------------------------------- callees


def _imported(run: Interpreter, node: cst.Call, name: str) -> Value:
    arguments = evaluate_arguments(run, node, name)
    record(run, node, name, None, arguments)
    return imported_call(run, node, name, arguments)


def _method(run: Interpreter, node: cst.Call, func: cst.Attribute) -> Value:
    name = func.attr.value
    _note_method(run, func, name)
    receiver = run.evaluate(func.value)
    _note_tensor_arguments(run, node, receiver, name)
    arguments = evaluate_arguments(run, node)
    record(run, node, name, Argument(func.value, receiver), arguments)
    text = dotted(func)
    if text is not None and text in run.env:
        return run.call(node, run.env[text], arguments)
    return method_call(run, node, receiver, name, arguments)


def _note_method(run: Interpreter, func: cst.Attribute, name: str) -> None:
    """What a method does to the attribute on which it is called, views looked through."""
    if isinstance(func.value, cst.Call):
        run.followers[id(func.value)] = name
    if must_write_in_place(name):
        target = written_attribute(func.value)
        if target is not None:
            run.intents[id(target)] = (Form.INPLACE, name)
    elif isinstance(func.value, cst.Attribute):
        run.intents.setdefault(id(func.value), (Form.READ, name))


def _note_tensor_arguments(run: Interpreter, node: cst.Call, receiver: Value, name: str) -> None:
    """`a.add_(b.data)`: what is combined with a tensor is read as one."""
    if must_write_in_place(name) or receiver.kind in (Kind.TENSOR, Kind.PARAMETER):
        _note_arguments(run, node)


def _note_arguments(run: Interpreter, node: cst.Call) -> None:
    for argument in node.args:
        if isinstance(argument.value, cst.Attribute):
            run.intents.setdefault(id(argument.value), (Form.READ, TENSOR_ARGUMENT))
