"""What a fixture says about itself, in comments that hold for their own line.

    # expect: GL101, GL201            the linter reports these here, each as often as it is named
    # ok: reason                      it reports nothing here, though it looks like a mistake
    # missed: GL201: reason           it should report this and does not: strict, to be turned
    # false alarm: GL201: reason      it reports this and should not: strict, to be turned
    # no_gradient: layer1.*, scale    run on torch: these parameters get no gradient, all others do

Comments are read with tokenize, so a mark inside a string is text. One comment can hold several
marks. A comment that starts like a mark and isn't one raises, so that no typing error is silent.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

LineAndCode = tuple[int, str]

_CODE = r"GL\d{3}"
_CODES = re.compile(rf"{_CODE}(?:, {_CODE})*")
_CODE_AND_REASON = re.compile(rf"({_CODE}(?:, {_CODE})*): \S.*")
_LOOKS_LIKE_A_MARK = re.compile(
    r"(expect|ok|missed|false[ _-]?alarm|no[ _-]?gradient)\b", re.IGNORECASE
)
_MARK = re.compile(r"(expect|ok|missed|false alarm|no_gradient): (\S.*)")


class MarkError(ValueError):
    """A comment that looks like a mark and cannot be read as one."""


@dataclass
class Expectations:
    """The marks of one file; lines count from 1."""

    expect: Counter[LineAndCode] = field(default_factory=Counter)
    missed: Counter[LineAndCode] = field(default_factory=Counter)
    false_alarm: Counter[LineAndCode] = field(default_factory=Counter)
    ok: dict[int, str] = field(default_factory=dict)
    no_gradient: dict[int, tuple[str, ...]] = field(default_factory=dict)


def read(source: str) -> Expectations:
    """All marks of `source`. Raises MarkError with the line of the first that is malformed."""
    found = Expectations()
    for line, text in _marks(source):
        if not (parts := _MARK.fullmatch(text)):
            raise MarkError(f"line {line}: cannot read the mark {text!r}")
        _note(found, line, parts[1], parts[2])
    for line, code in found.expect + found.false_alarm:
        if line in found.ok:
            raise MarkError(f"line {line}: is `ok` and expects {code}")
    return found


def disagreements(source: str, findings: Iterable[LineAndCode]) -> list[str]:
    """Where `findings` and the marks of `source` differ, both ways; empty when they agree."""
    want, got = read(source), Counter(findings)
    promised = want.expect + want.false_alarm
    lost, new = promised - got, got - promised
    report = [(line, _lost(want, line, code)) for line, code in lost.elements()]
    report += [(line, _new(want, line, code)) for line, code in new.elements()]
    return [f"line {line}: {words}" for line, words in sorted(report)]


def _marks(source: str) -> Iterable[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            for text in re.split(r"(?:^|\s)#\s*", token.string)[1:]:
                if _LOOKS_LIKE_A_MARK.match(text):
                    yield token.start[0], text.strip()


def _note(found: Expectations, line: int, word: str, rest: str) -> None:
    if word == "ok":
        found.ok[line] = rest
    elif word == "no_gradient":
        found.no_gradient[line] = _globs(line, rest)
    elif word == "expect":
        if not _CODES.fullmatch(rest):
            raise MarkError(f"line {line}: `expect` takes codes and commas, not {rest!r}")
        found.expect.update((line, code) for code in rest.split(", "))
    else:
        if not (parts := _CODE_AND_REASON.fullmatch(rest)):
            raise MarkError(
                f"line {line}: `{word}` takes codes, a colon and a reason, not {rest!r}"
            )
        table = found.missed if word == "missed" else found.false_alarm
        table.update((line, code) for code in parts[1].split(", "))


def _globs(line: int, rest: str) -> tuple[str, ...]:
    if rest == "nothing":
        return ()
    globs = tuple(glob.strip() for glob in rest.split(","))
    if not all(globs) or any(" " in glob for glob in globs):
        raise MarkError(f"line {line}: `no_gradient` takes globs and commas, not {rest!r}")
    return globs


def _lost(want: Expectations, line: int, code: str) -> str:
    if (line, code) in want.false_alarm:
        return f"{code} is gone, turn `false alarm` into `ok`"
    return f"{code} is missing"


def _new(want: Expectations, line: int, code: str) -> str:
    if (line, code) in want.missed:
        return f"{code} is found now, turn `missed` into `expect`"
    if line in want.ok:
        return f"unexpected {code} on a line that is ok: {want.ok[line]}"
    return f"unexpected {code}"
