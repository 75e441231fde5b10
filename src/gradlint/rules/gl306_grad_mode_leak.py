"""A function that switches gradients off, and leaves them off for whoever called it.

`torch.set_grad_enabled(False)` on a line of its own holds until something else sets the mode: the
caller's next loss has no graph. Setting True afterwards is no restoring: it records inside the
caller's `torch.no_grad()`, and an exception in between leaves gradients off. A generator that
yields inside `with torch.no_grad():` hands the mode to the loop that consumes it.

Bad:
    def evaluate(net, x):
        torch.set_grad_enabled(False)
        return net(x).argmax(1)


    net, x = nn.Linear(3, 2), torch.randn(4, 3)
    with torch.enable_grad():
        evaluate(net, x)
        net(x).sum().backward()

Good:
    def evaluate(net, x):
        with torch.no_grad():
            return net(x).argmax(1)


    net, x = nn.Linear(3, 2), torch.randn(4, 3)
    with torch.enable_grad():
        evaluate(net, x)
        net(x).sum().backward()

Raises: RuntimeError, `element 0 of tensors does not require grad and does not have a grad_fn`, by
backward(); what is computed before keeps its graph, and can hide that the rest has none.

Quiet on: a switch at module level; one that `with`, a decorator or a saved mode puts back; a mode
that is computed, or chosen by a condition; files in which other code switches gradients on; what
only a script without training runs, or a thread of its own; training code that sets both modes;
context managers and fixtures that yield; generators in files that train nothing, and those that a
mode decorates, which torch puts back at each yield.

Fix: `with torch.no_grad():` around the code; for a generator the decorator `@torch.no_grad()`, or
a block that ends before the yield.

Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_grad_enabled.html
and, for generators, https://github.com/pytorch/pytorch/pull/49017 (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from gradlint.model import (
    Confidence,
    Label,
    ModeRole,
    ModeScope,
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
triggers = ("no_grad", "inference_mode", "set_grad_enabled")

_SWITCH = "torch.set_grad_enabled"
_CONSTRUCTOR = "__init__"


def check(unit: Unit) -> Iterator[Report]:
    """Every switch that stays off, every pair that only seems to restore, every yield."""
    uses = unit.mode_uses()
    scopes = _switches(uses)
    # Code that switches on before it does anything else doesn't rely on what it is left.
    is_managed = any(_switches_on(scope, switches) for scope, switches in scopes.items())
    for scope, switches in scopes.items():
        if not scope.is_function or scope.runs_alone or any(map(_is_undone, switches)):
            continue
        if not any(use.records for use in switches):
            if not is_managed:
                yield _left_off(switches)
        elif not scope.trains:
            yield from (_pair(off, on) for off, on in _pairs(switches))
    for use in uses:
        is_quiet = use.scope.runs_alone or not use.scope.file_trains
        if use.yields and use.records is False and not is_quiet:
            yield _yielded(use)


def _switches(uses: Sequence[ModeUse]) -> dict[ModeScope, list[ModeUse]]:
    """The calls that take effect at once, in the order of the source."""
    scopes: dict[ModeScope, list[ModeUse]] = {}
    for use in uses:
        if use.role is ModeRole.STATEMENT and use.name == _SWITCH:
            scopes.setdefault(use.scope, []).append(use)
    return scopes


def _switches_on(scope: ModeScope, switches: Sequence[ModeUse]) -> bool:
    first = switches[:1] if scope.is_function else switches
    return any(use.records is not False and not use.is_restored for use in first)


def _is_undone(use: ModeUse) -> bool:
    """Whether a block, a decorator or a saved mode is there to undo it."""
    return use.is_restored or use.records is None


def _pairs(switches: Sequence[ModeUse]) -> list[tuple[ModeUse, ModeUse]]:
    """Each switch off with the switch on that follows, where on is what the function ends with.

    None when the two are branches of a choice between them.
    """
    pairs = [(off, on) for off, on in pairwise(switches) if on.records and not off.records]
    is_choice = any(off.excludes(on) for off, on in pairs)
    return [] if is_choice or switches[0].records or not switches[-1].records else pairs


def _confidence(scope: ModeScope) -> Confidence:
    return Confidence.HIGH if scope.file_trains else Confidence.MEDIUM


def _left_off(switches: Sequence[ModeUse]) -> Report:
    use = switches[0]
    owner, _, name = use.scope.symbol.rpartition(".")
    what = f"`{brief(use.scope.symbol, 24)}`"
    if name == _CONSTRUCTOR:
        what = f"building `{brief(owner, 24)}`"
    return Report(
        at=use.place,
        symbol=use.scope.symbol,
        message=first_that_fits(
            f"{what} leaves gradients off: `{use.text}(False)` is never undone",
            f"{what} leaves gradients off for its caller",
        ),
        label="holds until something else sets the mode",
        why=(
            "The mode is not the function's but the thread's: whatever runs after it records no "
            "gradients, and backward() raises `element 0 of tensors does not require grad`."
        ),
        help="write `with torch.no_grad():` around the code that needs no gradients",
        related=tuple(Label(other.place, "and here") for other in switches[1:]),
        confidence=_confidence(use.scope),
    )


def _pair(off: ModeUse, on: ModeUse) -> Report:
    also = "" if on.in_finally else ", and an exception in between leaves gradients off"
    block = "set_grad_enabled(<condition>)" if off.branches else "no_grad()"
    return Report(
        at=off.place,
        symbol=off.scope.symbol,
        message=f"`{brief(off.text, 28)}(False)` is undone with True, whatever the mode was before",
        label="off from here",
        why=f"Inside a caller's no_grad, recording is on from the second call on{also}.",
        help=f"write `with torch.{block}:` around the code between the two calls",
        related=(Label(on.place, "on from here, inside an outer no_grad too"),),
        severity=Severity.WARNING,
        confidence=_confidence(off.scope),
    )


def _yielded(use: ModeUse) -> Report:
    first, *others = use.yields
    return Report(
        at=first,
        symbol=use.scope.symbol,
        message=first_that_fits(
            f"this yield lets the loop over `{use.scope.name}` run under `{use.text}`",
            f"this yield lets the loop over `{brief(use.scope.name, 24)}` run without gradients",
        ),
        label="the consumer goes on from here, inside the block",
        why=(
            "A generator pauses without leaving its block, and the mode is the thread's: what the "
            "consumer computes in its loop has no graph."
        ),
        help="decorate the generator with the mode, or end the block before the yield",
        related=(
            Label(use.place, "gradient recording stops here"),
            *(Label(place, "and at this yield") for place in others),
        ),
        confidence=_confidence(use.scope),
    )
