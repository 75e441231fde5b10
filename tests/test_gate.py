"""Which text can matter."""

from __future__ import annotations

import pytest

from gradlint.sources.gate import PYTORCH, bytes_can_matter, can_matter

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


@pytest.mark.parametrize(("source", "triggers", "expected"), CASES)
def test_text_and_bytes_agree(source: str, triggers: list[str], expected: bool) -> None:
    assert can_matter(source, triggers) is expected
    assert bytes_can_matter(source.encode(), triggers) is expected
    assert can_matter(source, iter(triggers)) is expected


@pytest.mark.parametrize("word", PYTORCH)
def test_each_word_of_pytorch_opens_the_gate(word: str) -> None:
    assert can_matter(f"x = {word}; y.data", [".data"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-16-be"])
def test_bytes_that_say_nothing_pass(encoding: str) -> None:
    assert bytes_can_matter("import torch\n".encode(encoding), [".data"])
