"""Which files are meant by the paths that the user names, and what they hold."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gradlint.sources.errors import NotAnalysed
from gradlint.sources.ignored import Report, Rules, is_ignored, rules_above, rules_in
from gradlint.sources.text import decode

__all__ = ["SKIPPED_FOLDERS", "SUFFIXES", "MissingPath", "decode", "discover", "read"]

SUFFIXES = (".py", ".pyi")

#: Folders of tools, of other people's code and of build results; so does ruff.
SKIPPED_FOLDERS = frozenset(
    ".bzr .direnv .eggs .git .git-rewrite .hg .ipynb_checkpoints .mypy_cache .nox .pants.d .pyenv "
    ".pytest_cache .pytype .ruff_cache .svn .tox .venv .vscode __pycache__ __pypackages__ _build "
    "buck-out build dist node_modules site-packages venv".split()
)

_MOST_BYTES = 32 << 20
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class MissingPath(Exception):
    """A path that the user names and that does not exist."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"no such file or folder: {self.path}"


def discover(
    paths: Iterable[Path],
    *,
    excluded: Callable[[Path], bool],
    force_exclude: bool,
    on_unreadable: Report,
    respect_gitignore: bool = True,
    suffixes: Collection[str] = SUFFIXES,
) -> Iterator[Path]:
    """Yield the source files in and under `paths`, each once, folders in the order of names.

    A path that is named is yielded or walked whatever its suffix, unless `force_exclude` holds and
    it is excluded; `excluded` is asked about every file and folder. Symbolic links to folders are
    not followed unless they are named. `on_unreadable` hears of each folder or .gitignore that
    cannot be read. Raises MissingPath at once, before anything is walked.
    """
    walk = _Walk(excluded, respect_gitignore, tuple(suffixes), on_unreadable)
    named = [Path(path) for path in paths]
    for path in named:
        if not os.path.exists(path):
            raise MissingPath(path)
    return (
        file for path in named if not (force_exclude and walk.omits(path)) for file in walk.at(path)
    )


@dataclass(frozen=True, slots=True)
class _Walk:
    excluded: Callable[[Path], bool]
    respect_gitignore: bool
    suffixes: tuple[str, ...]
    report: Report
    seen: set[str] = field(default_factory=set)

    def at(self, path: Path) -> Iterator[Path]:
        """Yield `path`, or what lies in it."""
        if path.is_dir():
            yield from self._folder(path)
        elif self._is_new(os.path.realpath(path)):
            yield path

    def omits(self, path: Path) -> bool:
        """True when `path` is excluded, by itself or with a folder that holds it."""
        if any(self.excluded(each) for each in (path, *path.parents) if each.name):
            return True
        real = path.resolve()
        inside = (
            real.relative_to(Path.cwd()) if real.is_relative_to(Path.cwd()) else Path(real.name)
        )
        if any(part in SKIPPED_FOLDERS for part in inside.parts):
            return True
        if not self.respect_gitignore or (real / ".git").exists():
            return False
        folder = real.parent
        rules = rules_above(folder, self.report) + rules_in(folder, "", self.report)
        return is_ignored(rules, f"{real.name}/" if real.is_dir() else real.name)

    def _folder(self, start: Path) -> Iterator[Path]:
        real = os.path.realpath(start)
        rules: tuple[Rules, ...] = ()
        if self.respect_gitignore:
            rules = rules_above(start, self.report)
            if is_ignored(rules, ""):
                rules = ()  # it is named: what ignores it as a whole must not ignore its files
        pending = [("", False, rules)]
        while pending:
            name, is_link, rules = pending.pop()
            if name and not name.endswith("/"):
                if self._is_new(os.path.realpath(start / name) if is_link else f"{real}/{name}"):
                    yield start / name
            else:
                pending.extend(reversed(list(self._entries(start, name, rules))))

    def _entries(
        self, start: Path, below: str, rules: tuple[Rules, ...]
    ) -> Iterator[tuple[str, bool, tuple[Rules, ...]]]:
        """Yield the path (folders end in `/`), whether it is a link, and the rules for it."""
        folder = start / below
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self.report(folder, error)
            return
        names = {entry.name for entry in entries}
        if below and "pyvenv.cfg" in names:
            return
        if self.respect_gitignore and ".gitignore" in names:
            rules += rules_in(folder, below, self.report)
        for entry in entries:
            path = f"{below}{entry.name}"
            if self._is_folder(entry):
                path += "/"
            elif not self._is_source(entry):
                continue
            if not (is_ignored(rules, path) or self.excluded(start / path)):
                yield path, entry.is_symlink(), rules

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        return entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED_FOLDERS

    def _is_source(self, entry: os.DirEntry[str]) -> bool:
        try:
            return entry.name.endswith(self.suffixes) and entry.is_file()
        except OSError:  # a link to itself
            return False

    def _is_new(self, real: str) -> bool:
        if real in self.seen:
            return False
        self.seen.add(real)
        return True


def read(path: Path) -> str:
    """Return the text of a source file; raises NotAnalysed when there is none to be had."""
    if path.suffix == ".ipynb":
        raise NotAnalysed(
            "notebooks are not read yet",
            "check the script that `jupyter nbconvert --to script` makes of it",
        )
    try:
        data = _read_bytes(path)
    except OSError as error:
        raise NotAnalysed(
            f"the file cannot be read: {error.strerror or error}",
            "check that it exists and that you may read it",
        ) from None
    return decode(data)


def _read_bytes(path: Path) -> bytes:
    # Without O_NONBLOCK, opening a pipe waits for someone to write to it.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "no regular file")
            raise NotAnalysed(f"this is {kind}, not a file", "name a Python file")
        if status.st_size > _MOST_BYTES:
            raise NotAnalysed(
                f"the file is too large: {status.st_size >> 20} MiB, not more than "
                f"{_MOST_BYTES >> 20} are read",
                "exclude it",
            )
        return file.read()
