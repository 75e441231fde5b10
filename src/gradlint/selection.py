"""Which rules are on: selectors are codes, prefixes of codes or slugs, and the longest wins."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradlint.rules import Rule

_PREFIX = re.compile(r"GL\d{0,3}", re.IGNORECASE)

NOT_ANALYSED = "GL000"
UNUSED_SUPPRESSION = "GL001"


class UnknownRule(ValueError):
    """A selector that stands for no rule; the text says so and names the nearest rule."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The word of `known` (not empty) that looks most like `word`, whatever the case."""
    folded = {name.lower(): name for name in known}
    return folded[difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.0)[0]]


def selector(word: str, rules: Mapping[str, Rule]) -> str:
    """The code, or prefix of codes, that `word` stands for.

    Raises: UnknownRule when it is neither a code nor a prefix nor a slug of `rules`.
    """
    by_slug = {rule.slug: code for code, rule in rules.items()}
    if word.lower() in by_slug:
        return by_slug[word.lower()]
    if _PREFIX.fullmatch(word) and any(code.startswith(word.upper()) for code in rules):
        return word.upper()
    known = [*rules, *by_slug]
    raise UnknownRule(f"no rule is called `{word}`; did you mean `{nearest(word, known)}`?")


@dataclass(frozen=True, slots=True)
class Layer:
    """The selectors that one place sets: a configuration file, or the command line."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def enabled(
    rules: Mapping[str, Rule], layers: Iterable[Layer], pedantic: bool = False
) -> tuple[Rule, ...]:
    """The rules that are on, in the order of their codes.

    A later layer overrides an earlier one. Within a layer the longest selector wins, and an
    ignore wins over a select of the same length. A prefix selects a pedantic rule only with
    `pedantic`; its own code always does. `GL000` is always on: no file is skipped in silence.
    """
    on = {code for code, rule in rules.items() if pedantic or not is_pedantic(rule)}
    for layer in layers:
        on = {code for code, rule in rules.items() if _is_on(layer, rule, code in on, pedantic)}
    return tuple(rule for code, rule in rules.items() if code in on or code == NOT_ANALYSED)


def is_pedantic(rule: Rule) -> bool:
    """Whether the rule is off unless asked for."""
    return rule.pedantic


def _is_on(layer: Layer, rule: Rule, before: bool, pedantic: bool) -> bool:
    selects = [
        word
        for word in (*(layer.select or ()), *layer.extend_select)
        if rule.code.startswith(word) and (pedantic or not is_pedantic(rule) or word == rule.code)
    ]
    ignores = [word for word in layer.ignore if rule.code.startswith(word)]
    if not selects and not ignores:
        return before and layer.select is None
    longest = max(map(len, selects), default=-1)
    return longest > max(map(len, ignores), default=-1)
