"""Which backward() calls must raise, because what they are called on has no graph."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from gradlint.facts.effects import Backward
from gradlint.facts.roots import Roots
from gradlint.facts.values import Cut, Source, Value, flat, graph_of
from gradlint.model import MODES, Graph, Kind, Place


@dataclass(frozen=True, slots=True, eq=False)
class Graphless:
    """A call of backward() and the cuts, of which `cut` is the last, that have left it nothing."""

    place: Place
    symbol: str
    cut: Cut
    cuts: frozenset[Cut]
    is_loss_itself: bool


def graphless(roots: Roots, losses: Set[Cut]) -> Iterator[Graphless]:
    """Every backward() that has no graph wherever it is run from, with what cut it.

    `losses` are the cuts of scalars: what is cut there is a loss already.
    """
    by_call: dict[int, list[Backward]] = {}
    for entry in roots.entries_without_callers():
        for backward in entry.effects.backwards:
            if backward.may_fail:
                continue
            by_call.setdefault(id(backward.place.node), []).append(backward)
    told = {
        starved.cut for starved in roots.starved() if starved.root == "return" and starved.is_told
    }
    for calls in by_call.values():
        values = [backward.value for backward in calls]
        cuts = {severed.cut for value in values for severed in flat(value)[1]}
        if cuts and told.isdisjoint(cuts) and all(map(_must_have_none, values)):
            cut = max(cuts, key=lambda one: one.order)
            call = calls[0]
            itself = cuts <= losses or any(_is_cut_itself(value, cut, cuts) for value in values)
            yield Graphless(call.place, call.symbol, cut, frozenset(cuts), itself)


def _must_have_none(value: Value) -> bool:
    return graph_of(value) is Graph.NO


def _is_cut_itself(value: Value, cut: Cut, cuts: Set[Cut]) -> bool:
    """Whether the loss is what was cut, or was computed while nothing was recorded."""
    memory = value.memory
    if cut.cause == "host":
        origins = (severed.origin for severed in value.cut if severed.cut is cut)
        return value.kind is Kind.OTHER and any(isinstance(o, Source) for o in origins)
    if cut.cause in MODES:
        return memory is None or memory.unrecorded
    return memory is not None and cuts <= memory.cuts
