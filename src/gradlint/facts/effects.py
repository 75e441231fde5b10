"""What running a function does besides returning a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradlint.facts.recorder import WriteRecord
from gradlint.facts.values import Base, Origin, Source, Thing, Value
from gradlint.model import Place


@dataclass(frozen=True, slots=True, eq=False)
class Backward:
    """A call that sends gradient back from `value`; `may_fail` where an exception is expected."""

    value: Value
    place: Place
    symbol: str
    may_fail: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """An optimizer's step(); `things` is what it holds, nothing when that cannot be told."""

    things: tuple[Thing, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """`requires_grad` of everything below a path was set; `frozen` says to what."""

    base: Base
    path: tuple[str, ...]
    frozen: bool


@dataclass(eq=False, slots=True)
class Effects:
    """What running a function does besides returning a value.

    `timeline` holds backward() and step() in order. `stores` are attributes set on self;
    `optimized` holds for each optimizer whose parameters it is given (nothing: that cannot be
    told); `written` are parameters that are set from other tensors by hand, as moving averages
    and target networks are; `loaded` are those that a constructor loads, `set_to_eval`
    those on which it calls eval(): for both, a network that is only used;
    `late_writes` are writes past autograd to arguments that were not used
    after it, `pending` those that make the gradient of any backward() to come wrong; `reached` are
    the functions that were followed, by the id of their node.
    """

    escapes: set[Origin] = field(default_factory=set)
    timeline: list[Backward | Step] = field(default_factory=list)
    stores: dict[str, Value] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    optimized: list[tuple[Thing, ...]] = field(default_factory=list)
    written: set[Source] = field(default_factory=set)
    loaded: set[Source] = field(default_factory=set)
    set_to_eval: set[Source] = field(default_factory=set)
    late_writes: dict[str, WriteRecord] = field(default_factory=dict)
    pending: set[WriteRecord] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)

    @property
    def backwards(self) -> Iterator[Backward]:
        """The calls of backward(), in order."""
        return (event for event in self.timeline if isinstance(event, Backward))

    @property
    def backwards_with_steps(self) -> Iterator[tuple[Backward, Step | None]]:
        """Each call of backward() with the step that follows it."""
        for i, event in enumerate(self.timeline):
            if isinstance(event, Backward):
                later = (e for e in self.timeline[i + 1 :] if isinstance(e, Step))
                yield event, next(later, None)
