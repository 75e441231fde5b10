"""A grad mode that is made and never entered changes nothing.

`torch.no_grad()` makes a context. Only `with`, or the `@` of a decorator, enters it: as a line of
its own it is thrown away, and gradients are recorded as before. `with torch.no_grad:` enters the
class instead of a context, which raises TypeError (on Python 3.10 AttributeError: `__enter__`).

Bad:
    net = nn.Linear(3, 1)
    torch.no_grad()
    out = net(torch.randn(2, 3))
    assert out.requires_grad

Good:
    net = nn.Linear(3, 1)
    with torch.no_grad():
        out = net(torch.randn(2, 3))
    assert not out.requires_grad

Quiet on: `@torch.no_grad` without a call, which works; contexts that are assigned, returned,
chosen by a condition or given to `ExitStack.enter_context`; `torch.set_grad_enabled(False)` on a
line of its own, which does take effect.

Fix: `with torch.no_grad():` around the code, or `@torch.no_grad()` above the function.

Source: https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    Confidence,
    ModeRole,
    ModeUse,
    Report,
    Severity,
    brief,
    first_that_fits,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("no_grad", "inference_mode", "enable_grad", "set_grad_enabled")

_SWITCH = "torch.set_grad_enabled"


def check(unit: Unit) -> Iterator[Report]:
    """Every mode that is thrown away, and every `with` on the class of a mode."""
    for use in unit.mode_uses():
        if use.role is ModeRole.UNCALLED_BLOCK:
            yield _without_parentheses(use)
        elif use.role is ModeRole.STATEMENT and use.name != _SWITCH:
            yield _without_at(use) if use.target else _without_with(use)


def _without_parentheses(use: ModeUse) -> Report:
    argument = "False" if use.name == _SWITCH else ""
    return Report(
        at=use.place,
        symbol=use.scope.symbol,
        message=f"`with {use.text}:` raises: without parentheses it names a class",
        label="a class, not a context",
        why=(
            "A class is no context manager: TypeError, `'type' object does not support the "
            "context manager protocol`; on Python 3.10 AttributeError, `__enter__`."
        ),
        help=f"write `with {use.text}({argument}):`",
    )


def _without_at(use: ModeUse) -> Report:
    target = brief(use.target, 24)
    return Report(
        at=use.place,
        symbol=use.scope.symbol,
        message=first_that_fits(
            f"`{use.text}()` above `def {target}` does nothing: the `@` is missing",
            f"`{use.text}()` does nothing: the `@` is missing",
        ),
        label="makes a context, which nobody enters",
        why=f"It is a statement of its own, no decorator: `{target}` runs in its caller's mode.",
        help=f"write `@{use.text}()`",
    )


def _without_with(use: ModeUse) -> Report:
    is_on = "off" if use.records else "on"
    return Report(
        at=use.place,
        symbol=use.scope.symbol,
        message=f"`{use.text}()` is never entered: it changes nothing",
        label="makes a context, which nobody enters",
        why=(
            "The call makes a context manager that is thrown away; gradients that were "
            f"{is_on} stay {is_on}."
        ),
        help=_remedy(use),
    )


def _remedy(use: ModeUse) -> str:
    remedy = f"put the code below into `with {use.text}():`"
    if not use.scope.symbol and use.scope.runs_alone and not use.records:
        return f"{remedy}, or switch the whole script with `torch.set_grad_enabled(False)`"
    return remedy
