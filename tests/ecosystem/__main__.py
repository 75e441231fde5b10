"""`python -m ecosystem check|update DIRECTORY [PACKAGE...]`: lint the pinned packages.

Exit codes: 0 all is as it is kept, or was updated; 1 it differs; 2 it could not be found out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ecosystem import Stopped
from ecosystem.diff import diff
from ecosystem.found import Found, lint
from ecosystem.kept import DATA, DATA_CODES, FINDINGS, Line, Mark, Reviewed, data_uses
from ecosystem.marks import reviewed
from ecosystem.packages import Package, fetch, pinned

HERE = Path(__file__).parent
FoundIn = Mapping[Package, Sequence[Found]]
Linter = Callable[[Path], list[Found]]


def main(arguments: Sequence[str] | None = None, here: Path = HERE, linter: Linter = lint) -> int:
    """Runs one command on the kept files that lie in `here`, and returns its exit code.

    `linter` gets the folder of a package.
    """
    parser = argparse.ArgumentParser(prog="ecosystem")
    parser.add_argument("command", choices=("check", "update"))
    parser.add_argument("directory", type=Path, help="where the sources are unpacked")
    parser.add_argument("packages", nargs="*", help="their names; by default all that are pinned")
    options = parser.parse_args(arguments)
    try:
        packages = pinned(_read(here / "packages.txt"))
        wanted = _named(options.packages, packages)
        old = Kept(_read(here / FINDINGS.name), _read(here / DATA.name))
        old.check()
        fetch(wanted, options.directory)
        found = _lint_all(wanted, options.directory.resolve(), linter)
    except Stopped as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    new = renewed(old, found, packages)
    changes = [
        *diff(old.findings, new.findings, FINDINGS.name),
        *diff(old.data, new.data, DATA.name),
    ]
    print(*changes, *_messages_of_new(found, old), _summary(new), sep="\n")
    if options.command == "check":
        return int(bool(changes))
    (here / FINDINGS.name).write_text(new.findings, "utf-8")
    (here / DATA.name).write_text(new.data, "utf-8")
    return 0


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def _named(names: Sequence[str], packages: Sequence[Package]) -> list[Package]:
    """Raises Stopped when a name is not pinned."""
    if unknown := set(names) - {package.name for package in packages}:
        raise Stopped(f"not in packages.txt: {', '.join(sorted(unknown))}")
    return [package for package in packages if not names or package.name in names]


# ------------------------------------------------------------------------------ what is found


def _lint_all(
    packages: Iterable[Package], directory: Path, linter: Linter
) -> dict[Package, list[Found]]:
    """What is found in each package; the largest is begun first, on all cores."""
    largest_first = sorted(packages, key=lambda package: -_size(directory / package.folder))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda p: _lint(p, directory / p.folder, linter), largest_first)
        return dict(zip(largest_first, found, strict=True))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.py"))


def _lint(package: Package, folder: Path, linter: Linter) -> list[Found]:
    start = time.monotonic()
    found = linter(folder)
    seconds = time.monotonic() - start
    print(f"{package.title}: {len(found)} findings, {seconds:.0f} s", file=sys.stderr, flush=True)
    return found


# ------------------------------------------------------------------------------- what is kept


@dataclass(frozen=True, slots=True)
class Kept:
    """The texts of both kept files."""

    findings: str
    data: str

    def check(self) -> None:
        """Raises Stopped when one cannot be read."""
        FINDINGS.parse(self.findings)
        DATA.parse(self.data)


def renewed(old: Kept, found: FoundIn, packages: Iterable[Package]) -> Kept:
    """What is to be kept now; pinned packages that are not in `found` stay as they are."""
    reviews, data = FINDINGS.parse(old.findings), DATA.parse(old.data)
    others = {package.title for package in packages} - {package.title for package in found}
    new_reviews = {p.title: _with_reviews(p, new, reviews) for p, new in found.items()}
    new_data = {p.title: data_uses(new) for p, new in found.items()}
    return Kept(
        FINDINGS.text(_only(others, reviews) | new_reviews),
        DATA.text(_only(others, data) | new_data),
    )


def _only(titles: Iterable[str], sections: Mapping[str, list[Line]]) -> dict[str, list[Line]]:
    return {title: sections[title] for title in titles if title in sections}


def _with_reviews(
    package: Package, found: Iterable[Found], kept: Mapping[str, list[Reviewed]]
) -> list[Reviewed]:
    """Reviews come from the section of this version, else from that of another one."""
    if package.title in kept:
        return reviewed(found, kept[package.title], same_version=True)
    older = (lines for title, lines in kept.items() if title.split()[0] == package.name)
    return reviewed(found, next(older, []), same_version=False)


# --------------------------------------------------------------------------- what is said


def _messages_of_new(found: FoundIn, old: Kept) -> Iterator[str]:
    """What gradlint says of each finding that waits for its first review, and where to read it."""
    reviews = FINDINGS.parse(old.findings)
    for package in sorted(found):
        known = {line.found for line in reviews.get(package.title, ())}
        for new in found[package]:
            if new.code not in DATA_CODES and new not in known:
                yield f"{package.folder}/{new.path}:{new.line}: {new.code} {new.message}"


def _summary(new: Kept) -> str:
    sections = DATA.parse(new.data)
    data = sum(len(uses.lines) for section in sections.values() for uses in section)
    reviewed_lines = [line for section in FINDINGS.parse(new.findings).values() for line in section]
    marks = Counter(line.review.mark for line in reviewed_lines)
    reviews = ", ".join(f"{marks[mark]} {mark.value}" for mark in Mark)
    return f"{len(sections)} packages: {data} findings about .data, and of others {reviews}"


if __name__ == "__main__":
    sys.exit(main())
