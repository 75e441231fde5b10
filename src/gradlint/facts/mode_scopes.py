"""What is around a use of a grad mode: its function, who runs that, and what restores the mode."""

from __future__ import annotations

from dataclasses import dataclass, replace

import libcst as cst

from gradlint.facts.binding import parameters_of
from gradlint.facts.callers import Callers
from gradlint.facts.declare import Declarations
from gradlint.facts.index import Index, Indexer
from gradlint.model import ModeScope
from gradlint.syntax.names import dotted

_BACKWARD = frozenset({"backward", "manual_backward"})
_SAVES = "is_grad_enabled"
_CONSTRUCTOR = "__init__"
_ENTERS = frozenset({"__enter__", "__aenter__"})
_PLAIN = frozenset({"staticmethod", "classmethod", "property", "override", "abstractmethod"})
_FIXTURE = "fixture"


@dataclass(frozen=True, slots=True)
class Where:
    """What is around a statement.

    `top` is the function or class at module level in which it stands, `hidden` the names that
    parameters take away from imports. `leaks` says that whoever iterates over the function gets
    the grad mode in which it yields. The rest is as in ModeUse.
    """

    scope: ModeScope
    top: str = ""
    hidden: frozenset[str] = frozenset()
    leaks: bool = False
    is_restored: bool = False
    in_finally: bool = False
    branches: tuple[tuple[int, int], ...] = ()

    def in_branch(self, node: cst.CSTNode, branch: int) -> Where:
        """Inside one of the branches of an `if` or `match`."""
        return replace(self, branches=(*self.branches, (id(node), branch)))

    def in_block(self, is_mode: bool) -> Where:
        """Inside a `with`, which puts back the mode that it has found when it sets one."""
        return replace(self, is_restored=self.is_restored or is_mode)

    def in_final_block(self) -> Where:
        """Inside a `finally`."""
        return replace(self, in_finally=True)


class Scopes:
    """The scopes of one file, from its module level down."""

    def __init__(self, declarations: Declarations, indexer: Indexer) -> None:
        indexes = [indexer.of(node) for body in declarations.bodies for node in body]
        self._indexer = indexer
        self._callers = Callers(declarations, indexer)
        self._trains = any(map(_calls_backward, indexes))
        self._may_train = self._trains or any(map(_names_optimizer, indexes))

    def module(self) -> Where:
        """At module level."""
        return Where(ModeScope("", "", False, self._trains, self._trains, not self._may_train))

    def in_class(self, node: cst.ClassDef, outer: Where) -> Where:
        """In the body of a class."""
        name = node.name.value
        scope = replace(outer.scope, symbol=name, name=name, is_function=False)
        return Where(scope, outer.top or name, outer.hidden)

    def in_function(self, node: cst.FunctionDef, outer: Where, is_decorated: bool) -> Where:
        """In the body of a function, decorated with a mode or not.

        A mode that decorates a generator is set only while that runs, and is put back wherever it
        yields (torch 2.13.0). Of other decorators, some are made to hand the mode on.
        """
        index = self._indexer.of(node)
        decorators = {_last_name(decorator.decorator) for decorator in node.decorators}
        is_half = node.name.value in _ENTERS or _FIXTURE in decorators
        return Where(
            scope=self._scope(node, index, outer),
            top=outer.top or node.name.value,
            hidden=outer.hidden | {parameter.name.value for parameter in parameters_of(node)},
            leaks=decorators <= _PLAIN,
            is_restored=is_decorated or is_half or _SAVES in index.names,
        )

    def _scope(self, node: cst.FunctionDef, index: Index, outer: Where) -> ModeScope:
        """A function inside a function goes by the symbol of the outer one, as in events."""
        name, around = node.name.value, outer.scope
        symbol = f"{around.symbol}.{name}" if around.symbol else name
        top = outer.top or name
        in_script = not self._may_train and top in self._callers.of_script
        in_thread = name in self._callers.of_threads or self._callers.is_thread(outer.top)
        return ModeScope(
            symbol=around.symbol if around.is_function else symbol,
            name=name,
            is_function=True,
            trains=_calls_backward(index),
            file_trains=self._trains,
            runs_alone=in_script or (in_thread and name != _CONSTRUCTOR),
        )


def _calls_backward(index: Index) -> bool:
    return not _BACKWARD.isdisjoint(index.attributes)


def _names_optimizer(index: Index) -> bool:
    return any(name == "optim" or "optimizer" in name.lower() for name in index.names)


def _last_name(decorator: cst.BaseExpression) -> str:
    """`b` for `@a.b`, `@b` and calls of them."""
    called = decorator.func if isinstance(decorator, cst.Call) else decorator
    return (dotted(called) or "?").rpartition(".")[2]
