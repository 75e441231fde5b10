"""What a name, or an item of what a name holds, stands for once it has been changed in place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.elements import Index, with_stored
from gradlint.facts.index import walk
from gradlint.facts.joining import join
from gradlint.facts.values import Each, Value, is_collection
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def index_of(run: Interpreter, node: cst.Subscript) -> Index:
    """The index of a subscript; None when there are several."""
    indices = indices_of(run, node)
    return indices[0] if len(indices) == 1 else None


def indices_of(run: Interpreter, node: cst.Subscript) -> list[Index]:
    """Every index of a subscript, in order."""
    return [_index(run, element.slice) for element in node.slice]


def _index(run: Interpreter, node: cst.BaseSlice) -> Index:
    if isinstance(node, cst.Index):
        return run.evaluate(node.value)
    if isinstance(node, cst.Slice):
        parts = (node.lower, node.upper, node.step)
        bounds = [run.evaluate(part).constant if part is not None else None for part in parts]
        if all(bound is None or isinstance(bound, int) for bound in bounds):
            return slice(*bounds)
    return None


def store(run: Interpreter, target: cst.BaseExpression, changed: Value, *added: Value) -> None:
    """`target`, a list or dict, is changed; what is `added` to one that others see escapes."""
    if isinstance(target, cst.Subscript) and (whole := whole_of(run, target)) is not None:
        changed_whole = with_stored(whole, index_of(run, target), changed)
        store(run, target.value, changed_whole, *added)
        return
    text = dotted(target) or ""
    old = run.env.get(text)
    names = {text, *(name for name, value in run.env.items() if value is old)}
    if old is None or any("." in name or name in run.frame.parameters for name in names):
        run.escape(*added)
    if old is not None:
        run.env[text] = changed
        change_everywhere(run, old, changed)


def change_everywhere(run: Interpreter, old: Value, changed: Value) -> None:
    """What else the list, dict or tensor `old` is called, and what holds it, sees the change too.

    One value that is bound twice is one object: `b = a`, and an item of a list in a loop over it.
    """
    if is_collection(old) or old.memory is not None:
        for name, value in run.env.items():
            run.env[name] = _with_changed(value, old, changed)


def _with_changed(value: Value, old: Value, changed: Value) -> Value:
    if value is old:
        return changed
    if value.items:
        items = tuple(_with_changed(item, old, changed) for item in value.items)
        if any(now is not before for now, before in zip(items, value.items, strict=True)):
            return replace(value, items=items)
    if isinstance(value.ref, Each) and value.ref.element is old:
        return replace(value, ref=replace(value.ref, element=join(old, changed)))
    return value


def whole_of(run: Interpreter, target: cst.Subscript) -> Value | None:
    """The list or dict of which `target` is an item, if a name leads to it."""
    if not is_path(target.value):
        return None
    whole = run.evaluate(target.value)
    return whole if is_collection(whole) else None


def is_path(node: cst.CSTNode) -> bool:
    """Whether it may be evaluated a second time: names, attributes and items, and no call."""
    is_reached = isinstance(node, cst.Name | cst.Attribute | cst.Subscript)
    return is_reached and not any(isinstance(part, cst.Call) for part in walk(node))
