"""A detach on the only path from trainable parameters to the loss: they never learn.

`x.detach()` (and `x.data`) hands on the values and drops the graph. Parameters that reach the
output only through it keep requires_grad=True, sit in the optimizer, and get no gradient.

Bad:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(8, 4)
            self.neck = nn.Linear(4, 4)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            h = self.neck(self.encoder(x))
            return self.head(h.detach())


    net = Net()
    net(torch.randn(3, 8)).sum().backward()
    assert net.neck.weight.grad is None

Good:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Linear(8, 4)
            self.neck = nn.Linear(4, 4)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            h = self.neck(self.encoder(x))
            return self.head(h)


    net = Net()
    net(torch.randn(3, 8)).sum().backward()
    assert net.neck.weight.grad is not None

Quiet on: every detach beside another live path: targets, straight-through estimators, codebook
and commitment losses, several tasks, discriminator steps, truncated backpropagation, logging,
metrics; parameters that are frozen, kept by hand, or given to no optimizer.

Also: GL101, when the cut is `.data`.

Fix: remove the detach; or, if the parameters are meant to be frozen, say so with
`requires_grad_(False)` and keep them out of the optimizer.

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
    Starvation,
    Trainable,
    brief,
    first_that_fits,
    listed,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.MEDIUM
triggers = ("detach", ".data")


def check(unit: Unit) -> Iterator[Report]:
    """Every detach or .data that starves parameters at a root."""
    for starvation in unit.starvations():
        if starvation.cause in ("detach", "data") and starvation.root != "loss":  # else GL202
            yield _report(starvation)


def _report(found: Starvation) -> Report:
    sure = [lost for lost in found.lost if lost.trainable is Trainable.YES]
    lost = sure or list(found.lost)
    names = tuple(one.name for one in lost)
    makers = [one.made for one in lost if one.made is not None]
    related = [Label(makers[0], "trainable parameters start here")] if makers else []
    if found.root_place is not None:
        related.append(Label(found.root_place, "the loss that cannot reach them"))
    goal = "the output" if found.root == "return" else "the loss"
    return Report(
        at=found.place,
        symbol=found.symbol,
        message=first_that_fits(
            f"`{found.text}` cuts {listed(names)} off {goal}",
            f"`{brief(found.text)}` cuts {listed(names, 2)} off {goal}",
            f"`{brief(found.text, 20)}` cuts {listed(names, 1)} off {goal}",
        ),
        label="the graph ends here",
        why=(
            f"No other path leads from {listed(names)} to {goal}: requires_grad stays True, "
            "and the gradient stays None."
        ),
        help=_remedy(found, names),
        parameters=names,
        related=tuple(related),
        confidence=None if sure else Confidence.LOW,
    )


def _remedy(found: Starvation, names: tuple[str, ...]) -> str:
    owner = "self." if found.owner else ""
    frozen = ", ".join(f"{owner}{name}.requires_grad_(False)" for name in names[:2])
    what = ".data" if found.cause == "data" else "detach()"
    which = "it" if len(names) == 1 else "them"
    return f"remove the {what}; or, to freeze {which} on purpose: {frozen}"
