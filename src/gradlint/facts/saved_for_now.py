"""Temporary: replaced by the measured tables of knowledge/saved.py."""

from __future__ import annotations

_RESULT = {"sigmoid", "exp", "tanh", "softmax", "relu", "sqrt"}


def saves_result(name: str) -> bool:
    """Whether backward of the operation needs its result."""
    return name.rpartition(".")[2] in _RESULT


def saved_inputs(name: str, position: int, count: int) -> bool:
    """Whether backward of the operation needs this input."""
    return name.rpartition(".")[2] in {
        "mul",
        "matmul",
        "div",
        "pow",
        "kl_div",
        "mse_loss",
        "MSELoss",
        "KLDivLoss",
    }


def must_leave_gradient_right(name: str, fill: float) -> bool:
    """Whether filling its result with this leaves the gradient right."""
    return name.rpartition(".")[2] in {"sigmoid", "relu", "exp"} and fill == 0
