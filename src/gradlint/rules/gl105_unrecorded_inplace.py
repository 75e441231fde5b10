"""An in-place write that autograd does not record is missing from the gradient.

Under `torch.no_grad()`, and through `.data`, a tensor changes and its graph does not. After
`h *= 10` the loss sees ten times the value, and the gradient is that of `h` as it was computed.

Bad:
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    with torch.no_grad():
        h *= 10
    h.sum().backward()
    assert w.grad.tolist() == [2, 2, 2]  # it should be 20

Good:
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    h = h * 10
    h.sum().backward()
    assert w.grad.tolist() == [20, 20, 20]

Quiet on: parameters and other leaves, buffers, initialisers, moving averages; tensors through which
no gradient goes after the write; what leaves the gradient right, such as adding noise, or filling
scores with -inf before a softmax; results that an operation has kept, for which backward() raises.

Also: GL101, GL102, GL103, when it goes through `.data`.

Fix: take the write out of the block and make it an operation: `h = h * 10`; to change only the
value and keep the gradient on purpose, say so: `h = h + (10 * h - h).detach()`.

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
triggers = (".data", "no_grad", "inference_mode", "set_grad_enabled")


def check(unit: Unit) -> Iterator[Report]:
    """Every write to a computed tensor that its graph does not know of."""
    for write in unit.unrecorded_writes():
        if write.cause != "detach" and not write.saved:
            yield _report(write)


def _report(write: UnrecordedWrite) -> Report:
    text = write.target.text
    name = brief(text.removesuffix(".data"))
    is_alias = write.alias is not None and not text.endswith(".data")
    owner = "The tensor behind it" if is_alias else f"`{name}`"
    where = "through `.data`" if write.cause == "data" else f"under {write.cause}"
    return Report(
        at=write.place,
        symbol=write.symbol,
        message=first_that_fits(
            f"`{name}` is changed {where}: the gradient does not know of it",
            f"a computed tensor is changed {where}: the gradient does not know of it",
        ),
        label="changes the value and not the graph",
        why=(
            f"{owner} keeps the grad_fn that it had before, so its gradient is that of the old "
            "value."
        ),
        help=f"compute a new tensor from `{name}`, where gradients are recorded",
        related=_related(write),
    )


def _related(write: UnrecordedWrite) -> tuple[Label, ...]:
    if write.cause != "data":
        return (Label(write.grad_off, "recording stops here"),) if write.grad_off else ()
    if write.alias is None or write.alias.statement is write.place.statement:
        return ()
    return (Label(write.alias, "the same memory, without its graph"),)
