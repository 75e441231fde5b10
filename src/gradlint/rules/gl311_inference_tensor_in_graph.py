"""A tensor that was made under inference_mode cannot take part in autograd afterwards.

It is no tensor without a graph, as no_grad makes it, but one that autograd refuses: an operation
that needs it for its backward raises, and so does a write in place or requires_grad outside.

Bad:
    student, teacher = nn.Linear(3, 2), nn.Linear(3, 2)
    x = torch.randn(4, 3)
    with torch.inference_mode():
        target = teacher(x).softmax(-1)
    loss = F.mse_loss(student(x), target)

Good:
    student, teacher = nn.Linear(3, 2), nn.Linear(3, 2)
    x = torch.randn(4, 3)
    with torch.no_grad():
        target = teacher(x).softmax(-1)
    loss = F.mse_loss(student(x), target)

Raises: RuntimeError, `Inference tensors cannot be saved for backward.`

Quiet on: `target.clone()` outside the block, which makes a normal tensor; operations whose
backward does not need it, such as addition; uses inside inference_mode.

Fix: `torch.no_grad()` instead, or `.clone()` outside the block.

Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import Confidence, InferenceUse, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = ("inference_mode",)


def check(unit: Unit) -> Iterator[Report]:
    """Every use of an inference tensor that autograd refuses."""
    for use in unit.inference_uses():
        if not use.is_guarded:
            yield _report(use)


def _report(use: InferenceUse) -> Report:
    message, why = _what(use, brief(use.text))
    return Report(
        at=use.place,
        symbol=use.symbol,
        message=message,
        label=_LABELS.get(use.how, "what changes here was made under inference_mode"),
        why=why,
        help=(
            "make it outside the block"
            if use.how == "made"
            else "use torch.no_grad() where it is made, or `.clone()` it outside the block"
        ),
    )


_LABELS = {
    "saved": "takes a tensor that was made under inference_mode",
    "made": "its parameters are inference tensors",
}


def _what(use: InferenceUse, text: str) -> tuple[str, str]:
    operation = use.operation.rpartition(".")[2] or use.operation
    if use.how == "saved":
        return (
            first_that_fits(f"`{operation}` raises: it needs an inference tensor for its backward"),
            "PyTorch says: Inference tensors cannot be saved for backward.",
        )
    if use.how == "made":
        return (
            first_that_fits(
                f"`{brief(use.text, 40)}` is made under inference_mode: it cannot train",
                "a module that is made under inference_mode cannot train",
            ),
            "Its parameters are inference tensors: they get no gradient, or the forward raises.",
        )
    if use.how == "flag":
        return (
            first_that_fits(
                f"setting requires_grad of `{text}` raises: it is an inference tensor",
                "setting requires_grad of an inference tensor raises",
            ),
            "An inference tensor cannot be made to require gradient outside inference_mode.",
        )
    return (
        first_that_fits(
            f"`{text}` is an inference tensor: changing it outside inference_mode raises",
            "changing an inference tensor outside inference_mode raises",
        ),
        "PyTorch says: Inplace update to inference tensor outside InferenceMode is not allowed.",
    )
