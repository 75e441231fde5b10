"""Calls of methods of tensors: by the tables of torch, and in place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import fresh_leaf, mark
from gradlint.facts.elements import graph_of_view
from gradlint.facts.imported_calls import by_flow, with_indices
from gradlint.facts.in_place import in_place, rebind
from gradlint.facts.memory import converted, reshaped
from gradlint.facts.values import (
    OTHER,
    Imported,
    Value,
)
from gradlint.knowledge.ops import (
    INTEGER_TYPES,
    MAY_RETURN_ITS_INPUT,
    METHODS,
    RETURNS_ITS_RECEIVER,
    SHARES_MEMORY,
    VIEWS,
    Flow,
    must_write_in_place,
)
from gradlint.model import Graph, Kind, Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def tensor_method(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    """The value of `receiver.name(...)`, where the receiver is a tensor."""
    assert isinstance(node.func, cst.Attribute)
    target = node.func.value
    if name == "requires_grad_":
        return _requires_grad_of_tensor(run, node, receiver, arguments)
    if name in RETURNS_ITS_RECEIVER:
        return receiver
    if name == "register_hook":
        run.escape(receiver)
        return OTHER
    if name == "detach_":
        return _detached_in_place(run, node, target, receiver)
    if must_write_in_place(name):
        return in_place(run, node, target, receiver, arguments.all, name)
    if name in MAY_RETURN_ITS_INPUT:
        if any(_is_integer_type(run, value) for value in arguments.all):
            return run.ended(node, [receiver], "no gradient", Kind.TENSOR)
        return _converted(run, receiver)
    return _computed(run, node, receiver, name, arguments)


def _computed(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    """A new tensor, or a view."""
    inputs = [receiver, *arguments.all]
    value = by_flow(run, node, METHODS.get(name, Flow.PASSES), inputs, name)
    if name in VIEWS:
        value = replace(value, graph=graph_of_view(run, receiver, value))
    if name in SHARES_MEMORY:
        value = replace(value, memory=reshaped(receiver.memory))
    if name == "numpy":
        return replace(value, kind=Kind.ARRAY)
    return with_indices(run, node, name, value, arguments.all)


def _detached_in_place(
    run: Interpreter, node: cst.Call, target: cst.CSTNode, receiver: Value
) -> Value:
    """x.detach_(): a computed tensor loses its graph; a leaf is frozen, and as it was."""
    if receiver.kind is Kind.PARAMETER:
        return receiver
    value = by_flow(run, node, Flow.DETACHES, [receiver])
    rebind(run, target, value)
    return value


def _converted(run: Interpreter, receiver: Value) -> Value:
    """x.to(...): x itself or a copy, which have different memories and, under a mode, graphs."""
    graph = receiver.graph
    if graph is Graph.LEAF or (graph is Graph.COMPUTED and run.mode is not None):
        graph = Graph.MAYBE
    memory = converted(receiver.memory)
    return Value(Kind.TENSOR, receiver.live, receiver.cut, graph=graph, memory=memory)


def _requires_grad_of_tensor(
    run: Interpreter, node: cst.Call, receiver: Value, arguments: Arguments
) -> Value:
    wanted = arguments.get(0, "requires_grad")
    frozen = wanted is not None and wanted.constant is not True
    if receiver.kind is not Kind.PARAMETER:
        value = receiver if frozen else fresh_leaf(run, node, receiver)
        assert isinstance(node.func, cst.Attribute)
        rebind(run, node.func.value, value)
        return value
    mark(run, receiver, frozen)
    thing = receiver.thing
    must_freeze = wanted is not None and wanted.constant is False
    if must_freeze and thing is not None and thing.base.role == "made":
        frozen_thing = replace(thing, trainable=Trainable.NO)
        return Value(Kind.TENSOR, ref=frozen_thing, graph=Graph.NO, memory=receiver.memory)
    return receiver


def _is_integer_type(run: Interpreter, value: Value) -> bool:
    return isinstance(value.ref, Imported) and value.ref.name in INTEGER_TYPES
