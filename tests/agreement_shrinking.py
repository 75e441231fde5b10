"""Takes away from a program what has no part in a difference."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

Edit = Callable[[], None]


def shrunk(source: str, differs: Callable[[str], bool]) -> str:
    """The source without the statements and operations that it can lose and still differ."""
    shorter = _once(source, differs)
    while shorter != source:
        source, shorter = shorter, _once(shorter, differs)
    return source


def _once(source: str, differs: Callable[[str], bool]) -> str:
    """One pass over all edits, the last node first."""
    number = len(_edits(ast.parse(source)))
    while number > 0:
        number = min(number, len(_edits(ast.parse(source)))) - 1
        if number < 0:
            break
        tree = ast.parse(source)
        _edits(tree)[number]()
        candidate = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        if len(candidate) < len(source) and _still(candidate, differs):
            source = candidate
    return source


def _still(source: str, differs: Callable[[str], bool]) -> bool:
    try:
        return differs(source)
    except Exception:  # no longer a module that runs
        return False


def _edits(tree: ast.Module) -> list[Edit]:
    """All ways to make the program a little smaller."""
    return [edit for node in ast.walk(tree) for edit in _edits_at(node)]


def _edits_at(node: ast.AST) -> Iterator[Edit]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "func", "bases", "decorator_list"):
            continue  # what these lose changes what the program means
        if isinstance(value, ast.expr):
            yield from (_setting(node, name, part) for part in _operands(value))
        for at, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, ast.stmt):
                yield from _statement_edits(value, at, item)
            elif isinstance(item, ast.expr):
                yield from (_replacing(value, at, [part]) for part in _operands(item))


def _statement_edits(body: list[ast.AST], at: int, statement: ast.stmt) -> Iterator[Edit]:
    """Without the statement, or with the block that it heads in its place."""
    yield _replacing(body, at, [])
    if isinstance(statement, ast.With | ast.For):
        yield _replacing(body, at, list(statement.body))


def _operands(node: ast.expr) -> list[ast.expr]:
    """What an operation is applied to: the receiver of a method, arguments, both sides."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return [node.value]
    if isinstance(node, ast.Call) and not _makes(node):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        named = [part for part in receiver if not isinstance(part, ast.Name) or not _is_self(part)]
        return [*named, *(part for part in node.args if not isinstance(part, ast.Starred))]
    return []


def _makes(node: ast.Call) -> bool:
    """Whether it makes a layer or a parameter: of these nothing can be taken away."""
    return ast.unparse(node.func).startswith(("nn.", "torch.rand"))


def _is_self(node: ast.Name) -> bool:
    return node.id in ("self", "torch", "F", "nn", "Model")


def _setting(parent: ast.AST, name: str, part: ast.expr) -> Edit:
    return lambda: setattr(parent, name, part)


def _replacing(items: list[ast.AST], at: int, new: list[ast.AST]) -> Edit:
    def replace() -> None:
        items[at : at + 1] = new

    return replace
