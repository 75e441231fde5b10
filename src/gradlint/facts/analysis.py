"""Interprets a file: module level first, then by themselves the functions that can matter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from gradlint.facts.binding import instance
from gradlint.facts.classes import ClassFacts
from gradlint.facts.declare import Declarations
from gradlint.facts.effects import Effects
from gradlint.facts.index import Index
from gradlint.facts.instances import prepare
from gradlint.facts.interpreter import Interpreter, Summary
from gradlint.facts.relevance import Relevance
from gradlint.facts.uses import note_gradient
from gradlint.facts.values import NONE, Function, Value
from gradlint.knowledge.training import ROOT_METHODS


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """A function, method or script that was interpreted without knowing who calls it."""

    name: str
    node_id: int
    cls: ClassFacts | None
    summary: Summary

    @property
    def effects(self) -> Effects:
        """What it does besides returning."""
        return self.summary.effects


class Analysis:
    """What one file does. `entries` start with the module level.

    At first only what names a trigger, and its users, is interpreted: on real code that is little.
    complete() adds the rest, for questions whose answer may lie anywhere.
    """

    def __init__(
        self, bodies: Sequence[Sequence[cst.BaseStatement]], triggers: Iterable[str] = ()
    ) -> None:
        self.declarations = Declarations(bodies)
        self.run = Interpreter(self.declarations)
        self._relevance = Relevance(self.declarations, self.run.indexer, triggers)
        self._entered: set[int] = set()
        self.entries: list[Entry] = [self._script(bodies)]
        self._enter_all(everything=False)

    def complete(self) -> None:
        """Interpret the functions and methods that have been left out."""
        self._enter_all(everything=True)

    def _enter_all(self, everything: bool) -> None:
        for name, function in self.declarations.functions.items():
            if everything or self._relevance.of_function(function):
                self._enter(name, Function(function, None), None, None)
        for cls in self.declarations.classes.values():
            self._enter_class(cls, everything)
        for cls in self.run.local_classes:  # grows while it is walked
            self._enter_class(cls, everything)

    def relevant_roots(self) -> Iterator[Summary]:
        """The root methods of modules in which a trigger can take effect."""
        for cls in self.classes:
            for name in ROOT_METHODS if cls.must_be_module else ():
                if self._relevance.of_root(cls, name):
                    summary = self.method(cls, name)
                    if summary is not None:
                        yield summary

    @property
    def classes(self) -> Iterator[ClassFacts]:
        """Every class of the file, those inside functions last."""
        yield from self.declarations.classes.values()
        yield from self.run.local_classes

    def method(self, cls: ClassFacts, name: str) -> Summary | None:
        """The summary of a method, inherited or not, on an instance of `cls`."""
        found = cls.method(name)
        if found is None:
            return None
        prepare(self.run, cls)
        return self.run.summary(Function(found[1], found[0]), instance(cls), {})

    def _script(self, bodies: Iterable[Iterable[cst.BaseStatement]]) -> Entry:
        run = self.run
        run.frame.index = self._script_index(bodies)
        for body in bodies:
            run.execute(
                node for node in body if not isinstance(node, cst.FunctionDef | cst.ClassDef)
            )
            run.dead = False
        run.globals, run.mode = run.env, None
        return Entry("", 0, None, Summary(NONE, run.frame.effects))

    def _script_index(self, bodies: Iterable[Iterable[cst.BaseStatement]]) -> Index:
        index = Index()
        for body in bodies:
            for node in body:
                if not isinstance(node, cst.FunctionDef | cst.ClassDef):
                    index.add(self.run.indexer.of(node))
        return index

    def _enter_class(self, cls: ClassFacts, everything: bool) -> None:
        if not everything and not self._relevance.of_class(cls):
            return
        wanted = set(cls.methods) if everything else self._relevance.methods_of(cls)
        for name, function in cls.methods.items():
            if name in wanted:
                prepare(self.run, cls)
                self._enter(name, Function(function, cls), cls, instance(cls))
        for inner in cls.inner:
            self.run.declare_local(inner)

    def _enter(
        self, name: str, function: Function, cls: ClassFacts | None, receiver: Value | None
    ) -> None:
        if id(function.node) in self._entered:
            return
        self._entered.add(id(function.node))
        summary = self.run.summary(function, receiver, {})
        if summary is not None:
            self.entries.append(Entry(name, id(function.node), cls, summary))
        if summary is not None and cls is not None and cls.must_be_module and name in ROOT_METHODS:
            self.run.traces.pending |= summary.effects.pending
            note_gradient(self.run, summary.returned)  # somebody trains what a module returns
            self.run.traces.pending.clear()
