"""`x.detach()` is no copy: it shares the memory of `x`, and both change together.

A write to the detached tensor changes `x` too. A snapshot that was kept with `detach()`, or with
`state_dict()`, follows the parameters through every optimizer step, so comparing them with it, or
restoring them from it, does nothing.

Bad:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = net.weight.detach()
    net(torch.randn(2, 3)).sum().backward()
    optimizer.step()
    moved = (net.weight - before).abs().sum()
    assert moved == 0

Good:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    before = net.weight.detach().clone()
    net(torch.randn(2, 3)).sum().backward()
    optimizer.step()
    moved = (net.weight - before).abs().sum()
    assert moved > 0

Quiet on: `x.detach().clone()`; tensors of which only one is used after the write; writes to a
detached parameter and `state.detach().zero_()`, where nobody keeps the detached tensor: they are
meant to change the original; snapshots that are used before anything changes.

Fix: `x.detach().clone()`, `copy.deepcopy(net.state_dict())`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    Confidence,
    Label,
    Report,
    Severity,
    StaleSnapshot,
    UnrecordedWrite,
    brief,
    first_that_fits,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("detach", ".data", "load_state_dict")


def check(unit: Unit) -> Iterator[Report]:
    """Every write to a detached tensor whose original is used later, and every stale snapshot."""
    for write in unit.unrecorded_writes():
        if write.cause == "detach":
            yield _written(write)
    for snapshot in unit.stale_snapshots():
        yield _kept(snapshot)


def _written(write: UnrecordedWrite) -> Report:
    name = brief(write.target.text)
    related = [] if write.alias is None else [Label(write.alias, "detached here, and not copied")]
    return Report(
        at=write.place,
        symbol=write.symbol,
        message=first_that_fits(
            f"writing to `{name}` changes the tensor that it was detached from",
            "this write changes the tensor that its target was detached from",
        ),
        label="both share this memory",
        why="detach() makes no copy, and the tensor from which it was made is used after this.",
        help="detach with `.detach().clone()`",
        related=tuple(related),
    )


def _kept(snapshot: StaleSnapshot) -> Report:
    text = brief(snapshot.text)
    return Report(
        at=snapshot.place,
        symbol=snapshot.symbol,
        message=first_that_fits(
            f"`{text}` is no snapshot: it changes with what it is compared to",
            "this is no snapshot: it changes with what it is compared to",
        ),
        label="shares the memory of the original",
        why="It is no copy, so what is kept here always equals the original as it is now.",
        help="keep a copy: `.detach().clone()` of a tensor, `copy.deepcopy()` of a state_dict",
        related=(Label(snapshot.compared, "both are the same memory here"),),
    )
