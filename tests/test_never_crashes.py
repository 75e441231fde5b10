"""The linter gets through every installed Python file, and its findings lie inside the file."""

from __future__ import annotations

import ast
import random
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from linting import lint

SITE = Path(sysconfig.get_path("purelib"))
STDLIB = Path(sysconfig.get_path("stdlib"))
SAMPLE = 150
TOO_LARGE = 300_000
"""Bytes; the few files above are generated, and left to the slow run."""


def readable() -> list[Path]:
    """All Python files of the installed packages and of the standard library."""
    files = {*SITE.rglob("*.py"), *STDLIB.glob("*.py"), *STDLIB.glob("[a-z]*/*.py")}
    return sorted(files)


def text(path: Path) -> str | None:
    """The file's text, or None where it is no UTF-8 or no Python."""
    try:
        source = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return source


def outside(source: str, path: str) -> Iterator[str]:
    """Findings that lie outside the file, or that say that it was not analysed."""
    lines = re.split(r"\r\n|\r|\n", source)
    for found in lint(source, path):
        span = found.span
        if found.code == "GL000":
            yield f"{path}:{span.line}: {found.message}"
        start, end = (span.line, span.column), (span.end_line, span.end_column)
        inside = (
            (1, 1) <= start <= end
            and end[0] <= len(lines)
            and span.column <= len(lines[start[0] - 1]) + 1
            and span.end_column <= len(lines[end[0] - 1]) + 1
        )
        if not inside:
            yield f"{path}: {found.code} at {start} to {end}"


def check(paths: list[Path]) -> int:
    """Lints the files and returns how many there were to lint."""
    count = 0
    for path in paths:
        if (source := text(path)) is not None:
            assert list(outside(source, path.as_posix())) == []
            count += 1
    return count


def test_a_sample() -> None:
    paths = [path for path in readable() if path.stat().st_size < TOO_LARGE]
    torch_paths = [path for path in paths if "torch" in path.parts]
    chance = random.Random(0)
    sample = chance.sample(paths, SAMPLE // 2)
    sample += chance.sample(torch_paths, SAMPLE // 2) if torch_paths else []
    assert check(sample) > SAMPLE // 3


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_all(part: int) -> None:
    assert check(readable()[part::20]) > 50
