"""Calls of which only the arguments, and perhaps a name, are known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import mark
from gradlint.facts.elements import things_in
from gradlint.facts.values import NOTHING, Each, ParametersOf, Value
from gradlint.knowledge.training import FREEZING_WORDS, OPTIMIZER_WORD
from gradlint.model import Graph, Kind
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def unknown_call(run: Interpreter, node: cst.CSTNode, callee: Value, arguments: Arguments) -> Value:
    """A call of which only the arguments are known.

    A call whose result is thrown away works by side effect, so its arguments may be trained on;
    and a module that is given away may be run with gradient.
    """
    used = run.source(callee.thing) if callee.thing is not None else NOTHING
    for value in arguments.all:
        if value.kind is Kind.MODULE and value.thing is not None:
            used = used | run.source(value.thing)
    if run.is_statement(node):
        run.escape(*arguments.all)
    note_intent(run, _name_of(node), arguments)
    result = run.operation(node, [callee, *arguments.all], Kind.UNKNOWN, used)
    if run.mode is not None:
        return replace(result, graph=Graph.NO)
    return replace(result, graph=Graph.MAYBE, memory=None)


def note_intent(run: Interpreter, name: str, arguments: Arguments) -> None:
    """freeze(model) of another file freezes, and what takes parameters() is an optimizer.

    A name alone never makes a finding: here it can only keep one back.
    """
    words = name.lower()
    if any(word in words for word in FREEZING_WORDS):
        for value in arguments.positional:
            mark(run, value, frozen=True)
    lists = [value for value in arguments.all if _holds_parameters(value)]
    if lists:
        run.frame.effects.optimized += [things_in(value) for value in lists]
    elif OPTIMIZER_WORD in words:
        modules = [v.thing for v in arguments.all if v.kind is Kind.MODULE and v.thing is not None]
        run.frame.effects.optimized.append(tuple(modules))


def _name_of(node: cst.CSTNode) -> str:
    return (dotted(node.func) or "") if isinstance(node, cst.Call) else ""


def _holds_parameters(value: Value) -> bool:
    if isinstance(value.ref, ParametersOf):
        return not value.ref.named
    if isinstance(value.ref, Each):
        return _holds_parameters(value.ref.element)
    return any(map(_holds_parameters, value.items or ()))
