"""What a summary says of arguments and instance, put in the words of a caller."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from gradlint.facts.memory import Memory
from gradlint.facts.values import (
    NOTHING,
    UNBROKEN,
    Bound,
    Broken,
    Each,
    Inflow,
    Live,
    Origin,
    ParametersOf,
    Severed,
    Source,
    Thing,
    Value,
    combined,
    flat,
    own_graph,
)
from gradlint.model import Graph, Kind


class View(Protocol):
    """What each thing that a summary speaks of is for the caller."""

    def inflow(self, inflow: Inflow) -> Value | None:
        """The value that arrives there; None when it stays unknown."""

    def source(self, source: Source) -> Source:
        """The source, by the caller's path."""

    def thing(self, thing: Thing) -> Value:
        """The object, by the caller's path."""

    def memory(self, memory: Memory) -> Memory | None:
        """The memory that a tensor looks at."""


def substitute(value: Value, view: View) -> Value:
    """The value seen from a caller: inflows become the arguments, paths the caller's paths."""
    live, cut = _origins(value, view)
    items = None
    if value.items is not None:
        items = tuple(substitute(item, view) for item in value.items)
    ref, kind = value.ref, value.kind
    if type(ref) is Thing:
        seen = view.thing(ref)
        ref = seen.ref
        kind = seen.kind if kind is Kind.UNKNOWN else kind
    elif type(ref) is ParametersOf:
        things = tuple(v.ref for t in ref.things if type((v := view.thing(t)).ref) is Thing)
        ref = replace(ref, things=things)
    elif type(ref) is Each:
        ref = Each(substitute(ref.element, view), ref.keyed)
    elif type(ref) is Bound:
        ref = Bound(ref.function, substitute(ref.receiver, view))
    memory = view.memory(value.memory) if value.memory is not None else None
    return Value(kind, live, cut, items, ref, _graph(value, view), memory)


def _graph(value: Value, view: View) -> Graph:
    """What is known apart from inflows: those that have arrived now count."""
    if value.graph is not Graph.NO:
        return value.graph
    arrived = (view.inflow(o) for o in value.live if isinstance(o, Inflow))
    known = combined(own_graph(one) for one in arrived if one is not None)
    return Graph.NO if known is Graph.NO else Graph.MAYBE


def _origins(value: Value, view: View) -> tuple[Live, Broken]:
    if not value.live and not value.cut:
        return NOTHING, UNBROKEN
    live: set[Origin] = set()
    cut: set[Severed] = set()
    for origin in value.live:
        if isinstance(origin, Source):
            live.add(view.source(origin))
        elif (arrived := view.inflow(origin)) is None:
            live.add(origin)
        else:
            more_live, more_cut = flat(arrived)
            live |= more_live
            cut |= more_cut
    for severed in value.cut:
        origin = severed.origin
        if isinstance(origin, Source):
            cut.add(Severed(view.source(origin), severed.cut, severed.inside))
        elif (arrived := view.inflow(origin)) is None:
            cut.add(severed)
        else:
            more_live, more_cut = flat(arrived)
            cut |= {Severed(o, severed.cut, severed.inside) for o in more_live}
            cut |= more_cut
    return frozenset(live), frozenset(cut)
