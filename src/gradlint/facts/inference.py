"""Inference tensors where autograd takes none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.memory import Memory
from gradlint.facts.recorder import InferenceRecord
from gradlint.facts.values import NOTHING, Live, Thing, Value

if TYPE_CHECKING:
    from gradlint.facts.state import State

_OUTSIDE = ("no_grad", "set_grad_enabled")


def note_inference_saved(run: State, node: cst.CSTNode, name: str, needing: Live) -> None:
    """An operation has to keep an inference tensor, for the gradient of what `needing` bring."""
    _record(run, node, "saved", name, None, needing)


def note_inference_write(
    run: State, node: cst.CSTNode, target: cst.CSTNode, memory: Memory, via: str
) -> None:
    """A write in place: outside the mode, and not through detach() or .data, it raises."""
    is_outside = run.mode is None or run.mode.cause in _OUTSIDE
    if memory.in_inference and is_outside and memory.alias is None:
        _record(run, node, "in place", via, target)


def note_inference_flag(run: State, node: cst.CSTNode, value: Value) -> None:
    """requires_grad of a tensor is set to True, by `x.requires_grad = True` or a call."""
    owner = node.func if isinstance(node, cst.Call) else node
    target = owner.value if isinstance(owner, cst.Attribute) else node
    if value.memory is not None and value.memory.in_inference and run.mode is None:
        _record(run, node, "flag", "requires_grad", target)


def note_training(run: State, things: tuple[Thing, ...]) -> None:
    """An optimizer is given modules: those made under inference_mode cannot be trained."""
    for thing in things:
        if thing.made_in is not None:
            place = thing.made_in.place
            record = InferenceRecord(place, run.context(), "made", "inference_mode", None, NOTHING)
            run.recorder.inference.setdefault(id(place.node), record)


def _record(
    run: State,
    node: cst.CSTNode,
    how: str,
    operation: str,
    target: cst.CSTNode | None,
    needing: Live = NOTHING,
) -> None:
    record = InferenceRecord(run.place(node), run.context(), how, operation, target, needing)
    run.recorder.inference.setdefault(id(node), record)
