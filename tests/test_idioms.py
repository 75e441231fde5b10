"""The correct programs in fixtures/idioms run on torch, and train what their optimizers hold."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

IDIOMS = sorted((Path(__file__).parent / "fixtures" / "idioms").glob("*.py"))


@pytest.mark.parametrize("path", IDIOMS, ids=lambda path: path.stem)
def test_runs_and_trains(path: Path) -> None:
    held: dict[int, torch.Tensor] = {}
    reached: set[int] = set()

    def note(optimizer: torch.optim.Optimizer, *_: object) -> None:
        for group in optimizer.param_groups:
            held.update({id(p): p for p in group["params"] if p.requires_grad})
            reached.update(id(p) for p in group["params"] if p.grad is not None)

    handle = register_optimizer_step_pre_hook(note)
    try:
        with warnings.catch_warnings(), torch.enable_grad():  # a script may leave them off
            warnings.simplefilter("ignore")
            runpy.run_path(str(path), run_name="__main__")
    finally:
        handle.remove()
    assert held.keys() <= reached, "a step found no gradient in a trainable parameter that it holds"
