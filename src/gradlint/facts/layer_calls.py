"""Calls that make layers, containers of layers, and optimizers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.elements import element_of, joint_trainable, things_in
from gradlint.facts.inference import note_training
from gradlint.facts.sequences import held_in
from gradlint.facts.values import MEMBER, OTHER, ParametersOf, Thing, Value, is_collection
from gradlint.knowledge.modules import (
    CONTAINERS,
    NOT_LAYERS,
    PARAMETER_CONTAINERS,
    must_have_no_parameters,
)
from gradlint.model import Graph, Kind, Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def layer_call(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """A layer or container of torch.nn."""
    if not name.rpartition(".")[2][:1].isupper():
        return replace(run.operation(node, arguments.all, Kind.UNKNOWN), graph=Graph.MAYBE)
    if name in CONTAINERS:
        return _container(run, node, name, arguments)
    trainable = Trainable.YES
    literals = {k: v.constant for k, v in arguments.keywords.items()}
    if name in NOT_LAYERS or must_have_no_parameters(name, literals):
        trainable = Trainable.NO
    elif wrapped := [v for v in arguments.positional if v.kind is Kind.MODULE]:
        trainable = joint_trainable(wrapped)
    layer = "" if literals.get("reduction") == "none" else name
    made_in = run.inference_at(node)
    thing = Thing(run.make(node), trainable=trainable, layer=layer, made_in=made_in)
    return Value(Kind.MODULE, ref=thing)


def _container(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    members = [member for value in arguments.all for member in _members_in(run, value)]
    are_made = [m.kind is Kind.TENSOR and m.ref is None for m in members]
    if name in PARAMETER_CONTAINERS and any(are_made):  # what it makes parameters of
        trainable = Trainable.YES
    else:
        trainable = joint_trainable(members) if members else Trainable.MAYBE
    things = [member.thing for member in members if member.thing is not None]
    classes = {member.thing.cls if member.thing is not None else None for member in members}
    thing = Thing(
        run.make(node),
        trainable=trainable,
        element=classes.pop() if len(classes) == 1 else None,
        parts=tuple(thing for thing in things if thing.base.role != "made"),
        layer=name,
        made_in=run.inference_at(node),
        chain=_chain_of(members) if name == "torch.nn.Sequential" else (),
    )
    return Value(Kind.MODULE, ref=thing)


def _members_in(run: Interpreter, value: Value) -> list[Value]:
    """What a container holds that is given this."""
    if value.thing is not None and value.kind is not Kind.UNKNOWN:
        return [value]
    return held_in(value) if is_collection(value) else [element_of(run, value)]


def _chain_of(members: list[Value]) -> tuple[Thing, ...]:
    """The layers of a Sequential, if one of them is of a class of this file."""
    links = [m.thing for m in members if m.thing is not None and m.kind is Kind.MODULE]
    if len(links) < len(members) or not any(link.cls is not None for link in links):
        return ()
    return tuple(
        replace(link, base=MEMBER, path=()) if link.base.role == "made" else link for link in links
    )


def pretrained_call(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """Embedding.from_pretrained: frozen unless it is told otherwise."""
    wanted = arguments.get(1, "freeze")
    trainable = Trainable.NO
    if wanted is not None and wanted.constant is not True:
        trainable = Trainable.YES if wanted.constant is False else Trainable.MAYBE
    return Value(Kind.MODULE, ref=Thing(run.make(node), trainable=trainable))


def optimizer_call(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    if ".lr_scheduler." in name or ".swa_utils." in name:
        return OTHER
    given = arguments.get(0, "params")
    things = things_in(given) if given is not None else ()
    note_training(run, things)
    run.frame.effects.optimized.append(things)
    return Value(Kind.OPTIMIZER, ref=ParametersOf(things))
