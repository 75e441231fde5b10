"""Which source text can matter: a search for literals, before anything is decoded or parsed."""

from __future__ import annotations

from collections.abc import Iterable

#: Any use of PyTorch has one of these: its own name, that of a trainer that wraps it, or, in
#: modules that get their tensors and models from elsewhere, what only its objects have.
PYTORCH = (
    "torch",
    "lightning",
    "fastai",
    "nn.Module",
    "nn.Parameter",
    "requires_grad",
    "no_grad",
    ".parameters()",
    ".backward(",
)

_PYTORCH_BYTES = tuple(word.encode() for word in PYTORCH)
_OTHER_ENCODINGS = (b"\xff\xfe", b"\xfe\xff")


def can_matter(source: str, triggers: Iterable[str]) -> bool:
    """True when `source` mentions PyTorch and holds at least one of the literal `triggers`."""
    return any(word in source for word in PYTORCH) and any(word in source for word in triggers)


def bytes_can_matter(data: bytes, triggers: Iterable[str]) -> bool:
    """Tell the same of a file that is not decoded yet.

    True also where bytes don't show what the text says, as in UTF-16: so that decoding says why.
    """
    if data.startswith(_OTHER_ENCODINGS) or b"\0" in data:
        return True
    return any(word in data for word in _PYTORCH_BYTES) and any(
        word.encode() in data for word in triggers
    )
