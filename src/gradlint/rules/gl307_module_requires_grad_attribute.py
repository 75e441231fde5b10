"""Setting `requires_grad` as an attribute of a module does nothing to its parameters.

`module.requires_grad = False` makes a plain attribute that nobody reads. The method
`module.requires_grad_(False)` sets the flag of every parameter.

Bad:
    encoder = nn.Linear(3, 2)
    encoder.requires_grad = False
    assert encoder.weight.requires_grad

Good:
    encoder = nn.Linear(3, 2)
    encoder.requires_grad_(False)
    assert not encoder.weight.requires_grad

Quiet on: tensors and parameters, on which the attribute is right; classes that define or read a
`requires_grad` of their own; `self.requires_grad = argument`, which keeps a setting.

Fix: `module.requires_grad_(False)`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import (
    AttributeUse,
    Confidence,
    Form,
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
    """Every assignment to a module's requires_grad or requires_grad_."""
    for name in ("requires_grad", "requires_grad_"):
        for use in unit.attribute_uses(name):
            if use.form is Form.ASSIGN and use.receiver.must_be_module and _is_a_switch(use):
                yield _report(use)


def _is_a_switch(use: AttributeUse) -> bool:
    """Whether a literal is meant to switch training, on a class without a meaning of its own."""
    is_literal = use.value is not None and use.value.text in ("True", "False")
    return is_literal and use.name not in use.receiver.declares


def _report(use: AttributeUse) -> Report:
    assert use.value is not None
    name, value = use.receiver.text, use.value.constant
    what = "freezes nothing" if value is False else "unfreezes nothing"
    overwritten = use.name == "requires_grad_"
    return Report(
        at=use.place,
        symbol=use.symbol,
        message=first_that_fits(
            f"`{name}.{use.name} = {value}` {what}: `{name}` is a module",
            f"`{brief(name)}.{use.name} = {value}` {what}: it is a module",
            f"setting `{use.name}` of a module {what}",
        ),
        label="overwrites the method" if overwritten else "an attribute that nobody reads",
        why="A module has no such flag: its parameters have one each, and those stay as they are.",
        help=f"write `{brief(name, 48)}.requires_grad_({value})`",
    )
