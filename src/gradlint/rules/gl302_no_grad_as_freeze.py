"""A submodule that runs under no_grad is frozen by the block alone.

It gets no gradient while it is called there, and keeps requires_grad=True: it is counted as
trainable, an optimizer holds it, and another call of it, or the removal of the block, trains it.

Bad:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Linear(8, 4)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            with torch.no_grad():
                h = self.backbone(x)
            return self.head(h)


    net = Net()
    net(torch.randn(3, 8)).sum().backward()
    assert net.backbone.weight.requires_grad and net.backbone.weight.grad is None

Good:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone = nn.Linear(8, 4)
            self.backbone.requires_grad_(False)
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            with torch.no_grad():
                h = self.backbone(x)
            return self.head(h)


    net = Net()
    net(torch.randn(3, 8)).sum().backward()
    assert not net.backbone.weight.requires_grad

Quiet on: submodules that are frozen, kept by hand (teachers, moving averages, target networks),
given to no optimizer, or called with gradient elsewhere; code in which nothing else trains.

Fix: `self.backbone.requires_grad_(False)` where it is made; the block may stay, it saves memory.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
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

severity = Severity.WARNING
confidence = Confidence.MEDIUM
triggers = ("no_grad", "inference_mode", "set_grad_enabled")


def check(unit: Unit) -> Iterator[Report]:
    """Every block whose only effect on training is that whole submodules in it do not train."""
    for starvation in unit.starvations():
        if starvation.cause not in MODES or starvation.decorates or starvation.root == "loss":
            continue
        sure = [lost for lost in starvation.lost if lost.trainable is Trainable.YES]
        if starvation.survivors and all(map(_is_whole_module, starvation.lost)):
            yield _report(starvation, sure or list(starvation.lost), bool(sure))


def _is_whole_module(lost: Lost) -> bool:
    return lost.inside and not lost.is_parameter


def _report(found: Starvation, lost: list[Lost], is_sure: bool) -> Report:
    names = tuple(one.name for one in lost)
    is_one = len(names) == 1
    them = "it" if is_one else "them"
    owner = "self." if found.owner else ""
    related = [Label(found.place, "no gradient reaches it from here")]
    related += [Label(one.made, "trainable parameters") for one in lost[:1] if one.made is not None]
    freeze = ", ".join(f"{owner}{name}.requires_grad_(False)" for name in names[:2])
    return Report(
        at=found.block or found.place,
        symbol=found.symbol,
        message=first_that_fits(
            f"{found.cause} alone freezes {listed(names)}: requires_grad stays True",
            f"{found.cause} alone freezes {listed(names, 1)}: requires_grad stays True",
            f"{found.cause} alone freezes a submodule: requires_grad stays True",
        ),
        label="gradient recording stops here",
        why=(
            f"{listed(names)} {'gets' if is_one else 'get'} no gradient here, and "
            f"{'is' if is_one else 'are'} still listed as trainable."
        ),
        help=f"freeze {them} where made: {freeze}; or call {them} outside {found.cause}",
        parameters=names,
        related=tuple(related),
        confidence=None if is_sure else Confidence.LOW,
    )
