"""The rules: every module here named `glNNN_slug` is one. Found by looking, never listed."""

from __future__ import annotations

import importlib
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from gradlint.model import Confidence, Report, Severity

if TYPE_CHECKING:
    from gradlint.facts.unit import Unit

_NAME = re.compile(r"gl(\d{3})_([a-z0-9_]+)")
_EXAMPLE = re.compile(r"^(Bad|Good):\n((?:    .*\n|\n)+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, as its module describes it.

    `page` is the module's docstring. `triggers` are literals of which at least one stands in every
    file that the rule can speak about; none means that the engine calls it for no file by itself.
    `pedantic` rules are off unless asked for.
    """

    code: str
    slug: str
    severity: Severity
    confidence: Confidence
    triggers: tuple[str, ...]
    page: str
    check: Callable[[Unit], Iterator[Report]]
    pedantic: bool = False

    @property
    def title(self) -> str:
        """The first line of the page."""
        return self.page.strip().partition("\n")[0]

    @property
    def examples(self) -> dict[str, str]:
        """The page's Bad and Good code, ready to run."""
        return {k: textwrap.dedent(v).strip() + "\n" for k, v in _EXAMPLE.findall(self.page)}


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes."""
    names = sorted(info.name for info in pkgutil.iter_modules(__path__))
    rules = [_read(named) for name in names if (named := _NAME.fullmatch(name))]
    return {rule.code: rule for rule in rules}


def _read(named: re.Match[str]) -> Rule:
    module = importlib.import_module(f"{__name__}.{named[0]}")
    return Rule(
        code=f"GL{named[1]}",
        slug=named[2].replace("_", "-"),
        severity=module.severity,
        confidence=module.confidence,
        triggers=module.triggers,
        page=module.__doc__ or "",
        check=module.check,
        pedantic=getattr(module, "pedantic", False),
    )
