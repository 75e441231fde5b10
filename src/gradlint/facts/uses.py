"""What it means that tensors take part in an operation, leave a function, or are sent backward."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.aliases import compare
from gradlint.facts.effects import Backward
from gradlint.facts.inference import note_inference_saved
from gradlint.facts.memory import Memory
from gradlint.facts.results import known_needs, memories_of, taints, with_history
from gradlint.facts.values import NOTHING, Live, Source, Value, flat, gathered, graph_of
from gradlint.knowledge.needs import Use
from gradlint.model import Graph, Trainable

if TYPE_CHECKING:
    from gradlint.facts.state import State

MODULE = "module"
"""The name of an operation that is a module of which nothing more is known."""


def note_use(
    run: State,
    node: cst.CSTNode,
    values: Sequence[Value],
    name: str = "",
    used: Live = NOTHING,
) -> None:
    """The values are operands of the operation `name` at `node`, which also uses `used`."""
    memories = [memory for value in values for memory in memories_of(value)]
    if memories:
        _confirm_copies(run, memories)
    if len(memories) > 1:
        compare(run, node, memories)
    if run.mode is None and used:
        _keep_weights(run, node, values, name, used)
    if run.mode is None and name and memories:
        _keep_inputs(run, node, values, name, used)


def _confirm_copies(run: State, memories: Iterable[Memory]) -> None:
    """A tensor is used that has changed with one that was detached from it."""
    for memory in memories:
        record = run.traces.written.get(memory.owner)
        if record is not None and record.cause == "detach" and memory.alias is None:
            run.recorder.writes.setdefault(id(record.place.node), record)
            del run.traces.written[memory.owner]


# ------------------------------------------------------------------- what is kept for backward


def _keep_weights(
    run: State, node: cst.CSTNode, values: Sequence[Value], name: str, used: Live
) -> None:
    """A module keeps its weights, for the gradient of what it is given or of its first layers."""
    for source in used:
        if isinstance(source, Source):
            run.traces.spoiled.pop(source, None)
            if name == MODULE or any(map(_may_train, values)):
                run.traces.called[source] = run.saved_at(node, name, "weights")


def _keep_inputs(
    run: State, node: cst.CSTNode, values: Sequence[Value], name: str, used: Live
) -> None:
    """An operation keeps inputs, for the gradient of other inputs or of its own weights."""
    trains = any(isinstance(o, Source) and o.trainable is Trainable.YES for o in used)
    needs = known_needs(name, values)
    if needs is None:
        if name == MODULE and trains:  # its first layer keeps what it is given
            _keep(run, node, values, MODULE)
        return
    pairs = [(n, v) for i, v in enumerate(values) if (n := needs.argument(i)) is not None]
    owned = needs.owned if trains else frozenset[str]()
    may = owned.union(n for n, v in pairs if _may_train(v))
    must = owned.union(n for n, v in pairs if _must_train(v))
    for given, value in pairs:
        if value.memory is None:
            continue
        if value.memory.in_inference and needs.must_refuse_inference(given, must):
            note_inference_saved(run, node, name, _needing(pairs, must) | used)
        if needs.use(given, may) is Use.VALUE:
            _keep(run, node, [value], name)


def _needing(pairs: Iterable[tuple[str, Value]], names: Collection[str]) -> Live:
    live, _ = gathered(value for name, value in pairs if name in names)
    return live


def _keep(run: State, node: cst.CSTNode, values: Sequence[Value], name: str) -> None:
    for value in values:
        if value.memory is not None:
            run.traces.saved[value.memory.owner] = run.saved_at(node, name, "input")


def _may_train(value: Value) -> bool:
    return graph_of(value) is not Graph.NO


def _must_train(value: Value) -> bool:
    if value.graph in (Graph.COMPUTED, Graph.LEAF):
        return True
    return any(isinstance(o, Source) and o.trainable is not Trainable.NO for o in value.live)


# ---------------------------------------------------------------------------------- leaving


def note_leaving(run: State, value: Value) -> None:
    """The value is returned, yielded or kept: somebody will use it."""
    _confirm_copies(run, list(memories_of(value)))


def tainted(run: State, value: Value) -> Value:
    """The value with the writes that it has seen, to go on with in a caller."""
    if value.items:
        return replace(value, items=tuple(tainted(run, item) for item in value.items))
    return with_history(value, taints(run, [value]))


def note_gradient(run: State, value: Value) -> None:
    """Gradient is sent back from the value: the writes on its way make it wrong."""
    live, _ = flat(value)
    spoiled = [record for source, record in run.traces.spoiled.items() if source in live]
    keeps = {saved for memory in memories_of(value) for saved in (memory.saved, *memory.keeps)}
    pending = [record for record in run.traces.pending if record.saved in keeps]
    for record in (*taints(run, [value]), *spoiled, *pending):
        run.recorder.writes.setdefault(id(record.place.node), record)


def go_backward(run: State, node: cst.CSTNode, value: Value) -> None:
    """A call of backward() at `node`."""
    note_gradient(run, value)
    run.frame.effects.timeline.append(
        Backward(value, run.place(node), run.frame.symbol, run.guards > 0)
    )
    run.traces.end_graph()
