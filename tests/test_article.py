"""The facts that the project starts from: gradients, freezing, no_grad, `.data`; run on torch.

They are what a tutorial on gradients and detaching shows or claims. Where it is mistaken, the test
holds what torch does. Sources are texts, so that the linter reads the very lines that run.
"""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import truth
from linting import lint

EXAMPLE = Path(__file__).parents[1] / "examples" / "freezing.py"

NO_GRAPH = "element 0 of tensors does not require grad and does not have a grad_fn"
NOT_SCALAR = "grad can be implicitly created only for scalar outputs"
MODIFIED = "has been modified by an inplace operation"


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def run(source: str) -> dict[str, Any]:
    """The names that `source` leaves behind."""
    names: dict[str, Any] = {"__name__": "article"}
    exec(compile(source, "article.py", "exec"), names)
    return names


def codes(source: str) -> list[str]:
    return [finding.code for finding in lint(source)]


def with_gradient(model: nn.Module) -> set[str]:
    return {name for name, p in model.named_parameters() if p.grad is not None}


# --------------------------------------------------------------------- gradients and detach

LINEAR = """\
import torch

w = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
x = torch.tensor(2.0, requires_grad=True)
y = w * x + b
loss = (y - 5) ** 2
loss.backward()
"""


def test_gradients_of_a_linear_model() -> None:
    names = run(LINEAR)
    assert [names[name].grad.item() for name in "wxb"] == [8, 12, 4]
    assert codes(LINEAR) == []


def test_backward_of_a_detached_value_raises() -> None:
    z = run(LINEAR)["y"].detach()
    with pytest.raises(RuntimeError, match=NO_GRAPH):
        z.backward()


FEATURES = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
x = torch.randn(16, 4)
features = model[:2](x)
seen = features.detach()
mean, std = seen.mean(), seen.std()
loss = model[2](features).square().mean()
loss.backward()
"""


def test_statistics_of_detached_features_leave_training_alone() -> None:
    names = run(FEATURES)
    assert with_gradient(names["model"]) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    assert not names["mean"].requires_grad
    assert codes(FEATURES) == []


TWO_TASKS = """\
import torch
from torch import nn

shared, task1, task2 = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 2)
features = shared(torch.randn(16, 4))
task1_loss = task1(features)
task2_loss = task2(features.detach())
task1_loss.backward()
task2_loss.backward()
"""


def test_two_tasks_need_scalar_losses() -> None:
    with pytest.raises(RuntimeError, match=NOT_SCALAR):
        run(TWO_TASKS)


def test_a_detached_task_trains_its_own_head_only() -> None:
    scalar = TWO_TASKS.replace("backward()", "square().mean().backward()")
    names = run(scalar)
    assert all(with_gradient(names[name]) for name in ("shared", "task1", "task2"))
    assert codes(scalar) == []
    names = run(scalar.replace("task1_loss.square().mean().backward()\n", ""))
    assert not with_gradient(names["shared"])
    assert with_gradient(names["task2"]) == {"weight", "bias"}


# ------------------------------------------------------------------------------- freezing


def test_the_block_freezes_nothing_and_stops_everything() -> None:
    model = truth.load(EXAMPLE).ThreeLayers()
    flags = [p.requires_grad for p in model.parameters()]
    output = model(torch.randn(8, 10))
    assert flags == [p.requires_grad for p in model.parameters()] == [True] * 6
    assert not output.requires_grad
    assert output.grad_fn is None
    with pytest.raises(RuntimeError, match=NO_GRAPH):
        output.sum().backward()
    assert with_gradient(model) == set()


def test_the_training_step_of_the_example_raises() -> None:
    example = truth.load(EXAMPLE)
    with pytest.raises(RuntimeError, match=NO_GRAPH):
        example.train_one_step(example.ThreeLayers(), torch.randn(8, 10), torch.randn(8, 1))


def test_the_example_is_found() -> None:
    (finding,) = lint(EXAMPLE.read_text(encoding="utf-8"))
    assert finding.code == "GL301"
    assert finding.parameters == ("layer1", "layer2", "layer3")


def fixed_example() -> str:
    """The example as it was meant: two frozen layers, and no block."""
    source = EXAMPLE.read_text(encoding="utf-8")
    freeze = "self.layer1.requires_grad_(False)\n        self.layer2.requires_grad_(False)\n"
    source = source.replace("nn.Linear(30, 1)\n", f"nn.Linear(30, 1)\n        {freeze}")
    return source.replace("with torch.no_grad():\n            x = self", "x = self")


def test_requires_grad_freezes() -> None:
    names = run(fixed_example())
    model = names["ThreeLayers"]()
    before = [p.detach().clone() for p in model.parameters()]
    names["train_one_step"](model, torch.randn(8, 10), torch.randn(8, 1))
    assert with_gradient(model) == {"layer3.weight", "layer3.bias"}
    moved = [not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)]
    assert moved == [False] * 4 + [True] * 2


def test_the_freeze_as_it_was_meant_is_silent() -> None:
    assert codes(fixed_example()) == []


# ---------------------------------------------------------------- no_grad is not detach()

VIEW = """\
import torch
from torch import nn


class Flattened(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 6)

    def forward(self, x):
        x = self.layer(x)
        with torch.no_grad():
            x = x.view(-1)
        return x
"""


def test_a_view_made_under_no_grad_requires_grad_without_a_graph() -> None:
    model = run(VIEW)["Flattened"]()
    output = model(torch.randn(2, 4))
    assert output.requires_grad
    assert output.grad_fn is None
    output.sum().backward()
    assert with_gradient(model) == set(), "backward succeeds, and nothing trains"


def test_the_view_is_found() -> None:
    assert codes(VIEW) == ["GL301"]


def test_a_conversion_that_converts_nothing_keeps_the_graph_under_no_grad() -> None:
    x = torch.ones(3, requires_grad=True) * 2
    with torch.no_grad():
        assert x.float() is x.to(torch.float32) is x.contiguous() is x
    assert not x.float().detach().requires_grad


def test_in_place_under_no_grad_keeps_the_graph_and_loses_the_factor() -> None:
    w = torch.ones(3, requires_grad=True)
    h = w * 2
    with torch.no_grad():
        h *= 10  # gradlint: ignore[GL105] this is what it is about
    h.sum().backward()
    assert h.tolist() == [20.0] * 3
    assert w.grad is not None
    assert w.grad.tolist() == [2.0] * 3, "20 is right"


def test_parameters_and_enable_grad_inside_no_grad() -> None:
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        assert nn.Parameter(torch.ones(3)).requires_grad
        with torch.enable_grad():
            assert (w * 2).requires_grad
        assert not (w * 2).requires_grad


# ---------------------------------------------------------------------- updates, clipping


def update(clip: str) -> Tensor:
    """What one step of plain descent (learning rate 1) adds to a weight with a huge gradient."""
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0)
    before = w.detach().clone()
    if clip == "before backward":
        torch.nn.utils.clip_grad_norm_([w], 0.1)
    (w * 1000).sum().backward()
    if clip == "before step":
        torch.nn.utils.clip_grad_norm_([w], 0.1)
    optimizer.step()
    if clip == "after step":
        torch.nn.utils.clip_grad_norm_([w], 0.1)
    return w.detach() - before


def test_an_update_is_new_minus_old() -> None:
    assert update("never").tolist() == [-1000.0] * 3


def test_clipping_bounds_the_update_between_backward_and_step_only() -> None:
    assert update("before step").norm().item() == pytest.approx(0.1, rel=1e-3)
    assert torch.equal(update("after step"), update("never"))
    assert torch.equal(update("before backward"), update("never"))


# --------------------------------------------------------------------------------- memory


class Saved:
    """Stands for a tensor that the graph keeps for backward."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()  # an output that holds its own graph would never be freed


def saved_after(source: str) -> int:
    """How many tensors the graph of `source` still keeps when it has run."""
    kept: list[weakref.ref[Saved]] = []

    def pack(tensor: Tensor) -> Saved:
        saved = Saved(tensor)
        kept.append(weakref.ref(saved))
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved.tensor):
        names = run(f"import torch\nw = torch.ones(3, requires_grad=True)\n{source}")
    gc.collect()
    alive = sum(ref() is not None for ref in kept)
    names.clear()
    return alive


def test_detach_frees_less_than_no_grad() -> None:
    forward = "y = (w * 2).exp().tanh()\n"
    block = "with torch.no_grad():\n    y = (w * 2).exp().tanh()\n"
    assert saved_after(block) == 0
    assert saved_after(f"{forward}z = y.detach()\n") == saved_after(forward) > 0
    assert saved_after(f"{forward}y = y.detach()\n") == 0


def test_only_what_is_kept_leaks() -> None:
    loop = "history = []\nfor _ in range(5):\n    loss = w.exp().sum()\n"
    one_step = saved_after(loop)
    assert saved_after(f"{loop}    history.append(loss)\n") == 5 * one_step
    assert saved_after(f"{loop}    history.append(loss.detach())\n") == one_step
    assert saved_after(f"{loop}    history.append(loss.item())\n") == one_step


# ---------------------------------------------------------------------------------- .data


def test_data_bypasses_the_version_counter() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = x.exp()
    y.data.add_(1)  # gradlint: ignore[GL103, GL104] this is what it is about
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, x.detach().exp() + 1), "exp(x) is right"


def test_the_same_write_through_detach_raises() -> None:
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = x.exp()
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()
