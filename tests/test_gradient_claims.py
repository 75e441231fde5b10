"""Where a fixture says that a gradient or a copy is wrong it is, and elsewhere it is right.

Every function of the fixtures about gradients whose only argument without default is `w` is called
with a parameter, and its gradient compared with differences of the loss that it sends back.
"""

from __future__ import annotations

import ast
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
FIXTURES = ("gl104_data_corrupts_graph", "gl105_unrecorded_inplace")
_STEP = 1e-4

Claim = Callable[[nn.Parameter], Any]


def claims(name: str) -> list[Any]:
    """The functions of a fixture that take `w`, and whether their gradient must be wrong."""
    path = ROOT / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    module, marks, code = load(path), read(source), name[:5].upper()
    wrong = {line for line, found in marks.expect + marks.missed if found == code}
    functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    called = {f.name: _names(f) for f in functions}
    lines = {f.name: set(range(f.lineno, (f.end_lineno or 0) + 1)) for f in functions}
    faulty = {function for function in lines if lines[function] & wrong}
    return [
        pytest.param(
            getattr(module, f.name),
            bool(({f.name} | called[f.name]) & faulty),
            id=f"{name[:5]}-{f.name}",
        )
        for f in functions
        if _takes_only_w(f) and "backward" in called[f.name]
    ]


def _names(function: ast.FunctionDef) -> set[str]:
    nodes = list(ast.walk(function))
    return {n.id for n in nodes if isinstance(n, ast.Name)} | {
        n.attr for n in nodes if isinstance(n, ast.Attribute)
    }


def _takes_only_w(function: ast.FunctionDef) -> bool:
    args = function.args.args
    return [a.arg for a in args[: len(args) - len(function.args.defaults)]] == ["w"]


def test_there_are_claims() -> None:
    for name in FIXTURES:
        verdicts = {claim.values[1] for claim in claims(name)}
        assert verdicts == {True, False}


@pytest.mark.parametrize(
    ("function", "is_wrong"), [claim for name in FIXTURES for claim in claims(name)]
)
def test_gradient(function: Claim, is_wrong: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    losses: list[float] = []
    real: Callable[..., None] = torch.Tensor.backward

    def backward(self: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        losses.append(self.item())
        real(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "backward", backward)
    start = torch.tensor([0.6, 0.9, 1.2, 1.5], dtype=torch.float64)
    got = _run(function, start)
    losses.clear()
    for i in range(4):
        for sign in (1, -1):
            step = torch.zeros(4, dtype=torch.float64)
            step[i] = sign * _STEP
            _run(function, start + step)
    pairs = zip(losses[::2], losses[1::2], strict=True)
    differences = torch.tensor([(a - b) / (2 * _STEP) for a, b in pairs], dtype=torch.float64)
    assert torch.allclose(got, differences, atol=1e-3) is not is_wrong, (got, differences)


def _run(function: Claim, at: torch.Tensor) -> torch.Tensor:
    """The gradient that the function leaves in `w`."""
    torch.manual_seed(0)
    w = nn.Parameter(at.clone())
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        function(w)
    assert w.grad is not None
    return w.grad


# --------------------------------------------------------------------- memory that is shared


@pytest.fixture
def shared() -> Any:
    torch.manual_seed(0)
    return load(ROOT / "gl205_detach_shares_storage.py")


X = torch.ones(2, 3)


def test_snapshots_with_a_finding_equal_what_they_are_compared_to(shared: Any) -> None:
    assert shared.compared(nn.Linear(3, 1), X) == 0
    assert shared.Trainer().step(X) == 0
    assert shared.changed_by_hand(nn.Linear(3, 1)) == 0
    shared.found_equal(nn.Linear(3, 1), X)
    path = shared.trajectory(torch.ones(2))
    assert all(torch.equal(entry, path[-1]) for entry in path)


def test_snapshots_without_a_finding_differ(shared: Any) -> None:
    assert all(moved.norm() > 0 for moved in shared.snapshot(nn.Linear(3, 1), X))
    assert shared.replaced(nn.Linear(3, 1)) > 0


def test_states_with_a_finding_restore_nothing(shared: Any) -> None:
    net = nn.Linear(3, 1)
    start = net.weight.detach().clone()
    shared.perturbed(net)
    assert torch.equal(net.weight, start + 1)
    shared.restored(net)
    assert torch.equal(net.weight, start + 1)


def test_writes_with_a_finding_change_the_original(shared: Any) -> None:
    for function in (shared.residual, shared.viewed, shared.scaled):
        x = torch.tensor([3.0, 4.0])
        function(x)
        assert not torch.equal(x, torch.tensor([3.0, 4.0]))
    scores, _ = shared.Masked()(X)
    assert (scores[:, 0] == -1e9).all()


def test_writes_without_a_finding_do_not(shared: Any) -> None:
    x = torch.tensor([3.0, 4.0])
    shared.copied(x)
    logits = torch.ones(2, 3)
    shared.of_a_result(logits)
    assert torch.equal(x, torch.tensor([3.0, 4.0]))
    assert torch.equal(logits, torch.ones(2, 3))
