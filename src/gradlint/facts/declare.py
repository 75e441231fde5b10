"""What a file declares: its imports, functions and classes, before anything is interpreted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from gradlint.facts.classes import ClassFacts
from gradlint.syntax.names import Imports, dotted


class Declarations:
    """Imports of the whole file; functions and classes that stand at module level."""

    def __init__(self, bodies: Iterable[Iterable[cst.BaseStatement]]) -> None:
        self.imports = Imports()
        self.functions: dict[str, cst.FunctionDef] = {}
        self.classes: dict[str, ClassFacts] = {}
        self.bodies = [list(body) for body in bodies]
        for body in self.bodies:
            self._read(body)
        for facts in self.classes.values():
            self._link(facts)

    def resolve(self, node: cst.CSTNode) -> str | None:
        """The canonical name of a dotted expression whose head is imported."""
        return self.imports.resolve(dotted(node))

    def declare_class(self, node: cst.ClassDef) -> ClassFacts:
        """The facts of a class, which may stand inside a function."""
        facts = self._class(node)
        self._link(facts)
        return facts

    def _read(self, body: Iterable[cst.BaseStatement]) -> None:
        for node in body:
            if isinstance(node, cst.FunctionDef):
                self.functions[node.name.value] = node
            elif isinstance(node, cst.ClassDef):
                self.classes[node.name.value] = self._class(node)
            elif isinstance(node, cst.If | cst.Try):
                for block in _blocks(node):
                    self._read(block)
            self._read_imports(node)

    def _class(self, node: cst.ClassDef) -> ClassFacts:
        methods = {
            member.name.value: member
            for member in _statements(node.body)
            if isinstance(member, cst.FunctionDef)
        }
        for member in _statements(node.body):
            for name, other in _renamings(member):
                if other in methods:
                    methods.setdefault(name, methods[other])
        return ClassFacts(node.name.value, node, methods)

    def _link(self, facts: ClassFacts) -> None:
        for base in facts.node.bases:
            name = dotted(base.value)
            if name in self.classes and self.classes[name] is not facts:
                facts.bases.append(self.classes[name])
            else:
                facts.foreign_bases.append(self.imports.resolve(name) or name or "")

    def _read_imports(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                if isinstance(small, cst.Import | cst.ImportFrom):
                    self.imports.add(small)
        else:
            for block in _blocks(node):
                for inner in block:
                    self._read_imports(inner)


def _statements(body: cst.BaseSuite) -> Iterator[cst.BaseStatement]:
    if isinstance(body, cst.IndentedBlock):
        yield from body.body


def _renamings(member: cst.BaseStatement) -> Iterator[tuple[str, str]]:
    """`forward = run` in the body of a class: (new name, method)."""
    for small in member.body if isinstance(member, cst.SimpleStatementLine) else ():
        if isinstance(small, cst.Assign) and isinstance(small.value, cst.Name):
            for target in small.targets:
                if isinstance(target.target, cst.Name):
                    yield target.target.value, small.value.value


def _blocks(node: cst.CSTNode) -> Iterator[Iterable[cst.BaseStatement]]:
    """The blocks of a compound statement, with those of its other branches."""
    body = getattr(node, "body", None)
    if isinstance(body, cst.IndentedBlock):
        yield body.body
    for name in ("orelse", "finalbody"):
        if (other := getattr(node, name, None)) is not None:
            yield from _blocks(other)
    for handler in getattr(node, "handlers", ()):
        yield from _blocks(handler)
    for case in getattr(node, "cases", ()):
        yield from _blocks(case)
