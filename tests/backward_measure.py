"""Measures what backward needs of a call: by writing past autograd, and by what torch refuses.

Each input in turn needs gradient, alone. Every tensor that takes part is changed through `.data`
between the call and backward, and every other input is given as an inference tensor.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from gradlint.knowledge.needs import INDICES, OUTPUT, Use

Named = dict[str, Any]
Uses = dict[str, dict[str, Use]]
Change = Callable[[Tensor], Tensor]


def tensors(result: Any) -> list[Tensor]:
    """The tensors in a result."""
    if isinstance(result, tuple | list):
        return [tensor for item in result for tensor in tensors(item)]
    return [result] if isinstance(result, Tensor) else []


@dataclass(frozen=True)
class Trial:
    """One call: the leaves that need gradient, what was given, and what came out."""

    leaves: list[Tensor]
    given: dict[str, list[Tensor]]
    result: Any

    def named(self, name: str) -> list[Tensor]:
        """The tensors that a row calls `name`."""
        if name not in (OUTPUT, INDICES):
            return self.given[name]
        floating = name == OUTPUT
        return [t for t in tensors(self.result) if t.is_floating_point() is floating]

    def gradients(self) -> list[Tensor]:
        """Those of the leaves, for a loss that weighs each value of the output differently."""
        torch.default_generator.manual_seed(7)
        ends = [tensor for tensor in tensors(self.result) if tensor.requires_grad]
        weighted = [(tensor * (torch.rand_like(tensor) + 0.5)).sum().double() for tensor in ends]
        torch.stack(weighted).sum().backward()
        return [torch.zeros_like(x) if x.grad is None else x.grad for x in self.leaves]


@dataclass(frozen=True)
class Call:
    """An operation, and the values that it takes by name."""

    operation: Callable[[Named], Any]
    values: Named

    @property
    def given(self) -> list[str]:
        """The names of those that are tensors."""
        return [name for name, value in self.values.items() if tensors(value)]

    def attempt(self, trained: Iterable[str] = (), inference: str = "") -> Trial:
        """Calls with copies of the values, of which `trained` need gradient."""
        leaves: list[Tensor] = []
        given: dict[str, list[Tensor]] = {}

        def prepared(name: str, value: Any) -> Any:
            if isinstance(value, list | tuple) and tensors(value):
                return type(value)(prepared(name, item) for item in value)
            if not isinstance(value, Tensor):
                return value
            with torch.inference_mode(name == inference):
                copy = value.clone()
            if name in trained and copy.is_floating_point():
                leaves.append(copy.requires_grad_())
                copy = copy.clone()
            given.setdefault(name, []).append(copy)
            return copy

        torch.default_generator.manual_seed(0)
        named = {name: prepared(name, value) for name, value in self.values.items()}
        return Trial(leaves, given, self.operation(named))

    def differentiable(self) -> list[str]:
        """The inputs from which gradient reaches the result."""
        return [name for name in self.given if self._gets_gradient(name)]

    def _gets_gradient(self, name: str) -> bool:
        try:
            trial = self.attempt([name])
            if not trial.leaves or not any(t.requires_grad for t in tensors(trial.result)):
                return False
            assert all(gradient.isfinite().all() for gradient in trial.gradients())
        except RuntimeError as error:
            assert "derivative" in str(error) or "not differentiable" in str(error)
            return False
        return True


# -------------------------------------------------------------------------------------- writes


def _flip(tensor: Tensor) -> Tensor:
    return tensor.copy_(tensor.flip(-1).clone()) if tensor.dim() else tensor


CHANGES: tuple[Change, ...] = (
    lambda tensor: tensor.neg_(),
    lambda tensor: tensor.mul_(3.7),
    lambda tensor: tensor.sub_(0.3),
    _flip,
)
SMALL_CHANGES: tuple[Change, ...] = (
    lambda tensor: tensor.mul_(1.0001),
    lambda tensor: tensor.mul_(0.9999),
)
CHANGES_OF_INTEGERS: tuple[Change, ...] = (_flip, lambda tensor: tensor.zero_())
CHANGES_OF_MASKS: tuple[Change, ...] = (lambda tensor: tensor.logical_not_(),)


def must_change_gradient(call: Call, trained: Iterable[str], of: str) -> bool:
    """Whether other values in `of`, after the call, give other gradients."""
    found = call.attempt().named(of)
    if any(tensor.is_floating_point() for tensor in found):
        return _changes(call, trained, of, CHANGES)
    masks = any(tensor.dtype is torch.bool for tensor in found)
    return _changes(call, trained, of, CHANGES_OF_MASKS if masks else CHANGES_OF_INTEGERS)


def _changes(call: Call, trained: Iterable[str], of: str, changes: Iterable[Change]) -> bool:
    expected = call.attempt(trained).gradients()
    for change in changes:
        trial = call.attempt(trained)
        for tensor in trial.named(of):
            with contextlib.suppress(RuntimeError):  # an expanded tensor cannot be written to
                change(tensor.data)
        try:
            gradients = trial.gradients()
        except (RuntimeError, IndexError):  # the changed mask or index fits nothing
            return True
        if not all(map(torch.equal, gradients, expected)):
            return True
    return False


def refuses_inference(call: Call, trained: Iterable[str], of: str) -> bool:
    """Whether torch refuses to save `of` when it is an inference tensor."""
    try:
        call.attempt(trained, inference=of)
    except RuntimeError as error:
        assert "nference" in str(error)  # it also refuses to update running statistics
        return "Inference tensors cannot be saved for backward" in str(error)
    return False


def _use(call: Call, trained: str, of: str) -> Use | None:
    saved_for_another = of not in (trained, OUTPUT, INDICES)
    refused = saved_for_another and refuses_inference(call, [trained], of)
    if not must_change_gradient(call, [trained], of):
        return Use.KEPT if refused else None
    assert refused or not saved_for_another
    floating = any(tensor.is_floating_point() for tensor in call.attempt().named(of))
    by_side = floating and not _changes(call, [trained], of, SMALL_CHANGES)
    return Use.SIDE if by_side else Use.VALUE


_STRENGTH = (None, Use.KEPT, Use.SIDE, Use.VALUE)


def measured_uses(calls: Iterable[Call], *, in_place: bool) -> Uses:
    """The weakest use in all calls that have both tensors. In place, the first is the output."""
    seen: dict[tuple[str, str], list[Use | None]] = {}
    for call in calls:
        named = [*call.given[in_place:], *_outputs(call)]
        for trained in call.differentiable():
            for of in named:
                seen.setdefault((trained, of), []).append(_use(call, trained, of))
    uses: Uses = {}
    for (trained, of), found in seen.items():
        if weakest := min(found, key=_STRENGTH.index):
            uses.setdefault(trained, {})[of] = weakest
    return uses


def _outputs(call: Call) -> list[str]:
    trial = call.attempt()
    return [name for name in (OUTPUT, INDICES) if trial.named(name)]


# --------------------------------------------------------------------------------------- fills


def survives_fill(call: Call, constant: float) -> bool:
    """Whether a fill of some values through `.data` gives the gradients of a recorded fill."""
    trained = call.differentiable()
    hidden, recorded = call.attempt(trained), call.attempt(trained)
    for tensor in hidden.named(OUTPUT):
        # gradlint: ignore[GL103] what this does to the gradient is measured
        tensor.data.masked_fill_(_some(tensor), constant)
    filled = [tensor.masked_fill(_some(tensor), constant) for tensor in recorded.named(OUTPUT)]
    return all(
        map(torch.allclose, hidden.gradients(), replace(recorded, result=filled).gradients())
    )


def _some(tensor: Tensor) -> Tensor:
    return (torch.arange(tensor.numel()) % 3 == 0).view(tensor.shape)
