"""Which grad mode a decorator, a with item or a call sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.state import Mode
from gradlint.knowledge import modes as known
from gradlint.model import NOT_CONSTANT, Place

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def decorated_mode(run: Interpreter, node: cst.FunctionDef) -> Mode | None:
    """The mode in which a function runs: that of its decorators, else the one it is called in."""
    for decorator in node.decorators:
        decided, mode = mode_of(run, decorator.decorator, decorator)
        if decided is not None:
            return mode
    return run.mode


def mode_of(
    run: Interpreter, node: cst.BaseExpression, block: cst.CSTNode
) -> tuple[bool | None, Mode | None]:
    """Whether `node` is a mode that switches off (True), on (False), or neither (None).

    `torch.no_grad` without a call works as a decorator and is read the same.
    """
    call = node if isinstance(node, cst.Call) else None
    name = run.declarations.resolve(call.func if call is not None else node)
    if name is None:
        return None, None
    off: bool | None = None
    if name in known.ON:
        off = False
    elif name in known.OFF:
        value = _first_argument(run, call)
        off = value is not False
        if call is not None and call.args and not isinstance(value, bool):
            return False, None  # decided while it runs: gradients may be on
    elif name == known.SWITCH and call is not None:
        value = _first_argument(run, call)
        off = None if not isinstance(value, bool) else not value
        if off is None:
            return False, None  # decided while it runs: gradients may be on
    if off is not None and name != known.INFERENCE and _is_inference(run.mode):
        return True, run.mode  # inference_mode holds, whatever else is entered inside it
    return off, Mode(known.CAUSES[name], Place(block, block)) if off else None


def _is_inference(mode: Mode | None) -> bool:
    return mode is not None and mode.cause == "inference_mode"


def _first_argument(run: Interpreter, call: cst.Call | None) -> object:
    if call is None or not call.args:
        return NOT_CONSTANT
    return run.evaluate(call.args[0].value).constant
