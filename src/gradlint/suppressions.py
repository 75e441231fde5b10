"""Comments that silence findings: `# gradlint: ignore[GL201]`, `ignore-file[GL1]`, `# noqa`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Finding, Severity, Span
from gradlint.selection import (
    NOT_ANALYSED,
    UNUSED_SUPPRESSION,
    UnknownRule,
    is_pedantic,
    selector,
)

if TYPE_CHECKING:
    from gradlint.rules import Rule

_MAY_HOLD_NOQA = re.compile(r"noqa[ \t]{0,9}:[^\r\n:]{0,200}GL\d", re.IGNORECASE)
_OURS = re.compile(
    r"#\s*gradlint:\s*(?P<verb>[\w-]+)(?P<rest>\s*\[(?P<words>[^\]\r\n]{0,500})\]|\s*[\[=])?"
)
_NOQA = re.compile(r"#\s*noqa\s*:\s*(?P<words>[A-Z]+\d+(?:[,\s]+[A-Z]+\d+)*)", re.IGNORECASE)
_NOQA_CODE = re.compile(r"GL\d{3}", re.IGNORECASE)
_WORD = re.compile(r"[^,\s]+")
_VERBS = ("ignore", "ignore-file")
_NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    | {tokenize.ENDMARKER, tokenize.ENCODING}
)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment at `span`; `lines` are those it speaks about: its own, and the next if alone."""

    text: str
    span: Span
    lines: frozenset[int]


@dataclass(frozen=True, slots=True)
class Suppression:
    """One code of one comment. `lines` is None for the whole file.

    `code` is a code or a prefix of codes. `fault` says why it can silence nothing.
    """

    word: str
    code: str
    span: Span
    comment: Comment
    lines: frozenset[int] | None = None
    fault: str = ""

    def silences(self, finding: Finding) -> bool:
        """Whether the finding is one that this suppression is for."""
        return (
            not self.fault
            and finding.code != NOT_ANALYSED
            and finding.code.startswith(self.code)
            and (self.lines is None or not self.lines.isdisjoint(finding.silenced_by))
        )


def may_suppress(source: str) -> bool:
    """Whether a look at the comments is worth its time."""
    if "gradlint:" in source:
        return True
    # A search for a literal is many times faster than one for a pattern.
    return "noqa" in source.lower() and _MAY_HOLD_NOQA.search(source) is not None


def read(source: str, rules: Mapping[str, Rule]) -> list[Suppression]:
    """Every suppression in the comments of `source`, in order."""
    if not may_suppress(source):
        return []
    return [found for comment in comments(source) for found in _read_comment(comment, rules)]


def apply(
    findings: Iterable[Finding],
    suppressions: list[Suppression],
    rules: Mapping[str, Rule],
    ran: Iterable[Rule],
    path: str,
) -> tuple[list[Finding], list[Finding]]:
    """The findings that no suppression silences, and GL001 for suppressions that silence nothing.

    `rules` are all rules there are and `ran` those that looked at the file: a suppression of a
    rule that did not may well be of use.
    """
    used: set[Suppression] = set()
    left = list(_unsilenced(findings, suppressions, used))
    codes = {rule.code for rule in ran}
    if UNUSED_SUPPRESSION not in codes:
        return left, []
    judged = [s for s in suppressions if _is_judged(s, rules, codes)]
    # What may silence GL001 itself is judged last, when it is known what there is to silence.
    late = [s for s in suppressions if not s.fault and UNUSED_SUPPRESSION.startswith(s.code)]
    early = (_unused(s, path) for s in judged if s not in used and s not in late)
    unused = list(_unsilenced(early, late, used))
    return left, unused + [_unused(s, path) for s in judged if s not in used and s in late]


def _unsilenced(
    findings: Iterable[Finding], suppressions: list[Suppression], used: set[Suppression]
) -> Iterator[Finding]:
    """Yields the findings that stay, and adds the suppressions of the others to `used`."""
    for finding in findings:
        by = [suppression for suppression in suppressions if suppression.silences(finding)]
        used.update(by)
        if not by:
            yield finding


def _is_judged(suppression: Suppression, rules: Mapping[str, Rule], on: set[str]) -> bool:
    """Whether everything that it could silence was looked for."""
    if suppression.fault:
        return True
    meant = {
        code
        for code, rule in rules.items()
        if code.startswith(suppression.code)
        and code != NOT_ANALYSED
        and (code == suppression.code or not is_pedantic(rule))
    }
    return meant <= on


def _unused(suppression: Suppression, path: str) -> Finding:
    where = "in this file" if suppression.lines is None else "on the lines that it counts for"
    return Finding(
        code=UNUSED_SUPPRESSION,
        rule="unused-suppression",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        path=path,
        span=suppression.span,
        message=suppression.fault or f"`{suppression.word}` silences nothing",
        why=_WHY_FAULT if suppression.fault else f"No {suppression.code} is found {where}.",
        help=_HELP_FAULT if suppression.fault else f"remove `{suppression.word}` from the comment",
        silenced_by=suppression.comment.lines,
    )


_WHY_FAULT = "The comment looks like a suppression and silences nothing."
_HELP_FAULT = "name the rules, as in `# gradlint: ignore[GL201] why it is meant`"


# ----------------------------------------------------------------------------- reading comments


def _read_comment(comment: Comment, rules: Mapping[str, Rule]) -> Iterator[Suppression]:
    for match in _OURS.finditer(comment.text):
        yield from _read_ours(comment, match, rules)
    for match in _NOQA.finditer(comment.text):
        for word, span in _words(comment, match):
            if _NOQA_CODE.fullmatch(word):
                yield _suppression(comment, word, span, comment.lines, rules)


def _read_ours(
    comment: Comment, match: re.Match[str], rules: Mapping[str, Rule]
) -> Iterator[Suppression]:
    verb, rest = match["verb"], match["rest"]
    if verb not in _VERBS:
        # Prose may follow `gradlint:`; brackets after the verb, or a near miss, are no prose.
        if rest or verb.startswith("ignor"):
            guess = "ignore-file" if "file" in verb else "ignore"
            text = f"`{verb}` is no suppression; did you mean `{guess}`?"
            yield _fault(comment, match, text)
        return
    words = list(_words(comment, match)) if match["words"] is not None else []
    if not words:
        yield _fault(comment, match, f"`{verb}` names no rule, so it silences nothing")
    lines = comment.lines if verb == "ignore" else None
    for word, span in words:
        yield _suppression(comment, word, span, lines, rules)


def _suppression(
    comment: Comment,
    word: str,
    span: Span,
    lines: frozenset[int] | None,
    rules: Mapping[str, Rule],
) -> Suppression:
    try:
        return Suppression(word, selector(word, rules), span, comment, lines)
    except UnknownRule as error:
        return Suppression(word, "", span, comment, lines, str(error))


def _fault(comment: Comment, match: re.Match[str], text: str) -> Suppression:
    span = _part(comment, match.start(), len(match[0].rstrip()) + match.start())
    return Suppression(match["verb"], "", span, comment, comment.lines, text)


def _words(comment: Comment, match: re.Match[str]) -> Iterator[tuple[str, Span]]:
    start = match.start("words")
    for word in _WORD.finditer(match["words"]):
        yield word[0], _part(comment, start + word.start(), start + word.end())


def _part(comment: Comment, start: int, end: int) -> Span:
    line, column = comment.span.line, comment.span.column
    return Span(line, column + start, line, column + end)


def comments(source: str) -> Iterator[Comment]:
    """Every comment of `source`. One that stands alone counts for the code line below it too."""
    alone: list[tuple[str, Span]] = []
    code_line = 0
    for token in _tokens(source):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            span = Span(line, token.start[1] + 1, line, token.end[1] + 1)
            if line == code_line:
                yield Comment(token.string, span, frozenset({line}))
            else:
                alone.append((token.string, span))
        elif token.type not in _NO_CODE or not token.line.strip():
            # Code, or an empty line, which parts the comments from the code below.
            is_code = token.type not in _NO_CODE
            code_line = token.end[0] if is_code else code_line
            yield from _alone(alone, line if is_code else None)
            alone = []


def _alone(alone: list[tuple[str, Span]], below: int | None) -> Iterator[Comment]:
    for text, span in alone:
        yield Comment(text, span, frozenset({span.line, below or span.line}))


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of `source`; where this Python's tokenizer gives up, comments at a guess."""
    done = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(source, newline=None).readline):
            done = token.end[0]
            yield token
    except (tokenize.TokenError, SyntaxError):
        yield from _guessed_comments(source, done)


def _guessed_comments(source: str, after: int) -> Iterator[tokenize.TokenInfo]:
    for number, line in enumerate(io.StringIO(source, newline=None), 1):
        code, mark, text = line.rstrip("\n").partition("#")
        here, end = (number, len(code)), (number, len(code) + 1 + len(text))
        if number > after and (code.strip() or not mark):
            kind = tokenize.NAME if code.strip() else tokenize.NL
            yield tokenize.TokenInfo(kind, code, (number, 0), here, line)
        if number > after and mark:
            yield tokenize.TokenInfo(tokenize.COMMENT, mark + text, here, end, line)
