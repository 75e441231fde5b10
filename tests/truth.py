"""What torch itself says about the gradients of a fixture.

`# no_gradient: GLOBS` stands on the line of a class or of a function at the top of a file. A class
is built without arguments, called without arguments, and the sum of its floating outputs is sent
backward. A function is called and has done its own backward; it returns the module, or a dict of
modules. Parameters that are frozen (requires_grad False) take no part.
"""

from __future__ import annotations

import ast
import importlib.util
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from expectations import MarkError, read


@dataclass(frozen=True)
class Claim:
    """One mark: the class or function `name` leaves what `globs` match without gradient."""

    name: str
    is_class: bool
    globs: tuple[str, ...]


def claims(source: str) -> list[Claim]:
    """The claims of a file. Raises MarkError for a mark that stands on no class or function."""
    marks = read(source).no_gradient
    found = [
        Claim(node.name, isinstance(node, ast.ClassDef), marks.pop(node.lineno))
        for node in (ast.parse(source).body if marks else [])
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.lineno in marks
    ]
    if marks:
        raise MarkError(f"line {min(marks)}: no_gradient holds for a class or function at the top")
    return found


def load(path: Path) -> ModuleType:
    """The file as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"fixture_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def untruths(claim: Claim, thing: Callable[[], Any]) -> list[str]:
    """Where `claim` and torch differ; `thing` is the class or function that it is about."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradients = _after_backward(thing()) if claim.is_class else _of_function(thing())
    said = {name for name in gradients if any(fnmatchcase(name, glob) for glob in claim.globs)}
    none = {name for name, has_gradient in gradients.items() if not has_gradient}
    idle = [g for g in claim.globs if not any(fnmatchcase(name, g) for name in gradients)]
    return [
        *(f"{claim.name}: the glob {glob} matches no trainable parameter" for glob in idle),
        *(f"{claim.name}: {name} gets a gradient" for name in sorted(said - none)),
        *(f"{claim.name}: {name} gets no gradient" for name in sorted(none - said)),
    ]


def floating(output: Any) -> Iterator[torch.Tensor]:
    """The floating tensors in a tensor, or in (nested) tuples, lists and dicts of tensors."""
    if isinstance(output, torch.Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, dict):
        yield from floating(list(output.values()))
    elif isinstance(output, tuple | list):
        for item in output:
            yield from floating(item)


def backward(outputs: Iterable[torch.Tensor]) -> None:
    """Sends the sum of those outputs backward that a graph or a flag makes part of autograd."""
    parts = [output.sum() for output in outputs if output.requires_grad]
    if parts:
        torch.stack(parts).sum().backward()


def _after_backward(model: nn.Module) -> dict[str, bool]:
    backward(floating(model()))
    return _gradients(model)


def _of_function(result: nn.Module | dict[str, nn.Module]) -> dict[str, bool]:
    modules = result if isinstance(result, dict) else {"": result}
    return {
        f"{key}.{name}" if key else name: has_gradient
        for key, module in modules.items()
        for name, has_gradient in _gradients(module).items()
    }


def _gradients(model: nn.Module) -> dict[str, bool]:
    return {n: p.grad is not None for n, p in model.named_parameters() if p.requires_grad}
