"""Calls of the methods of lists and dicts: what they return, and what they leave behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.aliases import note_collected
from gradlint.facts.arguments import Arguments
from gradlint.facts.elements import listed, merged_parameters, some_of, without
from gradlint.facts.joining import join_all
from gradlint.facts.mappings import (
    dict_of,
    keys_of,
    pairs_of,
    updated,
    updated_by,
    value_at,
    values_of,
    with_key,
)
from gradlint.facts.sequences import any_list, appended, extended, held_in, inserted, item_at
from gradlint.facts.stores import store
from gradlint.facts.values import (
    NONE,
    OTHER,
    Value,
    constant,
    flat,
    is_collection,
    listed_value,
    must_be_dict,
    own_graph,
)
from gradlint.model import NOT_CONSTANT, Kind

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class Change:
    """What a method returns, what its receiver is afterwards, and what it now holds besides."""

    returned: Value
    after: Value
    added: tuple[Value, ...] = ()


Method = Callable[["Interpreter", Value, Arguments], "Value | Change"]


def collection_method(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value | None:
    """The value of `receiver.name(...)` where this is a method of lists or dicts, else None."""
    if name in ADDS:
        return _add(run, node, receiver, name, arguments)
    if not is_collection(receiver):
        return _read(receiver, name) if name in _READS else None
    is_dict = must_be_dict(receiver) or name not in _OF_LISTS
    method = (_OF_DICTS if is_dict else _OF_LISTS).get(name)
    if method is None:
        return None
    result = method(run, receiver, arguments)
    if isinstance(result, Value):
        return result
    assert isinstance(node.func, cst.Attribute)
    store(run, node.func.value, result.after, receiver, *result.added)
    return result.returned


def _read(receiver: Value, name: str) -> Value:
    """Something out of what is used like a dict or list, though nothing is known of it."""
    if name == "keys":
        return any_list([OTHER])
    live, cut = flat(receiver)
    return Value(Kind.UNKNOWN, live, cut, graph=own_graph(receiver))


# ------------------------------------------------------------------------------------- adding


def _add(
    run: Interpreter, node: cst.Call, receiver: Value, name: str, arguments: Arguments
) -> Value:
    """losses.append(loss): the list now holds it; a list that is not a local name keeps it."""
    if not arguments.all:
        return OTHER
    added = arguments.all[-1]
    note_collected(run, added)
    if run.unsure > run.loops:
        added = some_of(added)  # which of the parameters are collected is decided as it runs
    merged = merged_parameters([receiver, added]) if run.unsure <= run.loops else None
    after = merged or ADDS[name](run, receiver, added, arguments)
    assert isinstance(node.func, cst.Attribute)
    store(run, node.func.value, after, added)
    return OTHER


Adding = Callable[["Interpreter", Value, Value, Arguments], Value]

ADDS: dict[str, Adding] = {
    "append": lambda run, me, added, given: appended(me, added),
    "add": lambda run, me, added, given: appended(me, added),
    "appendleft": lambda run, me, added, given: inserted(me, 0, added),
    "insert": lambda run, me, added, given: inserted(me, _first(given), added),
    "extend": lambda run, me, added, given: extended(me, listed(run, added)),
}
"""Methods of lists and of what is used like one, whatever else is known of it."""


def _first(given: Arguments) -> object:
    return given.positional[0].constant if given.positional else NOT_CONSTANT


# -------------------------------------------------------------------------------------- lists


def _pop(run: Interpreter, me: Value, given: Arguments) -> Change:
    at = given.positional[0] if given.positional else constant(-1)
    return Change(_item(me, at.constant), without(me, at))


def _pop_left(run: Interpreter, me: Value, given: Arguments) -> Change:
    return Change(_item(me, 0), without(me, constant(0)))


def _item(me: Value, at: object) -> Value:
    return item_at(tuple(held_in(me)), at if me.items is not None else NOT_CONSTANT)


def _remove(run: Interpreter, me: Value, given: Arguments) -> Change:
    """remove(x), discard(x): one of the elements is gone, nobody knows which."""
    return Change(NONE, any_list(held_in(me)))


def _clear(run: Interpreter, me: Value, given: Arguments) -> Change:
    return Change(NONE, dict_of({}) if must_be_dict(me) else listed_value(()))


def _reverse(run: Interpreter, me: Value, given: Arguments) -> Change:
    return Change(NONE, me if me.items is None else listed_value(me.items[::-1]))


def _sort(run: Interpreter, me: Value, given: Arguments) -> Change:
    return Change(NONE, any_list(held_in(me)))


def _update_set(run: Interpreter, me: Value, given: Arguments) -> Change:
    after = me
    for more in given.positional:
        after = extended(after, listed(run, more))
    return Change(NONE, after, tuple(given.all))


def _copy(run: Interpreter, me: Value, given: Arguments) -> Value:
    return me


_OF_LISTS: dict[str, Method] = {
    "pop": _pop,
    "popleft": _pop_left,
    "remove": _remove,
    "discard": _remove,
    "clear": _clear,
    "reverse": _reverse,
    "sort": _sort,
    "update": _update_set,
    "copy": _copy,
}


# -------------------------------------------------------------------------------------- dicts


def _get(run: Interpreter, me: Value, given: Arguments) -> Value:
    return value_at(me, _first(given), given.get(1, "default"))


def _pop_key(run: Interpreter, me: Value, given: Arguments) -> Change:
    key = given.positional[0] if given.positional else OTHER
    return Change(value_at(me, key.constant, given.get(1, "default")), without(me, key))


def _pop_pair(run: Interpreter, me: Value, given: Arguments) -> Change:
    pairs = pairs_of(me)
    last = keys_of(me)
    key = last.items[-1] if last.items else OTHER
    return Change(join_all(held_in(pairs)[-1:]) or OTHER, without(me, key))


def _set_default(run: Interpreter, me: Value, given: Arguments) -> Change:
    default = given.get(1, "default") or NONE
    found = value_at(me, _first(given), default)
    return Change(found, with_key(me, _first(given), found), (default,))


def _update(run: Interpreter, me: Value, given: Arguments) -> Change:
    after = me
    for other in given.positional:
        after = updated(after, other)
    return Change(NONE, updated_by(after, given.keywords), tuple(given.all))


_OF_DICTS: dict[str, Method] = {
    "items": lambda run, me, given: pairs_of(me),
    "values": lambda run, me, given: values_of(me),
    "keys": lambda run, me, given: keys_of(me),
    "get": _get,
    "pop": _pop_key,
    "popitem": _pop_pair,
    "setdefault": _set_default,
    "update": _update,
    "clear": _clear,
    "copy": _copy,
}

CHANGES = frozenset(
    "pop popleft popitem remove discard clear reverse sort update setdefault".split()
)
"""Methods that change what they are called on, apart from those that add one element."""

_READS = frozenset({"items", "values", "keys", "get", "pop", "setdefault", "copy"})
"""Methods by which something leaves what is used like a dict or list."""
