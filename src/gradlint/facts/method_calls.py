"""Calls of methods: of tensors, modules, optimizers, lists, and of objects nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.aliases import note_collected
from gradlint.facts.arguments import Arguments
from gradlint.facts.callees import call_attribute
from gradlint.facts.effects import Step
from gradlint.facts.elements import (
    element_of,
    merged_parameters,
    some_of,
    things_in,
    with_element,
)
from gradlint.facts.imported_calls import by_flow
from gradlint.facts.module_methods import MODULE_METHODS
from gradlint.facts.opaque import unknown_call
from gradlint.facts.tensor_methods import tensor_method
from gradlint.facts.uses import go_backward
from gradlint.facts.values import (
    OTHER,
    SELF,
    TENSORS,
    UNKNOWN,
    Class,
    Constant,
    Each,
    Keys,
    ParametersOf,
    Super,
    Thing,
    Value,
    flat,
    join_all,
    listed_value,
    own_graph,
)
from gradlint.facts.writes import note_step
from gradlint.knowledge.ops import (
    METHODS,
    TENSOR_ONLY,
    Flow,
)
from gradlint.knowledge.training import KEEPS_NOTHING_METHODS
from gradlint.model import Graph, Kind
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


_COLLECTS = ("append", "add", "extend", "insert", "appendleft")


def method_call(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    """The value of `receiver.name(...)`."""
    if name in ("backward", "manual_backward"):
        return _backward(run, node, receiver, arguments)
    if receiver.kind in TENSORS:
        return tensor_method(run, node, receiver, name, arguments)
    if receiver.kind is Kind.OPTIMIZER:
        return _of_optimizer(run, receiver, name, arguments)
    if isinstance(receiver.ref, Thing):
        return _of_thing(run, node, receiver, receiver.ref, name, arguments)
    if isinstance(receiver.ref, Super | Class):
        return call_attribute(run, node, receiver, name, arguments)
    return _of_unknown(run, node, receiver, name, arguments)


_OF_TENSOR = ("gradient", "retain_graph", "create_graph", "inputs")


def _backward(run: Interpreter, node: cst.Call, receiver: Value, arguments: Arguments) -> Value:
    """loss.backward(), or accelerator.backward(loss)."""
    value, given = receiver, arguments.positional
    is_engine = receiver.kind not in TENSORS and arguments.keywords.keys().isdisjoint(_OF_TENSOR)
    if is_engine and given and (given[0].has_graph_facts or not receiver.has_graph_facts):
        run.escape(receiver)  # or is it a tensor that passes this gradient on?
        value = given[0]
    go_backward(run, node, value)
    return OTHER


def _of_thing(
    run: Interpreter,
    node: cst.Call,
    receiver: Value,
    thing: Thing,
    name: str,
    arguments: Arguments,
) -> Value:
    if thing.cls is not None and thing.cls.method(name) is not None:
        return call_attribute(run, node, receiver, name, arguments)
    if thing.cls is not None and name in thing.cls.attributes:
        return call_attribute(run, node, receiver, name, arguments)
    if name in _COLLECTS and receiver.kind is not Kind.MODULE:
        return _of_unknown(run, node, receiver, name, arguments)
    transfer = MODULE_METHODS.get(name)
    if transfer is not None:
        return transfer(run, node, receiver, thing, arguments)
    if name in KEEPS_NOTHING_METHODS:
        return OTHER
    if receiver.kind is Kind.UNKNOWN and (name in METHODS or name in TENSOR_ONLY):
        return _of_unknown(run, node, receiver, name, arguments)
    if receiver.kind is Kind.MODULE or thing.base == SELF or thing.cls is not None:
        return call_attribute(run, node, receiver, name, arguments)
    return _of_unknown(run, node, receiver, name, arguments)


def _of_optimizer(run: Interpreter, me: Value, name: str, arguments: Arguments) -> Value:
    if name == "step":
        things = me.ref.things if isinstance(me.ref, ParametersOf) else ()
        run.frame.effects.timeline.append(Step(things))
        note_step(run, things)
    if name == "add_param_group" and arguments.all:
        run.frame.effects.optimized.append(things_in(arguments.all[0]))
    return OTHER


# ---------------------------------------------------------------------------------- unknown


def _of_unknown(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    if name in ("parameters", "named_parameters"):
        return Value(Kind.OTHER, ref=ParametersOf((), name == "named_parameters"))
    if name in _COLLECTS:
        return _collect(run, node, receiver, name, arguments)
    if name in ("items", "values", "keys", "get", "pop", "setdefault", "copy"):
        return _of_mapping(receiver, name)
    if name == "scale" and len(arguments.all) == 1:  # of a GradScaler: times a number
        return run.operation(node, arguments.all, arguments.all[0].kind, name="mul")
    if name == "step" and not arguments.all and receiver.kind is Kind.UNKNOWN:
        note_step(run, ())
    if name in KEEPS_NOTHING_METHODS:
        return OTHER
    flow = METHODS.get(name)
    if flow in (Flow.DETACHES, Flow.TO_HOST) and receiver.kind is not Kind.ARRAY:
        value = by_flow(run, node, flow, [receiver], name)
        return replace(value, kind=Kind.UNKNOWN if flow is Flow.DETACHES else value.kind)
    if name in TENSOR_ONLY and receiver.kind is Kind.UNKNOWN:
        return tensor_method(run, node, replace(receiver, kind=Kind.TENSOR), name, arguments)
    if receiver.kind is Kind.ARRAY:
        return Value(Kind.ARRAY, cut=receiver.cut, graph=Graph.NO)
    return unknown_call(run, node, receiver, arguments)


def _collect(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    """losses.append(loss): the list now holds it; a list that is not a local name keeps it."""
    assert isinstance(node.func, cst.Attribute)
    text = dotted(node.func.value)
    if not arguments.all:
        return OTHER
    added = arguments.all[-1]
    note_collected(run, added)
    if text is None or text not in run.env or "." in text or text in run.frame.parameters:
        run.escape(added)
    if run.unsure > run.loops:
        added = some_of(added)  # which of the parameters are collected is decided as it runs
    merged = merged_parameters([receiver, added]) if run.unsure <= run.loops else None
    if text is not None and text in run.env and merged is not None:
        run.env[text] = merged
    elif text is not None and text in run.env:
        element = element_of(run, added) if name == "extend" else added
        unsure = run.unsure > 0 or name != "append"
        run.env[text] = with_element(receiver, element, unsure)
    return OTHER


def _of_known_mapping(receiver: Value, keys: Keys, items: tuple[Value, ...], name: str) -> Value:
    names = [Value(Kind.OTHER, ref=Constant(key), graph=Graph.NO) for key in keys.names]
    if name == "items":
        pairs = zip(names, items, strict=True)
        return listed_value([listed_value(pair) for pair in pairs])
    if name == "values":
        return listed_value(items)
    return receiver if name == "copy" else join_all(items) or UNKNOWN


def _of_mapping(receiver: Value, name: str) -> Value:
    if name == "keys":
        return Value(Kind.OTHER, ref=Each(OTHER))
    if isinstance(receiver.ref, Keys) and receiver.items is not None:
        return _of_known_mapping(receiver, receiver.ref, receiver.items, name)
    if isinstance(receiver.ref, Each):
        element = receiver.ref.element
        if name == "items":
            return replace(receiver, ref=Each(listed_value((OTHER, element))))
        if name == "values":
            return replace(receiver, ref=Each(element))
        return receiver if name == "copy" else element
    live, cut = flat(receiver)
    return Value(Kind.UNKNOWN, live, cut, graph=own_graph(receiver))
