"""What a name, or an item of what a name holds, stands for once it has been changed in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.elements import Index, with_stored
from gradlint.facts.index import walk
from gradlint.facts.values import Value, is_collection
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
    text = dotted(target)
    if text is None or text not in run.env or "." in text or text in run.frame.parameters:
        run.escape(*added)
    if text is not None and text in run.env:
        run.env[text] = changed


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
