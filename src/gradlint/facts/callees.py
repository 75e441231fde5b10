"""What calling a value gives: a function or class of this file, a module, something imported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import attribute
from gradlint.facts.binding import bind
from gradlint.facts.elements import things_in
from gradlint.facts.imported_calls import imported_call
from gradlint.facts.instances import build_instance
from gradlint.facts.opaque import unknown_call
from gradlint.facts.uses import MODULE
from gradlint.facts.values import (
    PACKED,
    UNKNOWN,
    Bound,
    Class,
    Function,
    Imported,
    ParametersOf,
    Super,
    Thing,
    Value,
    listed_value,
)
from gradlint.model import Graph, Kind, Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def call_value(run: Interpreter, node: cst.CSTNode, callee: Value, arguments: Arguments) -> Value:
    """What calling a value gives: a function, a class, a module, or something unknown."""
    ref = callee.ref
    if isinstance(ref, Function):
        return run.call_function(node, ref, None, arguments.positional, arguments.keywords)
    if isinstance(ref, Bound):
        return run.call_function(
            node, ref.function, ref.receiver, arguments.positional, arguments.keywords
        )
    if isinstance(ref, Class):
        return construct(run, node, ref, arguments)
    if isinstance(ref, Thing):
        return call_thing(run, node, callee, ref, arguments)
    if isinstance(ref, Imported) and isinstance(node, cst.Call):
        return imported_call(run, node, ref.name, arguments)
    return unknown_call(run, node, callee, arguments)


def construct(run: Interpreter, node: cst.CSTNode, ref: Class, arguments: Arguments) -> Value:
    """An instance of a class of this file."""
    found = ref.cls.method("__init__")
    given: dict[str, Value] = {}
    if found is not None:
        given = bind(found[1], UNKNOWN, arguments.positional, arguments.keywords)
    if ref.cls.must_be_optimizer:
        held = arguments.get(0, "params")
        things = things_in(held) if held is not None else ()
        run.frame.effects.optimized.append(things)
        return Value(Kind.OPTIMIZER, ref=ParametersOf(things))
    run.escape(*arguments.all)
    return build_instance(run, node, ref.cls, given)


def call_thing(
    run: Interpreter, node: cst.CSTNode, callee: Value, thing: Thing, arguments: Arguments
) -> Value:
    """Calling an object, and the forward hook that it may have."""
    result = _forward(run, node, callee, thing, arguments)
    hook = run.hooks.get(run.identity(thing)) if run.hooks else None
    if hook is None or hook.thing is not None:
        return result
    changed = call_value(run, node, hook, Arguments([callee, UNKNOWN, result], {}, ()))
    return result if changed.constant is None else changed


def _forward(
    run: Interpreter, node: cst.CSTNode, callee: Value, thing: Thing, arguments: Arguments
) -> Value:
    """Calling an object: forward of a module of this file, or an opaque module."""
    if thing.cls is not None:
        for name in ("forward", "__call__"):
            found = thing.cls.method(name)
            if found is not None:
                function = Function(found[1], found[0])
                return run.call_function(
                    node, function, callee, arguments.positional, arguments.keywords
                )
    if callee.kind is Kind.MODULE:
        used = run.source(thing)
        result = run.operation(node, arguments.all, Kind.TENSOR, used, thing.layer or MODULE)
        if run.mode is None and not thing.layer and thing.trainable is Trainable.MAYBE:
            result = replace(result, graph=Graph.MAYBE)  # it may detach what it is given
        given = arguments.positional[0].ref if arguments.positional else None
        if given == Imported(PACKED):  # an RNN returns what it is given, packed, and its state
            packed = replace(result, kind=Kind.OTHER, ref=given)
            return listed_value((packed, result))
        return result
    return unknown_call(run, node, callee, arguments)


def call_attribute(
    run: Interpreter, node: cst.CSTNode, receiver: Value, name: str, arguments: Arguments
) -> Value:
    """Calling what the attribute `name` of an object holds."""
    if isinstance(receiver.ref, Super):
        return _super_call(run, node, receiver, name, arguments)
    return call_value(run, node, attribute(run, node, receiver, name), arguments)


def _super_call(
    run: Interpreter, node: cst.CSTNode, receiver: Value, name: str, arguments: Arguments
) -> Value:
    found = attribute(run, node, receiver, name)
    if found is not UNKNOWN:
        return call_value(run, node, found, arguments)
    me = run.env.get(run.frame.self_name or "", UNKNOWN)
    if name == "__init__" or me.thing is None:
        return UNKNOWN
    return run.operation(node, arguments.all, Kind.UNKNOWN, run.source(me.thing))
