"""What a write in place does to a tensor, and to the name that it has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.attributes import write_by_hand
from gradlint.facts.stores import store, whole_of
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
    before = flat(receiver)
    receiver = replace(receiver, live=before[0], cut=before[1])
    live, cut = gathered(inputs)
    cut = cut | receiver.cut
    if run.mode is not None and live - receiver.live:
        at = run.cut_at(node, run.mode.cause, run.mode.block)
        cut = cut | {Severed(origin, at, False) for origin in live - receiver.live}
        live = NOTHING
    owner, written = _whole(run, target, receiver)
    note_write(run, Write(node, written, owner, via, inputs[-1] if inputs else None))
    is_part = owner is not receiver and run.mode is not None
    if owner.kind is Kind.PARAMETER and (live or cut or is_part):
        write_by_hand(run, owner)
    elif owner.kind is Kind.TENSOR and owner.thing is not None:
        write_by_hand(run, Value(live=run.source(owner.thing)))
    graph = receiver.graph
    if run.mode is None:
        graph = combined((graph, *map(own_graph, inputs)))
    value = replace(receiver, live=receiver.live | live, cut=cut, items=None, graph=graph)
    rebind(run, target, value)
    return value


def _whole(run: Interpreter, target: cst.CSTNode, receiver: Value) -> tuple[Value, cst.CSTNode]:
    """The tensor of which `target` is a part, and the expression for it."""
    owner = receiver
    while isinstance(target, cst.Subscript) and whole_of(run, target) is None:
        target = target.value
        whole = run.evaluate(target) if isinstance(target, cst.Name | cst.Attribute) else owner
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
        run.env[name] = replace(value, kind=old.kind, ref=old.ref, live=live, cut=cut)
