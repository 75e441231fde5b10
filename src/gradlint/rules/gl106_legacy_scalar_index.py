"""`loss.data[0]` raises: a loss has no dimension to index.

Before PyTorch 0.4 a loss, and any other sum or mean of a whole tensor, was a tensor of one element,
and `loss.data[0]` its number. Now it is a scalar, and the index has nothing to select from.

Bad:
    loss = nn.Linear(3, 1)(torch.randn(2, 3)).mean()
    loss.backward()
    print(loss.data[0])

Good:
    loss = nn.Linear(3, 1)(torch.randn(2, 3)).mean()
    loss.backward()
    print(loss.item())

Raises: IndexError, `invalid index of a 0-dim tensor.`

Quiet on: tensors that are not known to be scalars, as losses with reduction="none", sums along one
dimension and results of layers are; `[None]`, `[...]` and `[()]`, which a scalar takes.

Also: GL101, which names the use of `.data`.

Fix: `loss.item()`.

Source: https://pytorch.org/blog/pytorch-0_4_0-migration-guide/ (torch 2.13.0)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradlint.model import SCALAR_INDEX, Confidence, Report, Severity, brief, first_that_fits

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

severity = Severity.ERROR
confidence = Confidence.HIGH
triggers = (".data",)


def check(unit: Unit) -> Iterator[Report]:
    """Every number that indexes the `.data` of a tensor without dimensions."""
    for use in unit.attribute_uses("data"):
        if use.via == SCALAR_INDEX and use.receiver.must_be_tensor and not use.is_guarded:
            name = brief(use.receiver.text)
            yield Report(
                at=use.place,
                symbol=use.symbol,
                message=first_that_fits(
                    f"indexing `{name}.data` raises IndexError: `{name}` has no dimension",
                    "indexing the `.data` of a scalar raises IndexError: it has no dimension",
                ),
                label="a scalar cannot be indexed",
                why=(
                    "Since PyTorch 0.4 a loss, and any sum or mean over a whole tensor, has no "
                    "dimension."
                ),
                help=f"write `{name}.item()`",
            )
