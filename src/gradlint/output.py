"""Where text goes: standard output, a file, and a progress line on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TextIO

_PATIENCE = 1.0
"""Seconds that a run may last before it shows progress."""

_PAUSE = 0.1
"""Seconds between two looks of the progress line."""


def wants_colour(stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour what goes to `stream`: on a terminal, unless the environment objects.

    Source: https://no-color.org, https://bixense.com/clicolors
    """
    if environ.get("NO_COLOR"):
        return False
    if _is_set(environ, "FORCE_COLOR") or _is_set(environ, "CLICOLOR_FORCE"):
        return True
    if environ.get("TERM") == "dumb" or environ.get("CLICOLOR") == "0":
        return False
    return is_terminal(stream)


def _is_set(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "") not in ("", "0", "false")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person watches `stream`; nobody does when the process has none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def write(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Writes lines to `stream` (standard output), whatever its encoding; a closed pipe is fine."""
    stream = stream or sys.stdout
    if stream is None:  # a process may be started without one
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        for line in lines:
            stream.write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except BrokenPipeError:
        # The reader has seen enough. Python would complain about the pipe once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_file(lines: Iterable[str], path: Path) -> None:
    """Writes lines to a file as UTF-8. Raises: OSError."""
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(text.encode("utf-8", "backslashreplace"))


class Progress:
    """A line on a terminal that says how many of `total` files are done. Use it as a context."""

    def __init__(self, total: int, stream: TextIO, shown: bool) -> None:
        self._total = total
        self._stream = stream
        self._next = time.monotonic() + _PATIENCE if shown else float("inf")
        self._width = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def __call__(self, done: int) -> None:
        """Shows that `done` files are done, if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _PAUSE
        text = f"{done}/{self._total} files checked"
        self._width = max(self._width, len(text))
        self._stream.write("\r" + text)
        self._stream.flush()
