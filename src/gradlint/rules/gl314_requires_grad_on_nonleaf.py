"""Setting `requires_grad` of a computed tensor raises.

Only leaves have a flag to set: parameters, and tensors that no operation has made. A clone of a
parameter is computed, and always part of the graph.

Bad:
    net = nn.Linear(3, 2)
    fast = {name: parameter.clone() for name, parameter in net.named_parameters()}
    for weight in fast.values():
        weight.requires_grad = False

Good:
    net = nn.Linear(3, 2)
    fast = {name: parameter.detach().clone() for name, parameter in net.named_parameters()}
    for weight in fast.values():
        weight.requires_grad = False

Raises: RuntimeError, `you can only change requires_grad flags of leaf variables.`

Quiet on: parameters and other leaves; `x.detach().requires_grad_()`; `y.requires_grad_()`, which a
computed tensor takes; whatever may have no graph.

Fix: detach it first, or freeze the parameter from which it is computed.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    Confidence,
    Form,
    Graph,
    Operand,
    Place,
    Report,
    Severity,
    brief,
    first_that_fits,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("requires_grad", "setattr")


def check(unit: Unit) -> Iterator[Report]:
    """Every assignment to, and every requires_grad_(False) of, a computed tensor."""
    for use in unit.attribute_uses("requires_grad"):
        if use.form is Form.ASSIGN and not use.is_guarded and _must_be_computed(unit, use.receiver):
            is_on = use.value is not None and use.value.constant is True
            yield _report(use.place, use.symbol, use.receiver, is_on)
    for call in unit.method_calls("requires_grad_"):
        given = [*call.arguments, *(value for _, value in call.keywords)]
        if call.receiver is None or [value.constant for value in given] != [False]:
            continue
        if not call.is_guarded and _must_be_computed(unit, call.receiver):
            yield _report(call.place, call.symbol, call.receiver, is_on=False)


def _must_be_computed(unit: Unit, operand: Operand) -> bool:
    is_tensor = operand.must_be_tensor and not operand.must_be_parameter
    return is_tensor and operand.graph is Graph.COMPUTED and unit.must_train(operand)


def _report(place: Place, symbol: str, receiver: Operand, is_on: bool) -> Report:
    name = brief(receiver.text)
    return Report(
        at=place,
        symbol=symbol,
        message=first_that_fits(
            f"setting requires_grad of `{name}` raises: it is computed, not a leaf",
            "setting requires_grad of a computed tensor raises",
        ),
        label="has a grad_fn",
        why="PyTorch says: you can only change requires_grad flags of leaf variables.",
        help=_help(receiver.text, is_on),
    )


def _help(name: str, is_on: bool) -> str:
    if is_on:
        return f"leave it out: `{brief(name)}` requires grad already"
    if all(part.isidentifier() for part in name.split(".")):
        return f"detach it first: `{name} = {name}.detach()`, or freeze what it is computed from"
    return "freeze what it is computed from, or use its `.detach()`"
