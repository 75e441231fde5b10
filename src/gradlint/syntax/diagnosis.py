"""Why a source does not parse, and where: in words for the one who has to mend it."""

from __future__ import annotations

import ast
import re
import warnings
from typing import NamedTuple

from gradlint.sources.errors import NotAnalysed

Place = tuple[int, int]

_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_CONFLICT = re.compile(r"^<{7}(?: .*)?$(?=[\s\S]*^>{7}(?: .*)?$)", re.MULTILINE)


class _Kind(NamedTuple):
    """A kind of file that is not Python 3, and how its lines look once strings are gone."""

    line: re.Pattern[str]
    message: str
    help: str


_PYTHON_2_HELP = "gradlint reads Python 3: port the file, or exclude it"
_KINDS = tuple(
    _Kind(re.compile(line), message, help)
    for line, message, help in (
        (
            r"\{%.*%\}|\{%-?\s*\w+|\{\{.*\}\}|\{#.*#\}",
            "looks like a template, not like Python",
            "check the files that are made from it, and exclude the template",
        ),
        (r"^\s*print\s*(?:[\w.]|\"\"|>>)", "looks like Python 2: print statement", _PYTHON_2_HELP),
        (r"^\s*exec\s+[\w\"(]", "looks like Python 2: exec statement", _PYTHON_2_HELP),
        (r"\bexcept\s+[^:]+,\s*\w+\s*:", "looks like Python 2: except E, e", _PYTHON_2_HELP),
        (r"`[^`]+`", "looks like Python 2: backticks", _PYTHON_2_HELP),
        (r"^\s*raise\s+[\w.]+\s*,", "looks like Python 2: raise E, value", _PYTHON_2_HELP),
        (r"<>", "looks like Python 2: the operator <>", _PYTHON_2_HELP),
        (
            r"(?<![\w.])(?:0\d+|\d+L|0[xX][\da-fA-F]+L)\b",
            "looks like Python 2: a number such as 0777 or 10L",
            _PYTHON_2_HELP,
        ),
        (r"\b[uU][rR]\"\"", "looks like Python 2: the prefix ur", _PYTHON_2_HELP),
        (
            r"^\s*(?:%%?\w|!|\?)|=\s*!\s*\w|^\s*[\w.]+\?{1,2}\s*$",
            "looks like IPython: a magic or a shell command",
            "check the notebook itself (.ipynb), or exclude the file",
        ),
        (
            r"^\s*>>> ",
            "looks like a recorded session, with prompts",
            "remove the prompts, or exclude the file",
        ),
    )
)


def diagnose(source: str, parser_place: Place, first_line: int = 1) -> NotAnalysed:
    """Return why `source` does not parse.

    `parser_place` (line and column from 1, in this source) is where libcst stopped. It serves only
    where this Python finds no fault, for libcst often names the start of the source instead.
    """
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    conflict = _CONFLICT.search(text)
    if conflict:
        return NotAnalysed(
            "the file holds a merge conflict",
            "resolve it, and remove the lines <<<<<<<, ======= and >>>>>>>",
            text.count("\n", 0, conflict.start()) + first_line,
        )
    (line, column), reason = _ask_python(text) or (parser_place, "invalid syntax")
    kind = _kind_of(text, line)
    message, help = (
        (kind.message, kind.help)
        if kind
        else (f"syntax error: {reason}", "correct the syntax, or exclude the file")
    )
    return NotAnalysed(message, help, line - 1 + first_line, column)


def _ask_python(text: str) -> tuple[Place, str] | None:
    """Return where and why this Python refuses `text`, None if it does not say."""
    before, found, _ = text.partition("\0")
    if found:
        place = before.count("\n") + 1, len(before) - before.rfind("\n")
        return place, "the source holds a NUL character"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<source>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        if error.lineno is None:
            return None
        line = min(max(error.lineno, 1), text.count("\n") + 1)
        return (line, max(error.offset or 1, 1)), error.msg
    except (ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return None


def _kind_of(text: str, line: int) -> _Kind | None:
    without_strings = _STRING.sub('""', "".join(text.split("\n")[line - 1 : line]))
    return next((kind for kind in _KINDS if kind.line.search(without_strings)), None)
