"""What happens to memories: uses, writes past autograd, aliases and inference tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.memory import ArgumentMemory, Memory, ObjectMemory, Saved
from gradlint.facts.recorder import Argument, InferenceRecord, StaleRecord, WriteRecord
from gradlint.facts.saved_for_now import must_leave_gradient_right, saved_inputs, saves_result
from gradlint.facts.values import Cut, Graph, Thing, Value, graph_of
from gradlint.model import Kind

if TYPE_CHECKING:
    from gradlint.facts.state import State

# ---------------------------------------------------------------------------------- results


def note_result(run: State, node: cst.CSTNode, memory: Memory, graph: Graph, name: str) -> Memory:
    """The memory of a result, with the note that its own operation keeps it for backward."""
    if graph is Graph.COMPUTED and saves_result(name):
        return replace(memory, saved=Saved(name, "result", run.place(node)))
    return memory


def note_alias(run: State, value: Value, cut: Cut) -> Memory | None:
    """The memory of `x.detach()` and `x.data`, which is that of x."""
    if value.memory is None:
        return None
    is_parameter = value.kind is Kind.PARAMETER or value.graph is Graph.LEAF
    memory = value.memory.seen_through(cut, value.graph is Graph.COMPUTED, is_parameter)
    if memory.alias is cut:
        run.traces.alias(cut, memory)
    return memory


# ------------------------------------------------------------------------------------- uses


def note_use(run: State, node: cst.CSTNode, values: Sequence[Value], name: str = "") -> None:
    """The values are operands of an operation at `node`."""
    memories = [memory for value in values for memory in _memories(value)]
    if not memories:
        return
    _confirm_writes(run, memories)
    if len(memories) > 1:
        _compare(run, node, memories)
    if run.mode is None:
        _keep_inputs(run, node, values, name)


def note_leaving(run: State, value: Value) -> None:
    """The value is returned, yielded or kept: somebody will use it."""
    _confirm_writes(run, list(_memories(value)))


def _memories(value: Value) -> Iterable[Memory]:
    if value.memory is not None:
        yield value.memory
    for item in value.items or ():
        yield from _memories(item)


def _confirm_writes(run: State, memories: Iterable[Memory]) -> None:
    """A tensor is used that was changed past autograd before."""
    for memory in memories:
        record = run.traces.written.get(memory.owner)
        if record is None or memory.alias is not None:
            continue
        if run.mode is None or record.cause == "detach":
            run.recorder.writes.setdefault(id(record.place.node), record)
            del run.traces.written[memory.owner]


def _compare(run: State, node: cst.CSTNode, memories: Sequence[Memory]) -> None:
    """A value from before a change is set against the memory that it shares: they are equal."""
    for memory in memories:
        if memory.alias is None or not run.traces.must_be_stale(memory):
            continue
        if any(m.owner == memory.owner and m.alias is not memory.alias for m in memories):
            record = StaleRecord(memory.alias, run.place(node), run.context())
            run.recorder.stale.setdefault(memory.alias, record)


def _keep_inputs(run: State, node: cst.CSTNode, values: Sequence[Value], name: str) -> None:
    """What an operation keeps of its inputs, for its backward."""
    if not name or all(graph_of(value) is Graph.NO for value in values):
        return
    for i, value in enumerate(values):
        memory = value.memory
        if memory is None or not saved_inputs(name, i, len(values)):
            continue
        others = [other for j, other in enumerate(values) if j != i]
        if memory.in_inference and any(_may_need_gradient(other) for other in others):
            _record_inference(run, node, "saved", name, None)
        run.traces.saved[memory.owner] = Saved(name, "input", run.place(node))


def _may_need_gradient(value: Value) -> bool:
    return bool(value.live) or value.graph in (Graph.COMPUTED, Graph.LEAF)


# ----------------------------------------------------------------------------------- writes


def note_write(
    run: State, node: cst.CSTNode, target: cst.CSTNode, whole: Value, via: str, given: Value | None
) -> None:
    """`whole` is written to in place at `node`; `given` is the value, for a write of elements."""
    memory = whole.memory
    if memory is None:
        return
    run.traces.change(memory.owner)
    _note_inference_write(run, node, target, memory, via)
    cause = _unrecorded(run, whole, memory)
    if cause is None or run.frame.in_initialiser or not _is_needed(run, memory):
        return
    saved = memory.saved or run.traces.saved.get(memory.owner)
    if saved is not None and _leaves_gradient_right(saved, via, given):
        saved = None
    argument = Argument(target, whole)
    record = WriteRecord(run.place(node), run.context(), argument, cause, via, memory.alias, saved)
    if cause == "data" and saved is not None:
        run.recorder.writes[id(node)] = record
    else:
        run.traces.written[memory.owner] = record


def writes_to_arguments(run: State) -> dict[str, WriteRecord]:
    """Writes that a function leaves behind: its caller may use the argument afterwards."""
    return {
        owner.name: record
        for owner, record in run.traces.written.items()
        if isinstance(owner, ArgumentMemory)
    }


def _unrecorded(run: State, whole: Value, memory: Memory) -> str | None:
    """Why autograd does not see a write; None if it does, or if it may not matter."""
    if memory.is_parameter:
        return None
    if memory.alias is not None:
        return memory.alias.cause if memory.is_computed or memory.alias.cause == "detach" else None
    if run.mode is not None and whole.graph is Graph.COMPUTED:
        return run.mode.cause
    return None


def _is_needed(run: State, memory: Memory) -> bool:
    """Whether a backward() can still come that reaches the tensor."""
    if memory.owner in run.traces.fresh:
        return True
    return isinstance(memory.owner, ArgumentMemory) and not run.traces.is_after_backward


def _leaves_gradient_right(saved: Saved, via: str, given: Value | None) -> bool:
    if (
        saved.what != "result"
        or given is None
        or via not in ("[]", "masked_fill_", "fill_", "zero_")
    ):
        return False
    fill = given.constant
    return isinstance(fill, int | float) and must_leave_gradient_right(saved.operation, fill)


def note_step(run: State, things: tuple[Thing, ...]) -> None:
    """An optimizer changes what it holds; everything, when that is not known."""
    for owner in {owner for owner, _ in run.traces.seen.values()}:
        if isinstance(owner, ObjectMemory) and _may_hold(things, owner):
            run.traces.change(owner)


def _may_hold(things: tuple[Thing, ...], owner: ObjectMemory) -> bool:
    held = [thing.path for thing in things if thing.base == owner.base]
    return not things or any(_overlap(path, owner.path) for path in held)


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return all(a == b for a, b in zip(one, other, strict=False))


# -------------------------------------------------------------------------------- inference


def _note_inference_write(
    run: State, node: cst.CSTNode, target: cst.CSTNode, memory: Memory, via: str
) -> None:
    outside = run.mode is None or run.mode.cause in ("no_grad", "set_grad_enabled")
    if memory.in_inference and outside:
        _record_inference(run, node, "in place", via, target)


def note_inference_flag(run: State, node: cst.CSTNode, target: cst.CSTNode, value: Value) -> None:
    """requires_grad of an inference tensor is set."""
    if value.memory is not None and value.memory.in_inference and run.mode is None:
        _record_inference(run, node, "flag", "requires_grad", target)


def _record_inference(
    run: State, node: cst.CSTNode, how: str, operation: str, target: cst.CSTNode | None
) -> None:
    record = InferenceRecord(run.place(node), run.context(), how, operation, target)
    run.recorder.inference.setdefault(id(node), record)
