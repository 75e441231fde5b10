"""Writes in place, and which of them autograd does not see though it would have to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.inference import note_inference_write
from gradlint.facts.memory import (
    EITHER,
    ArgumentMemory,
    Memory,
    ObjectMemory,
    Saved,
    unsaved,
)
from gradlint.facts.paths import covers
from gradlint.facts.recorder import Argument, WriteRecord
from gradlint.facts.values import Live, Source, Thing, Value, graph_of
from gradlint.knowledge.ops import ADDITIVE, FILLS, NO_PROBABILITY
from gradlint.knowledge.saved import needs_of
from gradlint.model import Graph, Kind

if TYPE_CHECKING:
    from gradlint.facts.state import State


@dataclass(frozen=True, slots=True)
class Write:
    """A write to `whole` at `node`, by the method or operator `via`; `given` is the last operand.

    `target` is the expression that is written to, without subscripts.
    """

    node: cst.CSTNode
    target: cst.CSTNode
    whole: Value
    via: str
    given: Value | None


def note_write(run: State, write: Write) -> None:
    """A tensor is written to in place."""
    memory = write.whole.memory
    if memory is None or memory.owner == EITHER:
        return
    run.traces.change_through(memory)
    note_inference_write(run, write.node, write.target, memory, write.via)
    if run.frame.in_initialiser or run.evaluating or _means_the_original(run, write, memory):
        return
    if memory.is_parameter:
        _note_weights(run, write, memory)
    elif memory.alias is not None and memory.alias.cause == "detach":
        _note_copy(run, write, memory)
    else:
        _note_unrecorded(run, write, memory)


def _means_the_original(run: State, write: Write, memory: Memory) -> bool:
    """`x.detach().zero_()` as a statement, `x.detach()[mask] = 0`: nobody else has the alias."""
    if memory.alias is None or memory.alias.cause != "detach":
        return False
    if memory.alias.place.node is not write.target:
        return False
    return not isinstance(write.node, cst.Call) or run.is_statement(write.node)


def _note_copy(run: State, write: Write, memory: Memory) -> None:
    """A write to what was detached changes the original, which may be used later.

    Not if that was made right here and has no graph: then detach() is a way to write to it.
    """
    assert memory.alias is not None
    is_given = isinstance(memory.owner, ArgumentMemory | ObjectMemory)
    if not is_given and not memory.is_computed:
        return
    record = _record(run, write, memory.alias.cause, memory, None)
    run.traces.written.setdefault(memory.owner, record)


def _note_unrecorded(run: State, write: Write, memory: Memory) -> None:
    """A write to a tensor of the graph that its grad_fn does not know of."""
    kept = memory.saved or run.traces.saved.get(memory.owner)
    cause = _cause(run, write, memory, kept is not None)
    if cause is None or not (kept is not None or run.traces.is_needed(memory)):
        return
    if kept is not None and _leaves_gradient_right(kept, write):
        return
    if kept is not None and kept.is_read and cause == "data":
        run.traces.pending.add(_record(run, write, cause, memory, kept))
    elif not _changes_no_gradient(write):
        record = _record(run, write, cause, memory, None)
        run.traces.written.setdefault(memory.owner, record)


def _cause(run: State, write: Write, memory: Memory, is_kept: bool) -> str | None:
    """Why autograd does not see a write; None if it does, or if there is nothing to see."""
    if memory.alias is not None:
        return memory.alias.cause if memory.is_computed or is_kept else None
    if run.mode is not None and write.whole.graph is Graph.COMPUTED:
        return run.mode.cause
    return None


def _leaves_gradient_right(kept: Saved, write: Write) -> bool:
    """A fill with a constant that makes the kept result's own gradient right there."""
    needs = needs_of(kept.operation)
    if kept.what != "result" or needs is None or write.via not in FILLS:
        return False
    fill = write.given.constant if write.given is not None else 0
    return isinstance(fill, int | float) and needs.must_survive_fill(fill)


def _changes_no_gradient(write: Write) -> bool:
    """Adding what has no graph, or masking scores before a softmax, has no factor to miss."""
    given = write.given
    if write.via in ADDITIVE:
        return given is None or _must_have_no_graph(given)
    if write.via not in FILLS or given is None or given.kind in (Kind.TENSOR, Kind.PARAMETER):
        return False
    fill = given.constant
    return not isinstance(fill, int | float) or fill <= NO_PROBABILITY


def _must_have_no_graph(value: Value) -> bool:
    is_live = any(isinstance(origin, Source) for origin in value.live)
    return not is_live and graph_of(value) not in (Graph.COMPUTED, Graph.LEAF)


def _record(
    run: State, write: Write, cause: str, memory: Memory, saved: Saved | None
) -> WriteRecord:
    argument = Argument(write.target, write.whole)
    place, context = run.place(write.node), run.context()
    return WriteRecord(place, context, argument, cause, write.via, memory.alias, saved)


# ---------------------------------------------------------------------------------- weights


def _note_weights(run: State, write: Write, memory: Memory) -> None:
    """Weights change through .data: wrong for a backward() whose forward has kept them."""
    if memory.alias is None or memory.alias.cause != "data":
        return
    for source, saved in run.traces.called.items():
        if isinstance(memory.owner, ObjectMemory) and _is_part(memory.owner, source):
            record = _record(run, write, "data", memory, saved)
            run.traces.spoiled.setdefault(source, record)


def _is_part(owner: ObjectMemory, source: Source) -> bool:
    return owner.base == source.base and covers(owner.path, source.path)


def note_step(run: State, things: tuple[Thing, ...]) -> None:
    """An optimizer changes what it holds; everything, when that is not known."""
    run.traces.steps += 1
    for memory in {memory for memory, _ in run.traces.seen.values()}:
        if memory.is_parameter and _may_hold(things, memory):
            run.traces.change(memory)


def _may_hold(things: tuple[Thing, ...], memory: Memory) -> bool:
    owner = memory.owner
    if not isinstance(owner, ObjectMemory) or not things:
        return not things
    return any(t.base == owner.base and covers(t.path, owner.path) for t in things)


# ------------------------------------------------------------------------------- in callers


def writes_to_arguments(run: State) -> dict[str, WriteRecord]:
    """Writes that a function leaves behind: its caller may use the argument afterwards."""
    return {
        owner.name: record
        for owner, record in run.traces.written.items()
        if isinstance(owner, ArgumentMemory)
    }


def written_origins(record: WriteRecord) -> Live:
    """What the tensor that is written to depends on, the alias looked through."""
    value = record.target.value
    return value.live | {s.origin for s in value.cut if s.cut is record.alias}


def without_old_notes(run: State, value: Value) -> Value:
    """The value, without the note that it is kept for a backward() which has been."""
    memory = value.memory
    if memory is None or memory.saved is None or run.traces.is_needed(memory):
        return value
    return replace(value, memory=unsaved(memory))
