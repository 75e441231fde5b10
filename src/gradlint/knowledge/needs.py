"""How a row says what backward needs of an operation; saved.py and saved_nn.py hold the rows.

A row reads `names | arguments | needs | fills`. The needs say for each input what its gradient
takes: `input: other` that the gradient of `input` takes `other`. What is taken is an argument, a
tensor that a layer owns, `output`, or `output.indices` for the integers that sort and the like
return beside the values.

- `other`: its value is read. A write that autograd does not see makes the gradient wrong.
- `~other`: only on which side of a bound, or of another tensor, it lies. Scaling is harmless as
  long as nothing crosses.
- `(other)`: it is saved and not read. A write is harmless; an inference tensor still raises.

An input without needs has a gradient that takes nothing of the caller's: nothing at all, or a copy
that torch keeps for itself. An operation that is in no table is not known: `einsum`, for one, makes
copies with some equations and none with others.

Rows are true of contiguous tensors on the CPU, in train and in eval mode. Of a transposed batch of
matrices, or one that is broadcast, matmul may take a copy. Measured on torch 2.13.0;
tests/test_knowledge.py executes every row.
Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

OUTPUT, INDICES = "output", "output.indices"


class Use(Enum):
    """What the gradient of an input does with a tensor that is saved for it; strongest first."""

    VALUE = "reads its value"
    SIDE = "reads on which side of a bound, or of another tensor, it lies"
    KEPT = "does not read it"


@dataclass(frozen=True, slots=True)
class Needs:
    """What backward needs of one operation.

    `required` and `options` name its arguments in order, the receiver of a method first; `*rest`
    is any number of arguments that no gradient takes. `uses` are by the input whose gradient it is.
    `fills` are ranges of constants, ends included: filling a part of the output with one through
    `.data` leaves the gradient that a recorded fill gives.

    `trained` are, below, the names of the inputs that need gradient.
    """

    required: tuple[str, ...]
    options: tuple[str, ...]
    uses: Mapping[str, Mapping[str, Use]]
    fills: tuple[tuple[float, float], ...]

    @property
    def owned(self) -> frozenset[str]:
        """The tensors of a layer itself that its row names: `weight`, `running_mean`."""
        named = {*self.uses, *(name for taken in self.uses.values() for name in taken)}
        return frozenset(named - {*self.required, *self.options, OUTPUT, INDICES})

    def use(self, of: str, trained: Collection[str]) -> Use | None:
        """What the gradients of `trained` do with `of`; None if it is not saved for them."""
        uses = {self.uses[name].get(of) for name in trained if name in self.uses}
        return next((use for use in Use if use in uses), None)

    def must_read(self, of: str, trained: Collection[str]) -> bool:
        """Whether another value in `of`, between the call and backward, can change a gradient."""
        return self.use(of, trained) in (Use.VALUE, Use.SIDE)

    def must_refuse_inference(self, of: str, trained: Collection[str]) -> bool:
        """Whether the call raises when `of` is an inference tensor, which itself never trains."""
        return self.use(of, [name for name in trained if name != of]) is not None

    def must_survive_fill(self, constant: float) -> bool:
        """Whether the gradient is right after a part of the output is filled through `.data`."""
        return any(low <= constant <= high for low, high in self.fills)

    def argument(self, position: int) -> str | None:
        """The name of the argument at a position from 0, or None where the row has none."""
        names = (*self.required, *self.options)
        if position < len(names):
            return names[position].lstrip("*")
        return names[-1][1:] if names[-1].startswith("*") else None

    def must_cover(self, positional: int, keywords: Collection[str]) -> bool:
        """Whether the row knows a call with these arguments; of any other it says nothing."""
        names = (*self.required, *self.options)
        if names[-1].startswith("*"):
            return True
        return positional <= len(names) and set(keywords) <= set(names)


def table(text: str, prefix: str = "") -> dict[str, Needs]:
    """The rows in `text`, by prefixed name. `dim=` is an argument that may be left out."""
    rows = {}
    for line in filter(None, text.splitlines()):
        names, *columns = line.split("|")
        rows.update(dict.fromkeys((prefix + name for name in names.split()), _row(*columns)))
    return rows


def _row(arguments: str, uses: str = "", fills: str = "") -> Needs:
    names = arguments.split()
    return Needs(
        tuple(name for name in names if not name.endswith("=")),
        tuple(name[:-1] for name in names if name.endswith("=")),
        _uses(uses),
        tuple(map(_fill, fills.split())),
    )


def _uses(text: str) -> dict[str, dict[str, Use]]:
    parts = [part.partition(":") for part in text.split(";") if part.strip()]
    return {name.strip(): dict(map(_use, uses.split())) for name, _, uses in parts}


def _use(word: str) -> tuple[str, Use]:
    use = {"~": Use.SIDE, "(": Use.KEPT}.get(word[0], Use.VALUE)
    return word.strip("~()"), use


def _fill(word: str) -> tuple[float, float]:
    low, _, high = word.partition(":")
    return float(low), float(high or low)
