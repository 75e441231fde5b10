"""A detach of what has no graph does nothing.

Under `torch.no_grad()`, and on what is detached already, `x.detach()` only makes another tensor
that shares the memory of `x`.

Bad:
    net = nn.Linear(3, 1)
    with torch.no_grad():
        out = net(torch.randn(2, 3)).detach()

Good:
    net = nn.Linear(3, 1)
    with torch.no_grad():
        out = net(torch.randn(2, 3))

Quiet on: whatever may have a graph; `x.detach().requires_grad_()`, which needs a tensor of its own.

Fix: leave it out.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Graph, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.WARNING
confidence = Confidence.MEDIUM
triggers = ("detach",)
pedantic = True

_LEAF = "requires_grad_"


def check(unit: Unit) -> Iterator[Report]:
    """Every detach of a tensor that must have no graph."""
    for call in unit.method_calls("detach"):
        receiver = call.receiver
        if receiver is None or not receiver.must_be_tensor or receiver.must_be_parameter:
            continue
        if receiver.graph is Graph.NO and not call.is_statement and call.then != _LEAF:
            yield Report(
                at=call.place,
                symbol=call.symbol,
                message=first_that_fits(
                    f"`{brief(receiver.text, 48)}` has no graph: detach() does nothing",
                    "detach() does nothing: its receiver has no graph",
                ),
                label="nothing to detach",
                why="It was detached, or computed while gradients were not recorded.",
                help="leave the detach out",
            )
