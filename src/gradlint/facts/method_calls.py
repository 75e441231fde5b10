"""Calls of methods: of tensors, modules, optimizers, lists, and of objects nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import fresh_leaf, mark, write_by_hand
from gradlint.facts.callees import call_attribute, call_thing
from gradlint.facts.elements import (
    element_of,
    joint_trainable,
    merged_parameters,
    some_of,
    things_in,
    with_element,
)
from gradlint.facts.imported_calls import by_flow, with_indices
from gradlint.facts.instances import parameters_of
from gradlint.facts.opaque import unknown_call
from gradlint.facts.state import Backward, Step
from gradlint.facts.values import (
    ANY,
    NOTHING,
    OTHER,
    SELF,
    TENSOR,
    UNKNOWN,
    Bound,
    Class,
    Constant,
    Each,
    Function,
    Imported,
    Keys,
    ParametersOf,
    Severed,
    Source,
    Super,
    Thing,
    Value,
    flat,
    gathered,
    join_all,
)
from gradlint.knowledge.ops import (
    INTEGER_TYPES,
    MAY_RETURN_ITS_INPUT,
    METHODS,
    RETURNS_ITS_RECEIVER,
    TENSOR_ONLY,
    Flow,
    must_write_in_place,
)
from gradlint.knowledge.training import KEEPS_NOTHING_METHODS
from gradlint.model import Kind, Trainable
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter

_TENSORS = (Kind.TENSOR, Kind.PARAMETER)


def method_call(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    """The value of `receiver.name(...)`."""
    if name in ("backward", "manual_backward"):
        return _backward(run, node, receiver, arguments)
    if receiver.kind in _TENSORS:
        return _of_tensor(run, node, receiver, name, arguments)
    if receiver.kind is Kind.OPTIMIZER:
        return _of_optimizer(run, receiver, name, arguments)
    if isinstance(receiver.ref, Thing):
        return _of_thing(run, node, receiver, receiver.ref, name, arguments)
    if isinstance(receiver.ref, Super | Class):
        return call_attribute(run, node, receiver, name, arguments)
    return _of_unknown(run, node, receiver, name, arguments)


def _backward(run: Interpreter, node: cst.Call, receiver: Value, arguments: Arguments) -> Value:
    """loss.backward(), or accelerator.backward(loss)."""
    value, given = receiver, arguments.positional
    is_engine = receiver.kind not in _TENSORS
    if is_engine and given and (given[0].has_graph_facts or not receiver.has_graph_facts):
        run.escape(receiver)  # or is it a tensor that passes this gradient on?
        value = given[0]
    run.frame.effects.timeline.append(Backward(value, run.place(node)))
    return OTHER


# ---------------------------------------------------------------------------------- tensors


def _of_tensor(
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


# ---------------------------------------------------------------------------------- modules


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
    transfer = _MODULE_METHODS.get(name)
    if transfer is not None:
        return transfer(run, node, receiver, thing, arguments)
    if name in KEEPS_NOTHING_METHODS:
        return OTHER
    if receiver.kind is Kind.UNKNOWN and (name in METHODS or name in TENSOR_ONLY):
        return _of_unknown(run, node, receiver, name, arguments)
    if receiver.kind is Kind.MODULE or thing.base == SELF or thing.cls is not None:
        return call_attribute(run, node, receiver, name, arguments)
    return _of_unknown(run, node, receiver, name, arguments)


def _same(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return me


def _parameters(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    return parameters_of(me, named=False)


def _named_parameters(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    return parameters_of(me, named=True)


def _modules(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return Value(Kind.OTHER, ref=Each(_part_of(thing)))


def _named_modules(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    return Value(Kind.OTHER, ref=Each(Value(Kind.OTHER, items=(OTHER, _part_of(thing)))))


def _part_of(thing: Thing) -> Value:
    """Some member of a module, nobody knows which."""
    return Value(Kind.MODULE, ref=replace(thing.member(ANY), trainable=thing.trainable))


def _apply(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    """model.apply(f): f sees every member of it."""
    function = given.get(0, "fn")
    if function is not None and isinstance(function.ref, Function | Bound):
        run.call(node, function, Arguments([me], {}, ()))
    return me


def _requires_grad(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    wanted = given.get(0, "requires_grad")
    frozen = wanted is not None and wanted.constant is not True
    mark(run, me, frozen)
    if frozen and thing.base.role == "made" and wanted is not None and wanted.constant is False:
        return replace(me, ref=replace(thing, trainable=Trainable.NO))
    return me


def _state_dict(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    """The values of a state_dict share the memory of the module's parameters."""
    return Value(Kind.OTHER, ref=Each(Value(Kind.TENSOR, ref=replace(thing, cls=None))))


def _buffers(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return Value(Kind.OTHER, ref=Each(TENSOR))


def _load_state_dict(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    """target.load_state_dict(online.state_dict()): the target is kept by hand."""
    loaded = given.get(0, "state_dict")
    if loaded is not None and isinstance(loaded.ref, Each):
        written = run.source(thing)
        run.frame.effects.written |= {s for s in written if isinstance(s, Source)}
    return OTHER


def _register_buffer(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    return _register(run, me, thing, given, TENSOR)


def _register_module(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    return _register(run, me, thing, given, given.get(1, "module") or given.get(1, "param"))


def _register(
    run: Interpreter, me: Value, thing: Thing, given: Arguments, value: Value | None
) -> Value:
    """register_buffer, register_parameter, add_module: an attribute under a literal name."""
    name = given.get(0, "name")
    if value is not None and name is not None and isinstance(name.constant, str):
        value = run.name_made(value, SELF, (name.constant,))
        if thing.base == SELF and not thing.path:
            run.frame.effects.stores[name.constant] = value
            run.env[f"{run.frame.self_name}.{name.constant}"] = value
    return OTHER


def _add(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    """layers.append(layer): the container can now be trained if the layer can."""
    assert isinstance(node.func, cst.Attribute)
    if me.kind is not Kind.MODULE:
        return _of_unknown(run, node, me, node.func.attr.value, given)
    text = dotted(node.func.value)
    added = given.all[-1] if given.all else UNKNOWN
    if isinstance(added.ref, Each):
        added = added.ref.element
    trainable = joint_trainable([added])
    if trainable is Trainable.NO or thing.trainable is Trainable.YES:
        trainable = thing.trainable
    element = added.thing.cls if added.thing is not None else None
    changed = replace(me, ref=replace(thing, trainable=trainable, element=element))
    if text is not None and text in run.env:
        run.env[text] = changed
        if thing.base == SELF and len(thing.path) == 1:
            run.frame.effects.stores[thing.path[0]] = changed
    return me


def _forward(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return call_thing(run, node, me, thing, given)


def _hook(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    """register_forward_hook(f): what f returns replaces what the module returns."""
    hook = given.get(0, "hook")
    if hook is not None:
        run.hooks[run.identity(thing)] = hook
    return OTHER


def _silent(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return OTHER


ModuleMethod = Callable[["Interpreter", cst.Call, Value, Thing, Arguments], Value]

_MODULE_METHODS: dict[str, ModuleMethod] = {
    **dict.fromkeys("eval train cuda to cpu half float double bfloat16 type".split(), _same),
    "apply": _apply,
    "register_forward_hook": _hook,
    "register_full_backward_hook": _silent,
    "parameters": _parameters,
    "named_parameters": _named_parameters,
    "buffers": _buffers,
    "modules": _modules,
    "children": _modules,
    "named_modules": _named_modules,
    "named_children": _named_modules,
    "requires_grad_": _requires_grad,
    "state_dict": _state_dict,
    "load_state_dict": _load_state_dict,
    "register_buffer": _register_buffer,
    "register_parameter": _register_module,
    "register_module": _register_module,
    "add_module": _register_module,
    "append": _add,
    "extend": _add,
    "insert": _add,
    "forward": _forward,
}
"""Methods that every module has."""


def _of_optimizer(run: Interpreter, me: Value, name: str, arguments: Arguments) -> Value:
    if name == "step":
        things = me.ref.things if isinstance(me.ref, ParametersOf) else ()
        run.frame.effects.timeline.append(Step(things))
    if name == "add_param_group" and arguments.all:
        run.frame.effects.optimized.append(things_in(arguments.all[0]))
    return OTHER


# ---------------------------------------------------------------------------------- unknown


def _of_unknown(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    if name in ("parameters", "named_parameters"):
        return Value(Kind.OTHER, ref=ParametersOf((), name == "named_parameters"))
    if name in ("append", "add", "extend", "insert", "appendleft"):
        return _collect(run, node, receiver, name, arguments)
    if name in ("items", "values", "keys", "get", "pop", "setdefault", "copy"):
        return _of_mapping(receiver, name)
    if name in KEEPS_NOTHING_METHODS:
        return OTHER
    flow = METHODS.get(name)
    if flow in (Flow.DETACHES, Flow.TO_HOST) and receiver.kind is not Kind.ARRAY:
        value = by_flow(run, node, flow, [receiver])
        return replace(value, kind=Kind.UNKNOWN if flow is Flow.DETACHES else value.kind)
    if name in TENSOR_ONLY and receiver.kind is Kind.UNKNOWN:
        return _of_tensor(run, node, replace(receiver, kind=Kind.TENSOR), name, arguments)
    if receiver.kind is Kind.ARRAY:
        return Value(Kind.ARRAY, cut=receiver.cut)
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
    names = [Value(Kind.OTHER, ref=Constant(key)) for key in keys.names]
    if name == "items":
        pairs = zip(names, items, strict=True)
        return Value(Kind.OTHER, items=tuple(Value(Kind.OTHER, items=pair) for pair in pairs))
    if name == "values":
        return Value(Kind.OTHER, items=items)
    return receiver if name == "copy" else join_all(items) or UNKNOWN


def _of_mapping(receiver: Value, name: str) -> Value:
    if name == "keys":
        return Value(Kind.OTHER, ref=Each(OTHER))
    if isinstance(receiver.ref, Keys) and receiver.items is not None:
        return _of_known_mapping(receiver, receiver.ref, receiver.items, name)
    if isinstance(receiver.ref, Each):
        element = receiver.ref.element
        if name == "items":
            return Value(Kind.OTHER, ref=Each(Value(Kind.OTHER, items=(OTHER, element))))
        return receiver if name in ("values", "copy") else element
    live, cut = flat(receiver)
    return Value(Kind.UNKNOWN, live, cut)
