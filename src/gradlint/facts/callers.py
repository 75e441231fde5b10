"""Which functions and classes only a script's top level, or a thread of their own, runs."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from gradlint.facts.declare import Declarations
from gradlint.facts.index import Indexer, walk
from gradlint.syntax.names import dotted

_TOP = ""
_THREADS = frozenset({"Thread", "Process", "QThread"})
_STARTERS = _THREADS | {"spawn", "start_processes"}


class Callers:
    """Decides by names alone; a name that stands for two things has the callers of both."""

    def __init__(self, declarations: Declarations, indexer: Indexer) -> None:
        self._nodes = [node for body in declarations.bodies for node in body]
        self._classes = declarations.classes
        self._indexer = indexer

    @cached_property
    def of_script(self) -> frozenset[str]:
        """What the top level of the file runs, directly or through each other, and nobody else.

        A decorated function counts as run by the top level, which hands it to a framework.
        """
        callers = self._callers()
        found = {name for name, by in callers.items() if by}
        while True:
            others = {name for name in found if not callers[name] <= found | {_TOP}}
            if not others:
                return frozenset(found)
            found -= others

    def _callers(self) -> dict[str, set[str]]:
        """Each function and class of the top level, and which of them name it."""
        callers: dict[str, set[str]] = {name: set() for name in map(_name, self._nodes) if name}
        for node in self._nodes:
            user = _name(node)
            for name in (callers.keys() & self._indexer.of(node).names) - {user}:
                callers[name].add(user)
            if isinstance(node, cst.FunctionDef) and node.decorators:
                callers[user].add(_TOP)
        return callers

    @cached_property
    def of_threads(self) -> frozenset[str]:
        """Functions and methods that a thread or a process is started with.

        A grad mode holds for its own thread (torch 2.13.0).
        """
        return frozenset(
            name
            for top in self._nodes
            if not _STARTERS.isdisjoint(self._indexer.of(top).names)
            for node in walk(top)
            if isinstance(node, cst.Call)
            if (dotted(node.func) or "").rpartition(".")[2] in _STARTERS
            for name in _started(node)
        )

    def is_thread(self, class_name: str) -> bool:
        """Whether the methods of a class at module level are for a thread or process to run."""
        cls = self._classes.get(class_name)
        bases = (base for facts in cls.lineage for base in facts.foreign_bases) if cls else ()
        return any(base.rpartition(".")[2] in _THREADS for base in bases)


def _name(node: cst.CSTNode) -> str:
    return node.name.value if isinstance(node, cst.FunctionDef | cst.ClassDef) else _TOP


def _started(call: cst.Call) -> frozenset[str]:
    """The last names of what a starter is given: `self.work` is `work`."""
    return frozenset((dotted(argument.value) or "").rpartition(".")[2] for argument in call.args)
