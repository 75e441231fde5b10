"""What is too deep or too large for the parser, and that nothing else is refused."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gradlint.sources.errors import NotAnalysed
from gradlint.sources.lexical import replacement_fields, split_literals, unescaped
from gradlint.syntax import depth, shape
from gradlint.syntax.tree import on_big_stack, parse

Make = Callable[[int], str]

#: Shapes of n levels, and the deepest that is accepted.
CAPPED: tuple[tuple[str, Make, int], ...] = (
    ("brackets", lambda n: "x = " + "(" * n + "1" + ")" * n, 200),
    ("lists over lines", lambda n: "x = " + "[\n" * n + "]\n" * n, 200),
    ("dicts", lambda n: "{1: " * n + "1" + "}" * n, 200),
    ("calls in calls", lambda n: "f(" * n + ")" * n, 200),
    ("operators", lambda n: "x = 1" + " + 1" * n, 500),
    ("power", lambda n: "x = 1" + "**1" * n, 500),
    ("operators over lines", lambda n: "x = (1" + "\n  + 1" * n + ")", 499),
    ("continued operators", lambda n: "x = 1" + " \\\n  + 1" * n, 500),
    ("and", lambda n: "x = a" + " and a" * n, 500),
    ("not", lambda n: "x = " + "not " * n + "a", 500),
    ("minus", lambda n: "x = " + "-" * n + "a", 500),
    ("ternary", lambda n: "x = " + "a if b else " * n + "c", 500),
    ("lambda", lambda n: "x = " + "lambda:" * n + "0", 500),
    ("lambda with arguments", lambda n: "x = " + "lambda a, b=1: " * n + "0", 500),
    ("attributes", lambda n: "x" + ".a" * n, 500),
    ("attributes of a number", lambda n: "x = 1.5" + ".a" * n, 500),
    ("subscripts", lambda n: "x" + "[0]" * n, 499),
    ("calls in a row", lambda n: "x" + "()" * n, 499),
    ("calls apart", lambda n: "x" + " ()" * n, 499),
    ("strings in a row", lambda n: "x = " + '"a" ' * n, 500),
    ("strings over lines", lambda n: "x = (" + "'a'  # c\n" * n + ")", 499),
    ("comprehensions", lambda n: "[x" + " for x in y" * n + "]", 499),
    ("in an f-string", lambda n: "x = f'''{" + "(" * n + "1" + ")" * n + "}'''", 199),
    ("f-strings in f-strings", lambda n: "x = " + 'f"{' * n + "1" + '}"' * n, 333),
    ("elif", lambda n: "if x: pass\n" + "elif x: pass\n" * n, 500),
    ("elif inside", lambda n: "def f():\n  if x: pass\n" + "  elif x: pass\n" * n, 500),
    ("pattern", lambda n: "match x:\n case " + "[" * n + "1" + "]" * n + ": pass", 9),
    ("pattern over lines", lambda n: "match x:\n case " + "[\n" * n + "1" + "]" * n + ": pass", 9),
    ("del", lambda n: "del " + "(" * n + "a" + ",)" * n, 9),
)

FINE: tuple[tuple[str, str], ...] = (
    ("nothing", ""),
    ("flat list", "x = [" + "1, " * 5_000 + "]\n"),
    ("negative numbers", "x = [" + "-1.5, " * 5_000 + "]\n"),
    ("list over lines", "x = [\n" + "    torch.ones(3, 4).to(device),\n" * 2_000 + "]\n"),
    ("dict", "x = {" + "'a': b.c(d)[0], " * 5_000 + "}\n"),
    ("keywords", "f(" + "a=1 + 2, " * 2_000 + ")\n"),
    ("sums in a list", "x = [" + "a + b + c, " * 2_000 + "]\n"),
    ("sum of 200", "x = a" + " + b" * 200 + "\n"),
    ("sum of attributes", "x = a" + " + b.c.d[0].e" * 200 + "\n"),
    ("comparisons", "x = " + "a == b.c and " * 250 + "d\n"),
    ("statements in a line", "x = a + b; " * 1_000 + "\n"),
    ("long string", "x = '" + "(" * 100_000 + "'\n"),
    ("long docstring", "'''" + "if (a + [b\n" * 10_000 + "'''\n"),
    ("comments", "# ((( don't\nx = 1\n" * 1_000),
    ("long f-string", "x = f'''" + "<a b='{c.d}'> - ((( {{ + {e[0]:>{w}} }}\n" * 200 + "'''\n"),
    ("long fields", 'x = f"' + "{f(" + "a, " * 50 + ")}" + "{b}" * 60 + '"\n'),
    ("elif in brackets", "x = f(\n" + "  elif\n" * 600 + ")\n"),
    ("brackets cut short", "x = f(\n" + "class A:\n" * 600),
    ("many elif", "if a: pass\nelif b: pass\nelse: pass\n" * 600),
    ("lambdas", "f(lambda:a)\n" * 300),
    ("guard", "match x:\n case A() if " + "f(" * 50 + ")" * 50 + ": pass\n"),
    ("body of a case", "match x:\n case A(b=[c]): " + "f(" * 50 + ")" * 50 + "\n"),
    ("the name case", "case = " + "f(" * 50 + ")" * 50 + "\n"),
    ("decorators", "@a.b(c)\n" * 600 + "def f(): pass\n"),
    ("same quotes inside", 'x = f"{a["b"]} ("\ndef f(): pass\n' * 600),
    ("escaped quotes", "x = '\\'(' + \"\\\"(\" + '\\\\'\n" * 600),
    ("raw string", "x = r'\\(' + rf'{a}'\n" * 600),
    ("never closed", "x = '(\n" * 600),
    ("no newline after backslash", "x = 1 \\"),
    ("carriage returns", "x = (1 + 2)\r" * 600),
    ("not in", "x = " + "a not in b and " * 400 + "c\n"),
)


@pytest.mark.parametrize(
    ("make", "most"), [case[1:] for case in CAPPED], ids=[c[0] for c in CAPPED]
)
def test_the_cap_is_exact_and_what_it_accepts_parses(make: Make, most: int) -> None:
    shape.check(make(most))
    on_big_stack(parse_if_this_python_can, make(most))
    for levels in (most + 1, 3_000, 30_000):
        with pytest.raises(NotAnalysed):
            shape.check(make(levels))


def parse_if_this_python_can(source: str) -> None:
    tree = parse(source)
    tree.locate(tree.body)


@pytest.mark.parametrize("source", [case[1] for case in FINE], ids=[case[0] for case in FINE])
def test_flat_code_is_accepted_however_long(source: str) -> None:
    shape.check(source)
    depth.check_depth(unescaped(source))


@pytest.mark.parametrize(
    ("source", "line", "column", "words"),
    [
        ("x = 1\r\ny = " + "(" * 300, 12, 205, "200 open brackets"),
        ("x = \\\n" + "-" * 600, 12, 501, "500 levels"),
        ("if a: b\n" + "elif c: d\n" * 600, 512, 1, "500 elif"),
        ("\ndel " + "(" * 50, 12, 14, "9 open brackets"),
        ("[" * 500_000, 11, 1, "too large: 500,000"),
        ("x = f'" + "{a}" * 200_000 + "'", 11, 1, "too large"),
    ],
)
def test_where_and_why(source: str, line: int, column: int, words: str) -> None:
    with pytest.raises(NotAnalysed) as caught:
        shape.check(source, first_line=11)
    assert words in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.help


def test_many_deep_statements_are_too_many() -> None:
    statement = "x = " + "[" * 150 + "]" * 150 + "\n"
    shape.check(statement * 10)
    with pytest.raises(NotAnalysed, match="too many statements"):
        shape.check(statement * 100)


def test_many_middling_statements_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []
    monkeypatch.setattr(shape, "check_depth", lambda text, line: measured.append(text))
    shape.check("x = f(a.b, c[0])\n" * 1_000)
    assert not measured
    shape.check(("x = " + "(" * 150 + ")" * 150 + "\n") * 1_000)
    assert measured


def test_a_large_file_of_braces_in_plain_strings_is_not_too_large() -> None:
    shape.check("x = '" + "{a}" * 200_000 + "'\n")


def test_the_fast_pass_never_accepts_what_the_exact_one_refuses() -> None:
    pieces = ["(", ")", "[", "]", "{", "}", "a", "not ", " and b", " + c", ".d", "()", "\n", ": "]
    pieces += ["'s' ", 'f"{e}"', "lambda: ", ", ", " = ", "# f\n", " if g else ", "\\\n", "del "]
    choose = random.Random(11)
    for _ in range(300):
        favourites = choose.sample(pieces, 3)
        source = "".join(choose.choices(favourites, k=choose.choice([50, 400, 1_500])))
        exact = refuses(lambda text: depth.check_depth(unescaped(text)), source)
        assert refuses(shape.check, source) == exact, favourites


def refuses(check: Callable[[str], None], source: str) -> bool:
    try:
        check(source)
    except NotAnalysed:
        return True
    return False


def test_installed_code_is_accepted() -> None:
    for file in sorted(Path(re.__file__).parent.parent.glob("*.py"))[:60]:
        shape.check(file.read_text("utf-8"))


# ------------------------------------------------------------------------ strings and comments


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("a 'b' c # d\ne", ["a ", " c ", "\ne"]),
        ("a '''b\n'c''' d", ["a ", " d"]),
        ("a '''b\n'c'' d", ["a ", ""]),
        ('a """b\n"c"" \'""" d', ["a ", " d"]),
        ("'a\nb'c'", ["", "\nb", ""]),
        ("'\\'' a '\\\\' b", ["", " a ", " b"]),
        ("'a\\\nb' c", ["", " c"]),
        ("# a \\\nb", ["", "  \rb"]),
    ],
)
def test_code_is_told_from_strings_and_comments(source: str, code: list[str]) -> None:
    pieces, literals = split_literals(unescaped(source))
    assert len(literals) == len(pieces) - 1
    assert [piece.strip(" ") for piece in pieces] == [piece.strip(" ") for piece in code]


def test_unescaping_keeps_lines_and_columns() -> None:
    source = "x = '\\'' \\\ny\\\\'\n"
    text = unescaped(source)
    assert len(text) == len(source)
    assert text.count("\n") + text.count("\r") == source.count("\n")


@pytest.mark.parametrize(
    ("literal", "fields"),
    [
        ("'{a} {{b}} {c:{d}}'", ["{a}", "{c:{d}}"]),
        ("'{ {1: {2}} } }'", ["{ {1: {2}} }"]),
        ("'}} {a'", ["{a'"]),
        ("'{a}}}'", ["{a}}"]),
    ],
)
def test_replacement_fields(literal: str, fields: list[str]) -> None:
    assert list(replacement_fields(literal)) == fields
