"""A misspelt `requires_grad` sets an attribute that nobody reads.

Python lets any attribute be set on a tensor. `p.require_grad = False` freezes nothing, and
`p.requires_grad_ = False` overwrites the method instead of calling it, and
`p.requires_grad == False` compares.

Bad:
    net = nn.Linear(3, 2)
    for parameter in net.parameters():
        parameter.require_grad = False
    assert net.weight.requires_grad

Good:
    net = nn.Linear(3, 2)
    for parameter in net.parameters():
        parameter.requires_grad = False
    assert not net.weight.requires_grad

Quiet on: objects that are not known to be tensors or modules, such as configs; classes that define
or read the name; `self.require_grad = argument` in a module, which keeps a setting.

Fix: `requires_grad = False`, or `requires_grad_(False)`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    COMPARISON,
    AttributeUse,
    Confidence,
    Form,
    Graph,
    Report,
    Severity,
    brief,
    first_that_fits,
)

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH

_METHOD = "requires_grad_"
_MISSPELT = (
    "require_grad",
    "require_grads",
    "require_gradient",
    "require_grad_",
    "required_grad",
    "requires_grads",
    "requires_gradient",
    "requires_gradients",
    "requires_gard",
    "requires_garad",
    "requires_gradd",
    "requires_grd",
    "requires_grand",
    "requiers_grad",
    "requies_grad",
    "requireds_grad",
    "require_graid",
    "requiresgrad",
    "reqires_grad",
    "reguires_grad",
    "requres_grad",
    "requre_grad",
    "rquires_grad",
)

triggers = (*_MISSPELT, "requires_grad", "setattr")


def check(unit: Unit) -> Iterator[Report]:
    """Every assignment to a name that is nearly requires_grad."""
    for name in (*_MISSPELT, _METHOD):
        for use in unit.attribute_uses(name):
            if use.form is Form.ASSIGN and _is_meant(use):
                yield _report(use)
    for use in unit.attribute_uses("requires_grad"):
        if use.via == COMPARISON and use.receiver.must_be_tensor:
            yield _comparison(use)


def _comparison(use: AttributeUse) -> Report:
    owner = brief(use.receiver.text)
    return Report(
        at=use.place,
        symbol=use.symbol,
        message=first_that_fits(
            f"`{owner}.requires_grad == ...` compares and sets nothing",
            "`requires_grad == ...` compares and sets nothing",
        ),
        label="a comparison that nobody reads",
        why="One `=` assigns, two compare: requires_grad keeps its value.",
        help=f"write `{owner}.requires_grad = ...`",
    )


def _is_meant(use: AttributeUse) -> bool:
    """Whether the object has a requires_grad; a module's overwritten method is GL307."""
    receiver = use.receiver
    if use.name in receiver.declares:
        return False
    if receiver.must_be_module:
        is_literal = use.value is not None and use.value.text in ("True", "False")
        return use.name != _METHOD and is_literal
    return receiver.must_be_tensor


def _report(use: AttributeUse) -> Report:
    owner = brief(use.receiver.text)
    value = use.value.text if use.value is not None else "False"
    is_method = use.name == _METHOD
    right = "requires_grad_({})" if use.receiver.must_be_module else "requires_grad = {}"
    plain = use.receiver.must_be_tensor and use.receiver.graph is Graph.NO
    return Report(
        at=use.place,
        symbol=use.symbol,
        message=first_that_fits(
            f"`{owner}.{use.name} = {brief(value, 12)}` overwrites the method and sets no flag"
            if is_method
            else f"`{owner}.{use.name}` is misspelt: requires_grad keeps its value",
            f"`{use.name}` is misspelt: requires_grad keeps its value",
        ),
        label="overwrites the method" if is_method else "an attribute that nobody reads",
        why="PyTorch reads `requires_grad` alone; what is set here has no effect on training.",
        help=f"write `{owner}.{right.format(brief(value, 24))}`",
        severity=Severity.WARNING if plain else None,
    )
