"""Calls of methods of tensors: by the tables of torch, and in place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import fresh_leaf, mark, write_by_hand
from gradlint.facts.imported_calls import by_flow, with_indices
from gradlint.facts.tracking import note_use, note_write
from gradlint.facts.values import (
    NOTHING,
    OTHER,
    Graph,
    Imported,
    Severed,
    Value,
    combined,
    flat,
    gathered,
    own_graph,
)
from gradlint.knowledge.ops import (
    INTEGER_TYPES,
    MAY_RETURN_ITS_INPUT,
    METHODS,
    RETURNS_ITS_RECEIVER,
    SHARES_MEMORY,
    Flow,
    must_write_in_place,
)
from gradlint.model import Kind, Trainable
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def tensor_method(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    assert isinstance(node.func, cst.Attribute)
    target = node.func.value
    if name == "requires_grad_":
        return _requires_grad_of_tensor(run, node, receiver, arguments)
    if name in RETURNS_ITS_RECEIVER:
        return receiver
    if name == "register_hook":
        run.escape(receiver)
        return OTHER
    if must_write_in_place(name):
        return in_place(run, node, target, receiver, arguments.all, name)
    if name in MAY_RETURN_ITS_INPUT:
        if any(_is_integer_type(run, value) for value in arguments.all):
            return run.ended(node, [receiver], "no gradient", Kind.TENSOR)
        return _converted(run, receiver)
    inputs = [receiver, *arguments.all]
    value = by_flow(run, node, METHODS.get(name, Flow.PASSES), inputs, name)
    if name in SHARES_MEMORY:
        value = replace(value, memory=receiver.memory)
    if name == "numpy":
        return replace(value, kind=Kind.ARRAY)
    if name == "detach_":
        rebind(run, target, value)
    return with_indices(run, node, name, value)


def _converted(run: Interpreter, receiver: Value) -> Value:
    """x.to(...): x itself or a copy, which have different memories and, under a mode, graphs."""
    graph = receiver.graph
    if graph is Graph.LEAF or (graph is Graph.COMPUTED and run.mode is not None):
        graph = Graph.MAYBE
    return Value(Kind.TENSOR, receiver.live, receiver.cut, graph=graph)


def _requires_grad_of_tensor(
    run: Interpreter, node: cst.Call, receiver: Value, arguments: Arguments
) -> Value:
    wanted = arguments.get(0, "requires_grad")
    frozen = wanted is not None and wanted.constant is not True
    if receiver.kind is not Kind.PARAMETER:
        return receiver if frozen else fresh_leaf(run, node, receiver)
    mark(run, receiver, frozen)
    thing = receiver.thing
    must_freeze = wanted is not None and wanted.constant is False
    if must_freeze and thing is not None and thing.base.role == "made":
        frozen_thing = replace(thing, trainable=Trainable.NO)
        return Value(Kind.TENSOR, ref=frozen_thing, graph=Graph.NO, memory=receiver.memory)
    return receiver


def _is_integer_type(run: Interpreter, value: Value) -> bool:
    return isinstance(value.ref, Imported) and value.ref.name in INTEGER_TYPES


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
    live, cut = gathered(inputs)
    cut = cut | receiver.cut
    if run.mode is not None and live - receiver.live:
        at = run.cut_at(node, run.mode.cause, run.mode.block)
        cut = cut | {Severed(origin, at, False) for origin in live - receiver.live}
        live = NOTHING
    owner = receiver
    while isinstance(target, cst.Subscript):
        target = target.value
        owner = run.evaluate(target) if isinstance(target, cst.Name | cst.Attribute) else owner
    note_write(run, node, target, owner, via, inputs[-1] if inputs else None)
    is_part = owner is not receiver and run.mode is not None
    if owner.kind is Kind.PARAMETER and (live or cut or is_part):
        write_by_hand(run, owner)
    elif owner.kind is Kind.TENSOR and owner.thing is not None:
        write_by_hand(run, Value(live=run.source(owner.thing)))
    graph = receiver.graph
    if run.mode is None:
        graph = combined((graph, *map(own_graph, inputs)))
    value = replace(receiver, live=receiver.live | live, cut=cut, graph=graph)
    rebind(run, target, value)
    return value


def rebind(run: Interpreter, target: cst.CSTNode, value: Value) -> None:
    """A name now stands for a changed tensor; through a subscript, its whole has changed."""
    while isinstance(target, cst.Subscript):
        target = target.value
    name = dotted(target)
    if name is not None and name in run.env:
        old = run.env[name]
        live, cut = flat(value)
        run.env[name] = replace(value, kind=old.kind, ref=old.ref, live=live, cut=cut)
