"""Calls of which only the arguments are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.values import NOTHING, Value
from gradlint.model import Kind

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def unknown_call(run: Interpreter, node: cst.CSTNode, callee: Value, arguments: Arguments) -> Value:
    """A call of which only the arguments are known.

    A call whose result is thrown away works by side effect, so its arguments may be trained on.
    """
    if run.is_statement(node):
        run.escape(*arguments.all)
    used = run.source(callee.thing) if callee.thing is not None else NOTHING
    return run.operation(node, [callee, *arguments.all], Kind.UNKNOWN, used)
