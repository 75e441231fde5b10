"""Which text can matter."""

from __future__ import annotations

import pytest

from gradlint.sources.gate import PYTORCH, can_matter

CASES: tuple[tuple[str, list[str], bool], ...] = (
    ("import torch\nx.detach()\n", [".detach("], True),
    ("import torch\nx.detach()\n", [".data", ".detach("], True),
    ("import torch\nx.detach()\n", [".data"], False),
    ("import torch\n", [], False),
    ("process.detach()\n", [".detach("], False),
    ("", [".detach("], False),
    ("import lightning as L\nx.data = 1\n", [".data"], True),
    ("for p in model.parameters():\n    p.data = 1\n", [".data"], True),
    ("# é\nclass A(nn.Module): x.data\n", [".data"], True),
)


NOT_CODE = (
    "import torch.utils.data\n",
    "from torch.utils.data import Dataset\n",
    "import torch\nfrom a.data import (\n    b,\n)\n",
    "import torch\nx.dataset, x.data_format\n",
    "import torch  # x.data\n",
    'import torch\nx = "y.data"\n',
    'import torch\n"""y.data"""\n',
)


@pytest.mark.parametrize("source", NOT_CODE)
def test_what_is_no_code_does_not_open_the_gate(source: str) -> None:
    assert not can_matter(source, [".data"])


@pytest.mark.parametrize("code", ["x.data", "print(f'{x.data}')", "a = [x . y, x.data[0]]"])
def test_code_beside_imports_opens_the_gate(code: str) -> None:
    assert can_matter(f"from torch.utils.data import Dataset\n{code}\n", [".data"])


def test_an_import_can_be_a_trigger_itself() -> None:
    assert can_matter("from torch import no_grad as off\n", ["no_grad"])


@pytest.mark.parametrize(("source", "triggers", "expected"), CASES)
def test_a_trigger_and_pytorch_open_the_gate(
    source: str, triggers: list[str], expected: bool
) -> None:
    assert can_matter(source, triggers) is expected
    assert can_matter(source, iter(triggers)) is expected


@pytest.mark.parametrize("word", PYTORCH)
def test_each_word_of_pytorch_opens_the_gate(word: str) -> None:
    assert can_matter(f"x = {word}; y.data", [".data"])
