"""On random modules the facts call cut what torch leaves without gradient: no more and no less."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
import torch

from agreement import cut_attributes, module_source, shrunk
from gradlint.facts.unit import Unit
from gradlint.syntax import tree

Answer = Callable[[str], set[str]]


def facts_answer(source: str) -> set[str]:
    """The attributes of `Model` whose every path to the result of forward is cut."""
    return set(Unit([tree.parse(source)]).cut_parameters("Model"))


def differs(source: str, answer: Answer) -> bool:
    """Whether torch and `answer` disagree about a module."""
    truth = cut_attributes(source)
    return truth is not None and truth != answer(source)


def differences(seeds: Iterable[int], answer: Answer) -> list[str]:
    """The modules about which torch and `answer` disagree, the shortest first."""
    sources = (module_source(seed) for seed in seeds)
    return sorted((source for source in sources if differs(source, answer)), key=len)


def report(found: list[str], answer: Answer) -> str:
    """The shortest differences, without the lines that have no part in them."""
    texts = [f"{len(found)} modules differ"]
    for source in found[:3]:
        short = shrunk(source, lambda text: differs(text, answer))
        texts += [short, f"# torch: {cut_attributes(short)}\n# facts: {answer(short)}\n"]
    return "\n".join(texts)


def test_quick_sample() -> None:
    found = differences(range(300), facts_answer)
    assert not found, report(found, facts_answer)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(300, 3300, 500))
def test_large_sample(start: int) -> None:
    found = differences(range(start, start + 500), facts_answer)
    assert not found, report(found, facts_answer)


# ---------------------------------------------------------------------- is the test a test?


def test_the_sample_is_varied() -> None:
    sources = [module_source(seed) for seed in range(300)]
    truths = [truth for source in sources if (truth := cut_attributes(source)) is not None]
    assert len(set(sources)) == 300
    assert len(truths) > 270, "torch takes nearly all"
    assert 100 < sum(bool(truth) for truth in truths) < 200, "about half lose something"
    assert module_source(7) == module_source(7)


@pytest.mark.parametrize(
    ("line", "truth"),
    [
        ("return self.layer2(self.layer1(x))", set()),
        ("return self.layer2(self.layer1(x).detach())", {"layer1"}),
        ("return self.layer2(self.layer1(x).data) + self.layer1(x)", set()),
        ("return self.layer2(x).detach()", {"layer2"}),
        ("return {'a': self.layer1(x), 'b': [self.layer2(x).detach()]}", {"layer2"}),
        ("with torch.no_grad(): return self.layer2(self.layer1(x))", {"layer1", "layer2"}),
        ("self.layer1(x)\n        return self.layer2(x)", set()),
        ("return F.linear(x, self.layer1.weight.detach(), self.layer1.bias)", set()),
        ("return self.layer1(x).view(5, 5)", None),
    ],
)
def test_truth(line: str, truth: set[str] | None) -> None:
    source = f"""\
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, 4)
        self.layer2 = nn.Linear(4, 4)

    def forward(self, x):
        {line}
"""
    assert cut_attributes(source) == truth


@pytest.mark.parametrize(
    "answer",
    [
        lambda source: set(),
        lambda source: {"layer1"},
        lambda source: (cut_attributes(source) or set()) | {"layer1"},
        lambda source: (cut_attributes(source) or set()) - {"layer1"},
    ],
    ids=["never", "always", "one too many", "one too few"],
)
def test_a_wrong_answer_is_seen(answer: Answer) -> None:
    found = differences(range(300), answer)
    assert len(found) > 10
    assert len(found[0]) <= len(found[-1])
    assert report(found, answer).count("# torch:") == min(3, len(found))


def test_a_difference_is_shrunk() -> None:
    def misses_stack(source: str) -> set[str]:
        return (cut_attributes(source) or set()) - {"stack"}

    (shortest, *_) = differences(range(100), misses_stack)
    short = shrunk(shortest, lambda text: differs(text, misses_stack))
    assert differs(short, misses_stack)
    assert len(short.splitlines()) < 20


def test_the_truth_agrees_with_itself() -> None:
    assert differences(range(100), lambda source: cut_attributes(source) or set()) == []
    assert torch.is_grad_enabled()
