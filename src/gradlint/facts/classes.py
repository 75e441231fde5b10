"""What is known of a class of this file: its methods, bases, attributes, and what it freezes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.values import Value
from gradlint.knowledge.modules import CONTAINERS, MODULE_BASE_NAMES, MODULE_BASES
from gradlint.model import Place

if TYPE_CHECKING:
    from gradlint.facts.effects import Effects


@dataclass(eq=False, slots=True)
class ClassFacts:
    """One class. `attributes` are seen from an instance: their base is SELF.

    `made` is where an attribute is assigned. `marks` are paths whose requires_grad is set, with
    True for frozen, in order. `optimized` are the paths that each optimizer built here is given.
    `construction` is what __init__ does to its arguments.
    `inherits_unknown` holds when a base is neither in this file nor a module of torch itself,
    so that attributes may exist which nobody here assigns.
    """

    name: str
    node: cst.ClassDef
    methods: dict[str, cst.FunctionDef]
    bases: list[ClassFacts] = field(default_factory=list)
    foreign_bases: list[str] = field(default_factory=list)
    attributes: dict[str, Value] = field(default_factory=dict)
    made: dict[str, Place] = field(default_factory=dict)
    marks: list[tuple[tuple[str, ...], bool]] = field(default_factory=list)
    optimized: list[tuple[tuple[str, ...], ...]] = field(default_factory=list)
    construction: Effects | None = None
    prepared: bool = False
    _lineage: tuple[ClassFacts, ...] = ()

    @property
    def inner(self) -> tuple[cst.ClassDef, ...]:
        """Classes that stand in the body of the class."""
        body = self.node.body
        members = body.body if isinstance(body, cst.IndentedBlock) else ()
        return tuple(member for member in members if isinstance(member, cst.ClassDef))

    @property
    def class_level_names(self) -> frozenset[str]:
        """What is assigned or annotated in the body of the class or of a base in this file."""
        return frozenset(name for facts in self.lineage for name in _assigned_in(facts.node.body))

    @property
    def lineage(self) -> tuple[ClassFacts, ...]:
        """The class and its bases in this file, nearest first; each once, cycles ignored.

        Asked for only once all bases are known.
        """
        if not self._lineage:
            seen: dict[ClassFacts, None] = {}
            todo = deque([self])
            while todo:
                facts = todo.popleft()
                if facts not in seen:
                    seen[facts] = None
                    todo.extend(facts.bases)
            self._lineage = tuple(seen)
        return self._lineage

    @property
    def must_be_module(self) -> bool:
        """True when a base is torch.nn.Module or a class that is known to derive from it."""
        return any(_must_be_module(name) for name in self._foreign())

    @property
    def must_be_tensor(self) -> bool:
        """True for subclasses of torch.Tensor."""
        return any(name in ("torch.Tensor", "torch.nn.Parameter") for name in self._foreign())

    @property
    def must_be_optimizer(self) -> bool:
        """True for subclasses of torch.optim.Optimizer and of its optimizers."""
        return any(
            name.startswith("torch.optim.") or name.endswith(".Optimizer")
            for name in self._foreign()
        )

    @property
    def must_be_function(self) -> bool:
        """True for subclasses of torch.autograd.Function, which have rules of their own."""
        return any(name.endswith("autograd.Function") for name in self._foreign())

    @property
    def inherits_unknown(self) -> bool:
        """True when attributes may come from code that is not in this file."""
        return any(not name.startswith("torch.nn.") for name in self._foreign() if name != "object")

    def method(self, name: str) -> tuple[ClassFacts, cst.FunctionDef] | None:
        """The method that `self.name` finds, and the class in which it stands."""
        for facts in self.lineage:
            if name in facts.methods:
                return facts, facts.methods[name]
        return None

    def method_above(
        self, owner: ClassFacts, name: str
    ) -> tuple[ClassFacts, cst.FunctionDef] | None:
        """The method that `super().name` finds from a method that stands in `owner`."""
        lineage = self.lineage
        start = lineage.index(owner) + 1 if owner in lineage else 1
        for facts in lineage[start:]:
            if name in facts.methods:
                return facts, facts.methods[name]
        return None

    def method_names(self) -> Iterator[str]:
        """Names of all methods, inherited ones included, each once."""
        yield from dict.fromkeys(name for facts in self.lineage for name in facts.methods)

    def _foreign(self) -> Iterator[str]:
        for facts in self.lineage:
            yield from facts.foreign_bases


def _assigned_in(body: cst.BaseSuite) -> Iterator[str]:
    for line in body.body if isinstance(body, cst.IndentedBlock) else ():
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            targets: list[cst.CSTNode] = []
            if isinstance(small, cst.Assign):
                targets = [target.target for target in small.targets]
            elif isinstance(small, cst.AnnAssign):
                targets = [small.target]
            yield from (target.value for target in targets if isinstance(target, cst.Name))


def _must_be_module(name: str) -> bool:
    if name in MODULE_BASES or name in CONTAINERS or name.rpartition(".")[2] in MODULE_BASE_NAMES:
        return True
    return name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()
