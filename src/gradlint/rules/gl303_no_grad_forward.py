"""A grad mode on `forward` itself: no parameter of the module can train.

Whatever calls the module gets a result without a graph. Its parameters keep requires_grad=True and
get no gradient, in training too.

Bad:
    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 4)

        @torch.no_grad()
        def forward(self, x):
            return self.layer(x)


    tower = Tower()
    assert not tower(torch.randn(3, 8)).requires_grad

Good:
    class Tower(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 4)

        def forward(self, x):
            return self.layer(x)


    tower = Tower()
    assert tower(torch.randn(3, 8)).requires_grad

Quiet on: modules without trainable parameters (rotary and positional tables, matchers, buffers
only), results that carry no gradient anyway (indices), parameters that are frozen, kept by hand,
held by no optimizer, or trained through another method.

Fix: take the decorator off, and use `with torch.no_grad():` where the module is evaluated; to
freeze the module for good, `requires_grad_(False)`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    MODES,
    Confidence,
    Label,
    Lost,
    Report,
    Severity,
    Starvation,
    Trainable,
    first_that_fits,
    listed,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.MEDIUM
triggers = ("no_grad", "inference_mode", "set_grad_enabled")


def check(unit: Unit) -> Iterator[Report]:
    """Every mode that decorates a root method of a module with trainable parameters."""
    for starvation in unit.starvations():
        sure = [lost for lost in starvation.lost if lost.trainable is Trainable.YES]
        if starvation.cause in MODES and starvation.decorates and starvation.block is not None:
            yield _report(starvation, sure or list(starvation.lost), bool(sure))


def _report(found: Starvation, lost: list[Lost], is_sure: bool) -> Report:
    assert found.block is not None
    names = tuple(one.name for one in lost)
    places = [(lost[0].made, "trainable parameters")]
    places += [(found.root_place, "the loss that cannot reach them")]
    related = [Label(place, what) for place, what in places if place is not None]
    return Report(
        at=found.block,
        symbol=found.decorates,
        message=first_that_fits(
            f"`{found.decorates}` records no graph: {listed(names)} cannot train",
            f"`{found.decorates}` records no graph: {listed(names, 1)} cannot train",
            f"forward records no graph: {listed(names, 1)} cannot train",
        ),
        label=f"{found.cause} for the whole method",
        why="Its result has no grad_fn wherever it is called, and requires_grad stays True.",
        help="take the decorator off, or freeze the module: `self.requires_grad_(False)`",
        parameters=names,
        related=tuple(related),
        confidence=None if is_sure else Confidence.LOW,
    )
