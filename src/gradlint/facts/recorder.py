"""What happened while the code was interpreted: calls and attribute uses, each place once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.memory import Saved
from gradlint.facts.values import Cut, Live, Value, graph_of
from gradlint.model import Form, Graph, Kind, Place

if TYPE_CHECKING:
    from gradlint.facts.classes import ClassFacts

_SURE = (Kind.PARAMETER, Kind.TENSOR, Kind.MODULE, Kind.OPTIMIZER)
_GRAPHS = (Graph.COMPUTED, Graph.LEAF, Graph.MAYBE, Graph.NO)


@dataclass(frozen=True, slots=True)
class Context:
    """Where something happened, beyond its place."""

    symbol: str
    in_initialiser: bool
    grad_off: Place | None
    is_conditional: bool
    is_guarded: bool
    cls: ClassFacts | None


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """A node and the value that it had."""

    node: cst.CSTNode
    value: Value
    keyword: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class CallRecord:
    """One call; `receiver` is None for a function."""

    name: str
    place: Place
    context: Context
    receiver: Argument | None
    arguments: tuple[Argument, ...]
    is_statement: bool
    then: str


@dataclass(frozen=True, slots=True, eq=False)
class AttributeRecord:
    """One use of an attribute."""

    name: str
    place: Place
    context: Context
    receiver: Argument
    form: Form
    via: str = ""
    value: Argument | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WriteRecord:
    """An in-place write that autograd does not record.

    `cause` is "data" or "detach" when it goes through such an `alias`, else the mode that was in
    force. `via` names what writes, `saved` the operation whose backward needs the old value.
    """

    place: Place
    context: Context
    target: Argument
    cause: str
    via: str
    alias: Cut | None
    saved: Saved | None


@dataclass(frozen=True, slots=True, eq=False)
class StaleRecord:
    """A value that was kept by `alias`, and is set against the tensor that it still shares."""

    alias: Cut
    place: Place
    context: Context


@dataclass(frozen=True, slots=True, eq=False)
class InferenceRecord:
    """An inference tensor where none may be: `how` is "saved", "in place", "flag" or "made".

    `needing` are the sources whose gradient it would be saved for.
    """

    place: Place
    context: Context
    how: str
    operation: str
    target: cst.CSTNode | None
    needing: Live


@dataclass(slots=True)
class Recorder:
    """Records by name, then by node: a place that runs in several contexts is kept once.

    `graphs` says of an expression what its graph can be at most, in any context.
    """

    calls: dict[str, dict[int, CallRecord]] = field(default_factory=dict)
    attributes: dict[str, dict[int, AttributeRecord]] = field(default_factory=dict)
    writes: dict[int, WriteRecord] = field(default_factory=dict)
    stale: dict[Cut, StaleRecord] = field(default_factory=dict)
    inference: dict[int, InferenceRecord] = field(default_factory=dict)
    graphs: dict[int, Graph] = field(default_factory=dict)

    def call(self, record: CallRecord) -> None:
        """Keep a call, or the better known of two contexts of the same call."""
        if record.receiver is not None:
            self._note_graph(record.receiver)
        at = self.calls.setdefault(record.name, {})
        key = id(record.place.node)
        before = at.get(key)
        if before is None or (
            record.receiver is not None
            and before.receiver is not None
            and _better(record.receiver.value, before.receiver.value)
        ):
            at[key] = record

    def attribute(self, record: AttributeRecord) -> None:
        """Keep an attribute use, likewise."""
        self._note_graph(record.receiver)
        at = self.attributes.setdefault(record.name, {})
        key = id(record.place.node)
        before = at.get(key)
        if before is None or _better(record.receiver.value, before.receiver.value):
            at[key] = record

    def _note_graph(self, receiver: Argument) -> None:
        graph, known = graph_of(receiver.value), self.graphs.get(id(receiver.node))
        if known is None or _GRAPHS.index(graph) < _GRAPHS.index(known):
            self.graphs[id(receiver.node)] = graph


def _better(new: Value, old: Value) -> bool:
    return _rank(new) < _rank(old)


def _rank(value: Value) -> tuple[int, int]:
    kind = _SURE.index(value.kind) if value.kind in _SURE else len(_SURE)
    return kind, _GRAPHS.index(value.graph)
