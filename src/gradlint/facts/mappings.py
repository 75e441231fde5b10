"""Dicts: what looking up a key, iterating and changing them gives."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace

from gradlint.facts.joining import join, join_all
from gradlint.facts.sequences import any_list, held_in
from gradlint.facts.values import (
    OTHER,
    UNKNOWN,
    Constant,
    Each,
    Keys,
    Value,
    constant,
    listed_value,
)
from gradlint.model import NOT_CONSTANT, Graph, Kind

MOST_KEYS = 64  # of a dict whose values are told apart


def known_items(value: Value) -> dict[object, Value] | None:
    """The values of a dict by key; None when the keys are not known."""
    if isinstance(value.ref, Keys) and value.items is not None:
        return dict(zip(value.ref.names, value.items, strict=True))
    return None


def dict_of(items: dict[object, Value]) -> Value:
    """A dict with these keys and values."""
    if len(items) > MOST_KEYS:
        return any_dict(list(items.values()))
    return listed_value(tuple(items.values()), Keys(tuple(items)))


def any_dict(values: list[Value]) -> Value:
    """A dict of which only this is known: its values are among these."""
    element = join_all(values) or UNKNOWN
    return Value(Kind.OTHER, ref=Each(element, keyed=True), graph=Graph.NO)


def may_be_key(key: object) -> bool:
    """Whether it is the constant that a key is known to be."""
    return key is not NOT_CONSTANT and isinstance(key, Hashable)


# ------------------------------------------------------------------------------------ reading


def value_at(value: Value, key: object, default: Value | None = None) -> Value:
    """The value under a key, or the default where the key is missing."""
    items = known_items(value)
    if items is not None and may_be_key(key):
        if key in items:
            return items[key]
        if default is not None:  # which a function that is given the dict may have set
            return replace(default, ref=None) if isinstance(default.ref, Constant) else default
    found = join_all(held_in(value))
    if default is None or found is None:
        return found or default or UNKNOWN
    return join(found, default)


def keys_of(value: Value) -> Value:
    """The result of keys()."""
    items = known_items(value)
    if items is None:
        return Value(Kind.OTHER, ref=Each(OTHER), graph=Graph.NO)
    return listed_value([constant(key) for key in items])


def values_of(value: Value) -> Value:
    """The result of values()."""
    items = known_items(value)
    return listed_value(tuple(items.values())) if items is not None else any_list(held_in(value))


def pairs_of(value: Value) -> Value:
    """The result of items()."""
    items = known_items(value)
    if items is None:
        pair = listed_value((OTHER, join_all(held_in(value)) or UNKNOWN))
        return Value(Kind.OTHER, ref=Each(pair), graph=Graph.NO)
    return listed_value([listed_value((constant(key), item)) for key, item in items.items()])


# ----------------------------------------------------------------------------------- changing


def with_key(value: Value, key: object, element: Value) -> Value:
    """A dict after `value[key] = element`."""
    items = known_items(value)
    if items is None or not may_be_key(key):
        return any_dict([*held_in(value), element])
    return dict_of({**items, key: element})


def without_key(value: Value, key: object) -> Value:
    """A dict after `del value[key]`."""
    items = known_items(value)
    if items is None:
        return value
    if not may_be_key(key):
        return any_dict(list(items.values()))
    return dict_of({name: item for name, item in items.items() if name != key})


def updated_by(value: Value, keywords: Mapping[str, Value]) -> Value:
    """A dict after update(a=..., **others); what `**` brings goes by that name."""
    named: dict[object, Value] = {k: item for k, item in keywords.items() if k != "**"}
    result = updated(value, dict_of(named)) if named else value
    return updated(result, keywords["**"]) if "**" in keywords else result


def updated(value: Value, other: Value) -> Value:
    """A dict after update(other), and `{**value, **other}`."""
    mine, theirs = known_items(value), known_items(other)
    if mine is None or theirs is None:
        return any_dict([*held_in(value), *held_in(other)])
    return dict_of({**mine, **theirs})
