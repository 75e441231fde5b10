"""Writing in place through `.data` changes a tensor without autograd's knowledge.

The version counter, by which backward() notices that a saved value was overwritten, does not
count writes through `.data`. Under `torch.no_grad()` the same write is counted.

Bad:
    layer = nn.Linear(4, 4)
    layer.weight.data.mul_(0.5)

Good:
    layer = nn.Linear(4, 4)
    with torch.no_grad():
        layer.weight.mul_(0.5)

Quiet on: attributes called `data` of objects that are not known to be tensors.

Also: GL101, when an argument reads `.data` too.

Fix: the tensor itself under `torch.no_grad()`; in an initialiser, the function of `nn.init`,
which takes the parameter itself and runs under no_grad.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import AttributeUse, Confidence, Form, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.WARNING
confidence = Confidence.HIGH
triggers = (".data",)

_INIT = {
    "normal_": "normal_",
    "uniform_": "uniform_",
    "zero_": "zeros_",
    "fill_": "constant_",
}


def check(unit: Unit) -> Iterator[Report]:
    """Every in-place write through a tensor's .data."""
    computed = {id(write.place.statement) for write in unit.unrecorded_writes()}
    for use in unit.attribute_uses("data"):
        if use.form is not Form.INPLACE or not use.receiver.must_be_tensor:
            continue
        name = brief(use.receiver.text)
        yield Report(
            at=use.place,
            symbol=use.symbol,
            message=first_that_fits(
                f"{_what(use)} changes `{use.receiver.text}` unseen by autograd",
                f"{_what(use)} changes `{name}` unseen by autograd",
                f"a write through `.data` changes `{name}` unseen by autograd",
            ),
            label="written behind autograd's back",
            why=(
                "backward() cannot notice that a value which it saved was overwritten here, and "
                "computes a wrong gradient without an error."
            ),
            help=_remedy(use, name, id(use.place.statement) in computed),
        )


def _what(use: AttributeUse) -> str:
    via = use.via.rpartition(".")[2]
    if via == "out=" or "=" not in via:
        return f"`{via}{'' if via == 'out=' else '()'}` on `.data`"
    return f"`{via}` on `.data`"


def _remedy(use: AttributeUse, name: str, is_computed: bool) -> str:
    if is_computed:
        return f"compute a new tensor from `{name}` instead: it is part of a graph"
    if use.via.startswith("torch.nn.init."):
        return f"pass `{name}` itself: the functions of nn.init run under no_grad"
    if use.in_initialiser and use.via in _INIT:
        return f"write `nn.init.{_INIT[use.via]}({name}, ...)`, which runs under no_grad"
    return f"inside `with torch.no_grad():` write to `{name}` itself"
