"""Which source text can matter: a search for literals, before anything is decoded or parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from gradlint.sources.lexical import is_formatted, split_literals, unescaped

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

_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+[\w.]+|import[ \t][^\n;]*)", re.MULTILINE)


def can_matter(source: str, triggers: Iterable[str]) -> bool:
    """True when `source` mentions PyTorch and has one of the literal `triggers` in its code.

    Strings and comments are no code. A trigger that starts with a dot is a whole attribute:
    `.data` is neither in `x.dataset` nor in `from torch.utils.data import Dataset`.
    """
    wanted = tuple(triggers)
    if not any(word in source for word in PYTORCH) or not any(word in source for word in wanted):
        return False
    pattern = _pattern(wanted)
    return pattern.search(source) is not None and pattern.search(_code_of(source)) is not None


@cache
def _pattern(triggers: tuple[str, ...]) -> re.Pattern[str]:
    attributes = [re.escape(text) for text in triggers if text.startswith(".")]
    others = [re.escape(text) for text in triggers if not text.startswith(".")]
    if attributes:
        others.append(rf"(?:{'|'.join(attributes)})(?!\w)")
    return re.compile("|".join(others))


def _code_of(source: str) -> str:
    """The source without imports of whole modules, comments and strings that hold no code."""
    pieces, literals = split_literals(unescaped(source))
    pairs = zip(pieces, literals, strict=False)
    kept = [literal if is_formatted(piece) else "" for piece, literal in pairs]
    parts = [""] * (len(pieces) + len(kept))
    parts[::2], parts[1::2] = pieces, kept
    return _IMPORT.sub("", "".join(parts))
