"""A no_grad block cuts parameters that are used before it, or inside it, off the output.

Whatever is computed under `torch.no_grad()` has no graph. A block around the last layer does not
freeze the layers before it: it cuts off every parameter, all of which keep requires_grad=True.
A view made there is worse: it says requires_grad=True, has no grad_fn, and backward() succeeds.

Bad:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1 = nn.Linear(10, 20)
            self.layer2 = nn.Linear(20, 1)

        def forward(self, x):
            x = self.layer1(x)
            with torch.no_grad():
                x = self.layer2(x)
            return x


    out = Net()(torch.randn(3, 10))
    assert not out.requires_grad

Good:
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer1 = nn.Linear(10, 20)
            self.layer2 = nn.Linear(20, 1)
            self.layer1.requires_grad_(False)

        def forward(self, x):
            x = self.layer1(x)
            x = self.layer2(x)
            return x


    out = Net()(torch.randn(3, 10))
    assert out.requires_grad

Quiet on: blocks beside another live path (metrics, masks, targets, teachers, indices); parameters
that are frozen, kept by hand, or given to no optimizer; blocks that hold whole submodules on
inputs without a graph, which freezes just those.

Fix: take the layers that shall train out of the block; freeze the others with
`requires_grad_(False)`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    brief,
    first_that_fits,
    listed,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("no_grad", "inference_mode", "set_grad_enabled")


def check(unit: Unit) -> Iterator[Report]:
    """Every block that starves parameters which were used before it, or directly inside it."""
    for starvation in unit.starvations():
        if starvation.root == "loss" or starvation.decorates:  # GL304, GL303
            continue
        if starvation.cause in MODES and any(map(_is_cut_off, starvation.lost)):
            yield _report(starvation)


def _is_cut_off(lost: Lost) -> bool:
    return not lost.inside or lost.is_parameter


def _report(found: Starvation) -> Report:
    sure = [lost for lost in found.lost if lost.trainable is Trainable.YES]
    lost = sure or list(found.lost)
    names = tuple(one.name for one in lost)
    return Report(
        at=found.place,
        symbol=found.symbol,
        message=_message(found, names),
        label="this value has no grad_fn",
        why=_why(found, names),
        help=_remedy(found, lost),
        parameters=names,
        related=tuple(_related(found, lost)),
        confidence=None if any(map(_is_cut_off, sure)) else Confidence.LOW,
    )


def _message(found: Starvation, names: Sequence[str]) -> str:
    what = found.text.partition("(")[0] or found.text
    if found.everything:
        return first_that_fits(
            f"`{what}` runs under {found.cause}: no parameter of `{found.owner}` can train",
            f"`{brief(what, 20)}` runs under {found.cause}: no parameter of its class can train",
        )
    goal = "loss" if found.root == "backward" else "output"
    return first_that_fits(
        f"`{what}` under {found.cause} cuts {listed(names)} off the {goal}",
        f"`{what}` under {found.cause} cuts {listed(names, 1)} off the {goal}",
        f"{found.cause} cuts {listed(names, 2)} off the {goal}",
        f"{found.cause} cuts {listed(names, 1)} off the {goal}",
    )


def _why(found: Starvation, names: Sequence[str]) -> str:
    goal = "the loss sees" if found.root == "backward" else "forward returns"
    only = "only this value" if found.everything else "them only through this block"
    get = "gets" if len(names) == 1 else "get"
    return f"{goal} {only}, so {listed(names, 4)} {get} no gradient; requires_grad stays True"


def _remedy(found: Starvation, lost: Sequence[Lost]) -> str:
    owner = "self." if found.owner else ""
    before = [one.name for one in lost if not one.inside]
    if any(one.inside and not one.is_parameter for one in lost) and before:
        freeze = ", ".join(f"{owner}{name}.requires_grad_(False)" for name in before[:2])
        names = listed(before, 2)
        return f"take it out of the block; to freeze {names}: {freeze}"
    return "take it out of the block, or detach only what must not carry gradient"


def _related(found: Starvation, lost: Sequence[Lost]) -> Iterator[Label]:
    made = next((one.made for one in lost if one.made is not None), None)
    for place, what in (
        (made, "trainable parameters start here"),
        (found.block, "gradient recording stops here"),
        (found.root_place, "the loss that cannot reach them"),
    ):
        if place is not None:
            yield Label(place, what)
