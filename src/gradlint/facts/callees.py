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
from gradlint.facts.records import record
from gradlint.facts.uses import MODULE
from gradlint.facts.values import (
    MEMBER,
    PACKED,
    UNKNOWN,
    Bound,
    Class,
    Function,
    Imported,
    ParametersOf,
    Severed,
    Source,
    Super,
    Thing,
    Value,
    listed_value,
)
from gradlint.knowledge.modules import CONTAINERS
from gradlint.model import Graph, Kind, Place, Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def call_value(run: Interpreter, node: cst.CSTNode, callee: Value, arguments: Arguments) -> Value:
    """What calling a value gives: a function, a class, a module, or something unknown."""
    ref = callee.ref
    if isinstance(ref, Function) and not _sees_another_self(run, ref):
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


def _sees_another_self(run: Interpreter, function: Function) -> bool:
    """Whether a local function of one method is called in a method of another class."""
    is_elsewhere = function.closure is not None and function.scope != run.frame.scope
    return is_elsewhere and None is not function.cls is not run.frame.cls is not None


def construct(run: Interpreter, node: cst.CSTNode, ref: Class, arguments: Arguments) -> Value:
    """An instance of a class of this file."""
    if (made := record(ref.cls, arguments)) is not None:
        return made
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
    if thing.chain and arguments.positional:
        return _chained(run, node, thing, arguments.positional[0])
    if callee.kind is Kind.MODULE:
        used, layer = run.source(thing), "" if thing.layer in CONTAINERS else thing.layer
        result = run.operation(node, arguments.all, Kind.TENSOR, used, layer or MODULE)
        if run.mode is None and not layer and thing.trainable is Trainable.MAYBE:
            result = replace(result, graph=Graph.MAYBE)  # it may detach what it is given
        given = arguments.positional[0].ref if arguments.positional else None
        if given == Imported(PACKED):  # an RNN returns what it is given, packed, and its state
            packed = replace(result, kind=Kind.OTHER, ref=given)
            return listed_value((packed, result))
        return result
    return unknown_call(run, node, callee, arguments)


def _chained(run: Interpreter, node: cst.CSTNode, thing: Thing, value: Value) -> Value:
    """Calling a Sequential: each layer in turn, which stands for the whole."""
    for link in thing.chain:
        at = replace(link, base=thing.base, path=thing.path) if link.base == MEMBER else link
        value = _forward(run, node, Value(Kind.MODULE, ref=at), at, Arguments([value], {}, ()))
    return _lost_as_whole(value, thing, run.mode.block) if run.mode is not None else value


def _lost_as_whole(value: Value, thing: Thing, block: Place) -> Value:
    """What the module `thing` loses of itself to the mode of `block`, as all of it."""
    cut = frozenset(_of_whole(s, thing) if s.cut.block is block else s for s in value.cut)
    items = value.items
    if items is not None:
        items = tuple(_lost_as_whole(item, thing, block) for item in items)
    return replace(value, cut=cut, items=items)


def _of_whole(severed: Severed, thing: Thing) -> Severed:
    origin, depth = severed.origin, len(thing.path)
    if not isinstance(origin, Source) or origin.base != thing.base:
        return severed
    whole = Source(thing.base, thing.path, origin.trainable)
    return Severed(whole, severed.cut, True) if origin.path[:depth] == thing.path else severed


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
