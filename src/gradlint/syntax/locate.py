"""Lines and columns of syntax nodes, found by writing the code again and watching where we are.

This gives what libcst's PositionProvider gives, for the few nodes that a finding needs, at a
fraction of its cost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import accumulate

import libcst
from libcst._nodes.internal import CodegenState

from gradlint.model import Span

_LINE_END = re.compile(r"\r\n?|\n")
_NOT_WANTED = nullcontext()


class Locator(CodegenState):
    """Writes code and notes at which tokens the wanted nodes begin and end."""

    def __init__(self, module: libcst.Module, nodes: Iterable[object]) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.wanted = {id(node) for node in nodes}
        self.starts: dict[int, int] = {}
        self.marks: dict[int, tuple[int, int]] = {}

    def before_codegen(self, node: libcst.CSTNode) -> None:
        """Note where the node begins with all its white space, for want of anything better."""
        if id(node) in self.wanted:
            self.starts[id(node)] = len(self.tokens)

    def after_codegen(self, node: libcst.CSTNode) -> None:
        """Note where it ends, unless the node has said so more exactly."""
        key = id(node)
        if key in self.wanted:
            self.marks.setdefault(key, (self.starts.pop(key), len(self.tokens)))

    def record_syntactic_position(  # type: ignore[override]  # any context manager will do
        self,
        node: libcst.CSTNode,
        *,
        start_node: libcst.CSTNode | None = None,
        end_node: libcst.CSTNode | None = None,
    ) -> AbstractContextManager[None]:
        """Note the node without its white space; it may begin or end where another one does."""
        if id(node) not in self.wanted:
            return _NOT_WANTED
        return self._record(node, start_node, end_node)

    @contextmanager
    def _record(
        self,
        node: libcst.CSTNode,
        start_node: libcst.CSTNode | None,
        end_node: libcst.CSTNode | None,
    ) -> Iterator[None]:
        self.wanted.update(id(other) for other in (start_node, end_node) if other is not None)
        start = len(self.tokens)
        yield
        end = len(self.tokens)
        if start_node is not None:
            start = self.marks[id(start_node)][0]
        if end_node is not None:
            end = self.marks[id(end_node)][1]
        self.marks[id(node)] = (start, end)

    def pop_trailing_newline(self) -> None:
        """Keep it: a place behind the last token must stay one."""

    def text(self, node: libcst.CSTNode) -> str:
        """Return what was written for a wanted node."""
        start, end = self.marks[id(node)]
        return "".join(self.tokens[start:end])

    def spans(self, nodes: Iterable[object], first_line: int) -> dict[int, Span]:
        """Map the id of each node that was written to its span."""
        code = "".join(self.tokens)
        offsets = [0, *accumulate(map(len, self.tokens))]
        lines = [0, *(match.end() for match in _LINE_END.finditer(code))]

        def place(token: int) -> tuple[int, int]:
            line = bisect_right(lines, offsets[token])
            return line - 1 + first_line, offsets[token] - lines[line - 1] + 1

        found = (id(node) for node in nodes if id(node) in self.marks)
        return {key: Span(*place(self.marks[key][0]), *place(self.marks[key][1])) for key in found}
