"""Which names a local function has for itself; all others that it uses are of those around it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.facts.binding import parameters_of
from gradlint.facts.index import walk

_TARGETS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor)


def own_names(node: cst.FunctionDef | cst.Lambda) -> frozenset[str]:
    """Parameters, and what the body assigns, unless it says `nonlocal`."""
    own = {parameter.name.value for parameter in parameters_of(node)}
    outer: set[str] = set()
    for part in walk(node.body):
        if isinstance(part, cst.Nonlocal | cst.Global):
            outer |= {item.name.value for item in part.names}
        else:
            own |= set(_bound_by(part))
    return frozenset(own - outer)


def _bound_by(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, _TARGETS):
        yield from _names_in(node.target)
    elif isinstance(node, cst.AsName):
        yield from _names_in(node.name)
    elif isinstance(node, cst.FunctionDef | cst.ClassDef):
        yield node.name.value


def _names_in(target: cst.CSTNode) -> Iterator[str]:
    """The names that an assignment to `target` binds: not those that it changes."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _names_in(element.value)
