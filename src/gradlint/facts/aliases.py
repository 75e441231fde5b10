"""What shares its memory with a tensor: detach(), .data, state_dict(); and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.memory import Memory
from gradlint.facts.recorder import StaleRecord
from gradlint.facts.values import Cut, Value
from gradlint.model import Graph, Kind

if TYPE_CHECKING:
    from gradlint.facts.state import State


def note_alias(run: State, value: Value, cut: Cut) -> Memory | None:
    """The memory of `x.detach()` and `x.data`, which is that of x."""
    if value.memory is None:
        return None
    is_parameter = value.kind is Kind.PARAMETER or value.graph is Graph.LEAF
    memory = value.memory.seen_through(cut, value.graph is Graph.COMPUTED, is_parameter)
    if memory.alias is cut:
        if cut in run.traces.collected:
            _compare_with_collected(run, cut, memory)
        run.traces.alias(cut, memory)
    if memory.is_scalar:
        run.scalar_cuts.add(cut)
    return memory


def note_collected(run: State, value: Value) -> None:
    """A parameter is appended to a list in a loop: to a history, that is, of how it was."""
    memory = value.memory
    if run.loops and memory is not None and memory.alias is not None and memory.is_parameter:
        run.traces.collected[memory.alias] = run.traces.steps


def _compare_with_collected(run: State, cut: Cut, memory: Memory) -> None:
    """A history gets a second entry, and a step has changed the first one with its tensor."""
    if run.traces.must_be_stale(memory) and run.traces.steps > run.traces.collected[cut]:
        run.recorder.stale.setdefault(cut, StaleRecord(cut, cut.place, run.context()))


def compare(run: State, node: cst.CSTNode, memories: Sequence[Memory]) -> None:
    """A value from before a change is set against the memory that it shares: they are equal."""
    for memory in memories:
        if memory.alias is None or not run.traces.must_be_stale(memory):
            continue
        if any(m.owner == memory.owner and m.alias is not memory.alias for m in memories):
            record = StaleRecord(memory.alias, run.place(node), run.context())
            run.recorder.stale.setdefault(memory.alias, record)
