"""What the result of an operation looks at, and what its operation keeps for backward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.memory import Memory, Saved
from gradlint.facts.values import Cut, Each, Source, Value, flat
from gradlint.knowledge.needs import OUTPUT, Needs, Use
from gradlint.knowledge.ops import FULL_REDUCTIONS, LOSSES, REDUCING_LOSSES
from gradlint.knowledge.saved import NUMBER_FIRST, OPERATORS, needs_of
from gradlint.model import Graph, Kind

if TYPE_CHECKING:
    from gradlint.facts.recorder import WriteRecord
    from gradlint.facts.state import State

_GATHERS = frozenset({"torch.stack", "torch.cat", "torch.add", "builtins.sum", "mean", "torch.sum"})
_ARITHMETIC = frozenset({*OPERATORS.values(), *NUMBER_FIRST.values(), "builtins.sum", "neg"})
_REDUCTIONS = ("mean", "sum", "batchmean")


def note_result(
    run: State, node: cst.CSTNode, values: Sequence[Value], result: Value, name: str
) -> Value:
    """A result, with what its operation says of it: see `Memory`."""
    memory = result.memory
    if memory is None:
        return result
    memories = [memory for value in values for memory in memories_of(value)]
    needs = known_needs(name, values)
    use = needs.use(OUTPUT, needs.uses) if needs is not None else None
    if use is not None and result.graph is Graph.COMPUTED:
        saved = run.saved_at(node, name, "result", is_read=use is Use.VALUE)
        memory = replace(memory, saved=saved)
    if name in _GATHERS:
        memory = _gathering(memory, memories)
    if _makes_scalar(name, values, memories):
        off = memory.unrecorded or (bool(memories) and all(m.unrecorded for m in memories))
        memory = replace(memory, is_scalar=True, unrecorded=off)
    return replace(result, memory=memory)


def _gathering(memory: Memory, memories: Sequence[Memory]) -> Memory:
    """The memory of a sum or stack of these: cut, or made under a mode, if all of them are."""
    cuts: frozenset[Cut] = frozenset()
    if all(m.cuts for m in memories):
        cuts = cuts.union(*(m.cuts for m in memories))
    off = memory.unrecorded or (bool(memories) and all(m.unrecorded for m in memories))
    return replace(memory, gathered=cuts, unrecorded=off)


def known_needs(name: str, values: Sequence[Value]) -> Needs | None:
    """What backward needs of an operation, where the tables know a call with so many arguments."""
    needs = needs_of(name) if name else None
    return needs if needs is not None and needs.must_cover(len(values), ()) else None


def memories_of(value: Value) -> Iterator[Memory]:
    """What a value and its elements look at."""
    if value.memory is not None:
        yield value.memory
    for item in value.items or ():
        yield from memories_of(item)
    if isinstance(value.ref, Each):
        yield from memories_of(value.ref.element)


def taints(run: State, values: Iterable[Value]) -> frozenset[WriteRecord]:
    """The writes past autograd that these have seen."""
    found: frozenset[WriteRecord] = frozenset()
    for memory in (memory for value in values for memory in memories_of(value)):
        found |= memory.tainted
        record = run.traces.written.get(memory.owner)
        if record is not None and memory.alias is None:
            found |= {record}
    return found


def without_targets(name: str, values: Sequence[Value]) -> Sequence[Value]:
    """The operands of an operation, but for the target of a loss: that is meant to be cut."""
    if name not in LOSSES or len(values) < 2:
        return values
    one, other = (any(isinstance(o, Source) for o in flat(value)[0]) for value in values[:2])
    if one == other:
        return values
    return [values[0 if one else 1], *values[2:]]


def kept(values: Iterable[Value]) -> frozenset[Saved]:
    """What the operations behind these values keep for backward."""
    found: set[Saved] = set()
    for memory in (memory for value in values for memory in memories_of(value)):
        found |= memory.keeps
        if memory.saved is not None:
            found.add(memory.saved)
    return frozenset(found)


def with_history(
    result: Value, taint: frozenset[WriteRecord], keeps: frozenset[Saved] = frozenset()
) -> Value:
    """A result of what has seen these writes, behind which this is kept."""
    memory = result.memory
    if memory is None or not (taint or keeps):
        return result
    memory = replace(memory, tainted=memory.tainted | taint, keeps=memory.keeps | keeps)
    return replace(result, memory=memory)


# ---------------------------------------------------------------------------------- scalars


def _makes_scalar(name: str, values: Sequence[Value], memories: Sequence[Memory]) -> bool:
    """Whether a result has no dimension: a full reduction, a loss, or arithmetic on such."""
    if len(values) == 1 and name in FULL_REDUCTIONS:
        return True
    if name in REDUCING_LOSSES:
        return all(value.constant in _REDUCTIONS for value in values[2:])
    are_scalars = bool(memories) and all(memory.is_scalar for memory in memories)
    return name in _ARITHMETIC and are_scalars and all(map(_is_known, values))


def _is_known(value: Value) -> bool:
    return value.memory is not None or value.kind is Kind.OTHER


def must_be_scalar(value: Value) -> bool:
    """Whether a tensor is known to have no dimension."""
    return value.memory is not None and value.memory.is_scalar
