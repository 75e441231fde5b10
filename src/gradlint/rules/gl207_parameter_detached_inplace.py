"""`parameter.detach_()` freezes the parameter: its requires_grad becomes False.

`detach_` works in place. On a leaf there is no graph to cut, and what is left of it is that the
tensor no longer asks for a gradient; the optimizer that holds it goes on without it, silently.

Bad:
    net = nn.Linear(3, 1)
    for parameter in net.parameters():
        parameter.detach_()
    assert not net.weight.requires_grad

Good:
    net = nn.Linear(3, 1)
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    assert not net.weight.requires_grad

Quiet on: tensors that are no parameters, such as `p.grad.detach_()` and hidden states; parameters
that are frozen, set by hand (moving averages) or deleted anyway, or whose requires_grad is set to
True again, as in `p.detach_().requires_grad_()`.

Fix: `requires_grad_(False)` to freeze; `parameter.detach()` for a value without a graph.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach_.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Form, Graph, Place, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.WARNING
confidence = Confidence.HIGH
triggers = ("detach_",)

_LEAF = "requires_grad_"


def check(unit: Unit) -> Iterator[Report]:
    """Every detach_ of a parameter that is meant to be trained."""
    unfrozen = set(_unfrozen(unit))
    for call in unit.method_calls("detach_"):
        receiver = call.receiver
        if receiver is None or not receiver.must_be_parameter or receiver.graph is not Graph.LEAF:
            continue
        if call.then == _LEAF or call.is_conditional or not unit.may_be_meant_to_train(receiver):
            continue
        if (call.symbol, receiver.text) not in unfrozen:
            yield _report(call.place, call.symbol, brief(receiver.text))


def _unfrozen(unit: Unit) -> Iterator[tuple[str, str]]:
    """In which functions, and of which expressions, requires_grad is not only set to False."""
    for call in unit.method_calls(_LEAF):
        given = [*call.arguments, *(value for _, value in call.keywords)]
        if call.receiver is not None and [value.constant for value in given] != [False]:
            yield call.symbol, call.receiver.text
    for use in unit.attribute_uses("requires_grad"):
        if use.form is Form.ASSIGN and use.value is not None and use.value.constant is not False:
            yield use.symbol, use.receiver.text


def _report(place: Place, symbol: str, name: str) -> Report:
    return Report(
        at=place,
        symbol=symbol,
        message=first_that_fits(
            f"`{name}.detach_()` freezes the parameter: it sets requires_grad to False",
            "detach_() freezes a parameter: it sets requires_grad to False",
        ),
        label="never trains after this",
        why="A parameter has no graph to drop; what detach_() changes is its requires_grad.",
        help=f"to freeze it, write `{name}.requires_grad_(False)`; else use `{name}.detach()`",
    )
