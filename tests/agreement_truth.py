"""What torch says of the parameters of a module: which are frozen, which are cut.

A parameter's influence is measured by giving it other values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from agreement_body import LOOP
from truth import backward, floating

COUNTS = (1, 2, 5)


@dataclass(frozen=True)
class Truth:
    """Names of parameters of a `Model`, however often a loop runs.

    `cut` change the output, may train, and never get a gradient but zeros, which a row that is
    not used sends back into torch.stack(); `trained` get one at times; `frozen` have
    requires_grad False once the model is made.
    """

    cut: frozenset[str]
    trained: frozenset[str]
    frozen: frozenset[str]

    @property
    def attributes_cut(self) -> set[str]:
        """Attributes all of whose parameters that may train, and take part, are cut."""
        return heads(self.cut) - heads(self.trained)

    @property
    def attributes_cut_in_part(self) -> set[str]:
        """Attributes at least one of whose parameters is cut."""
        return heads(self.cut)


def heads(names: frozenset[str]) -> set[str]:
    """The attributes of the model that the parameters belong to."""
    return {name.partition(".")[0] for name in names}


def truth_of(source: str) -> Truth | None:
    """What torch says, or None when it refuses the module."""
    found = Truth(frozenset(), frozenset(), frozenset())
    for variant in _with_other_loops(source):
        try:
            here = _run(variant)
        except RuntimeError:
            return None
        found = Truth(
            found.cut | here.cut, found.trained | here.trained, found.frozen | here.frozen
        )
    return Truth(found.cut - found.trained, found.trained, found.frozen)


def _with_other_loops(source: str) -> Iterator[str]:
    """The source with each of its loops run once, twice and often, in every combination."""
    parts = source.split(LOOP)
    for counts in itertools.product(COUNTS, repeat=len(parts) - 1):
        loops = [f"for _ in range({count}):" for count in counts]
        yield "".join(itertools.chain(*zip(parts, [*loops, ""], strict=True)))


def _run(source: str) -> Truth:
    """What torch says of one run."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": "sample"}
    exec(compile(source, "sample.py", "exec"), names)
    model: nn.Module = names["Model"]().double()
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    x = torch.rand(3, 4, dtype=torch.float64)
    backward(floating(model(x.clone())))
    trained = {n for n, p in model.named_parameters() if p.grad is not None and p.grad.any()}
    rest = {name for name, _ in model.named_parameters()} - trained - frozen
    return Truth(_influential(model, x, rest), frozenset(trained), frozenset(frozen))


@torch.no_grad()
def _influential(model: nn.Module, x: torch.Tensor, names: set[str]) -> frozenset[str]:
    """Those parameters whose values change the output."""
    before = _values(model(x.clone()))
    parameters = dict(model.named_parameters())
    return frozenset(name for name in names if _changed(model, x, parameters[name]) != before)


def _changed(model: nn.Module, x: torch.Tensor, parameter: nn.Parameter) -> list[Any]:
    """The output when the parameter has other values."""
    kept = parameter.clone()
    parameter.add_(torch.randn_like(parameter) * 0.1)
    values = _values(model(x.clone()))
    parameter.copy_(kept)
    return values


def _values(output: Any) -> list[Any]:
    return [tensor.tolist() for tensor in floating(output)]
