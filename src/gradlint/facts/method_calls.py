"""Calls of methods: of tensors, modules, optimizers, lists, and of objects nobody knows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.callees import call_attribute, construct
from gradlint.facts.collection_methods import ADDS, CHANGES, collection_method
from gradlint.facts.effects import Step
from gradlint.facts.elements import things_in
from gradlint.facts.imported_calls import by_flow
from gradlint.facts.module_methods import CONTAINER_METHODS, MODULE_METHODS
from gradlint.facts.opaque import unknown_call
from gradlint.facts.tensor_methods import tensor_method
from gradlint.facts.uses import go_backward
from gradlint.facts.values import (
    OTHER,
    SELF,
    TENSORS,
    Class,
    ParametersOf,
    Super,
    Thing,
    Value,
    graph_of,
)
from gradlint.facts.writes import note_step
from gradlint.knowledge.modules import ALTERNATIVE_CONSTRUCTORS, CONTAINERS
from gradlint.knowledge.ops import METHODS, TENSOR_ONLY, Flow
from gradlint.knowledge.training import KEEPS_NOTHING_METHODS
from gradlint.model import Graph, Kind

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


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
    if name in CHANGES and receiver.kind is Kind.UNKNOWN and _is_field(node):
        run.escape(receiver)  # who knows the list in the field would have to know of this
    if isinstance(receiver.ref, Thing):
        return _of_thing(run, node, receiver, receiver.ref, name, arguments)
    if isinstance(receiver.ref, Class) and _makes_an_instance(receiver.ref, name):
        return construct(run, node, receiver.ref, arguments)
    if isinstance(receiver.ref, Super | Class):
        return call_attribute(run, node, receiver, name, arguments)
    return _of_unknown(run, node, receiver, name, arguments)


def _makes_an_instance(ref: Class, name: str) -> bool:
    """Net._from_config(config), Net.from_pretrained(path): class methods of a foreign base."""
    is_maker = name.lstrip("_") in ALTERNATIVE_CONSTRUCTORS
    return is_maker and ref.cls.must_be_module and ref.cls.method(name) is None


_OF_TENSOR = ("gradient", "retain_graph", "create_graph", "inputs")


def _is_field(node: cst.Call) -> bool:
    """Whether it is a method of an attribute, as in self.queue.pop()."""
    return isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Attribute)


def _backward(run: Interpreter, node: cst.Call, receiver: Value, arguments: Arguments) -> Value:
    """loss.backward(), or accelerator.backward(loss)."""
    value, given = receiver, arguments.positional
    is_engine = receiver.kind not in TENSORS and arguments.keywords.keys().isdisjoint(_OF_TENSOR)
    if is_engine and given and (given[0].has_graph_facts or not receiver.has_graph_facts):
        run.escape(receiver)  # or is it a tensor that passes this gradient on?
        may_be_result = receiver.ref is None and graph_of(given[0]) is Graph.NO
        value = receiver if may_be_result else given[0]
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
    if name in ADDS and receiver.kind is not Kind.MODULE:
        return _of_unknown(run, node, receiver, name, arguments)
    transfer = MODULE_METHODS.get(name)
    if thing.layer in CONTAINERS:
        transfer = CONTAINER_METHODS.get(name, transfer)
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
    found = collection_method(run, node, receiver, name, arguments)
    if found is not None:
        return found
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
