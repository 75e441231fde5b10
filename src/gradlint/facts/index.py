"""Which names a piece of code mentions, and which attributes it uses of them: one lean walk."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import libcst as cst

from gradlint.syntax.names import dotted

Uses = dict[str, set[str]]


@dataclasses.dataclass(slots=True)
class Index:
    """What is mentioned: `names` are all identifiers, `attributes` those behind a dot, `used` the
    attributes of each `x` or `self.x`, `loaded` those of each dotted head that are not merely
    assigned to. `stored`, `called` and `deleted` are dotted expressions of which that is done.
    `narrowed` are the names whose type is asked for: their uses differ by branch.
    """

    names: set[str] = dataclasses.field(default_factory=set)
    attributes: set[str] = dataclasses.field(default_factory=set)
    used: Uses = dataclasses.field(default_factory=dict)
    loaded: Uses = dataclasses.field(default_factory=dict)
    stored: set[str] = dataclasses.field(default_factory=set)
    called: set[str] = dataclasses.field(default_factory=set)
    deleted: set[str] = dataclasses.field(default_factory=set)
    narrowed: set[str] = dataclasses.field(default_factory=set)

    def add(self, other: Index) -> None:
        """Take over what another piece mentions."""
        self.names |= other.names
        self.attributes |= other.attributes
        self.stored |= other.stored
        self.called |= other.called
        self.deleted |= other.deleted
        self.narrowed |= other.narrowed
        for mine, theirs in ((self.used, other.used), (self.loaded, other.loaded)):
            for head, attributes in theirs.items():
                mine[head] = mine.get(head, set()) | attributes

    def attributes_of(self, name: str) -> frozenset[str]:
        """The attributes that are used of a name, wherever it stands."""
        return frozenset() if name in self.narrowed else frozenset(self.used.get(name, ()))


class Indexer:
    """Indexes functions, classes and statements, each once."""

    def __init__(self) -> None:
        self._known: dict[int, Index] = {}

    def of(self, node: cst.CSTNode) -> Index:
        """The index of everything below a node, its own name and decorators included."""
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = Index()
            self._fill(found, node)
        return found

    def _fill(self, index: Index, top: cst.CSTNode) -> None:
        todo: list[Any] = [top]
        names = index.names
        while todo:
            node = todo.pop()
            kind = type(node)
            if kind is cst.Name:
                names.add(node.value)
            elif kind in _SILENT:
                continue
            elif kind is cst.Attribute:
                _attribute(index, node, todo, is_load=True)
            elif kind is cst.Call:
                _call(index, node, todo)
            elif kind is cst.Del:
                index.deleted.add(dotted(node.target) or "")
                todo.append(node.target)
            elif kind is cst.AssignTarget:
                _targets(index, node.target, todo)
            elif kind is cst.FunctionDef and node is not top:
                index.add(self.of(node))
            else:
                getter = _getters.get(kind)
                todo.extend(getter(node) if getter is not None else children(node))


def _call(index: Index, node: cst.Call, todo: list[Any]) -> None:
    """A call: isinstance(x, T) narrows x, and engine.backward(loss) says nothing of engine."""
    func = node.func
    index.called.add(dotted(func) or "")
    if type(func) is cst.Name and func.value == "getattr" and len(node.args) > 1:
        _getattr(index, node.args[0].value, node.args[1].value)
    if type(func) is cst.Name and func.value == "isinstance" and node.args:
        index.narrowed.add(dotted(node.args[0].value) or "")
    if type(func) is cst.Attribute and func.attr.value == "backward" and node.args:
        index.names.add("backward")
        index.attributes.add("backward")
        todo.extend((func.value, node.args))
    else:
        todo.extend(children(node))


def _getattr(index: Index, owner: cst.CSTNode, name: cst.CSTNode) -> None:
    """getattr(x, "name") reads the attribute."""
    if type(name) is cst.SimpleString and isinstance(text := name.evaluated_value, str):
        index.loaded.setdefault(dotted(owner) or "", set()).add(text)


def _targets(index: Index, target: cst.CSTNode, todo: list[Any]) -> None:
    """What is assigned to: an attribute is used there, and not loaded."""
    if type(target) is cst.Attribute:
        index.stored.add(dotted(target) or "")
        _attribute(index, target, todo, is_load=False)
    elif type(target) is cst.Tuple or type(target) is cst.List:
        for element in target.elements:
            _targets(index, element.value, todo)
    else:
        todo.append(target)


def _attribute(index: Index, node: cst.Attribute, todo: list[Any], is_load: bool) -> None:
    name, inner = node.attr.value, node.value
    index.names.add(name)
    index.attributes.add(name)
    todo.append(inner)
    if not is_load and name == "requires_grad":  # is set on modules too, by mistake
        return
    if type(inner) is cst.Name:
        index.used.setdefault(inner.value, set()).add(name)
    elif type(inner) is cst.Attribute and type(inner.value) is cst.Name:
        index.used.setdefault(f"{inner.value.value}.{inner.attr.value}", set()).add(name)
    if is_load:
        index.loaded.setdefault(dotted(inner) or "", set()).add(name)


# ------------------------------------------------------------------------------ walking nodes

_SKIPPED = frozenset(
    """
    leading_lines lines_after_decorators header footer lpar rpar comma semicolon equal dot newline
    comment indent lbracket rbracket lbrace rbrace encoding default_indent default_newline
    has_trailing_newline first_colon second_colon colon operator
    """.split()
)
_SILENT = frozenset({str, type(None), cst.MaybeSentinel, cst.Integer, cst.Float, cst.SimpleString})
_LEAVES = (cst.Name, cst.Integer, cst.Float, cst.SimpleString)
_getters: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def children(node: Any) -> tuple[Any, ...]:
    """What stands below a node, without punctuation and white space; of a list, its items."""
    kind = type(node)
    getter = _getters.get(kind)
    if getter is None:
        getter = _getters[kind] = _getter(kind)
    return getter(node)


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and everything below it, in no particular order."""
    todo: list[Any] = [node]
    while todo:
        now = todo.pop()
        if type(now) not in (tuple, list):
            yield now
        todo.extend(children(now))


def _getter(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    if kind in (tuple, list):
        return tuple
    if kind in _LEAVES or not (isinstance(kind, type) and issubclass(kind, cst.CSTNode)):
        return lambda node: ()
    names = [
        field.name
        for field in dataclasses.fields(kind)
        if "whitespace" not in field.name and field.name not in _SKIPPED
    ]
    if not names:
        return lambda node: ()
    if len(names) == 1:
        single = attrgetter(names[0])
        return lambda node: (single(node),)
    return attrgetter(*names)
