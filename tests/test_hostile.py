"""Small legal files that ask for too much: each gives its one finding, within its budget."""

from __future__ import annotations

import pytest

from linting import lines_and_codes

HEAD = "import torch\nfrom torch import nn\nw = nn.Linear(2, 2)\ny = w.weight.data\n"
THRICE = "f{0} = lambda x: f{1}(x) + f{1}(x) + f{1}(x)\n"
NESTED = "".join("    " * i + f"def g{i}(x):\n" for i in range(1, 13))
RETURNS = "".join("    " * i + f"return g{i}(x) + g{i}(x)\n" for i in range(12, 0, -1))

HOSTILE = {
    "doubled tuples": "x = (y, y)\n" + "x = (x, x)\n" * 40,
    "swapped tuples": "a, b = y, y\n" + "a, b = (a, b), (b, a)\n" * 40,
    "doubled lists": "x = [y]\n" + "x = x + x\n" * 40,
    "doubled dicts": "x = {'a': y}\n" + "x = {'a': x, 'b': x}\n" * 40,
    "lambdas": "f0 = lambda x: w(x)\n"
    + "".join(THRICE.format(i, i - 1) for i in range(1, 30))
    + "f29(w(y))\n",
    "nested functions": f"def f(x):\n{NESTED}{'    ' * 13}return w(x)\n{RETURNS}f(w(y))\n",
    "recursion": "def f(x):\n    return g(x)\ndef g(x):\n    return f(x) + f(x)\ng(w(y))\n",
    "cyclic bases": "class A(B):\n    pass\nclass B(A):\n    pass\nA()(w(y))\n",
    "odd ranges": "for i in range(1, 9, 0):\n    pass\nfor i in range():\n    pass\n",
    "a hook that is its own module": "w.register_forward_hook(w)\nw(w(y))\n",
    "a comment of many beginnings": f"# {'noqa:' * 20_000}\n",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=list(HOSTILE))
def test_gives_its_finding(source: str) -> None:
    assert lines_and_codes(HEAD + source) == [(4, "GL101")]
