"""Which functions and classes of a file can matter: those that name a trigger, and their users."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from gradlint.facts.classes import ClassFacts
from gradlint.facts.declare import Declarations
from gradlint.facts.index import Indexer


class Relevance:
    """Decides by names alone: it may say yes too often, and must never say no wrongly.

    `triggers` are literals of source text; with none, everything matters. One that starts with a
    dot is a whole attribute (`.data`), others may be part of a name (`no_grad`).
    """

    def __init__(
        self, declarations: Declarations, indexer: Indexer, triggers: Iterable[str]
    ) -> None:
        self._indexer = indexer
        literals = set(triggers)
        self._everything = not literals
        self._attributes = {text[1:] for text in literals if text.startswith(".")}
        self._parts = tuple(text for text in literals if not text.startswith("."))
        self._matches: dict[str, bool] = {}
        self._classes = declarations.classes
        self._names = self._relevant_names(declarations)

    def of_function(self, node: cst.FunctionDef) -> bool:
        """Whether a function at module level has to be looked at by itself."""
        return self._everything or node.name.value in self._names

    def of_class(self, cls: ClassFacts) -> bool:
        """Whether a class, or one that it inherits from, names a trigger or a relevant name."""
        return self._everything or any(
            facts.name in self._names or self._mentions(facts.node) for facts in cls.lineage
        )

    def methods_of(self, cls: ClassFacts) -> set[str]:
        """The methods of a relevant class that have to be looked at by themselves."""
        if self._everything:
            return set(cls.methods)
        found = {
            name
            for name, node in cls.methods.items()
            if self._mentions(node) or self._goes_backward(node)
        }
        return self._with_callers(cls, found)

    def of_root(self, cls: ClassFacts, name: str) -> bool:
        """Whether a trigger can take effect in what a root method returns."""
        return self._everything or self._root(cls, name, set())

    def _root(self, cls: ClassFacts, name: str, asked: set[ClassFacts]) -> bool:
        if cls in asked or cls.method(name) is None:
            return False
        asked.add(cls)
        return (
            any(self._mentions_function(node) for node in self._reached(cls, name))
            or any("register_forward_hook" in self._names_in(f.node) for f in cls.lineage)
            or any(
                self._root(part, "forward", asked)
                for part in self._classes.values()
                if any(part.name in self._names_in(facts.node) for facts in cls.lineage)
            )
        )

    def _reached(self, cls: ClassFacts, name: str) -> Iterator[cst.FunctionDef]:
        """A method and those that it names, and so on."""
        seen: set[str] = set()
        todo = [name]
        while todo:
            now = todo.pop()
            found = cls.method(now)
            if now in seen or found is None:
                continue
            seen.add(now)
            yield found[1]
            todo.extend(self._names_in(found[1]) & set(cls.method_names()))

    def _mentions_function(self, node: cst.CSTNode) -> bool:
        """Whether a trigger, or a function that has to do with one, is named."""
        functions = self._names - self._classes.keys()
        return self._matching(node) or not functions.isdisjoint(self._names_in(node))

    def _names_in(self, node: cst.CSTNode) -> set[str]:
        return self._indexer.of(node).names

    def _with_callers(self, cls: ClassFacts, found: set[str]) -> set[str]:
        while True:
            callers = {
                name
                for name, node in cls.methods.items()
                if name not in found and not found.isdisjoint(self._names_in(node))
            }
            if not callers:
                return found
            found |= callers

    def _relevant_names(self, declarations: Declarations) -> set[str]:
        """Functions and classes that name a trigger, and those that name one of them, and so on."""
        nodes: dict[str, cst.CSTNode] = dict(declarations.functions)
        nodes.update({name: cls.node for name, cls in declarations.classes.items()})
        names = {name for name, node in nodes.items() if self._matching(node)}
        while True:
            users = {
                name
                for name, node in nodes.items()
                if name not in names and not names.isdisjoint(self._names_in(node))
            }
            if not users:
                return names
            names |= users

    def _mentions(self, node: cst.CSTNode) -> bool:
        return self._matching(node) or not self._names.isdisjoint(self._names_in(node))

    def _matching(self, node: cst.CSTNode) -> bool:
        index = self._indexer.of(node)
        if not self._attributes.isdisjoint(index.attributes):
            return True
        return any(map(self._is_trigger, index.names))

    def _is_trigger(self, name: str) -> bool:
        known = self._matches.get(name)
        if known is None:
            known = self._matches[name] = any(part in name for part in self._parts)
        return known

    def _goes_backward(self, node: cst.CSTNode) -> bool:
        return not {"backward", "manual_backward"}.isdisjoint(self._names_in(node))
