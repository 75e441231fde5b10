"""What a write in place does to a tensor, and to the name that it has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.attributes import write_by_hand
from gradlint.facts.stores import change_everywhere, is_path, store, whole_of
from gradlint.facts.uses import note_use
from gradlint.facts.values import (
    NOTHING,
    TENSORS,
    Severed,
    Value,
    combined,
    flat,
    gathered,
    own_graph,
)
from gradlint.facts.writes import Write, note_write
from gradlint.model import Kind
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def in_place(
    run: Interpreter,
    node: cst.CSTNode,
    target: cst.CSTNode,
    receiver: Value,
    inputs: list[Value],
    via: str,
) -> Value:
    """The receiver after an in-place operation: its own graph stays, under a mode too."""
    note_use(run, node, [receiver, *inputs])
    owner, written = _whole(run, target, receiver)
    note_write(run, Write(node, written, owner, via, inputs[-1] if inputs else None))
    given = _arriving(run, node, owner, inputs)
    is_part = owner is not receiver and run.mode is not None
    if owner.kind is Kind.PARAMETER and (given.live or given.cut or is_part):
        write_by_hand(run, owner)
    elif owner.kind is Kind.TENSOR and owner.thing is not None:
        write_by_hand(run, Value(live=run.source(owner.thing)))
    value = _with(run, receiver, given)
    if owner is receiver:
        rebind(run, target, value)
    else:
        rebind(run, written, _with(run, owner, given))
    return value


def _arriving(run: Interpreter, node: cst.CSTNode, owner: Value, inputs: list[Value]) -> Value:
    """What arrives in a tensor that is written to: under a mode, without its graph."""
    live, cut = gathered(inputs)
    new = live - flat(owner)[0]
    if run.mode is not None and new:
        at = run.cut_at(node, run.mode.cause, run.mode.block)
        cut = cut | {Severed(origin, at, False) for origin in new}
        live = NOTHING
    return Value(live=live, cut=cut, graph=combined(map(own_graph, inputs)))


def _with(run: Interpreter, whole: Value, given: Value) -> Value:
    """A tensor after something has been written to it."""
    live, cut = flat(whole)
    graph = combined((whole.graph, given.graph)) if run.mode is None else whole.graph
    return replace(whole, live=live | given.live, cut=cut | given.cut, items=None, graph=graph)


def _whole(run: Interpreter, target: cst.CSTNode, receiver: Value) -> tuple[Value, cst.CSTNode]:
    """The tensor of which `target` is a part, and the expression for it."""
    owner = receiver
    while isinstance(target, cst.Subscript) and whole_of(run, target) is None:
        target = target.value
        whole = run.evaluate(target) if is_path(target) else owner
        owner = whole if whole.kind in TENSORS else owner
    return owner, target


def rebind(run: Interpreter, target: cst.CSTNode, value: Value) -> None:
    """A name now stands for a changed tensor; through a subscript, its whole has changed."""
    whole = target
    while isinstance(target, cst.Subscript):
        if whole_of(run, target) is not None:
            store(run, target, value)
            return
        target = target.value
    name = dotted(target)
    if name is not None and name in run.env and (target is whole or run.env[name].kind in TENSORS):
        old = run.env[name]
        live, cut = flat(value)
        changed = replace(value, kind=old.kind, ref=old.ref, live=live, cut=cut)
        run.env[name] = changed
        change_everywhere(run, old, changed)
