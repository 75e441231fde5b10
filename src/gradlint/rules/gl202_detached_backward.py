"""backward() on a value without a graph raises, and nothing trains.

What `detach()` returns has no history. A loss that is detached, or summed up from detached losses,
has nothing to send a gradient through.

Bad:
    net = nn.Linear(3, 1)
    loss = net(torch.randn(2, 3)).pow(2).mean().detach()
    loss.backward()

Good:
    net = nn.Linear(3, 1)
    loss = net(torch.randn(2, 3)).pow(2).mean()
    loss.backward()
    logged = loss.detach()

Raises: RuntimeError, `element 0 of tensors does not require grad and does not have a grad_fn`

Quiet on: values that may have a graph on some way to the call; losses that are computed under
no_grad (GL304); a detach further up, on the way to the loss (GL201).

Fix: send the loss itself backward, and detach the copy that is logged or kept.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
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
triggers = ("detach", ".data")


def check(unit: Unit) -> Iterator[Report]:
    """Every backward() whose value was detached before."""
    for found in unit.graphless_backwards():
        if found.cause in ("detach", "data") or (found.cause == "host" and found.is_loss_itself):
            yield _report(found)


def _report(found: GraphlessBackward) -> Report:
    name = brief(found.receiver)
    what = {"data": "`.data`", "host": f"`{brief(found.text, 24)}`"}.get(found.cause, "detach()")
    is_number = found.cause == "host"
    return Report(
        at=found.place,
        symbol=found.symbol,
        message=first_that_fits(
            f"backward() on `{name}` raises: {what} has dropped its graph",
            f"this backward() raises: {what} has dropped the graph",
        ),
        label="a number" if is_number else "no grad_fn: nothing to send a gradient through",
        why="No parameter gets a gradient from this call: every path to them ends before it.",
        help="call backward() on the loss itself, and detach only the copy that is kept",
        related=(Label(found.cut, "the graph ends here"),),
    )
