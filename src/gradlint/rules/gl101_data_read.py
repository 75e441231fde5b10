"""Reading `.data` takes values off the graph, and autograd checks no write to them.

`x.data` and `x.detach()` share the memory of `x`. After a write through `x.detach()`, backward()
raises when it needs the old values; after a write through `x.data` it computes with the new ones
and says nothing.

Bad:
    net = nn.Linear(6, 3)
    outputs = net(torch.randn(8, 6))
    predicted = outputs.data.argmax(1)
    outputs.sum().backward()

Good:
    net = nn.Linear(6, 3)
    outputs = net(torch.randn(8, 6))
    predicted = outputs.detach().argmax(1)
    outputs.sum().backward()

Quiet on: `.data` of anything that is not known to be a tensor: batches, datasets, responses,
sparse matrices, an attribute of your own class.

Also: GL201, when the values go on to the output and nothing else trains their parameters.

Fix: write `.detach()`, or the tensor itself inside `with torch.no_grad():`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Form, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.WARNING
confidence = Confidence.HIGH
triggers = (".data",)


def check(unit: Unit) -> Iterator[Report]:
    """Every read of a tensor's .data; an error where it is what starves parameters."""
    starving = {s.place.node for s in unit.starvations() if s.cause == "data"}
    for use in unit.attribute_uses("data"):
        if use.form is not Form.READ or not use.receiver.must_be_tensor:
            continue
        name = brief(use.receiver.text)
        on_the_way = use.place.node in starving
        yield Report(
            at=use.place,
            symbol=use.symbol,
            message=first_that_fits(
                f"`{use.receiver.text}.data` leaves the graph, and autograd checks nothing done "
                "to it",
                f"`{name}.data` leaves the graph, unchecked by autograd",
            ),
            label="the values without their graph",
            why=(
                f"A write to the result changes `{name}` unseen, and backward() then computes "
                "with the changed values."
            ),
            help=(
                f"write `{name}.detach()`: the same values, and autograd notices writes that "
                "break a gradient"
            ),
            severity=Severity.ERROR if on_the_way else None,
        )
