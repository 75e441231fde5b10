"""Calls of methods of tensors: by the tables of torch, and in place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import fresh_leaf, mark, write_by_hand
from gradlint.facts.imported_calls import by_flow, with_indices
from gradlint.facts.values import (
    NOTHING,
    OTHER,
    Imported,
    Severed,
    Value,
    flat,
    gathered,
)
from gradlint.knowledge.ops import (
    INTEGER_TYPES,
    MAY_RETURN_ITS_INPUT,
    METHODS,
    RETURNS_ITS_RECEIVER,
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
        return in_place(run, node, target, receiver, arguments.all)
    if name in MAY_RETURN_ITS_INPUT:
        if any(_is_integer_type(run, value) for value in arguments.all):
            return run.ended(node, [receiver], "no gradient", Kind.TENSOR)
        return Value(Kind.TENSOR, receiver.live, receiver.cut)
    value = by_flow(run, node, METHODS.get(name, Flow.PASSES), [receiver, *arguments.all])
    if name == "numpy":
        return replace(value, kind=Kind.ARRAY)
    if name == "detach_":
        rebind(run, target, value)
    return with_indices(run, node, name, value)


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
        return Value(Kind.TENSOR, ref=replace(thing, trainable=Trainable.NO))
    return receiver


def _is_integer_type(run: Interpreter, value: Value) -> bool:
    return isinstance(value.ref, Imported) and value.ref.name in INTEGER_TYPES


def in_place(
    run: Interpreter, node: cst.CSTNode, target: cst.CSTNode, receiver: Value, inputs: list[Value]
) -> Value:
    """The receiver after an in-place operation: its own graph stays, under a mode too."""
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
    is_part = owner is not receiver and run.mode is not None
    if owner.kind is Kind.PARAMETER and (live or cut or is_part):
        write_by_hand(run, owner)
    elif owner.kind is Kind.TENSOR and owner.thing is not None:
        write_by_hand(run, Value(live=run.source(owner.thing)))
    value = replace(receiver, live=receiver.live | live, cut=cut)
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
