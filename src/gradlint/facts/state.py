"""The state of an interpretation: names, grad mode, frames, and what a function leaves behind."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import libcst as cst

from gradlint.facts.aliases import note_alias
from gradlint.facts.classes import ClassFacts
from gradlint.facts.effects import Effects, Mark
from gradlint.facts.index import Index
from gradlint.facts.joining import join
from gradlint.facts.memory import Memory, Saved, Traces
from gradlint.facts.paths import left_frozen
from gradlint.facts.recorder import Context, Recorder
from gradlint.facts.results import kept, note_result, taints, with_history, without_targets
from gradlint.facts.uses import note_use
from gradlint.facts.values import (
    NOTHING,
    SELF,
    Base,
    Broken,
    Cut,
    Each,
    Keys,
    Live,
    Origin,
    Severed,
    Source,
    Thing,
    Value,
    combined,
    flat,
    gathered,
    own_graph,
)
from gradlint.model import Graph, Kind, Place, Trainable

Env = dict[str, Value]
_ROUNDS = 4  # a loop body that still changes after so many rounds is taken as it is


@dataclass(frozen=True, slots=True)
class Mode:
    """Gradients are not recorded, because of `block`."""

    cause: str
    block: Place


CALLERS_MODE = Mode("caller", Place(cst.Pass(), cst.Pass()))
"""Gradients are off because they are off where this function is called."""


@dataclass(eq=False, slots=True)
class Frame:
    """One function while it is being interpreted."""

    symbol: str
    scope: int
    cls: ClassFacts | None = None
    self_name: str | None = None
    in_initialiser: bool = False
    index: Index = field(default_factory=Index)
    parameters: frozenset[str] = frozenset()
    returns: list[Value] = field(default_factory=list)
    effects: Effects = field(default_factory=Effects)


class State:
    """Where the interpretation stands. Holds no knowledge of node types."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.traces = Traces()
        self.env: Env = {}
        self.globals: Env = {}
        self.mode: Mode | None = None
        self.dead = False
        self.unsure = 0  # branches and loops around this point
        self.loops = 0  # loops around this point
        self.uses_data = False  # whether anything in the file is called `data`
        self.evaluating = 0  # branches around this point that are taken in evaluation only
        self.guards = 0  # blocks around this point that expect an exception
        self.frame = Frame("", 0)
        self.statement: cst.CSTNode = cst.Pass()
        self.jumps: list[Env] = []
        self.made: dict[Base, Place] = {}
        self.class_at: dict[Base, ClassFacts] = {}
        self._cuts: dict[tuple[int, str, int], Cut] = {}
        self.scalar_cuts: set[Cut] = set()
        self._saved: dict[tuple[int, str], Saved] = {}
        self._memories: dict[tuple[int, bool, bool], Memory] = {}

    # -------------------------------------------------------------------------- places, cuts

    def place(self, node: cst.CSTNode) -> Place:
        """`node` as it stands in the current statement."""
        return Place(node, self.statement)

    def context(self) -> Context:
        """Where the interpretation stands, for a record."""
        block = self.mode.block if self.mode is not None else None
        frame, is_conditional = self.frame, self.unsure > self.loops or bool(self.jumps)
        return Context(
            frame.symbol, frame.in_initialiser, block, is_conditional, self.guards > 0, frame.cls
        )

    def cut_at(self, node: cst.CSTNode, cause: str, block: Place | None = None) -> Cut:
        """The cut at `node`: always the same object for the same node, cause and block."""
        key = (id(node), cause, id(block.node) if block is not None else 0)
        found = self._cuts.get(key)
        if found is None:
            place = self.place(self._assignment_of(node) if block is not None else node)
            found = self._cuts[key] = Cut(cause, place, block, self.frame.symbol, len(self._cuts))
        return found

    def _assignment_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The whole assignment when `node` is all that it assigns: there the loss is visible."""
        now = self.statement
        return now if isinstance(now, cst.Assign) and now.value is node else node

    # ------------------------------------------------------------------------- gradient flow

    def operation(
        self,
        node: cst.CSTNode,
        inputs: Iterable[Value],
        kind: Kind = Kind.TENSOR,
        used: Live = NOTHING,
        name: str = "",
    ) -> Value:
        """The result of a differentiable operation at `node` that also uses the sources `used`.

        `name` is how the tables of knowledge.saved call the operation.
        """
        values = list(inputs)
        if kind is Kind.OTHER:  # arithmetic of numbers
            return Value(kind, *gathered(values), graph=combined(map(own_graph, values)))
        note_use(self, node, values, name, used)
        if self.mode is None:
            return self._recorded(node, values, kind, used, name)
        live, cut = gathered(values)
        if live or used:
            cut = cut | self._severed_by_mode(node, live, used)
        result = Value(kind, NOTHING, cut, None, None, Graph.NO, self.new_memory(node))
        return note_result(self, node, values, result, name)

    def _recorded(
        self, node: cst.CSTNode, values: list[Value], kind: Kind, used: Live, name: str
    ) -> Value:
        """The result of an operation that becomes part of the graph."""
        seen = taints(self, values)
        live, cut = gathered(without_targets(name, values))
        graph = combined((*map(own_graph, values), *map(self._graph_of, used)))
        result = Value(kind, live | used, cut, None, None, graph, self.new_memory(node))
        result = note_result(self, node, values, result, name)
        keeps = kept(values).union(self.saved_by(node)) if self.uses_data else frozenset[Saved]()
        return with_history(result, seen, keeps)

    def _graph_of(self, origin: Origin) -> Graph:
        """What using a source brings: nothing, where it is frozen by now."""
        if not isinstance(origin, Source) or origin.trainable is not Trainable.YES:
            return Graph.MAYBE
        marks = [(m.path, m.frozen) for m in self.frame.effects.marks if m.base == origin.base]
        cls = self.frame.cls if origin.base == SELF else self.class_at.get(origin.base)
        built = cls.marks if cls is not None else []
        return Graph.NO if left_frozen([*built, *marks], origin.path) else Graph.COMPUTED

    def is_statement(self, node: cst.CSTNode) -> bool:
        """True when the value of `node` is thrown away."""
        return isinstance(self.statement, cst.Expr) and self.statement.value is node

    def saved_at(self, node: cst.CSTNode, operation: str, what: str, is_read: bool = True) -> Saved:
        """The note that `operation` keeps its result or input: one object for each node."""
        key = (id(node), what)
        known = self._saved.get(key)
        if known is None:
            known = self._saved[key] = Saved(operation, what, self.place(node), is_read)
        return known

    def saved_by(self, node: cst.CSTNode) -> Iterator[Saved]:
        """What has been noted for the operation at `node`."""
        for what in ("input", "result", "weights"):
            if (saved := self._saved.get((id(node), what))) is not None:
                yield saved

    def new_memory(self, node: cst.CSTNode) -> Memory:
        """That of a tensor which is made at `node`."""
        off = self.mode is not None
        in_inference = self.mode is not None and self.mode.cause == "inference_mode"
        key = (id(node), off, in_inference)
        memory = self._memories.get(key)
        if memory is None:
            memory = Memory(id(node), in_inference=in_inference, unrecorded=off)
            self._memories[key] = memory
        self.traces.make(memory)
        return memory

    def placed_at_call(self, node: cst.CSTNode, value: Value, whole: Thing | None) -> Value:
        """What the mode of this caller has cut inside a call at `node`, as a cut by that call.

        `whole` is the module that is called, if one is: what it uses of itself counts as one.
        """
        if self.mode is None:
            return value
        cut = value.cut
        changed = [s for s in value.cut if s.cut.block is CALLERS_MODE.block]
        if changed:
            at = self.cut_at(node, self.mode.cause, self.mode.block)
            cut = (cut - frozenset(changed)) | {_as_part_of(whole, s, at) for s in changed}
        items = value.items
        if items is not None:
            items = tuple(self.placed_at_call(node, item, whole) for item in items)
        ref = value.ref
        if isinstance(ref, Each):
            ref = replace(ref, element=self.placed_at_call(node, ref.element, whole))
        return replace(value, cut=cut, items=items, ref=ref)

    def _severed_by_mode(self, node: cst.CSTNode, before: Live, inside: Live) -> Broken:
        assert self.mode is not None
        cut = self.cut_at(node, self.mode.cause, self.mode.block)
        lost = {Severed(origin, cut, False) for origin in before}
        lost.update(Severed(origin, cut, True) for origin in inside)
        return frozenset(lost)

    def severed(self, node: cst.CSTNode, value: Value, cause: str, kind: Kind) -> Value:
        """`value` without its graph, cut at `node`; earlier cuts stay where they were."""
        live, cut = flat(value)
        memory = value.memory
        if live or memory is not None:
            at = self.cut_at(node, cause)
            cut = cut | {Severed(origin, at, False) for origin in live}
            memory = note_alias(self, value, at) if memory is not None else None
        return Value(kind, NOTHING, cut, None, None, Graph.NO, memory)

    def ended(self, node: cst.CSTNode, values: Iterable[Value], cause: str, kind: Kind) -> Value:
        """A result that cannot carry gradient: an earlier cut no longer makes a difference."""
        live, cut = gathered(values)
        origins = live | {severed.origin for severed in cut}
        if not origins:
            memory = self.new_memory(node) if kind is Kind.TENSOR else None
            return Value(kind, graph=Graph.NO, memory=memory)
        at = self.cut_at(node, cause)
        cut = frozenset(Severed(origin, at, False) for origin in origins)
        memory = self.new_memory(node) if kind is Kind.TENSOR else None
        return Value(kind, NOTHING, cut, graph=Graph.NO, memory=memory)

    def escape(self, *values: Value) -> None:
        """The values may be kept or trained on somewhere out of sight."""
        live, _ = gathered(values)
        self.frame.effects.escapes |= live

    # ------------------------------------------------------------------------------- naming

    def source(self, thing: Thing, is_parameter: bool = False) -> Live:
        """The source that calling or reading `thing` brings in, unless it cannot be trained."""
        if thing.trainable is Trainable.NO:
            return NOTHING
        whole = Source(thing.base, thing.path, thing.trainable, is_parameter)
        parts = (Source(p.base, p.path, thing.trainable) for p in thing.parts)
        return frozenset({whole, *parts})

    def make(self, node: cst.CSTNode) -> Base:
        """A base for an object that is created at `node`, until a name is bound to it."""
        base = Base("made", "", id(node))
        self.made[base] = self.place(node)
        return base

    def inference_at(self, node: cst.CSTNode) -> Cut | None:
        """The inference_mode in which `node` makes something, as a cut there."""
        if self.mode is None or self.mode.cause != "inference_mode":
            return None
        return self.cut_at(node, self.mode.cause, self.mode.block)

    def name_made(self, value: Value, base: Base, path: tuple[str, ...] = ()) -> Value:
        """`value`, under the name of the variable or attribute that it is first bound to."""
        if value.items is not None:
            bases = _bases_of_items(value, base) if not path else [base] * len(value.items)
            pairs = zip(value.items, bases, strict=True)
            items = tuple(self.name_made(item, one, path) for item, one in pairs)
            is_same = all(map(operator.is_, items, value.items))
            return value if is_same else replace(value, items=items)
        if isinstance(value.ref, Each):
            element = self.name_made(value.ref.element, base, path)
            if element is value.ref.element:
                return value
            return replace(value, ref=replace(value.ref, element=element))
        thing = value.thing
        if thing is None or thing.base.role != "made" or thing.path:
            return value
        self.made.setdefault(base, self.made[thing.base])
        self.frame.effects.optimized = [
            tuple(_renamed(held, thing.base, base, path) for held in things)
            for things in self.frame.effects.optimized
        ]
        marks = self.frame.effects.marks
        marks += [Mark(base, (*path, *m.path), m.frozen) for m in marks if m.base == thing.base]
        if thing.cls is not None and not path:
            self.class_at[base] = thing.cls
        named = replace(thing, base=base, path=path)
        old = Source(thing.base, (), thing.trainable, True)
        live = value.live
        if old in live:
            live = (live - {old}) | {Source(base, path, thing.trainable, True)}
        return replace(value, live=live, items=None, ref=named)

    # ------------------------------------------------------------------------------ branches

    def branch(self, *bodies: Callable[[], None]) -> None:
        """Run each body from the same start, and go on with the join of where they end."""
        start, ends = self.env, []
        before, traces = self.traces, []
        self.unsure += 1
        for body in bodies:
            self.env, self.dead, self.traces = dict(start), False, before.copy()
            body()
            if not self.dead:
                ends.append(self.env)
                traces.append(self.traces)
        self.unsure -= 1
        self.traces = traces[0] if traces else before
        for other in traces[1:]:
            self.traces.add(other)
        self.dead = not ends
        self.env = ends[0] if ends else start
        for end in ends[1:]:
            self.env = joined(self.env, end)

    def loop(self, step: Callable[[], None], surely: bool = False) -> None:
        """Run `step` until the names no longer change; unless `surely`, it may not run at all."""
        outer, self.unsure, self.loops = self.jumps, self.unsure + 1, self.loops + 1
        for _ in range(_ROUNDS):
            start, self.jumps = self.env, []
            self.env = dict(start)
            step()
            ends = self.jumps if self.dead else [self.env, *self.jumps]
            self.dead = False
            last = ends or [start]
            self.env = start
            for end in ends:
                self.env = joined(self.env, end)
            if self.env == start:
                break
        if surely:
            self.env = last[0]
            for end in last[1:]:
                self.env = joined(self.env, end)
        self.jumps, self.unsure, self.loops = outer, self.unsure - 1, self.loops - 1

    def once(self, step: Callable[[], None]) -> None:
        """Run `step` as one round of a loop that is written out."""
        outer, self.jumps = self.jumps, []
        step()
        ends = self.jumps if self.dead else [self.env, *self.jumps]
        if ends:
            self.env, self.dead = ends[0], False
            for end in ends[1:]:
                self.env = joined(self.env, end)
        self.jumps = outer

    def jump(self) -> None:
        """Leave the body of the loop here: break or continue."""
        self.jumps.append(self.env)
        self.dead = True


def _bases_of_items(value: Value, base: Base) -> list[Base]:
    """What the objects in a list or dict are called: `models[0]`, `nets['a']`."""
    keys = value.ref.names if isinstance(value.ref, Keys) else range(len(value.items or ()))
    return [replace(base, name=f"{base.name}[{key!r}]") for key in keys]


def _renamed(held: Thing, old: Base, new: Base, path: tuple[str, ...]) -> Thing:
    return replace(held, base=new, path=(*path, *held.path)) if held.base == old else held


def _as_part_of(whole: Thing | None, severed: Severed, at: Cut) -> Severed:
    """What was cut inside a call, cut at the call; what the module `whole` uses is the whole."""
    origin = severed.origin
    if whole is not None and isinstance(origin, Source) and origin.base == whole.base:
        depth = len(whole.path)
        if origin.path[:depth] == whole.path:
            return Severed(Source(whole.base, whole.path, origin.trainable), at, True)
    return Severed(origin, at, severed.inside)


def joined(one: Env, other: Env) -> Env:
    """The names of both, with the join of their values; a name in one only keeps its value."""
    if one is other:
        return one
    result = dict(one)
    pairs: dict[tuple[int, int], Value] = {}  # two names for one list stay two names for one
    for name, value in other.items():
        mine = result.get(name)
        if mine is None:
            result[name] = value
        elif mine is not value:
            key = id(mine), id(value)
            if key not in pairs:
                pairs[key] = join(mine, value)
            result[name] = pairs[key]
    return result
