"""A grad mode that decorates a class holds only while an instance is built.

The decorator replaces the class by a function that builds it under the mode. Methods run in the
mode of their caller. What is left is no class: `isinstance` and subclasses raise TypeError, as
does `super(Net, self)`, and class attributes are gone. Under `inference_mode` the parameters are
inference tensors, which autograd cannot save and no optimizer can step: the forward pass raises,
or weights get no gradient without a word.

Bad:
    @torch.no_grad()
    class Teacher(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 1)

        def predict(self, x):
            return self.fc(x)


    assert Teacher().predict(torch.randn(2, 3)).requires_grad

Good:
    class Teacher(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 1)

        @torch.no_grad()
        def predict(self, x):
            return self.fc(x)


    assert not Teacher().predict(torch.randn(2, 3)).requires_grad

Quiet on: decorated methods and functions; other decorators of classes.

Fix: decorate the methods. To build under the mode, decorate `__init__`.

Source: torch 2.13.0, whose FutureWarning says "Decorating classes is deprecated":
https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, ModeRole, ModeUse, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled")


def check(unit: Unit) -> Iterator[Report]:
    """Every class that a mode decorates."""
    for use in unit.mode_uses():
        if use.role is ModeRole.CLASS:
            mode = use.name.rpartition(".")[2]
            yield Report(
                at=use.place,
                symbol=use.scope.symbol,
                message=first_that_fits(
                    f"{mode} on `class {use.target}` covers its construction, none of its methods",
                    f"{mode} on `class {brief(use.target, 20)}` covers its construction only",
                ),
                label="makes a function of the class",
                why=_why(use),
                help=f"decorate the methods of `{brief(use.target)}` that shall run under {mode}",
            )


def _why(use: ModeUse) -> str:
    if use.name == "torch.inference_mode" and use.records is False:
        return (
            "Methods run in the mode of their caller, while parameters made here are inference "
            "tensors, which autograd cannot save. The name stands for a function: isinstance() "
            "and subclassing raise TypeError."
        )
    return (
        "Methods run in the mode of their caller. The name stands for a function: isinstance() "
        "and subclassing raise TypeError."
    )
