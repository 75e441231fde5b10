"""Where a file names a grad mode: the role of each use, its scope, and what restores the mode."""

from __future__ import annotations

import textwrap

import pytest

from gradlint.facts.unit import Unit
from gradlint.model import ModeRole, ModeUse
from gradlint.syntax.tree import parse


def uses(source: str) -> tuple[ModeUse, ...]:
    """Every use in a file that imports torch."""
    return Unit([parse("import torch\n" + textwrap.dedent(source))]).mode_uses()


def only(source: str) -> ModeUse:
    """The one use in a file."""
    (use,) = uses(source)
    return use


@pytest.mark.parametrize(
    ("source", "role"),
    [
        ("torch.no_grad()", ModeRole.STATEMENT),
        ("if x: torch.no_grad()", ModeRole.STATEMENT),
        ("class A:\n    torch.no_grad()", ModeRole.STATEMENT),
        ("raise SystemExit\ntorch.no_grad()", ModeRole.STATEMENT),
        ("with torch.no_grad(): pass", ModeRole.BLOCK),
        ("with x, torch.no_grad() as y:\n    pass", ModeRole.BLOCK),
        ("with torch.no_grad: pass", ModeRole.UNCALLED_BLOCK),
        ("with (torch.no_grad): pass", ModeRole.UNCALLED_BLOCK),
        ("@torch.no_grad()\ndef f(): pass", ModeRole.FUNCTION),
        ("@torch.no_grad\nasync def f(): pass", ModeRole.FUNCTION),
        ("@torch.no_grad()\nclass A: pass", ModeRole.CLASS),
        ("@torch.no_grad\nclass A: pass", ModeRole.CLASS),
        ("torch.no_grad", ModeRole.VALUE),
        ("x = torch.no_grad()", ModeRole.VALUE),
        ("with torch.no_grad() if x else y: pass", ModeRole.VALUE),
        ("for x in [torch.no_grad()]: pass", ModeRole.VALUE),
        ("stack.enter_context(torch.no_grad())", ModeRole.VALUE),
        ("torch.no_grad()(f)(x)", ModeRole.VALUE),
        ("def f(x=torch.no_grad): pass", ModeRole.VALUE),
        ("@wrap(torch.no_grad)\ndef f(): pass", ModeRole.VALUE),
        ("def f():\n    return torch.no_grad()", ModeRole.VALUE),
        ("f = lambda: torch.no_grad()", ModeRole.VALUE),
        ("class A(f(torch.no_grad)):\n    x = 1", ModeRole.VALUE),
        ("class A(metaclass=f(torch.no_grad)): pass", ModeRole.VALUE),
        ("x = lambda a=torch.no_grad: a.no_grad(no_grad=torch)", ModeRole.VALUE),
        ("match x:\n    case 1 if torch.no_grad(): pass", ModeRole.VALUE),
    ],
)
def test_roles(source: str, role: ModeRole) -> None:
    use = only(source)
    assert (use.role, use.name, use.text) == (role, "torch.no_grad", "torch.no_grad")


@pytest.mark.parametrize(
    ("expression", "records"),
    [
        ("torch.no_grad()", False),
        ("torch.no_grad", False),
        ("torch.no_grad(what)", None),
        ("torch.inference_mode()", False),
        ("torch.inference_mode(True)", False),
        ("torch.inference_mode(mode=False)", True),
        ("torch.inference_mode(flag)", None),
        ("torch.enable_grad()", True),
        ("torch.set_grad_enabled(True)", True),
        ("torch.set_grad_enabled(mode=False)", False),
        ("torch.set_grad_enabled(not flag)", None),
        ("torch.set_grad_enabled", None),
    ],
)
def test_whether_gradients_are_recorded(expression: str, records: bool | None) -> None:
    assert only(f"@{expression}\ndef f(): pass").records is records


def test_names_are_resolved() -> None:
    found = uses(
        """
        import torch as th
        from torch.autograd import no_grad as off, grad_mode
        th.no_grad()
        off()
        grad_mode.set_grad_enabled(False)
        other.no_grad()
        no_grad()
        """
    )
    assert [(use.text, use.name) for use in found] == [
        ("th.no_grad", "torch.no_grad"),
        ("off", "torch.no_grad"),
        ("grad_mode.set_grad_enabled", "torch.set_grad_enabled"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "def f(no_grad, *args):\n    with no_grad:\n        def g():\n            no_grad()",
        "x.no_grad()",
        "with x.no_grad: pass",
        "f(no_grad=True)",
        "f = lambda no_grad=False: x",
    ],
)
def test_the_name_of_something_else(source: str) -> None:
    assert uses(f"from torch import no_grad\n{source}") == ()


@pytest.mark.parametrize("source", ["x = 1", "no_grad = 1\nno_grad", "def f(): return 'no_grad()'"])
def test_a_file_without_modes(source: str) -> None:
    assert uses(source) == ()


def test_scopes() -> None:
    found = uses(
        """
        torch.no_grad()
        class A:
            torch.no_grad()
            def f(self):
                torch.no_grad()
                def g():
                    torch.no_grad()
                    class B:
                        def h(self):
                            torch.no_grad()
                torch.no_grad()
        """
    )
    assert [(use.scope.symbol, use.scope.name, use.scope.is_function) for use in found] == [
        ("", "", False),
        ("A", "A", False),
        ("A.f", "f", True),
        ("A.f", "g", True),
        ("B.h", "h", True),
        ("A.f", "f", True),
    ]
    assert found[2].scope is found[5].scope
    assert len({use.scope for use in found}) == 5


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("torch.no_grad()\ndef f(): pass", "f"),
        ("torch.no_grad()\n# why\n@wrap\ndef f(): pass", "f"),
        ("torch.no_grad()\n\ndef f(): pass", ""),
        ("class A:\n    torch.no_grad()\n\n    def f(self): pass", "f"),
        ("class A:\n    torch.no_grad()\n    x = 1", ""),
        ("torch.no_grad(); x = 1\ndef f(): pass", ""),
        ("x = 1; torch.no_grad()\ndef f(): pass", "f"),
        ("torch.no_grad()\nclass A: pass", ""),
        ("def f():\n    torch.no_grad()\n\n    def g(): pass", ""),
        ("def f():\n    torch.no_grad()\ndef g(): pass", ""),
    ],
)
def test_the_function_below_a_statement(source: str, target: str) -> None:
    assert only(source).target == target


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("@torch.enable_grad()\ndef f():", "{}"),
        ("@torch.no_grad\ndef f():", "{}"),
        ("def f():", "before = torch.is_grad_enabled()\n    {}"),
        ("def f():", "with torch.enable_grad():\n        {}"),
        ("def f():", "with a, torch.no_grad():\n        if x:\n            {}"),
        ("def __enter__(self):", "{}"),
        ("@pytest.fixture()\ndef f():", "{}"),
    ],
)
def test_what_is_restored(head: str, body: str) -> None:
    found = uses(f"{head}\n    {body.format('torch.set_grad_enabled(False)')}")
    assert [use.is_restored for use in found if use.role is ModeRole.STATEMENT] == [True]


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("def f():", "{}"),
        ("@wrap\ndef f():", "with autocast():\n        {}"),
        ("def f():", "with torch.no_grad():\n        def g():\n            {}"),
        ("def f():", "with torch.no_grad(): pass\n    {}"),
        ("def __exit__(self):", "with torch.no_grad: {}"),
    ],
)
def test_what_is_not_restored(head: str, body: str) -> None:
    found = uses(f"{head}\n    {body.format('torch.set_grad_enabled(False)')}")
    assert [use.is_restored for use in found if use.role is ModeRole.STATEMENT] == [False]


def test_a_final_block() -> None:
    found = uses(
        """
        try:
            torch.no_grad()
        except* E:
            torch.no_grad()
        else:
            torch.no_grad()
        finally:
            if x:
                torch.no_grad()
        """
    )
    assert [use.in_finally for use in found] == [False, False, False, True]


# --------------------------------------------------------------------------------- branches


def excluded(source: str) -> bool:
    """Whether the first and the last use exclude each other."""
    first, *_, last = uses(source)
    assert first.excludes(last) is last.excludes(first)
    return first.excludes(last)


@pytest.mark.parametrize(
    "source",
    [
        "if x: {0}\nelse: {0}",
        "if x:\n    {0}\nelif y:\n    z\nelse:\n    for i in z: {0}",
        "match x:\n    case 1: {0}\n    case _: {0}",
        "while x:\n    if y:\n        {0}\n        continue\n    {0}",
        "def f():\n    if x:\n        {0}; return\n    {0}",
        "def f():\n    if x: return\n    elif y:\n        {0}\n        raise E\n    {0}",
    ],
)
def test_one_of_two_branches(source: str) -> None:
    assert excluded(source.format("torch.no_grad()"))


@pytest.mark.parametrize(
    "source",
    [
        "{0}\n{0}",
        "if x: {0}\nif x: {0}",
        "if x:\n    {0}\n{0}",
        "if x:\n    {0}\n    {0}",
        "if x:\n    {0}\n    if y: z\n    else: {0}",
        "try: {0}\nexcept E: {0}",
        "for x in y: {0}\nelse: {0}",
        "while x: {0}\n{0}",
        "def f():\n    if x:\n        y\n        return\n    {0}\n    {0}",
    ],
)
def test_both_may_run(source: str) -> None:
    assert not excluded(source.format("torch.no_grad()"))


# ------------------------------------------------------------------------------- generators


def yields(source: str) -> list[int]:
    """How often each block of a function yields under its mode."""
    return [len(use.yields) for use in uses(source) if use.role is ModeRole.BLOCK]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("yield x", 1),
        ("a = yield x\n        yield from y", 2),
        ("for a in b:\n            if c: yield a", 1),
        ("with open(p): yield x", 1),
        ("return x", 0),
        ("def g(): yield x", 0),
        ("f = lambda: (yield)", 0),
    ],
)
def test_where_a_block_yields(body: str, count: int) -> None:
    assert yields(f"def f():\n    with torch.no_grad():\n        {body}\n    yield z") == [count]


def test_the_innermost_block_yields() -> None:
    source = """
    class A:
        @staticmethod
        def f():
            with torch.no_grad():
                yield 1
                with torch.enable_grad():
                    yield 2
                    yield 3
            with torch.no_grad(), lock, torch.inference_mode():
                yield 4
    """
    assert yields(source) == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "decorator", ["contextmanager", "contextlib.asynccontextmanager", "pytest.fixture()", "a[0]"]
)
def test_a_decorator_may_be_the_consumer(decorator: str) -> None:
    assert yields(f"@{decorator}\ndef f():\n    with torch.no_grad(): yield") == [0]


@pytest.mark.parametrize("mode", ["torch.no_grad()", "torch.inference_mode", "torch.enable_grad()"])
def test_a_mode_that_decorates_restores_at_each_yield(mode: str) -> None:
    assert yields(f"@{mode}\ndef f():\n    with torch.no_grad(): yield") == [0]


def test_the_statement_of_a_yield() -> None:
    use = only("def f():\n    with torch.no_grad():\n        x = (yield 1) + (yield 2)")
    first, second = use.yields
    assert first.statement is second.statement
    assert first.node is not second.node


# --------------------------------------------------------------------------- who trains here


@pytest.mark.parametrize(
    ("rest", "trains"),
    [
        ("loss.backward()", True),
        ("def step(self, loss):\n    self.manual_backward(loss)", True),
        ("class F:\n    def backward(ctx, g): return g", False),
        ("optimizer.step()", False),
    ],
)
def test_a_file_that_trains(rest: str, trains: bool) -> None:
    use = only(f"def f():\n    torch.no_grad()\n{rest}")
    assert use.scope.file_trains is trains
    assert not use.scope.trains


def test_a_function_that_trains() -> None:
    scope = only("def f(loss):\n    torch.no_grad()\n    loss.backward()").scope
    assert scope.trains
    assert scope.file_trains


def alone(source: str) -> bool:
    """Whether the function with the one use runs alone."""
    return only(source).scope.runs_alone


F = "def f():\n    torch.no_grad()\n"


@pytest.mark.parametrize(
    "source",
    [
        F + "f()",
        F + "if __name__ == '__main__':\n    fire.Fire(f)",
        "@app.command()\n" + F,
        F + "def main():\n    f()\nmain()",
        F + "def a():\n    f()\n    b()\ndef b():\n    a()\na()",
        "class A:\n    def __init__(self):\n        torch.no_grad()\nA().read()",
        F + "def main(): Thread(target=f)\ndef other(): main()",
        F + "def main(loss):\n    mp.spawn(f, nprocs=2)\n    loss.backward()",
        "class A:\n    def g(self): return Process(None, self.f)\n"
        "    def f(self):\n        torch.no_grad()",
        "import threading\nclass A(threading.Thread):\n    def run(self):\n"
        "        torch.no_grad()\noptimizer = 1",
        "from multiprocessing import Process as P\nclass B(P): pass\n"
        "class A(B):\n    def run(self):\n        torch.no_grad()",
    ],
)
def test_what_runs_alone(source: str) -> None:
    assert alone(source)


@pytest.mark.parametrize(
    "source",
    [
        F,
        F + "def g():\n    f()",
        F + "def g():\n    f()\nf()",
        F + "class A:\n    def g(self):\n        f()",
        F + "f()\noptimizer.step()",
        F + "f()\ntorch.optim.SGD",
        F + "f()\nloss.backward()",
        F + "def main(): Worker(target=f)",
        "import threading\nclass A(threading.Thread):\n    def __init__(self):\n"
        "        torch.no_grad()",
        "class A(Base):\n    def run(self):\n        torch.no_grad()",
    ],
)
def test_what_others_run(source: str) -> None:
    assert not alone(source)


def test_the_module_level_runs_alone_unless_something_trains() -> None:
    assert alone("torch.no_grad()")
    assert not alone("torch.no_grad()\nloss.backward()")
