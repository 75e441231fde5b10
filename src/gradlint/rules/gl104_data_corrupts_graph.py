"""A write through `.data` to a value that backward needs makes the gradient wrong.

An operation keeps what its gradient is computed from: `exp` its result, `a * b` both factors. A
write to such a tensor is counted, and backward() refuses to run; a write through `.data` is not.

Bad:
    x = torch.zeros(3, requires_grad=True)
    y = x.exp()
    y.data.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]  # the gradient of exp at 0 is 1

Good:
    x = torch.zeros(3, requires_grad=True)
    y = x.exp() + 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]

Quiet on: writes before the operation or after backward(); operations that keep nothing of the
tensor (`h + 1`, `h.sum()`), or through whose result no gradient goes; results of sigmoid and the
like that are filled with a constant at which their own gradient is zero, as it should be; frozen
layers.

Also: GL101, GL102, GL103, which name the use of `.data`.

Fix: compute a new tensor from the old one: `y = y + 1`, `y = y.masked_fill(mask, 0)`.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    Confidence,
    Label,
    Report,
    Severity,
    UnrecordedWrite,
    brief,
    first_that_fits,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = (".data",)


def check(unit: Unit) -> Iterator[Report]:
    """Every write through .data to what an operation has kept for its backward."""
    for write in unit.unrecorded_writes():
        if write.cause == "data" and write.saved:
            yield _report(write)


def _report(write: UnrecordedWrite) -> Report:
    operation = brief(write.saved, 24)
    text = write.target.text
    is_alias = write.alias is not None and not text.endswith(".data")
    places = [(write.saved_by, f"`{operation}` keeps it for its backward")]
    places += [(write.alias, "the same memory, without its graph")] if is_alias else []
    related = [Label(place, what) for place, what in places if place is not None]
    return Report(
        at=write.place,
        symbol=write.symbol,
        message=first_that_fits(
            f"the write to `{brief(text)}` corrupts the gradient of `{operation}`",
            f"a write through `.data` corrupts the gradient of `{operation}`",
        ),
        label="overwritten behind autograd's back",
        why=(
            f"The gradient of `{operation}` is computed from the value that it kept, which is "
            "now another one. Writes through `.data` are not counted, so backward() says nothing."
        ),
        help=(
            "write to a copy: `.data.clone()`"
            if is_alias
            else f"compute a new tensor from `{brief(text.removesuffix('.data'))}` instead of "
            "writing to it"
        ),
        related=tuple(related),
    )
