"""What a name stands for, and what is known of a value by the way it is used."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from gradlint.facts.classes import ClassFacts
from gradlint.facts.declare import Declarations
from gradlint.facts.evidence import kind_by_use
from gradlint.facts.index import Indexer
from gradlint.facts.state import State
from gradlint.facts.values import (
    SELF,
    UNKNOWN,
    Base,
    Class,
    Function,
    Imported,
    Super,
    Thing,
    Value,
)
from gradlint.knowledge.modules import MODULE_ONLY_ATTRIBUTES
from gradlint.knowledge.training import BUILDERS
from gradlint.model import Kind
from gradlint.syntax.names import canonical


class Names(State):
    """The names of one file: local ones first, then global ones, declarations and imports."""

    def __init__(self, declarations: Declarations) -> None:
        super().__init__()
        self.declarations = declarations
        self.indexer = Indexer()
        self.uses_data = any(
            "data" in self.indexer.of(node).attributes
            for body in declarations.bodies
            for node in body
        )

    def lookup(self, name: str) -> Value:
        """The value of a name: local, global, a class or a function of this file."""
        value = self.env.get(name)
        if value is None:
            value = self.globals.get(name)
        if value is not None:
            return value
        if name in self.declarations.classes:
            return Value(ref=Class(self.declarations.classes[name]))
        if name in self.declarations.functions:
            return Value(Kind.OTHER, ref=Function(self.declarations.functions[name], None))
        imported = self.declarations.imports.resolve(name)
        return Value(ref=Imported(imported)) if imported is not None else UNKNOWN

    # ---------------------------------------------------------------------------------- uses

    def known_by_use(self, name: str, value: Value) -> Value:
        """A value of which nothing else is known, by the methods that this function calls on it."""
        if value.kind is not Kind.UNKNOWN or isinstance(value.ref, Class | Imported | Super):
            return value
        kind = kind_by_use(self.used_of(name))
        return value if kind is Kind.UNKNOWN else replace(value, kind=kind)

    def identity(self, thing: Thing) -> tuple[int, Base, tuple[str, ...]]:
        """What tells an object from others while the file runs: paths of self go with a class."""
        cls = self.frame.cls if thing.base == SELF else None
        return id(cls.node) if cls is not None else 0, thing.base, thing.path

    def member_uses(self, cls: ClassFacts, name: str) -> frozenset[str]:
        """Which attributes the methods of a class use of `self.name`."""
        found: frozenset[str] = frozenset()
        for facts in cls.lineage:
            found |= self.indexer.of(facts.node).attributes_of(f"self.{name}")
        return found

    def kind_of_flagged(self, text: str | None) -> Kind:
        """What `text` must be whose requires_grad is set: what is called too is no tensor."""
        if text is None:
            return Kind.UNKNOWN
        indices = [self.frame.index]
        if self.frame.cls is not None and text.startswith(f"{self.frame.self_name}."):
            indices = [self.indexer.of(facts.node) for facts in self.frame.cls.lineage]
        used = frozenset().union(*(index.attributes_of(text) for index in indices))
        if any(text in index.called for index in indices) or used & MODULE_ONLY_ATTRIBUTES:
            return Kind.MODULE
        return kind_by_use(used)

    def names_of(self, cls: ClassFacts) -> frozenset[str]:
        """What a class, or a base of it in this file, defines, or reads of itself."""
        found = frozenset(cls.method_names()) | cls.class_level_names
        for facts in cls.lineage:
            found |= self.indexer.of(facts.node).loaded.get("self", set())
        return found

    def is_internal(self, cls: ClassFacts, name: str) -> bool:
        """Whether an attribute is state of the class: read by its methods, and by nobody else."""
        inside = any(
            name in self.indexer.of(facts.node).loaded.get("self", ()) for facts in cls.lineage
        )
        return inside and name not in self.read_from_outside

    def is_set_again(self, cls: ClassFacts, name: str) -> bool:
        """Whether methods other than the constructor assign to `self.name`."""
        return any(
            f"self.{name}" in self.indexer.of(node).stored
            for facts in cls.lineage
            for method, node in facts.methods.items()
            if method not in BUILDERS
        )

    def imported(self, name: str | None) -> str | None:
        """The canonical name of a dotted name that is imported and not shadowed by a variable."""
        if name is None:
            return None
        head, _, rest = name.partition(".")
        value = self.env.get(head)
        if value is None:
            value = self.globals.get(head)
        if value is None:
            return self.declarations.imports.resolve(name)
        if not isinstance(value.ref, Imported):
            return None
        return canonical(f"{value.ref.name}.{rest}" if rest else value.ref.name)

    def used_of(self, name: str) -> frozenset[str]:
        """Which attributes the current function uses of a name."""
        return self.frame.index.attributes_of(name)

    @cached_property
    def read_from_outside(self) -> frozenset[str]:
        """Attributes that the file reads of anything but `self`."""
        return frozenset(
            name
            for body in self.declarations.bodies
            for node in body
            for head, names in self.indexer.of(node).loaded.items()
            if head != "self" and not head.startswith("self.")
            for name in names
        )
