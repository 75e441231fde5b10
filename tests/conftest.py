"""Leaves out the tests that run torch where it is not installed, as under `make test-lowest`."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

_USES_TORCH = re.compile(r"^(import|from) (torch|truth|agreement)\b", re.MULTILINE)

collect_ignore = [
    str(path)
    for path in Path(__file__).parent.rglob("test_*.py")
    if find_spec("torch") is None and _USES_TORCH.search(path.read_text(encoding="utf-8"))
]
