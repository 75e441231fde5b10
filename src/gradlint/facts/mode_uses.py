"""Where a file names a grad mode, and in which role: a walk over syntax, dead code included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst

from gradlint.facts.declare import Declarations
from gradlint.facts.index import Indexer, children
from gradlint.facts.literals import literal_of
from gradlint.facts.mode_scopes import Scopes, Where
from gradlint.knowledge import modes as known
from gradlint.model import ModeRole, ModeUse, Place
from gradlint.syntax.names import dotted

_MODES = known.OFF | known.ON | {known.SWITCH}
_WORDS = frozenset(name.rpartition(".")[2] for name in _MODES)


def mode_uses(declarations: Declarations, indexer: Indexer) -> tuple[ModeUse, ...]:
    """Every use, those of one scope in order. A file that names no mode is not walked."""
    indexes = [indexer.of(node) for body in declarations.bodies for node in body]
    if all(_WORDS.isdisjoint(index.names) for index in indexes):
        return ()
    resolve = declarations.imports.resolve
    aliases = {name for index in indexes for name in index.names if resolve(name) in _MODES}
    walked = _Walk(declarations, indexer, _WORDS | aliases)
    for body in declarations.bodies:
        walked.block(body, walked.scopes.module())
    return tuple(walked.found)


class _Walk:
    """Goes through statements in order, and into functions and classes that name a mode."""

    def __init__(self, declarations: Declarations, indexer: Indexer, words: frozenset[str]) -> None:
        self.found: list[ModeUse] = []
        self.scopes = Scopes(declarations, indexer)
        self._resolve = declarations.resolve
        self._indexer = indexer
        self._words = words

    # -------------------------------------------------------------------------- statements

    def block(self, body: Sequence[Any], where: Where) -> None:
        """The statements of a block, in order."""
        for i, node in enumerate(body):
            below = body[i + 1] if i + 1 < len(body) else None
            self._statement(node, where, below)
            while isinstance(node, cst.If) and _leaves(node.body):
                where, node = where.in_branch(node, 1), node.orelse

    def _statement(self, node: cst.CSTNode, where: Where, below: Any) -> None:
        if isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            for small in node.body:
                self._small(small, where, below if small is node.body[-1] else None)
        elif isinstance(node, cst.FunctionDef | cst.ClassDef):
            if not self._words.isdisjoint(self._indexer.of(node).names):
                self._definition(node, where)
        elif isinstance(node, cst.With):
            self._with(node, where)
        else:
            self._compound(node, where)

    def _small(self, node: cst.BaseSmallStatement, where: Where, below: Any) -> None:
        call = node.value if isinstance(node, cst.Expr) else None
        if isinstance(call, cst.Call) and self._mode(call.func, where) is not None:
            target = _defined_right_below(below, where)
            self._add(call, node, ModeRole.STATEMENT, where, target=target)
        elif not isinstance(node, cst.Import | cst.ImportFrom):
            self._values(node, node, where)

    def _compound(self, node: cst.CSTNode, where: Where) -> None:
        """A statement with blocks, or a part of one. An `if` or `match` runs one of its blocks."""
        is_choice, branch = isinstance(node, cst.If | cst.Match), 0
        if isinstance(node, cst.Finally):
            where = where.in_final_block()
        for part in _parts(node):
            if isinstance(part, cst.BaseExpression | cst.MatchPattern):
                self._values(part, part, where)
                continue
            inside = where.in_branch(node, branch) if is_choice else where
            branch += 1
            if isinstance(part, cst.BaseSuite):
                self._suite(part, inside)
            else:
                self._compound(part, inside)

    def _suite(self, node: cst.BaseSuite, where: Where) -> None:
        self.block(node.body if isinstance(node, cst.IndentedBlock) else (node,), where)

    def _with(self, node: cst.With, where: Where) -> None:
        entered = [item for item in node.items if self._enters(item, where)]
        for item in node.items:
            expression = item.item
            if item in entered:
                leaks = where.leaks and item is entered[-1]
                yields = tuple(self._yields(node.body, node, where)) if leaks else ()
                self._add(expression, expression, ModeRole.BLOCK, where, yields=yields)
            elif self._mode(expression, where) is not None:
                self._add(expression, expression, ModeRole.UNCALLED_BLOCK, where)
            else:
                self._values(expression, expression, where)
        self._suite(node.body, where.in_block(bool(entered)))

    def _enters(self, item: cst.WithItem, where: Where) -> bool:
        call = item.item
        return isinstance(call, cst.Call) and self._mode(call.func, where) is not None

    def _yields(self, node: Any, statement: cst.CSTNode, where: Where) -> Iterator[Place]:
        """Where a block yields, but for blocks of other modes and functions inside it."""
        if isinstance(node, cst.FunctionDef | cst.ClassDef | cst.Lambda):
            return
        if isinstance(node, cst.With) and any(self._enters(item, where) for item in node.items):
            return
        if isinstance(node, cst.BaseSmallStatement):
            statement = node
        if isinstance(node, cst.Yield):
            yield Place(node, statement)
        for child in children(node):
            yield from self._yields(child, statement, where)

    def _definition(self, node: cst.FunctionDef | cst.ClassDef, where: Where) -> None:
        is_decorated = False
        for decorator in node.decorators:
            is_decorated |= self._decorator(decorator.decorator, node, where)
        if isinstance(node, cst.FunctionDef):
            self._values(node.params, node, where)
            self._suite(node.body, self.scopes.in_function(node, where, is_decorated))
        else:
            for base in (*node.bases, *node.keywords):
                self._values(base, node, where)
            self._suite(node.body, self.scopes.in_class(node, where))

    def _decorator(
        self, node: cst.BaseExpression, on: cst.FunctionDef | cst.ClassDef, where: Where
    ) -> bool:
        """Whether a decorator is a mode, with or without a call."""
        if self._mode(_called(node), where) is None:
            self._values(node, on, where)
            return False
        role = ModeRole.FUNCTION if isinstance(on, cst.FunctionDef) else ModeRole.CLASS
        self._add(node, on, role, where, target=on.name.value)
        return True

    # ------------------------------------------------------------------------------- modes

    def _mode(self, node: cst.CSTNode, where: Where) -> str | None:
        """The canonical name of a mode, for an expression that names one."""
        last = node.attr if isinstance(node, cst.Attribute) else node
        if not isinstance(last, cst.Name) or last.value not in self._words:
            return None
        head = (dotted(node) or "").partition(".")[0]
        name = self._resolve(node) if head not in where.hidden else None
        return name if name in _MODES else None

    def _values(self, node: cst.CSTNode, statement: cst.CSTNode, where: Where) -> None:
        """Uses anywhere in an expression, or in a statement without a block."""
        todo: list[Any] = [node]
        while todo:
            inner = todo.pop()
            if self._mode(inner, where) is not None:
                self._add(inner, statement, ModeRole.VALUE, where)
            elif isinstance(inner, cst.Attribute | cst.Arg):
                todo.append(inner.value)
            elif isinstance(inner, cst.Param):
                todo += (inner.annotation, inner.default)
            else:
                todo.extend(children(inner))

    def _add(
        self,
        node: cst.BaseExpression,
        statement: cst.CSTNode,
        role: ModeRole,
        where: Where,
        target: str = "",
        yields: tuple[Place, ...] = (),
    ) -> None:
        name = self._mode(_called(node), where)
        assert name is not None
        use = ModeUse(
            place=Place(node, statement),
            scope=where.scope,
            name=name,
            text=dotted(_called(node)) or "",
            role=role,
            records=_records(name, node),
            target=target,
            is_restored=where.is_restored,
            in_finally=where.in_finally,
            yields=yields,
            branches=where.branches,
        )
        self.found.append(use)


def _called(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.func if isinstance(node, cst.Call) else node


def _records(name: str, node: cst.BaseExpression) -> bool | None:
    """Whether gradients are recorded under a mode that is given these arguments."""
    given = node.args if isinstance(node, cst.Call) else ()
    if name in known.ON:
        return True
    if not given and name in known.OFF:
        return False
    literal = literal_of(given[0].value) if given else None
    if literal is None:
        return None
    return bool(literal.value) is (name == known.SWITCH)


def _parts(node: cst.CSTNode) -> Iterator[Any]:
    """Expressions, blocks and further parts of a compound statement."""
    for child in children(node):
        if isinstance(child, tuple | list):
            yield from child
        elif isinstance(child, cst.CSTNode):
            yield child


def _leaves(body: cst.BaseSuite) -> bool:
    """Whether a block ends by leaving the one around it."""
    last: Any = body.body[-1]
    small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else last
    return isinstance(small, cst.Return | cst.Raise | cst.Continue | cst.Break)


def _defined_right_below(below: Any, where: Where) -> str:
    """The function below a statement, which may be meant as a decorator of it."""
    if not isinstance(below, cst.FunctionDef):
        return ""
    in_class = bool(where.scope.symbol) and not where.scope.is_function
    is_apart = any(line.comment is None for line in below.leading_lines)
    return below.name.value if in_class or not is_apart else ""
