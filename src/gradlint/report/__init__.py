"""How findings are shown: every module here is a format, unless its name begins with `_`.

A format has `render(result, look)`, which yields lines without their ends.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradlint.engine import Result


@dataclass(frozen=True, slots=True)
class Look:
    """Whether to use colour, and whether to end with a summary where the format has one."""

    colour: bool = False
    summary: bool = True


Render = Callable[["Result", Look], Iterator[str]]


def formats() -> list[str]:
    """The names of all formats. A module may be called `x_report` to let the name `x` alone."""
    return sorted(map(_format, _modules()))


def renderer(name: str) -> Render:
    """The function that renders the format `name`, one of `formats()`."""
    module = next(module for module in _modules() if _format(module) == name)
    render: Render = importlib.import_module(f"{__name__}.{module}").render
    return render


def _modules() -> list[str]:
    return [info.name for info in pkgutil.iter_modules(__path__) if info.name[0] != "_"]


def _format(module: str) -> str:
    return module.removesuffix("_report").replace("_", "-")
