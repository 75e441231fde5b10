"""Named tuples and dataclasses of this file: the fields of one, and their values."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.classes import ClassFacts
from gradlint.facts.literals import literal_of
from gradlint.facts.sequences import part_of
from gradlint.facts.values import UNKNOWN, Fields, Value, constant, flat, listed_value, own_graph
from gradlint.syntax.names import dotted

_NAMED_TUPLES = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple"})
_PLAIN_BASES = frozenset({"object", "Generic", "ModelOutput", "BaseOutput"})
"""Bases of dataclasses, by their last names, that leave fields what they are.

Source: transformers.utils.ModelOutput and diffusers.utils.BaseOutput, which add access by key.
"""


_SPECIAL = frozenset({"__init__", "__new__", "__post_init__", "__getattr__", "__setattr__"})


def record(cls: ClassFacts, arguments: Arguments) -> Value | None:
    """What calling a class that only holds data gives; None for any other class."""
    fields = _fields(cls) if _only_holds_data(cls) else {}
    given = arguments.keywords
    if not fields or len(arguments.positional) > len(fields) or not given.keys() <= fields.keys():
        return None
    values = fields | dict(zip(fields, arguments.positional, strict=False)) | given
    return listed_value(tuple(values.values()), Fields(cls, tuple(values)))


def field_of(value: Value, name: str) -> Value:
    """An attribute of a record: one of its fields, or something that is made of them."""
    if isinstance(value.ref, Fields) and value.items is not None and name in value.ref.names:
        return value.items[value.ref.names.index(name)]
    live, cut = flat(value)
    return part_of(Value(live=live, cut=cut, graph=own_graph(value)))


def with_field(value: Value, name: str, changed: Value) -> Value:
    """A record after `value.name = changed`."""
    assert isinstance(value.ref, Fields) and value.items is not None
    items = dict(zip(value.ref.names, value.items, strict=True))
    return listed_value(tuple((items | {name: changed})[n] for n in items), value.ref)


def _only_holds_data(cls: ClassFacts) -> bool:
    """A named tuple or dataclass that makes its fields as all do."""
    foreign = {name for facts in cls.lineage for name in facts.foreign_bases}
    methods = set(cls.method_names())
    if foreign & _NAMED_TUPLES:
        return len(cls.lineage) == 1 and not methods
    if methods & _SPECIAL:
        return False
    is_plain = all(name.rpartition(".")[2] in _PLAIN_BASES for name in foreign)
    return is_plain and all(map(_is_dataclass, cls.lineage))


def _is_dataclass(cls: ClassFacts) -> bool:
    names = []
    for decorator in cls.node.decorators:
        node = decorator.decorator
        names.append(dotted(node.func if isinstance(node, cst.Call) else node) or "")
    return any(name.rpartition(".")[2] == "dataclass" for name in names)


def _fields(cls: ClassFacts) -> dict[str, Value]:
    """The fields in order, with what each is when it is not given."""
    return {name: value for facts in reversed(cls.lineage) for name, value in _own_fields(facts)}


def _own_fields(cls: ClassFacts) -> Iterator[tuple[str, Value]]:
    body = cls.node.body
    for line in body.body if isinstance(body, cst.IndentedBlock) else ():
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                literal = literal_of(small.value) if small.value is not None else None
                yield small.target.value, constant(literal.value) if literal else UNKNOWN
