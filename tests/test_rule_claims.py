"""What fixtures say beyond gradients is run on torch too: exceptions, flags, and lost graphs.

Every function of a fixture that takes no arguments is called.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from expectations import read
from truth import load

ROOT = Path(__file__).parent / "fixtures"
RAISING = {
    "gl106_legacy_scalar_index": "(index of|applied to) a 0-dim tensor",
    "gl202_detached_backward": "does not require grad and does not have a grad_fn|has no attribute",
    "gl304_loss_without_grad": "does not require grad and does not have a grad_fn",
    "gl311_inference_tensor_in_graph": "Inference tensors cannot be saved|nference tensor outside",
    "gl314_requires_grad_on_nonleaf": "you can only change requires_grad flags of leaf variables",
}
"""Fixtures of mistakes that raise, and what torch says then."""

WITHOUT_EFFECT = ("gl307_module_requires_grad_attribute", "gl308_requires_grad_typo")
"""Fixtures of mistakes that leave every requires_grad as it was."""

Claim = Callable[[], Any]


def claims(name: str) -> dict[str, tuple[Claim, bool]]:
    """The functions of a fixture that can be called, and whether a finding is expected in each.

    What a function runs of the file's other functions and classes counts as its own.
    """
    path = ROOT / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    module, wrong = load(path), _with_findings(source, name[:5].upper())
    functions = {
        node.name: getattr(module, node.name)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    return {
        name: (function, name in wrong)
        for name, function in functions.items()
        if all(p.default is not p.empty for p in inspect.signature(function).parameters.values())
    }


def _with_findings(source: str, code: str) -> set[str]:
    """Functions and classes at the top in which a finding is expected, and those that use them."""
    marks = read(source)
    lines = {line for line, found in marks.expect + marks.missed if found == code}
    nodes = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    names = {n.name: {x.id for x in ast.walk(n) if isinstance(x, ast.Name)} for n in nodes}
    wrong = {n.name for n in nodes if lines & set(range(n.lineno, (n.end_lineno or 0) + 1))}
    while users := {n for n, used in names.items() if n not in wrong and used & wrong}:
        wrong |= users
    return wrong


def called(function: Claim) -> Any:
    """What a function of a fixture returns, with gradients on before and after."""
    torch.manual_seed(0)
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        return function()


def cases(*names: str) -> list[Any]:
    """Every claim of these fixtures, as parameters of a test."""
    return [
        pytest.param(name, *claim, id=f"{name[:5]}-{function}")
        for name in names
        for function, claim in claims(name).items()
    ]


@pytest.mark.parametrize(("name", "function", "is_wrong"), cases(*RAISING))
def test_raises_where_a_finding_is_expected(name: str, function: Claim, is_wrong: bool) -> None:
    if not is_wrong:
        called(function)
        return
    with pytest.raises((RuntimeError, AttributeError, IndexError), match=RAISING[name]):
        called(function)


@pytest.mark.parametrize(("name", "function", "is_wrong"), cases(*WITHOUT_EFFECT))
def test_changes_no_flag_where_a_finding_is_expected(
    name: str, function: Claim, is_wrong: bool
) -> None:
    result = called(function)
    if is_wrong:
        assert isinstance(result, nn.Module)
        assert all(parameter.requires_grad for parameter in result.parameters())


@pytest.mark.parametrize(
    ("name", "function", "is_wrong"), cases("gl207_parameter_detached_inplace")
)
def test_freezes_where_a_finding_is_expected(name: str, function: Claim, is_wrong: bool) -> None:
    result = called(function)
    if isinstance(result, nn.Module):
        flags = [parameter.requires_grad for parameter in result.parameters()]
        assert (False in flags) is is_wrong


def test_detaches_that_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A detach with a finding never has a graph to drop; one that is ok has one at some time."""
    path = ROOT / "gl204_redundant_detach.py"
    source = path.read_text(encoding="utf-8")
    seen: dict[int, set[bool]] = {}
    real = torch.Tensor.detach

    def detach(self: torch.Tensor) -> torch.Tensor:
        caller = inspect.stack()[1]
        if caller.filename == str(path):
            seen.setdefault(caller.lineno, set()).add(self.requires_grad)
        return real(self)

    monkeypatch.setattr(torch.Tensor, "detach", detach)
    for function, _ in claims("gl204_redundant_detach").values():
        called(function)
    marks = read(source)
    for line, _ in marks.expect + marks.missed:
        assert True not in seen.get(line, set()), f"line {line}: has a graph"
    for line, reason in marks.ok.items():
        assert line not in seen or True in seen[line] or "leaf" in reason, f"line {line}: no graph"
