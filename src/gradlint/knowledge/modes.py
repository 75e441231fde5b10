"""What switches gradient recording off and on.

Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

OFF = frozenset({"torch.no_grad", "torch.inference_mode"})
"""As a context, a decorator, and (inference_mode) with `mode=False` to mean the opposite."""

INFERENCE = "torch.inference_mode"
"""The one that holds on inside itself, whatever else is entered: only its False ends it."""

ON = frozenset({"torch.enable_grad"})

SWITCH = "torch.set_grad_enabled"
"""A context whose argument decides, and a call that takes effect at once, until it is undone."""

CAUSES = {
    "torch.no_grad": "no_grad",
    "torch.inference_mode": "inference_mode",
    SWITCH: "set_grad_enabled",
}
"""The canonical name of a mode, and how messages call it."""
