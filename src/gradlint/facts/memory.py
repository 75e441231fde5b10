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
    from gradlint.facts.values import Base, Cut


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """An operation that keeps a tensor for its backward: `what` is "result" or "input"."""

    operation: str
    what: str
    place: Place


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
    that made it keeps it; `in_inference` says that it was made under inference_mode.
    """

    owner: Hashable
    alias: Cut | None = None
    is_computed: bool = False
    is_parameter: bool = False
    saved: Saved | None = None
    in_inference: bool = False

    def seen_through(self, cut: Cut, is_computed: bool, is_parameter: bool) -> Memory:
        """The same memory, by way of a detach() or .data; the first of several counts."""
        if self.alias is not None:
            return self
        return replace(self, alias=cut, is_computed=is_computed, is_parameter=is_parameter)


def unsaved(memory: Memory | None) -> Memory | None:
    """The memory after its tensor has been given another: what was saved is out of reach."""
    return replace(memory, saved=None) if memory is not None else None


def same_memory(one: Memory | None, other: Memory | None) -> Memory | None:
    """What both look at, if it is the same."""
    return one if one == other else None


@dataclass(slots=True)
class Traces:
    """What has happened to memories so far, on the way to this point.

    `fresh` are those made since the last backward(), whose graph is still needed. `saved` are
    those that an operation keeps. `written` are those that were changed past autograd and not
    used since. `versions` counts the changes of each, `seen` holds for each alias whose memory it
    shares, and the version at that time.
    """

    fresh: set[Hashable] = field(default_factory=set)
    saved: dict[Hashable, Saved] = field(default_factory=dict)
    written: dict[Hashable, WriteRecord] = field(default_factory=dict)
    versions: dict[Hashable, int] = field(default_factory=dict)
    seen: dict[Cut, tuple[Hashable, int]] = field(default_factory=dict)
    is_after_backward: bool = False

    def copy(self) -> Traces:
        """The same, to go on from in one branch."""
        return Traces(
            set(self.fresh),
            dict(self.saved),
            dict(self.written),
            dict(self.versions),
            dict(self.seen),
            self.is_after_backward,
        )

    def add(self, other: Traces) -> None:
        """Take over what may have happened in another branch."""
        self.fresh |= other.fresh
        self.saved.update(other.saved)
        self.written.update(other.written)
        for owner, version in other.versions.items():
            self.versions[owner] = max(version, self.versions.get(owner, 0))
        self.seen.update(other.seen)
        self.is_after_backward = self.is_after_backward and other.is_after_backward

    def make(self, memory: Memory) -> None:
        """A tensor is made: whatever its place in the code has made before is gone."""
        owner = memory.owner
        self.fresh.add(owner)
        self.saved.pop(owner, None)
        self.written.pop(owner, None)

    def alias(self, cut: Cut, memory: Memory) -> None:
        """A detach() or .data is evaluated."""
        self.seen[cut] = (memory.owner, self.versions.get(memory.owner, 0))

    def change(self, owner: Hashable) -> None:
        """The memory gets other values."""
        self.versions[owner] = self.versions.get(owner, 0) + 1

    def must_be_stale(self, memory: Memory) -> bool:
        """Whether an alias was made before the memory last changed."""
        if memory.alias is None or memory.alias not in self.seen:
            return False
        _, version = self.seen[memory.alias]
        return version < self.versions.get(memory.owner, 0)

    def end_graph(self) -> None:
        """backward() has used what was saved: later writes change no gradient."""
        self.fresh.clear()
        self.saved.clear()
        self.written.clear()
        self.is_after_backward = True
