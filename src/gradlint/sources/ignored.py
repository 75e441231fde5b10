"""What .gitignore files say about the paths of a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

Report = Callable[[Path, OSError], None]


@dataclass(frozen=True, slots=True)
class Rules:
    """One .gitignore, and how to name a path of the walk as seen from there."""

    spec: GitIgnoreSpec
    before: str
    skip: int

    def verdict(self, path: str) -> bool | None:
        """True for ignored, False for expressly not ignored, None for no word about it."""
        return self.spec.check_file(self.before + path[self.skip :]).include


def is_ignored(rules: tuple[Rules, ...], path: str) -> bool:
    """True when the innermost .gitignore that speaks of `path` ignores it; folders end in `/`."""
    verdicts = (each.verdict(path) for each in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def rules_in(folder: Path, below: str, report: Report) -> tuple[Rules, ...]:
    """Return the rules of the .gitignore in `folder`, which is `below` the start of the walk."""
    spec = _read(folder / ".gitignore", report)
    return (Rules(spec, "", len(below)),) if spec else ()


def rules_above(start: Path, report: Report) -> tuple[Rules, ...]:
    """Return the rules for `start` that stand above it in its git repository, outermost first."""
    start = start.resolve()
    found = []
    for folder in _repository_above(start):
        spec = _read(folder / ".gitignore", report)
        if spec:
            found.append(Rules(spec, f"{start.relative_to(folder).as_posix()}/", 0))
    return tuple(found)


def _repository_above(start: Path) -> Iterator[Path]:
    """Yield the folders from the root of the repository down to the parent of `start`."""
    if os.path.exists(start / ".git"):
        return
    for count, folder in enumerate(start.parents, 1):
        if os.path.exists(folder / ".git"):
            yield from reversed(start.parents[:count])
            return


def _read(file: Path, report: Report) -> GitIgnoreSpec | None:
    try:
        if file.is_fifo() or file.is_socket():  # reading would wait
            return None
        lines = file.read_text("utf-8", "surrogateescape").splitlines()
    except FileNotFoundError:
        return None
    except OSError as error:
        report(file, error)
        return None
    # Imported here: most folders have no such file, and this takes longer than to walk them.
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines(filter(_is_pattern, lines))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:  # git passes over it as well
        return False
    return True
