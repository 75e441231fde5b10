"""Lists and tuples: what indexing, slicing and changing them gives."""

from __future__ import annotations

from collections.abc import Iterable

from gradlint.facts.joining import join, join_all
from gradlint.facts.values import UNKNOWN, Each, Keys, Value, constant, listed_value, must_be_dict
from gradlint.model import Graph, Kind

_MOST_TIMES = 8  # repetitions of a list whose elements are told apart


def part_of(value: Value) -> Value:
    """Something in a value of which only the graph is known."""
    return Value(live=value.live, cut=value.cut, graph=value.graph)


def elements_in(value: Value) -> tuple[Value, ...] | None:
    """What iterating gives, one by one; None when that is not known."""
    if isinstance(value.ref, Keys):
        return tuple(map(constant, value.ref.names))
    return value.items


def any_list(values: Iterable[Value]) -> Value:
    """A list of which only this is known: what is in it is one of these."""
    return Value(Kind.OTHER, ref=Each(join_all(values) or UNKNOWN), graph=Graph.NO)


def held_in(value: Value) -> list[Value]:
    """What may be in a list or dict, or in something of which only the graph is known."""
    if value.items is not None:
        return list(value.items)
    if isinstance(value.ref, Each):
        return [value.ref.element]
    return [part_of(value)] if value.live or value.cut else []


# ------------------------------------------------------------------------------------ reading


def item_at(items: tuple[Value, ...], at: object) -> Value:
    """The item at this index; any of them when the index is not known."""
    if isinstance(at, int) and -len(items) <= at < len(items):
        return items[at]
    return join_all(items) or UNKNOWN


def sliced(items: tuple[Value, ...], part: slice | None) -> Value:
    """The items between these bounds; some of them when a bound is not known."""
    if part is None or part.step == 0:
        return any_list(items)
    return listed_value(items[part])


def parted(items: tuple[Value, ...], before: int, after: int) -> list[Value] | None:
    """What the targets of `a, *rest, b = items` get, one `before` the star and one `after` it."""
    if len(items) < before + after:
        return None
    end = len(items) - after
    return [*items[:before], listed_value(items[before:end]), *items[end:]]


# ----------------------------------------------------------------------------------- changing


def extended(value: Value, more: Value) -> Value:
    """A list after the elements of another have been added to it."""
    added = elements_in(more)
    if value.items is not None and added is not None:
        return listed_value((*value.items, *added))
    return any_list([*held_in(value), *(added if added is not None else held_in(more))])


def repeated(value: Value, times: object) -> Value:
    """`value * times`."""
    if value.items is None or not isinstance(times, int) or not 0 < times <= _MOST_TIMES:
        return any_list(held_in(value))
    return listed_value(value.items * times)


def inserted(value: Value, at: object, element: Value) -> Value:
    """A list after an element has been put at this index; None: nobody knows where."""
    if value.items is None or not isinstance(at, int):
        return _with_any(value, element)
    items = list(value.items)
    items.insert(at, element)
    return listed_value(items)


def appended(value: Value, element: Value) -> Value:
    """A list after an element has been put at its end."""
    return inserted(value, len(value.items or ()), element)


def _with_any(value: Value, element: Value) -> Value:
    """A list or dict in which the element now is, nobody knows where."""
    changed = join_all([*held_in(value), element]) or UNKNOWN
    return Value(Kind.OTHER, ref=Each(changed, must_be_dict(value)), graph=Graph.NO)


def with_item(value: Value, at: object, element: Value) -> Value:
    """A list after `value[at] = element`; at a place that is not known, each item may be it."""
    items = value.items
    if items is None:
        return _with_any(value, element)
    if isinstance(at, int) and -len(items) <= at < len(items):
        at %= len(items)
        return listed_value((*items[:at], element, *items[at + 1 :]))
    return listed_value([join(item, element) for item in items])


def without_item(value: Value, at: object) -> Value:
    """A list after `del value[at]`."""
    if value.items is None:
        return value
    if isinstance(at, int) and -len(value.items) <= at < len(value.items):
        items = list(value.items)
        del items[at]
        return listed_value(items)
    return any_list(value.items)
