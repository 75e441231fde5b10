"""Which tensors look at the same memory, and what has happened to it: for writes past autograd.

A `Memory` travels with a value; `Traces` is what has been done to each memory up to this point.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gradlint.model import Place

if TYPE_CHECKING:
    from gradlint.facts.recorder import WriteRecord
    from gradlint.facts.values import Base, Cut, Source


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """An operation that keeps a tensor for its backward: its result, an input, or weights.

    `is_read` says that its values are read, and not only their signs.
    """

    operation: str
    what: str
    place: Place
    is_read: bool = True


@dataclass(frozen=True, slots=True)
class ArgumentMemory:
    """What an argument looks at, inside its function."""

    name: str


@dataclass(frozen=True, slots=True)
class ObjectMemory:
    """What a parameter or a field looks at, by its path."""

    base: Base
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """What a tensor looks at. `owner` is equal for all that look at the same memory: the node
    that made it, an ArgumentMemory or an ObjectMemory.

    `alias` is the detach() or .data by which it is reached without a graph, if it is. Then
    `is_computed` and `is_parameter` say what the tensor itself is. `saved` is how the operation
    that made it keeps it; `in_inference` says that it was made under inference_mode, `unrecorded`
    that it, or all that it adds up, was made while gradients were not recorded. `gathered` are
    the cuts of all values that it sums or stacks, if it does only that. A scalar has no dimension.
    `is_kept` says that the constructor of an object has put it into a field.
    `tainted` are the writes past autograd to what it is computed from, `keeps` what the operations
    behind it keep for their backward.
    """

    owner: Hashable
    alias: Cut | None = None
    is_computed: bool = False
    is_parameter: bool = False
    saved: Saved | None = None
    in_inference: bool = False
    unrecorded: bool = False
    gathered: frozenset[Cut] = frozenset()
    is_scalar: bool = False
    is_kept: bool = False
    tainted: frozenset[WriteRecord] = frozenset()
    keeps: frozenset[Saved] = frozenset()

    @property
    def has_history(self) -> bool:
        """Whether a later backward() has to be told of something."""
        return bool(self.tainted or self.keeps)

    @property
    def cuts(self) -> frozenset[Cut]:
        """Where it, or all that it gathers, was detached."""
        return self.gathered if self.alias is None else frozenset({self.alias})

    def seen_through(self, cut: Cut, is_computed: bool, is_parameter: bool) -> Memory:
        """The same memory, by way of a detach() or .data; the first of several counts."""
        if self.alias is not None:
            return self
        return replace(self, alias=cut, is_computed=is_computed, is_parameter=is_parameter)


def _both(one: frozenset[Cut], other: frozenset[Cut]) -> frozenset[Cut]:
    return one | other if one and other else frozenset()


def converted(memory: Memory | None) -> Memory | None:
    """That of `x.cpu()`: it may be the same or a copy, so nothing that is written to it counts."""
    if memory is None:
        return None
    return Memory(
        EITHER,
        in_inference=False,
        unrecorded=memory.unrecorded,
        gathered=memory.cuts,
        is_scalar=memory.is_scalar,
        tainted=memory.tainted,
        keeps=memory.keeps,
    )


def reshaped(memory: Memory | None) -> Memory | None:
    """The same memory with other dimensions."""
    return replace(memory, is_scalar=False) if memory is not None else None


def unsaved(memory: Memory | None) -> Memory | None:
    """The memory after its tensor has been given another: what was saved is out of reach."""
    return replace(memory, saved=None) if memory is not None else None


EITHER = "either"
"""The owner of what is one of several memories."""


def same_memory(one: Memory | None, other: Memory | None) -> Memory | None:
    """What both look at, if it is the same; of several, what holds for all of them."""
    if one == other or one is None or other is None:
        return one if one == other else None
    if not (one.is_scalar and other.is_scalar) and not one.has_history and not other.has_history:
        return None
    return Memory(
        EITHER,
        unrecorded=one.unrecorded and other.unrecorded,
        gathered=_both(one.cuts, other.cuts),
        is_scalar=one.is_scalar and other.is_scalar,
        tainted=one.tainted | other.tainted,
        keeps=one.keeps | other.keeps,
    )


def _latest(one: dict[Hashable, int], other: dict[Hashable, int]) -> dict[Hashable, int]:
    return {owner: max(one.get(owner, 0), other.get(owner, 0)) for owner in one | other}


@dataclass(slots=True)
class Traces:
    """What has happened to memories so far, on the way to this point.

    `fresh` are those made since the last backward(), whose graph is still needed. `saved` are
    those that an operation keeps. `written` are those that were changed past autograd and not
    used since. `versions` counts the changes of each, `seen` holds for each alias whose memory it
    shares, and the version at that time; `collected` are those of them that are kept in a list,
    with the number of optimizer `steps` before.
    `pending` are writes that make the gradient of any backward() to come wrong.
    `called` are the weights that a forward has kept, `spoiled` those changed since.
    """

    fresh: set[Hashable] = field(default_factory=set)
    saved: dict[Hashable, Saved] = field(default_factory=dict)
    written: dict[Hashable, WriteRecord] = field(default_factory=dict)
    versions: dict[Hashable, int] = field(default_factory=dict)
    seen: dict[Cut, tuple[Memory, int]] = field(default_factory=dict)
    collected: dict[Cut, int] = field(default_factory=dict)
    steps: int = 0
    pending: set[WriteRecord] = field(default_factory=set)
    called: dict[Source, Saved] = field(default_factory=dict)
    spoiled: dict[Source, WriteRecord] = field(default_factory=dict)
    is_after_backward: bool = False

    def copy(self) -> Traces:
        """The same, to go on from in one branch."""
        return Traces(
            set(self.fresh),
            dict(self.saved),
            dict(self.written),
            dict(self.versions),
            dict(self.seen),
            dict(self.collected),
            self.steps,
            set(self.pending),
            dict(self.called),
            dict(self.spoiled),
            self.is_after_backward,
        )

    def add(self, other: Traces) -> None:
        """Take over what may have happened in another branch."""
        self.fresh |= other.fresh
        self.saved.update(other.saved)
        self.written.update(other.written)
        self.seen, self.versions = self._both_seen(other), _latest(self.versions, other.versions)
        self.collected.update(other.collected)
        self.steps = max(self.steps, other.steps)
        self.pending |= other.pending
        self.called.update(other.called)
        self.spoiled.update(other.spoiled)
        self.is_after_backward = self.is_after_backward and other.is_after_backward

    def _both_seen(self, other: Traces) -> dict[Cut, tuple[Memory, int]]:
        """The aliases of both branches, stale if they are in one of them."""
        versions, both = _latest(self.versions, other.versions), {}
        for cut, (memory, _) in (other.seen | self.seen).items():
            is_stale = self._is_stale(cut) or other._is_stale(cut)
            both[cut] = (memory, versions.get(memory.owner, 0) - is_stale)
        return both

    def _is_stale(self, cut: Cut) -> bool:
        if cut not in self.seen:
            return False
        memory, version = self.seen[cut]
        return version < self.versions.get(memory.owner, 0)

    def make(self, memory: Memory) -> None:
        """A tensor is made: whatever its place in the code has made before is gone."""
        owner = memory.owner
        self.fresh.add(owner)
        self.saved.pop(owner, None)
        self.written.pop(owner, None)

    def is_needed(self, memory: Memory) -> bool:
        """Whether a backward() can still come that reaches the tensor."""
        if memory.owner in self.fresh:
            return True
        return isinstance(memory.owner, ArgumentMemory) and not self.is_after_backward

    def alias(self, cut: Cut, memory: Memory) -> None:
        """A detach() or .data is evaluated."""
        self.seen[cut] = (memory, self.versions.get(memory.owner, 0))

    def change(self, memory: Memory) -> None:
        """The memory gets other values."""
        self.versions[memory.owner] = self.versions.get(memory.owner, 0) + 1

    def change_through(self, memory: Memory) -> None:
        """The memory gets other values through its alias, which then holds them."""
        self.change(memory)
        if memory.alias in self.seen:
            self.alias(memory.alias, memory)

    def replace(self, memory: Memory) -> None:
        """The tensor gets another memory: what shared the old one keeps the old values."""
        for cut, (seen, _) in list(self.seen.items()):
            if seen.owner == memory.owner:
                del self.seen[cut]

    def must_be_stale(self, memory: Memory) -> bool:
        """Whether an alias was made before the memory last changed.

        One that a constructor has kept is old wherever else it is seen.
        """
        if memory.alias is None:
            return False
        return memory.is_kept if memory.alias not in self.seen else self._is_stale(memory.alias)

    def end_graph(self) -> None:
        """backward() has used what was saved: later writes change no gradient."""
        self.fresh.clear()
        self.saved.clear()
        self.written.clear()
        self.pending.clear()
        self.called.clear()
        self.spoiled.clear()
        self.is_after_backward = True
