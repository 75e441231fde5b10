"""Parsing, places and texts of nodes, and the words for sources that don't parse."""

from __future__ import annotations

import gc
import pickle
import random
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from gradlint.model import Span
from gradlint.sources.errors import NotAnalysed
from gradlint.syntax import diagnosis
from gradlint.syntax.tree import Tree, on_big_stack, parse

SNIPPETS = (
    "",
    "\n",
    "x",
    "# only a comment",
    "x = 1\r\nif x:\r\n    y = (a\r\n + b)\r\n",
    "x = 1\ry = (2)\r",
    "x = 1\r\ny = 2\nz = 3\r",
    "if x:\r  y\r  z",
    "x = 1\n\x0c\ny = 2\n",
    "x = 1 \x0c\ny=2\n",
    "if x:\n\ty = 1\n\tz = (\t2 )\n",
    "x = f\"{a + b!r:>{w}} {c}\" f'''{\n d}'''\n",
    't"{a}"\n',
    'x = """a\r\nb""" + y\r\n',
    "@a\n@b(1)\ndef f(x, *, y=1) -> int: # c\n    '''doc'''\n    return (yield x)\n\n# tail\n",
    "if a:\n  x\n  # c\nelif b: pass\nelse:\n  y # d\n\n\n",
    "for a in b:\n  x\nelse:\n  y\n",
    "while 1: x; y; # z\n",
    "try:\n  a\nexcept* E as e:\n  b\nfinally:\n  c\n",
    "try: a\nexcept E: b\nelse: c\n",
    'match x:\n  case [1, *r] if z:\n    pass\n  # c\n  case {"a": b, **c} | P(q=1): pass\n',
    "with (a as b, c):\n  x\n",
    "x = \\\n  1 + \\\n  2\n",
    "class A[T](B): pass\ntype C[T] = A[T]\n",
    "async def f():\n  async with a: await b\n  async for x in y: pass\n",
    "lambda x, /, *y: (x)\n(a)\n((a, b))\n[(c), not d]\n(e for e in f)\n",
    "def f():\n    # first\n    pass\n    # last\n",
    "é = '日本' + y\n",
)


def nodes_of(tree: Tree) -> Iterator[libcst.CSTNode]:
    pending: list[libcst.CSTNode] = [tree.module]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(node.children)


def places_by_libcst(tree: Tree) -> dict[int, Span]:
    places = MetadataWrapper(tree.module, unsafe_skip_copy=True).resolve(PositionProvider)
    return {
        id(node): Span(at.start.line, at.start.column + 1, at.end.line, at.end.column + 1)
        for node, at in places.items()
    }


def source_at(source: str, span: Span) -> str:
    lines = re.split(r"\r\n?|\n", source)[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


def without_indents(text: str) -> list[str]:
    return [line.strip() for line in re.split(r"\r\n?|\n", text)]


def sample_of_installed_files() -> list[Path]:
    files = sorted(Path(libcst.__file__).parent.rglob("*.py"))
    files += sorted(Path(random.__file__).parent.glob("*.py"))
    small = [file for file in files if file.stat().st_size < 30_000]
    return random.Random(7).sample(small, 25)


@pytest.mark.parametrize("source", SNIPPETS)
def test_every_node_is_where_libcst_says(source: str) -> None:
    tree = parse(source)
    assert tree.locate(list(nodes_of(tree))) == places_by_libcst(tree)


@pytest.mark.parametrize("file", sample_of_installed_files(), ids=lambda file: file.name)
def test_every_node_of_installed_files_is_where_libcst_says(file: Path) -> None:
    tree = parse(file.read_text("utf-8"))
    nodes = list(nodes_of(tree))
    expected = places_by_libcst(tree)
    assert tree.locate(nodes) == expected
    few = random.Random(3).sample(nodes, 5)
    assert tree.locate(few) == {id(node): expected[id(node)] for node in few}


@pytest.mark.parametrize("source", [*SNIPPETS, Path(__file__).read_text("utf-8")])
def test_text_of_an_expression_is_what_stands_at_its_place(source: str) -> None:
    tree = parse(source)
    nodes = [node for node in nodes_of(tree) if isinstance(node, libcst.BaseExpression)]
    spans = tree.locate(nodes)
    for node in nodes:
        assert without_indents(tree.text(node)) == without_indents(
            source_at(source, spans[id(node)])
        )


def test_text_leaves_out_what_is_around() -> None:
    tree = parse("# before\nif x:  # why\n    (y.detach())\n")
    branch = tree.body[0]
    assert isinstance(branch, libcst.If)
    assert tree.text(branch) == "if x:  # why\n    (y.detach())"
    statement = branch.body.body[0]
    assert isinstance(statement, libcst.SimpleStatementLine)
    assert tree.text(statement) == "(y.detach())"
    expression = statement.body[0]
    assert isinstance(expression, libcst.Expr)
    assert tree.text(expression.value) == "y.detach()"


def test_first_line_shifts_every_line() -> None:
    tree = parse("x\n\ny = (1)\n", first_line=41)
    assert (tree.first_line, len(tree.body)) == (41, 2)
    assert tree.locate([tree.body[1]]) == {id(tree.body[1]): Span(43, 1, 43, 8)}


def test_nodes_of_other_trees_and_no_nodes_have_no_place() -> None:
    tree = parse("x\n")
    assert tree.locate([]) == {}
    assert tree.locate([libcst.Name("x")]) == {}


def test_a_byte_order_mark_takes_no_column() -> None:
    tree = parse("\ufeffx = 1\n")
    assert tree.locate(tree.body)[id(tree.body[0])] == Span(1, 1, 1, 6)


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("source", ["x\n", "x x\n"])
def test_garbage_collection_is_as_before(enabled: bool, source: str) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        parse(source)
    except NotAnalysed:
        pass
    finally:
        after = gc.isenabled()
        (gc.enable if before else gc.disable)()
    assert after is enabled


# ------------------------------------------------------------------------- what does not parse

NOT_PYTHON_3 = (
    ('x = 1\nprint "x"\n', "print statement", 2),
    ("print x, y\n", "print statement", 1),
    ('exec "x" in d\n', "exec statement", 1),
    ('try:\n    pass\nexcept E, e:\n    print "a"\n', "Python 2", 3),
    ("x = `y`\n", "backticks", 1),
    ("x <> y\n", "<>", 1),
    ("x = 0777\n", "0777", 1),
    ("x = 10L\n", "10L", 1),
    ('raise E, "x"\n', "raise E, value", 1),
    ('x = ur"a"\n', "prefix ur", 1),
    ("x = 1\n<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", "merge conflict", 2),
    ("x = 1\r\n<<<<<<< HEAD\r\nx = 1\r\n=======\r\n>>>>>>> b\r\n", "merge conflict", 2),
    ("class {{ name }}(x):\n  pass\n", "template", 1),
    ("import x\n{% if a %}\n", "template", 2),
    ("%matplotlib inline\nx\n", "IPython", 1),
    ("!pip install\n", "IPython", 1),
    ("files = !ls\n", "IPython", 1),
    ("x\ntorch.no_grad?\n", "IPython", 2),
    (">>> import torch\n", "prompts", 1),
)

PLACES = (
    ("import x\n\ndef f(:\n    pass\n", 3, 7),
    ("x = 1\r\ny = = 2\r\n", 2, 5),
    ("x = 1\ry = = 2\r", 2, 5),
    ("é = '日本' +\n", 1, 11),
    ("x = 1\ny = '''abc\n", 2, 5),
    ("x = 1\nx = 1\0\n", 2, 6),
    ("x = 1\n\x0b\n", 2, 1),
    ("# c\nx = '\ud800'\n", 2, 6),
)


@pytest.mark.parametrize(("source", "words", "line"), NOT_PYTHON_3)
def test_what_is_not_python_3_is_named(source: str, words: str, line: int) -> None:
    with pytest.raises(NotAnalysed) as caught:
        parse(source)
    assert words in caught.value.message
    assert caught.value.line == line
    assert caught.value.help


@pytest.mark.parametrize(("source", "line", "column"), PLACES)
def test_a_syntax_error_has_its_place(source: str, line: int, column: int) -> None:
    with pytest.raises(NotAnalysed) as caught:
        parse(source, first_line=100)
    assert (caught.value.line, caught.value.column) == (99 + line, column)


def test_strings_that_look_like_templates_are_strings() -> None:
    with pytest.raises(NotAnalysed, match="syntax error"):
        parse('x = "{{ a }}" "{% b %}" 1\n')


def test_warnings_are_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.raises(NotAnalysed):
        parse("x = '\\d'\n1 is 1\n(\n")
    assert not recwarn.list


@pytest.mark.parametrize(
    "error",
    [
        SyntaxError("no place"),
        ValueError("odd"),
        RecursionError("deep"),
        MemoryError(),
        OverflowError(),
        None,
    ],
)
def test_the_place_of_the_parser_serves_where_python_has_none(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        if error:
            raise error

    monkeypatch.setattr(diagnosis, "compile", refuse, raising=False)
    found = diagnosis.diagnose("x\ny\n", (2, 7), first_line=11)
    assert (found.line, found.column) == (12, 7)
    beyond = diagnosis.diagnose("x\n", (9, 1))
    assert beyond.message == "syntax error: invalid syntax"


def test_not_analysed_survives_pickling() -> None:
    error = pickle.loads(pickle.dumps(NotAnalysed("what", "do this", 3, 4)))
    assert (error.message, error.help, error.line, error.column) == ("what", "do this", 3, 4)
    assert str(error) == "3:4: what"


# ------------------------------------------------------------------------------- a big stack


def depth_of(levels: int) -> int:
    return 1 + depth_of(levels - 1) if levels else 0


def test_a_big_stack_is_deep_and_leaves_other_threads_as_they_were() -> None:
    before = threading.stack_size()
    assert on_big_stack(depth_of, levels=8_000) == 8_000
    assert threading.stack_size() == before
    assert sys.getrecursionlimit() > 8_000


def test_a_big_stack_passes_errors_on() -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        on_big_stack(fail)


def test_deep_trees_can_be_parsed_and_walked() -> None:
    def work() -> int:
        tree = parse("x = " + "[" * 200 + "1" + "]" * 200 + "\ny = " + "-" * 500 + "x\n")
        return len(tree.locate(tree.body))

    assert on_big_stack(work) == 2
