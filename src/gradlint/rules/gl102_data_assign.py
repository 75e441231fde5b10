"""Assigning to `.data` replaces a tensor's values without autograd's knowledge.

A graph that has saved the old values goes on with the new ones, silently. Assigning the whole of
`.data` can also change the shape, dtype or device of a parameter under an optimizer's feet.

Bad:
    layer = nn.Linear(4, 4)
    layer.weight.data = layer.weight.detach() * 0.5

Good:
    layer = nn.Linear(4, 4)
    with torch.no_grad():
        layer.weight.copy_(layer.weight * 0.5)

Quiet on: attributes called `data` of objects that are not known to be tensors.

Also: GL101, when the assigned value reads `.data` too.

Fix: `copy_` under `torch.no_grad()`, or a new `nn.Parameter` where the shape changes.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
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
    """Every assignment to a tensor's .data, or to items of it."""
    computed = {id(write.place.statement) for write in unit.unrecorded_writes()}
    for use in unit.attribute_uses("data"):
        if use.form is not Form.ASSIGN or not use.receiver.must_be_tensor:
            continue
        name = brief(use.receiver.text)
        yield Report(
            at=use.place,
            symbol=use.symbol,
            message=first_that_fits(
                f"assigning to `{use.receiver.text}.data` changes `{use.receiver.text}` "
                "unseen by autograd",
                f"assigning to `{name}.data` changes it unseen by autograd",
            ),
            label="written behind autograd's back",
            why=(
                "A graph that saved the old values computes its gradient from the new ones, "
                "without an error."
            ),
            help=(
                f"compute a new tensor from `{name}` instead: it is part of a graph"
                if id(use.place.statement) in computed
                else f"inside `with torch.no_grad():` write `{name}.copy_(...)` for the whole, or "
                f"`{name}[...] = ...` for a part"
            ),
        )
