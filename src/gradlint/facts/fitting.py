"""Fits the summary of a function to one call: what it says of arguments becomes what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.effects import Backward, Effects, Mark, Step
from gradlint.facts.memory import ArgumentMemory, Memory, ObjectMemory
from gradlint.facts.results import kept, taints, with_history
from gradlint.facts.substitution import substitute
from gradlint.facts.values import (
    MEMBER,
    SELF,
    UNKNOWN,
    Base,
    Inflow,
    Source,
    Thing,
    Value,
    flat,
)
from gradlint.facts.writes import note_step
from gradlint.model import Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter

INFERENCE = "inference_mode"


class Fit:
    """Replaces what a summary says of arguments and instance by what the caller knows of them."""

    def __init__(
        self,
        run: Interpreter,
        node: cst.CSTNode,
        receiver: Value | None,
        given: Mapping[str, Value],
    ) -> None:
        self._run = run
        self._node = node
        self._me = receiver.thing if receiver is not None else None
        self._given = given

    def take_over(self, effects: Effects) -> None:
        """Add what the function does to what its caller does."""
        mine = self._run.frame.effects
        mine.reached |= effects.reached
        if effects.escapes:
            mine.escapes |= flat(self.value(Value(live=frozenset(effects.escapes))))[0]
        for event in effects.timeline:
            if isinstance(event, Backward):
                mine.timeline.append(replace(event, value=self.value(event.value)))
                self._run.traces.end_graph()
            else:
                things = self.things(event.things)
                mine.timeline.append(Step(things))
                note_step(self._run, things)
        self._run.traces.pending |= effects.pending
        for name, record in effects.late_writes.items():
            given = self._argument(name)
            if given is None or given.memory is None:
                continue
            if self._run.traces.is_needed(given.memory):
                self._run.traces.written[given.memory.owner] = record
        self.take_over_settings(effects)
        for name, value in effects.stores.items():
            self._store(name, self.value(value))

    def take_over_settings(self, effects: Effects) -> None:
        """Add what the function freezes, gives to optimizers and sets by hand."""
        mine = self._run.frame.effects
        for mark in effects.marks:
            thing = self.thing(Thing(mark.base, mark.path)).thing
            if thing is not None:
                mine.marks.append(Mark(thing.base, thing.path, mark.frozen))
        mine.optimized += [self.things(things) for things in effects.optimized]
        mine.written |= {self.source(source) for source in effects.written}
        mine.loaded |= {self.source(source) for source in effects.loaded}
        mine.set_to_eval |= {self.source(source) for source in effects.set_to_eval}

    def value(self, value: Value) -> Value:
        """A value of the function, as the caller has it."""
        me = self._me
        is_self = me is not None and me.base == SELF and not me.path
        seen = substitute(value, self)
        if self._run.uses_data or self._run.traces.written:
            seen = self._with_history(value, seen)
        return self._run.placed_at_call(self._node, seen, None if is_self else me)

    def _with_history(self, value: Value, seen: Value) -> Value:
        """The value with what has happened to the arguments that it is computed from."""
        if value.items is not None and seen.items is not None:
            pairs = zip(value.items, seen.items, strict=True)
            return replace(seen, items=tuple(self._with_history(v, s) for v, s in pairs))
        inflows = (self.inflow(origin) for origin in value.live if isinstance(origin, Inflow))
        arrived = [one for one in inflows if one is not None]
        return with_history(seen, taints(self._run, arrived), kept(arrived))

    def memory(self, memory: Memory) -> Memory | None:
        """What a tensor looks at; each call makes tensors of its own."""
        owner = memory.owner
        if isinstance(owner, ArgumentMemory):
            given = self._argument(owner.name)
            return given.memory if given is not None and memory.alias is None else None
        if isinstance(owner, ObjectMemory):
            thing = self.thing(Thing(owner.base, owner.path)).thing
            if thing is None:
                return None
            return replace(memory, owner=ObjectMemory(thing.base, thing.path))
        mode = self._run.mode
        made = replace(
            memory,
            owner=(id(self._node), owner),
            in_inference=memory.in_inference or (mode is not None and mode.cause == INFERENCE),
            unrecorded=memory.unrecorded or mode is not None,
        )
        self._run.traces.make(made)
        return made

    def inflow(self, inflow: Inflow) -> Value | None:
        name, _, rest = inflow.name.partition(".")
        if name == SELF.name and rest and self._me is not None:
            return self._field(rest)
        value = self._argument(inflow.name)
        return UNKNOWN if value is None else value

    def _argument(self, name: str) -> Value | None:
        """An argument, or with a number behind the dot, an item of one."""
        name, _, rest = name.partition(".")
        value = self._given.get(name)
        for index in rest.split(".") if rest and value is not None else ():
            if value is None or value.items is None or int(index) >= len(value.items):
                return value
            value = value.items[int(index)]
        return value

    def _field(self, name: str) -> Value | None:
        key = self._key(name)
        if key is not None and key in self._run.env:
            return self._run.env[key]
        return None if self._me is not None and self._me.base == SELF else UNKNOWN

    def _key(self, name: str) -> str | None:
        """The name under which the caller keeps the attribute of the receiver."""
        me = self._me
        if me is None:
            return None
        if me.base == SELF and not me.path:
            return f"{self._run.frame.self_name}.{name}"
        if me.base.role in ("variable", "argument"):
            return ".".join((me.base.name, *me.path, name))
        return None

    def _store(self, name: str, value: Value) -> None:
        key = self._key(name)
        if key is not None:
            self._run.env[key] = value
        if self._me is not None and self._me.base == SELF and not self._me.path:
            self._run.frame.effects.stores[name] = value

    def source(self, source: Source) -> Source:
        thing = self.thing(Thing(source.base, source.path, None, source.trainable)).thing
        if thing is None:
            return source
        trainable = source.trainable
        if trainable is Trainable.MAYBE and not source.is_parameter:
            trainable = thing.trainable
        return Source(thing.base, thing.path, trainable, source.is_parameter)

    def things(self, things: tuple[Thing, ...]) -> tuple[Thing, ...]:
        """The objects that an optimizer holds, as the caller reaches them."""
        seen = (self.thing(thing).thing for thing in things)
        return tuple(thing for thing in seen if thing is not None)

    def thing(self, thing: Thing) -> Value:
        """The object at a path of the function, as the caller reaches it."""
        if thing.base == SELF:
            start = Value(ref=self._me) if self._me is not None else None
        elif thing.base.role == "argument":
            start = self._argument(thing.base.name)
        else:
            start = None
        if start is None or start.thing is None:
            return Value(ref=thing)
        if thing.parts:
            parts = (self.thing(part).thing for part in thing.parts)
            thing = replace(thing, parts=tuple(part for part in parts if part is not None))
        if thing.chain:
            thing = replace(thing, chain=self._links(thing.chain))
        return descend(start, thing)

    def _links(self, chain: tuple[Thing, ...]) -> tuple[Thing, ...]:
        """The layers of a Sequential, as the caller reaches those with a name of their own."""
        links = [link if link.base == MEMBER else self.thing(link).thing for link in chain]
        return tuple(link for link in links if link is not None) if all(links) else ()

    def hands_in(self, base: Base) -> bool:
        """Whether the caller gives the object at `base` to the function."""
        values = [*self._given.values()]
        while values:
            value = values.pop()
            values.extend(value.items or ())
            if value.thing is not None and value.thing.base == base:
                return True
        return False


def descend(start: Value, below: Thing) -> Value:
    """The object that `below`, a path from `start`, leads to."""
    value, path = start, below.path
    while path and value.thing is not None and value.thing.bound:
        bound = dict(value.thing.bound).get(path[0])
        if bound is None or bound.thing is None:
            break
        value, path = bound, path[1:]
    if not path:
        return value
    thing = value.thing
    assert thing is not None
    return Value(ref=replace(below, base=thing.base, path=(*thing.path, *path)))
