"""Room for recursion: a thread whose stack does not overflow on deep code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: Bytes. The deepest code that `shape.check` accepts needs less than 16 MiB; unused pages cost
#: nothing.
STACK_SIZE = 64 << 20
#: Python frames, for walks over the deepest tree that is accepted.
RECURSION_LIMIT = 20_000

_starting = threading.Lock()


class _Outcome(Generic[Result]):
    value: Result
    error: BaseException | None = None


def on_big_stack(
    function: Callable[Parameters, Result],
    *args: Parameters.args,
    **kwargs: Parameters.kwargs,
) -> Result:
    """Return `function(*args, **kwargs)`, called in a thread with a big stack.

    Raises what the function raises. The recursion limit of the whole process is raised.
    """
    outcome: _Outcome[Result] = _Outcome()

    def run() -> None:
        try:
            outcome.value = function(*args, **kwargs)
        except BaseException as error:
            outcome.error = error

    thread = _start(run)
    thread.join()
    if outcome.error is not None:
        try:
            raise outcome.error
        finally:
            del outcome  # the traceback refers to this frame: no cycle that keeps the tree alive
    return outcome.value


def _start(run: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=run, name="gradlint", daemon=True)
    with _starting:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
        usual = threading.stack_size(STACK_SIZE)
        try:
            thread.start()
        finally:
            threading.stack_size(usual)
    return thread
