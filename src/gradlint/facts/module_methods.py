"""Calls of the methods that every module has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import mark, note_deletion
from gradlint.facts.callees import call_thing
from gradlint.facts.elements import joint_trainable, member_of
from gradlint.facts.instances import parameters_of
from gradlint.facts.memory import Memory, ObjectMemory
from gradlint.facts.sequences import any_list
from gradlint.facts.uses import note_use
from gradlint.facts.values import (
    ANY,
    OTHER,
    SELF,
    TENSOR,
    UNKNOWN,
    Bound,
    Each,
    Function,
    Source,
    Thing,
    Value,
    listed_value,
)
from gradlint.model import Graph, Kind, Trainable
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def _same(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return me


def _eval(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    _note(run, thing, run.frame.effects.set_to_eval)
    return me


def _note(run: Interpreter, thing: Thing, sources: set[Source]) -> None:
    """Keep what a constructor does to a part."""
    if run.frame.in_initialiser:
        sources |= {s for s in run.source(thing) if isinstance(s, Source)}


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
    memory = Memory(ObjectMemory(thing.base, thing.path), is_parameter=True)
    own = Value(Kind.PARAMETER, ref=replace(thing, cls=None), graph=Graph.NO, memory=memory)
    element = run.severed(node, own, "state_dict", Kind.TENSOR)
    element = replace(element, ref=own.ref)
    return Value(Kind.OTHER, ref=Each(element, keyed=True), graph=Graph.NO)


def _buffers(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return Value(Kind.OTHER, ref=Each(TENSOR))


def _load_state_dict(
    run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments
) -> Value:
    """target.load_state_dict(online.state_dict()): the target is kept by hand."""
    loaded = given.get(0, "state_dict")
    _note(run, thing, run.frame.effects.loaded)
    if loaded is not None:
        mine = Memory(ObjectMemory(thing.base, thing.path), is_parameter=True)
        note_use(run, node, [Value(memory=mine), loaded])
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
    text = dotted(node.func.value)
    added = given.all[-1] if given.all else UNKNOWN
    if isinstance(added.ref, Each):
        added = added.ref.element
    trainable = joint_trainable([added])
    if trainable is Trainable.NO or thing.trainable is Trainable.YES:
        trainable = thing.trainable
    element = added.thing.cls if added.thing is not None else None
    changed = replace(me, ref=replace(thing, trainable=trainable, element=element, chain=()))
    if text is not None and text in run.env:
        run.env[text] = changed
        if thing.base == SELF and len(thing.path) == 1:
            run.frame.effects.stores[thing.path[0]] = changed
    return me


def _delete(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    """__delattr__("branch"): a part of the module is gone."""
    name = given.get(0, "name")
    if name is not None and isinstance(name.constant, str):
        note_deletion(run, Value(ref=thing.member(name.constant)))
    return OTHER


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


def _items(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return any_list([listed_value((OTHER, member_of(run, me, thing)))])


def _values(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return any_list([member_of(run, me, thing)])


def _keys(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return any_list([OTHER])


def _member(run: Interpreter, node: cst.Call, me: Value, thing: Thing, given: Arguments) -> Value:
    return member_of(run, me, thing)


ModuleMethod = Callable[["Interpreter", cst.Call, Value, Thing, Arguments], Value]

MODULE_METHODS: dict[str, ModuleMethod] = {
    "eval": _eval,
    **dict.fromkeys("train cuda to cpu half float double bfloat16 type".split(), _same),
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
    "__delattr__": _delete,
}
"""Methods that every module has."""

CONTAINER_METHODS: dict[str, ModuleMethod] = {
    "items": _items,
    "values": _values,
    "keys": _keys,
    "get": _member,
    "pop": _member,
}
"""Methods that containers of modules or parameters have besides."""
