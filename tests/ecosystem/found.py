"""What gradlint finds in the sources of one package."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ecosystem import Stopped
from gradlint.findings import split_lines
from gradlint.model import brief
from gradlint.sources.errors import NotAnalysed
from gradlint.sources.text import decode

_CHECK = ("check", "--isolated", "--no-cache", "--quiet", "--output-format", "json")
_TEXT_LENGTH = 60
_ERRORS_SHOWN = 10


@dataclass(frozen=True, slots=True, order=True)
class Found:
    """A finding, as far as it is kept. `path` is relative to the package, `line` counts from 1.

    `text` is the flagged source on one line, short and without backticks. `message` is what
    gradlint says; it is shown, not kept.
    """

    path: str
    line: int
    code: str
    symbol: str
    text: str
    message: str = field(default="", compare=False)


def lint(folder: Path) -> list[Found]:
    """All findings below `folder`, in gradlint's order.

    gradlint runs in the folder's parent, where nothing can be imported by accident.
    Raises Stopped when gradlint itself fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", "gradlint", *_CHECK, folder.name],
        cwd=folder.parent,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode not in (0, 1):
        errors = done.stderr.strip().split("\n")
        raise Stopped("\n".join([f"gradlint failed on {folder.name}:", *errors[:_ERRORS_SHOWN]]))
    return [found(finding, folder) for finding in json.loads(done.stdout)["findings"]]


def found(finding: Mapping[str, Any], folder: Path) -> Found:
    """One finding of the JSON report of a run in the folder's parent."""
    return Found(
        path=finding["path"].removeprefix(f"{folder.name}/"),
        line=finding["line"],
        code=finding["code"],
        symbol=finding["symbol"],
        text=_flagged(finding, _lines(folder.parent / finding["path"])),
        message=finding["message"],
    )


@lru_cache(maxsize=1)
def _lines(path: Path) -> Sequence[str]:
    try:
        return split_lines(decode(path.read_bytes()))
    except NotAnalysed:
        return ()


def _flagged(finding: Mapping[str, Any], lines: Sequence[str]) -> str:
    text = list(lines[finding["line"] - 1 : finding["end_line"]])
    if text:
        text[-1] = text[-1][: finding["end_column"] - 1]
        text[0] = text[0][finding["column"] - 1 :]
    return brief(" ".join(" ".join(text).split()), _TEXT_LENGTH).replace("`", "'")
