"""Reading and storing attributes: of tensors, of modules, of self; and `.data`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.binding import has_decorator
from gradlint.facts.classes import ClassFacts
from gradlint.facts.effects import Mark
from gradlint.facts.elements import parameter_in
from gradlint.facts.evidence import kind_by_use
from gradlint.facts.inference import note_inference_flag
from gradlint.facts.instances import attribute_of, trainable_class
from gradlint.facts.memory import Memory, ObjectMemory, unsaved
from gradlint.facts.recorder import Argument, AttributeRecord
from gradlint.facts.records import field_of, with_field
from gradlint.facts.sequences import part_of
from gradlint.facts.stores import store
from gradlint.facts.uses import note_leaving
from gradlint.facts.values import (
    OTHER,
    SELF,
    TENSOR,
    TENSORS,
    UNKNOWN,
    Bound,
    Class,
    Constant,
    Each,
    Fields,
    Function,
    Imported,
    Inflow,
    ParametersOf,
    Source,
    Super,
    Thing,
    Value,
    flat,
    graph_of,
)
from gradlint.facts.writes import Write, note_write
from gradlint.knowledge.ops import (
    ALWAYS_TENSOR_ATTRIBUTES,
    HOLDERS_OF_DATA,
    MAY_RETURN_ITS_INPUT,
    NOT_A_TENSOR_ATTRIBUTES,
    VIEWS,
    must_write_in_place,
)
from gradlint.model import Form, Graph, Kind, Trainable
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter

_VIEW_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "real", "imag"})
TENSOR_ARGUMENT = "tensor argument"  # stands for the call that takes the attribute as a tensor
_FLAGS = ("requires_grad", "requires_grad_")
_NO_PARAMETERS = frozenset({"grad", "running_mean", "running_var"})


# -------------------------------------------------------------------------------- reading


def read_attribute(run: Interpreter, node: cst.Attribute) -> Value:
    """The value of `receiver.name`, recording its use."""
    name = node.attr.value
    text = dotted(node)
    if text is not None and text in run.env:
        value = run.env[text]
        return _data(run, node, value) if name == "data" else value
    imported = run.imported(text)
    if imported is not None:
        return Value(ref=Imported(imported))
    receiver = run.evaluate(node.value)
    if name == "data":
        return _data(run, node, receiver)
    record_use(run, node, receiver)
    return attribute(run, node, receiver, name)


def attribute(run: Interpreter, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    """The value of an attribute that is not `.data`."""
    if receiver.kind in TENSORS:
        return _of_tensor(run, node, receiver, name)
    if name == "param_groups":
        return Value(Kind.OTHER, ref=Each(UNKNOWN))
    ref = receiver.ref
    if isinstance(ref, Thing):
        return _of_thing(run, node, receiver, ref, name)
    if isinstance(ref, Fields):
        return field_of(receiver, name)
    if isinstance(ref, Super):
        return _of_super(run, ref, name)
    if isinstance(ref, Class):
        return _of_class(ref.cls, name)
    if isinstance(ref, Imported):
        return Value(ref=Imported(f"{ref.name}.{name}"))
    if name in ALWAYS_TENSOR_ATTRIBUTES:
        return Value(Kind.TENSOR, receiver.live, receiver.cut, graph=receiver.graph)
    return part_of(receiver)


def _of_tensor(run: Interpreter, node: cst.CSTNode, receiver: Value, name: str) -> Value:
    if name in NOT_A_TENSOR_ATTRIBUTES:
        return _flag(receiver, name)
    if name == "grad":
        return replace(TENSOR, graph=Graph.MAYBE)  # after backward(create_graph=True)
    if name == "indices" and receiver.items is not None:
        return receiver.items[-1]
    if name in _VIEW_ATTRIBUTES:
        return replace(run.operation(node, (receiver,)), memory=receiver.memory)
    return Value(Kind.TENSOR, receiver.live, receiver.cut, graph=receiver.graph)


def _flag(tensor: Value, name: str) -> Value:
    """What is known of requires_grad, grad_fn and is_leaf of a tensor."""
    known: dict[tuple[str, Graph], object] = {
        ("requires_grad", Graph.NO): False,
        ("grad_fn", Graph.NO): None,
        ("grad_fn", Graph.COMPUTED): "a node",
        ("requires_grad", Graph.COMPUTED): True,
        ("is_leaf", Graph.NO): True,
        ("is_leaf", Graph.COMPUTED): False,
    }
    key = (name, graph_of(tensor))
    return Value(Kind.OTHER, ref=Constant(known[key]), graph=Graph.NO) if key in known else OTHER


def _of_thing(
    run: Interpreter, node: cst.CSTNode, receiver: Value, thing: Thing, name: str
) -> Value:
    known = attribute_of(run, node, receiver, name)
    if known is not None:
        return known
    if name == "module" and receiver.kind is Kind.MODULE and not _is_self(thing):
        return receiver  # what DataParallel wraps
    if name in _NO_PARAMETERS:
        return TENSOR
    member = replace(thing.member(name), trainable=thing.trainable)
    is_declared = thing.cls is not None and name in thing.cls.attributes
    if name in ALWAYS_TENSOR_ATTRIBUTES and not is_declared:
        return parameter_in(run, member)
    if _is_self(thing):
        kind = kind_by_use(run.member_uses(thing.cls, name)) if thing.cls is not None else None
        return Value(
            kind or Kind.UNKNOWN,
            frozenset({Inflow(f"{SELF.name}.{name}")}),
            ref=thing.member(name),
            graph=Graph.NO,
            memory=Memory(ObjectMemory(SELF, (name,))),
        )
    return replace(part_of(receiver), ref=member)


def _is_self(thing: Thing) -> bool:
    return thing.base == SELF and not thing.path


def _of_super(run: Interpreter, ref: Super, name: str) -> Value:
    me = run.env.get(run.frame.self_name or "", UNKNOWN)
    start = me.thing.cls if me.thing is not None and me.thing.cls is not None else ref.cls
    found = start.method_above(ref.cls, name)
    if found is None:
        return UNKNOWN
    return Value(Kind.OTHER, ref=Bound(Function(found[1], found[0]), me))


def _of_class(cls: ClassFacts, name: str) -> Value:
    found = cls.method(name)
    if found is None:
        return UNKNOWN
    function = Function(found[1], found[0])
    if has_decorator(found[1], "classmethod"):
        return Value(Kind.OTHER, ref=Bound(function, Value(ref=Class(cls))))
    return Value(Kind.OTHER, ref=function)


# -------------------------------------------------------------------------------- .data


def _data(run: Interpreter, node: cst.Attribute, receiver: Value) -> Value:
    """The value of `receiver.data`: for a tensor, the same numbers without the graph."""
    form, via = run.intents.get(id(node), (Form.READ, ""))
    receiver = _known_by_use(node.value, receiver, form, via)
    record_use(run, node, receiver)
    if receiver.kind not in TENSORS:
        return part_of(receiver)
    if form is not Form.READ:
        write_by_hand(run, receiver)
    return run.severed(node, receiver, "data", Kind.TENSOR)


def write_by_hand(run: Interpreter, parameter: Value) -> None:
    """A parameter is set outside an initialiser: something else than a gradient trains it."""
    if not run.frame.in_initialiser:
        run.frame.effects.written |= {s for s in parameter.live if isinstance(s, Source)}


def note_deletion(run: Interpreter, value: Value) -> None:
    """`del self.branch`: what is gone is not trained."""
    if value.thing is not None:
        gone = run.source(value.thing)
        run.frame.effects.written |= {s for s in gone if isinstance(s, Source)}


def _known_by_use(node: cst.CSTNode, receiver: Value, form: Form, via: str) -> Value:
    """A receiver about which nothing else is known, by what is done to its `.data`.

    That `.data` is a tensor says little: datasets, batches and packed sequences keep one there. A
    write through it does, unless the receiver is called like one of those; and so does being
    combined with a tensor.
    """
    if receiver.kind is not Kind.UNKNOWN or isinstance(node, cst.Call):
        return receiver
    name = (dotted(node) or "").rpartition(".")[2].lower()
    is_write = form is Form.INPLACE and must_write_in_place(via)
    is_holder = any(word in name for word in HOLDERS_OF_DATA)
    if via == TENSOR_ARGUMENT or (is_write and not is_holder):
        return replace(receiver, kind=Kind.TENSOR)
    return receiver


def record_use(
    run: Interpreter,
    node: cst.Attribute,
    receiver: Value,
    value: Argument | None = None,
) -> None:
    """Keep what is done to an attribute, for rules to ask about."""
    form, via = run.intents.get(id(node), (Form.READ, ""))
    if form is Form.READ and receiver.kind not in TENSORS:
        return
    run.recorder.attribute(
        AttributeRecord(
            node.attr.value,
            run.place(node),
            run.context(),
            Argument(node.value, receiver),
            form,
            via,
            value,
        )
    )


# -------------------------------------------------------------------------------- storing


def store_attribute(
    run: Interpreter, node: cst.Attribute, value: Value, source: cst.CSTNode | None
) -> None:
    """`receiver.name = value`."""
    name = node.attr.value
    receiver = run.evaluate(node.value)
    if receiver.kind is Kind.UNKNOWN and name in _FLAGS:
        receiver = replace(receiver, kind=run.kind_of_flagged(dotted(node.value)))
    run.intents.setdefault(id(node), (Form.ASSIGN, ""))
    argument = Argument(source, value) if source is not None else None
    if name == "data":
        receiver = _known_by_assignment(run, node, receiver, value)
        record_use(run, node, receiver, argument)
        write_by_hand(run, receiver)
        _note_assignment(run, node, receiver, value)
        return
    record_use(run, node, receiver, argument)
    if name == "requires_grad":
        mark(run, receiver, frozen=value.constant is not True)
        text = dotted(node.value)
        if receiver.kind is Kind.TENSOR and text in run.env and value.constant is not False:
            run.env[text or ""] = fresh_leaf(run, node, run.env[text or ""])
        return
    if name == "grad" and value.constant is not None:
        write_by_hand(run, receiver)
    _keep(run, node, receiver, value)


def _note_assignment(run: Interpreter, node: cst.Attribute, whole: Value, value: Value) -> None:
    """`x.data = value` changes x past autograd; what was saved of it stays as it was."""
    if whole.memory is not None and whole.kind in TENSORS:
        alias = run.severed(node, whole, "data", Kind.TENSOR)
        alias = replace(alias, memory=unsaved(alias.memory))
        note_write(run, Write(node, node, alias, "=", value))
        run.traces.replace(whole.memory)


def fresh_leaf(run: Interpreter, node: cst.CSTNode, value: Value) -> Value:
    """x.detach().requires_grad_(): a leaf that collects a gradient of its own, to be passed on."""
    note_inference_flag(run, node, value)
    live, _ = flat(value)
    if live:
        return value
    leaf = run.ended(node, [value], "leaf", value.kind)
    return replace(leaf, graph=Graph.LEAF, memory=value.memory)


def _known_by_assignment(
    run: Interpreter, node: cst.Attribute, receiver: Value, value: Value
) -> Value:
    """`pointer.data = torch.from_numpy(array)` beside `pointer.shape`: the pointer is a tensor."""
    if receiver.kind is not Kind.UNKNOWN or value.kind not in TENSORS:
        return receiver
    if isinstance(node.value, cst.Name) and "shape" in run.used_of(node.value.value):
        return replace(receiver, kind=Kind.TENSOR)
    return receiver


def _keep(run: Interpreter, node: cst.Attribute, receiver: Value, value: Value) -> None:
    name, thing, internal = node.attr.value, receiver.thing, False
    if isinstance(receiver.ref, Fields):
        store(run, node.value, with_field(receiver, name, value), value)
        return
    _note_parameter(run, receiver, name, value)
    if thing is not None and thing.base == SELF and not thing.path:
        value = run.name_made(value, SELF, (name,))
        stores = run.frame.effects.stores
        if run.unsure and name in stores and value.constant is None:
            value = replace(stores[name], kind=Kind.UNKNOWN)  # or None, where it is not made
        stores[name] = value
        if thing.cls is not None:
            thing.cls.made.setdefault(name, run.place(node))
            internal = run.is_internal(thing.cls, name)
    note_leaving(run, value)
    if not internal:
        run.escape(value)
    text = dotted(node)
    if text is not None:
        run.env[text] = value


def _note_parameter(run: Interpreter, receiver: Value, name: str, value: Value) -> None:
    """`layer.weight = ...`: a frozen one, one that another layer has too, or one set by hand."""
    thing, given = receiver.thing, value.thing
    if thing is None or given is None or value.kind not in TENSORS:
        return
    member = thing.member(name)
    run.traces.replace(Memory(ObjectMemory(member.base, member.path)))
    if given.trainable is Trainable.NO:
        run.frame.effects.marks.append(Mark(member.base, member.path, True))
    elif value.kind is Kind.PARAMETER and given.base.role != "made":
        both = run.source(replace(member, trainable=Trainable.MAYBE)) | value.live
        run.frame.effects.written |= {s for s in both if isinstance(s, Source)}
    elif value.kind is Kind.PARAMETER and not run.frame.in_initialiser:
        written = run.source(member)
        run.frame.effects.written |= {s for s in written if isinstance(s, Source)}


def mark(run: Interpreter, value: Value, frozen: bool) -> None:
    """requires_grad of a parameter, or of all parameters of a module, is set."""
    if value.items is not None:
        for item in value.items:
            mark(run, item, frozen)
    elif isinstance(value.ref, Each):
        mark(run, value.ref.element, frozen)
    elif isinstance(value.ref, ParametersOf):
        for thing in value.ref.things:
            mark(run, Value(ref=thing), frozen)
    elif isinstance(value.ref, Thing) and not (run.unsure > run.loops and not frozen):
        # An unfreezing that may not happen does not count; a freezing that may, does.
        if not frozen and value.ref.trainable is Trainable.NO:
            _unfreeze(run, value.ref)
        run.frame.effects.marks.append(Mark(value.ref.base, value.ref.path, frozen))


def _unfreeze(run: Interpreter, thing: Thing) -> None:
    """What was made frozen, as `nn.Linear(4, 4).requires_grad_(False)` is, can train after all."""
    if Mark(thing.base, thing.path, True) not in run.frame.effects.marks:
        return
    trainable = Trainable.YES if thing.layer else Trainable.MAYBE
    if thing.cls is not None:
        trainable = trainable_class(run, thing.cls)
    for names in (run.env, run.frame.effects.stores):
        for name, value in names.items():
            if value.thing == thing:
                names[name] = replace(value, ref=replace(thing, trainable=trainable))


def _is_view_call(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in VIEWS | MAY_RETURN_ITS_INPUT
    )


def written_attribute(node: cst.CSTNode) -> cst.Attribute | None:
    """The attribute whose storage an in-place write to `node` changes: views are looked through."""
    while True:
        if isinstance(node, cst.Subscript):
            node = node.value
        elif isinstance(node, cst.Call) and _is_view_call(node):
            assert isinstance(node.func, cst.Attribute)
            node = node.func.value
        else:
            return node if isinstance(node, cst.Attribute) else None
