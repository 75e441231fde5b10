"""What must hold for a rule's page, apart from what the linter finds in it.

A page is the docstring of a rule: a first line, what happens, and headings in this order, of which
Raises (an exception), Also (codes) and Fix stand only where they apply:

    Bad    Good    Raises    Quiet on    Also    Fix    Source

The examples run as they stand after `PRELUDE`, which the linter sees too.
"""

from __future__ import annotations

import builtins
import re
import warnings

PRELUDE = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

HEADINGS = ("Bad", "Good", "Raises", "Quiet on", "Also", "Fix", "Source")
_REQUIRED = ("Bad", "Good", "Quiet on", "Source")
_HEADING = re.compile(rf"^({'|'.join(HEADINGS)}):(.*)$", re.MULTILINE)
_SOURCE = re.compile(r"https?://\S+|\btorch \d+\.\d+")


def sections(page: str) -> list[tuple[str, str]]:
    """The headings of a page and the text below each, in its order."""
    starts = list(_HEADING.finditer(page))
    ends = [start.start() for start in starts[1:]] + [len(page)]
    return [(s[1], page[s.start(2) : end].strip()) for s, end in zip(starts, ends, strict=True)]


def section(page: str, heading: str) -> str:
    """The text below one heading, or ""."""
    return dict(sections(page)).get(heading, "")


def also(page: str) -> set[str]:
    """Codes of other rules that speak about the Bad example too."""
    return set(re.findall(r"GL\d{3}", section(page, "Also")))


def form_problems(page: str) -> list[str]:
    """What is wrong with the form of a page; empty when it is as it should be."""
    title = page.strip().partition("\n")[0]
    names = [name for name, _ in sections(page)]
    problems = [f"no `{name}:`" for name in _REQUIRED if name not in names]
    problems += [f"nothing below `{name}:`" for name, text in sections(page) if not text]
    if names != [name for name in HEADINGS if name in names]:
        problems.append(f"headings out of order or twice: {', '.join(names)}")
    if len(title) > 88 or not title.endswith("."):
        problems.append("the first line is a sentence of at most 88 characters")
    if not _SOURCE.search(section(page, "Source")):
        problems.append("`Source:` names no address and no torch version")
    if "Raises" in names and not _exception(page):
        problems.append("`Raises:` begins with no exception type")
    return problems


def run(example: str) -> BaseException | None:
    """Runs an example after the prelude and returns what it raised."""
    code = compile(PRELUDE + example, "example.py", "exec")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, {"__name__": "example"})
    except Exception as error:
        return error
    return None


def run_problems(page: str, bad: str, good: str) -> list[str]:
    """How the examples differ from what the page says about running them."""
    problems = []
    raised, expected = run(bad), _exception(page)
    if type(raised) is not expected and (raised or expected):
        problems.append(f"Bad raises {raised!r}, the page says {section(page, 'Raises') or 'none'}")
    if raised := run(good):
        problems.append(f"Good raises {raised!r}")
    return problems


def _exception(page: str) -> type[BaseException] | None:
    named = getattr(builtins, re.split(r"\W", section(page, "Raises"))[0] or "None", None)
    return named if isinstance(named, type) and issubclass(named, BaseException) else None
