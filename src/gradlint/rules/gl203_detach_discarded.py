"""`x.detach()` as a statement changes nothing.

`Tensor.detach` returns a new tensor and leaves `x` attached, so gradient still flows into
everything that produced `x`. The author wanted a cut; the program has none.

Bad:
    encoder, head = nn.Linear(8, 4), nn.Linear(4, 2)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    features = encoder(torch.randn(3, 8))
    features.detach()
    head(features).sum().backward()
    optimizer.step()

Good:
    encoder, head = nn.Linear(8, 4), nn.Linear(4, 2)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    features = encoder(torch.randn(3, 8))
    features = features.detach()
    head(features).sum().backward()
    optimizer.step()

Quiet on: `x.detach_()`, which works in place; receivers that are not known to be tensors
(debuggers, widgets and processes have a `detach` method too).

Fix: assign the result, or remove the line.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("detach",)


def check(unit: Unit) -> Iterator[Report]:
    """Every detach of a tensor whose result is thrown away."""
    for call in unit.method_calls("detach"):
        receiver = call.receiver
        if call.is_statement and receiver is not None and receiver.must_be_tensor:
            name = brief(receiver.text)
            yield Report(
                at=call.place,
                symbol=call.symbol,
                message=first_that_fits(
                    f"the result of `{name}.detach()` is thrown away: `{name}` keeps its graph",
                    f"the result of `{name}.detach()` is thrown away",
                ),
                label="returns a new tensor, which nobody uses",
                why=(
                    f"detach() does not change `{name}`, so gradient still flows into everything "
                    "that produced it."
                ),
                help=f"write `{name} = {name}.detach()`, or remove the line",
            )
