"""On random modules the facts call cut what torch leaves without gradient: no more and no less."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

import pytest
import torch

from agreement import sample
from agreement_families import FAMILIES
from agreement_shrinking import shrunk
from agreement_truth import Truth, heads, truth_of
from gradlint.facts.unit import Unit
from gradlint.syntax import tree

QUICK = range(300)
Fault = Callable[[str], str]
"""What is wrong about a module, in words; nothing when torch and the facts agree."""


@cache
def truth_of_seed(seed: int) -> Truth | None:
    """Torch's answer about a program of the sample, which several tests need."""
    return truth_of(sample(seed).source)


# ------------------------------------------------------------------------------ comparisons


def facts_answer(source: str) -> set[str]:
    """The attributes of `Model` whose every path to the result of forward is cut."""
    return set(Unit([tree.parse(source)]).cut_parameters("Model"))


def cut_fault(truth: Truth, answer: set[str]) -> str:
    """What is wrong with this answer to: which attributes are cut?

    The facts may call a frozen parameter cut, for they are asked whatever is intended. Where a
    part of an attribute is cut and another trains, either answer is right.
    """
    too_many = answer - truth.attributes_cut_in_part - heads(truth.frozen)
    too_few = truth.attributes_cut - heads(truth.frozen) - answer
    said = [f"called cut: {sorted(too_many)}"] * bool(too_many)
    return ", ".join([*said, *[f"not called cut: {sorted(too_few)}"] * bool(too_few)])


def starved_names(source: str) -> set[str]:
    """Dotted names of what the linter would say that forward of `Model` starves."""
    return {
        lost.name
        for found in Unit([tree.parse(source)]).starvations()
        if found.owner == "Model" and found.root == "return"
        for lost in found.lost
    }


def freeze_fault(truth: Truth, names: set[str]) -> str:
    """Which of the names stand for nothing but frozen parameters."""
    everything = truth.cut | truth.trained | truth.frozen
    wrong = []
    for name in sorted(names):
        below = {one for one in everything if one == name or one.startswith(f"{name}.")}
        if below and below <= truth.frozen:
            wrong.append(name)
    return f"frozen, but named: {wrong}" * bool(wrong)


def fault_of(truth: Truth | None, source: str) -> str:
    """What the facts say wrongly of a module, asked both ways."""
    if truth is None:
        return ""
    frozen = freeze_fault(truth, starved_names(source)) if truth.frozen else ""
    return "; ".join(filter(None, [cut_fault(truth, facts_answer(source)), frozen]))


def report(faults: dict[str, str], fault: Fault) -> str:
    """The shortest faulty modules, without the lines that have no part in the fault."""
    texts = [f"{len(faults)} modules differ"]
    for source in sorted(faults, key=len)[:3]:
        short = shrunk(source, lambda text: bool(fault(text)))
        texts += [short, f"# {fault(short)}\n# torch: {truth_of(short)}\n"]
    return "\n".join(texts)


def faults_in(seeds: Iterable[int]) -> dict[str, str]:
    """The modules about which torch and the facts disagree."""
    found = {}
    for seed in seeds:
        source = sample(seed).source
        if fault := fault_of(truth_of_seed(seed), source):
            found[source] = fault
    return found


def fault_in(source: str) -> str:
    """What the facts say wrongly of any module."""
    return fault_of(truth_of(source), source)


def test_quick_sample() -> None:
    found = faults_in(QUICK)
    assert not found, report(found, fault_in)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(300, 3300, 500))
def test_large_sample(start: int) -> None:
    found = faults_in(range(start, start + 500))
    assert not found, report(found, fault_in)


# ---------------------------------------------------------------------- is the test a test?


FEATURES = {
    "a default": r"weight: float = 0\.5",
    "keywords": r"mix\(v=",
    "stars": r"mix\(\*",
    "several results": r"= split\(",
    "nested calls": r"\w\(\w+\([a-h]\)",
    "a flag": r"held\(.*True",
    "a static method": r"@staticmethod",
    "a class method": r"@classmethod",
    "a lambda": r"= lambda t",
    "a closure": r"def inner|def gate",
    "a decorator": r"@torch\.no_grad\(\)\ndef",
    "a layer handed over": r"through\(.*self\.layer",
    "layers handed over": r"apply_all\(\[",
    "super().forward": r"super\(\)\.forward",
    "super().encode": r"super\(\)\.encode",
    "a hook": r"raise NotImplementedError",
    "two bases up": r"class Middle\(Base\)",
    "a mixin": r"\(Mixin, ",
    "enumerate": r"in enumerate\(self",
    "zip": r"in zip\(self",
    "items": r"self\.\w+\.items\(\)",
    "ModuleDict": r"nn\.ModuleDict",
    "ParameterList": r"nn\.ParameterList",
    "ParameterDict": r"nn\.ParameterDict",
    "an index": r"self\.stack\[",
    "a key": r"self\.heads\[",
    "Sequential": r"self\.chain",
    "blocks": r"Block\(\)",
    "a list": r"items\.pop",
    "a dict": r"table\[",
    "a tuple": r"= pair",
    "a star": r"\*rest",
    "a named tuple": r"Output\(",
    "a loss": r"F\.mse_loss",
    "a detached output": r"return .*\.detach\(\)",
    "an output taken apart": r"= out\b",
    "a frozen layer": r"self\.layer\d\.requires_grad_\(False\)",
    "a frozen parameter": r"self\.(scale|shift)\.requires_grad",
    "a frozen part": r"self\.layer\d\.(weight|bias)\.requires_grad",
    "made frozen": r"made|requires_grad=False\)|\)\.requires_grad_\(False\)",
    "a freezing loop": r"in self\.\w+\.parameters\(\)",
    "a freezing method": r"self\.freeze\(|self\.set_up\(",
    "unfreezing": r"requires_grad_\(\)|requires_grad_\(True\)|requires_grad = True",
}


def test_the_sample_is_varied() -> None:
    sources = [sample(seed).source for seed in QUICK]
    truths = [truth for seed in QUICK if (truth := truth_of_seed(seed)) is not None]
    assert len(set(sources)) == len(QUICK)
    assert len(truths) > 280, "torch takes nearly all"
    assert 100 < sum(bool(truth.cut) for truth in truths) < 220, "about half lose something"
    assert 40 < sum(bool(truth.frozen) for truth in truths) < 120, "some freeze"
    rare = {
        what: sum(map(bool, map(re.compile(p).search, sources))) for what, p in FEATURES.items()
    }
    assert {what: count for what, count in rare.items() if count < 4} == {}


def test_every_family_is_in_the_sample() -> None:
    used = [family for seed in QUICK for family in sample(seed).families]
    counts = {name: used.count(name) for name in [*FAMILIES, "freezing"]}
    assert min(counts.values()) > 15, counts


def test_a_seed_gives_one_program() -> None:
    assert sample(7) == sample(7)


MODULE = """\
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(4, 4)
        self.layer2 = nn.Linear(4, 4)
        {setup}

    def forward(self, x):
        {line}
"""


@pytest.mark.parametrize(
    ("line", "cut"),
    [
        ("return self.layer2(self.layer1(x))", set()),
        ("return self.layer2(self.layer1(x).detach())", {"layer1"}),
        ("return self.layer2(self.layer1(x).data) + self.layer1(x)", set()),
        ("return self.layer2(x).detach()", {"layer2"}),
        ("return {'a': self.layer1(x), 'b': [self.layer2(x).detach()]}", {"layer2"}),
        ("with torch.no_grad(): return self.layer2(self.layer1(x))", {"layer1", "layer2"}),
        ("self.layer1(x)\n        return self.layer2(x)", set()),
        ("return F.linear(x, self.layer1.weight.detach(), self.layer1.bias)", set()),
        ("x += 1\n        return self.layer2(x)", set()),
        ("return self.layer1(x).view(5, 5)", None),
    ],
)
def test_truth(line: str, cut: set[str] | None) -> None:
    truth = truth_of(MODULE.format(setup="", line=line))
    assert (truth.attributes_cut if truth is not None else None) == cut


def test_truth_of_parts() -> None:
    line = "return F.linear(x, self.layer1.weight.detach(), self.layer1.bias)"
    truth = truth_of(MODULE.format(setup="", line=line))
    assert truth is not None
    assert truth.cut == {"layer1.weight"}
    assert truth.attributes_cut_in_part == {"layer1"}


def test_what_is_frozen_is_not_cut() -> None:
    line = "return self.layer2(self.layer1(x)).detach()"
    truth = truth_of(MODULE.format(setup="self.layer1.weight.requires_grad = False", line=line))
    assert truth is not None
    assert truth.frozen == {"layer1.weight"}
    assert truth.cut == {"layer1.bias", "layer2.weight", "layer2.bias"}
    assert freeze_fault(truth, {"layer1", "layer2.bias"}) == ""
    assert freeze_fault(truth, {"layer1.weight"}) == "frozen, but named: ['layer1.weight']"


def test_a_loop_is_run_once_and_often() -> None:
    line = "for _ in range(3):\n            x = self.layer1(x.detach())\n        return x"
    once = "y = x\n        for _ in range(3):\n            y, x = x.detach(), self.layer1(x)"
    assert truth_of(MODULE.format(setup="", line=line)) == truth_of(
        MODULE.format(setup="", line=line.replace("3", "1"))
    )
    truth = truth_of(MODULE.format(setup="", line=f"{once}\n        return self.layer2(y)"))
    assert truth is not None
    assert truth.attributes_cut == {"layer1"}, "y is the input when the loop runs once"


@pytest.mark.parametrize(
    "answer",
    [
        lambda truth: set(),
        lambda truth: {"layer1"},
        lambda truth: truth.attributes_cut | {"layer1"},
        lambda truth: truth.attributes_cut - {"layer1"},
    ],
    ids=["never", "always", "one too many", "one too few"],
)
def test_a_wrong_answer_is_seen(answer: Callable[[Truth], set[str]]) -> None:
    truths = [truth for seed in QUICK if (truth := truth_of_seed(seed)) is not None]
    assert sum(bool(cut_fault(truth, answer(truth))) for truth in truths) > 10


def test_a_fault_is_reported_and_shrunk() -> None:
    def misses_chain(source: str) -> str:
        truth = truth_of(source)
        return cut_fault(truth, truth.attributes_cut - {"chain"}) if truth is not None else ""

    truths = {sample(seed).source: truth_of_seed(seed) for seed in QUICK}
    found = [s for s, t in truths.items() if t is not None and "chain" in t.attributes_cut]
    said = report(dict.fromkeys(sorted(found, key=len)[:1], "missed"), misses_chain)
    assert said.startswith("1 modules differ")
    assert "# not called cut: ['chain']" in said
    assert len(said.splitlines()) < 25


def test_the_truth_agrees_with_itself() -> None:
    for seed in range(50):
        truth = truth_of_seed(seed)
        assert truth is None or cut_fault(truth, truth.attributes_cut) == ""
        assert truth is None or cut_fault(truth, truth.attributes_cut_in_part) == ""
    assert torch.is_grad_enabled()
