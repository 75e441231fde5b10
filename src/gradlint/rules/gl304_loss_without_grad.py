"""A loss that is computed under no_grad has no graph: backward() raises.

Where the loss is computed decides, not where backward() is called: backward() itself may run under
no_grad.

Bad:
    net = nn.Linear(3, 1)
    with torch.no_grad():
        loss = net(torch.randn(2, 3)).pow(2).mean()
    loss.backward()

Good:
    net = nn.Linear(3, 1)
    loss = net(torch.randn(2, 3)).pow(2).mean()
    with torch.no_grad():
        loss.backward()

Raises: RuntimeError, `element 0 of tensors does not require grad and does not have a grad_fn`

Quiet on: backward() under no_grad on a graph that was made outside; losses that have a graph on
some way to the call; modes that are decided while it runs (`set_grad_enabled(training)`).

Fix: compute the loss where gradients are recorded.

Source: https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    MODES,
    Confidence,
    GraphlessBackward,
    Label,
    Report,
    Severity,
    brief,
    first_that_fits,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("no_grad", "inference_mode", "set_grad_enabled")


def check(unit: Unit) -> Iterator[Report]:
    """Every backward() whose loss was computed while nothing was recorded."""
    for found in unit.graphless_backwards():
        if found.cause in MODES:
            yield _report(found)


def _report(found: GraphlessBackward) -> Report:
    name = brief(found.receiver)
    places = [
        (found.cut, "computed without a graph"),
        (found.block, "gradient recording stops here"),
    ]
    related = [Label(place, what) for place, what in places if place is not None]
    return Report(
        at=found.place,
        symbol=found.symbol,
        message=first_that_fits(
            f"backward() on `{name}` raises: it was computed under {found.cause}",
            f"this backward() raises: its loss was computed under {found.cause}",
        ),
        label="no grad_fn: nothing to send a gradient through",
        why=f"Nothing that runs under {found.cause} is recorded, so no parameter gets a gradient.",
        help=f"compute the loss outside {found.cause}; only backward() itself may run there",
        related=tuple(related),
    )
