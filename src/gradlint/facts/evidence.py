"""What a value must be, by how it is used: the evidence, as a table.

A rule speaks of a tensor, a parameter or a module only where something proves that it is one. What
proves it, strongest first, and where that is decided:

    seen                                              is               in
    made by nn.X, nn.Parameter, a class of the file   what that makes  imported_calls, instances
    annotated `x: Tensor`, `net: nn.Linear`           that             annotations
    ends in weight, bias, grad, running_mean, _var    tensor           attributes
    loop over parameters(), group["params"]           parameter        elements
    values of a state_dict()                          tensor           module_methods
    result of torch.*, of a layer, of arithmetic      tensor           imported_calls, callees
    isinstance(x, Tensor) holds                       tensor           statements
    USES, below: what else is done with it            tensor, module   names, attributes
    requires_grad is set on what is also called       module           names (kind_of_flagged)
    `x.data` is written to in place, and x is called
      neither dataset nor batch nor node ...          tensor           attributes
    `x.data` is combined with a tensor                tensor           attributes, calls

In PyTorch packages 30% of all `.data` belong to something else: batches, datasets, nodes, requests.
That a tensor method follows `.data` proves nothing: `dataset.data.unsqueeze(0)` is as common.
Names hold findings back and never make one.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from gradlint.knowledge.modules import MODULE_ONLY_METHODS, OPTIMIZER_ONLY_METHODS
from gradlint.knowledge.ops import (
    NOT_ON_MODULES,
    TENSOR_ONLY,
    TENSOR_ONLY_ATTRIBUTES,
    TENSOR_OR_MODULE,
)
from gradlint.model import Kind


@dataclass(frozen=True, slots=True)
class Use:
    """A row: what has any of these, any of `and_any`, and none of `but_none`, is of that kind."""

    kind: Kind
    any_of: frozenset[str]
    and_any: frozenset[str] = frozenset()
    but_none: frozenset[str] = frozenset()

    def is_seen_in(self, names: Set[str]) -> bool:
        """Whether these attributes and methods prove it."""
        if names.isdisjoint(self.any_of) or not names.isdisjoint(self.but_none):
            return False
        return not self.and_any or not names.isdisjoint(self.and_any)


USES = (
    Use(Kind.TENSOR, any_of=TENSOR_ONLY),
    Use(Kind.TENSOR, any_of=TENSOR_ONLY_ATTRIBUTES),
    Use(Kind.TENSOR, any_of=TENSOR_OR_MODULE, and_any=NOT_ON_MODULES),
    Use(Kind.MODULE, any_of=MODULE_ONLY_METHODS, but_none=OPTIMIZER_ONLY_METHODS),
)
"""What the methods and attributes that a function, or a class, uses of a value prove."""


def kind_by_use(names: Set[str]) -> Kind:
    """What a value must be of which these attributes and methods are used."""
    return next((row.kind for row in USES if row.is_seen_in(names)), Kind.UNKNOWN)
