"""Parse source into a tree, and say where in the source its nodes stand."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import libcst
from libcst import CSTNode, native  # type: ignore[attr-defined]  # compiled, without stubs

from gradlint.model import Span
from gradlint.sources.errors import NotAnalysed
from gradlint.syntax.diagnosis import diagnose
from gradlint.syntax.locate import Locator
from gradlint.syntax.stack import on_big_stack

__all__ = ["NotAnalysed", "Tree", "on_big_stack", "parse"]

Statement = libcst.SimpleStatementLine | libcst.BaseCompoundStatement


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """The syntax of one source, which begins at line `first_line` of its file."""

    module: libcst.Module
    first_line: int

    @property
    def body(self) -> Sequence[Statement]:
        """The top-level statements."""
        return self.module.body

    def text(self, node: libcst.CSTNode) -> str:
        """Return the source of `node` without parentheses, comments and white space around it.

        The cost is that of writing the node anew: for expressions, not for whole modules. A block
        comes out as it would look at the left margin.
        """
        locator = Locator(self.module, [node])
        node._codegen(locator)
        return locator.text(node)

    def locate(self, nodes: Collection[libcst.CSTNode]) -> dict[int, Span]:
        """Map `id(node)` to its span, for all nodes that are part of this tree.

        Costs one walk over the whole tree, however many nodes there are: ask once.
        """
        if not nodes:
            return {}
        locator = Locator(self.module, nodes)
        self.module._codegen(locator)
        return locator.spans(nodes, self.first_line)


def parse(source: str, first_line: int = 1) -> Tree:
    """Return the tree of `source`, which stands at line `first_line` of its file.

    Raises NotAnalysed with the place of the error, lines counted in the file. The source must have
    passed `shape.check`; deep ones also need `on_big_stack`, here and to walk the tree.
    """
    source = source.removeprefix("\ufeff")
    try:
        with _no_collection(), _no_validation():
            module = native.parse_module(source)
    except libcst.ParserSyntaxError as error:
        raise diagnose(source, (error.raw_line, error.raw_column + 1), first_line) from None
    except UnicodeEncodeError as error:
        raise _surrogate(source, error.start, first_line) from None
    return Tree(module, first_line)


@contextmanager
def _no_collection() -> Iterator[None]:
    # A tree is many objects and no garbage: to collect while it grows takes as long as to parse.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _no_validation() -> Iterator[None]:
    # Every node checks itself when it is made. The parser makes no invalid ones, and the checks
    # are a tenth of its time.
    check = CSTNode.__post_init__
    CSTNode.__post_init__ = _accept  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        CSTNode.__post_init__ = check  # type: ignore[method-assign]


def _accept(node: CSTNode) -> None:
    """Take a node as it is."""


def _surrogate(source: str, offset: int, first_line: int) -> NotAnalysed:
    before = source[:offset]
    return NotAnalysed(
        "the source holds half of a surrogate pair, which is no character",
        "write it as an escape, as in \\ud800",
        first_line + before.count("\n"),
        offset - before.rfind("\n"),
    )
