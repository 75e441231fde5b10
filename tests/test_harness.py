"""The harness itself: each way in which a fixture, a page or a truth can be wrong must fail it."""

from __future__ import annotations

from typing import Any

import pytest

import pages
from expectations import MarkError, disagreements, read

FIXTURE = """\
x.detach()  # expect: GL203
x.detach_()  # ok: works in place
y = helper(x)  # missed: GL201: helpers in other files are not read
z = other(x)  # false alarm: GL201: taken for a tensor
both(x)  # expect: GL101, GL201
twice(x)  # expect: GL101, GL101
text = "# expect: GL999"  # ok: a mark in a string is text
"""

FOUND = [(1, "GL203"), (4, "GL201"), (5, "GL101"), (5, "GL201"), (6, "GL101"), (6, "GL101")]


def test_agreement_is_silent() -> None:
    assert disagreements(FIXTURE, FOUND) == []
    assert disagreements(FIXTURE, reversed(FOUND)) == []


@pytest.mark.parametrize(
    ("change", "report"),
    [
        ([(1, "GL203")], "line 1: GL203 is missing"),
        ([(4, "GL201")], "line 4: GL201 is gone, turn `false alarm` into `ok`"),
        ([(5, "GL101")], "line 5: GL101 is missing"),
        ([(6, "GL101")], "line 6: GL101 is missing"),
    ],
)
def test_a_lost_finding_fails(change: list[tuple[int, str]], report: str) -> None:
    found = list(FOUND)
    for finding in change:
        found.remove(finding)
    assert disagreements(FIXTURE, found) == [report]


@pytest.mark.parametrize(
    ("finding", "report"),
    [
        ((1, "GL203"), "line 1: unexpected GL203"),
        ((1, "GL101"), "line 1: unexpected GL101"),
        ((2, "GL207"), "line 2: unexpected GL207 on a line that is ok: works in place"),
        ((3, "GL201"), "line 3: GL201 is found now, turn `missed` into `expect`"),
        ((3, "GL101"), "line 3: unexpected GL101"),
        ((8, "GL101"), "line 8: unexpected GL101"),
    ],
)
def test_an_added_finding_fails(finding: tuple[int, str], report: str) -> None:
    assert disagreements(FIXTURE, [*FOUND, finding]) == [report]


def test_a_wrong_line_fails_twice() -> None:
    assert disagreements(FIXTURE, [(2, "GL203"), *FOUND[1:]]) == [
        "line 1: GL203 is missing",
        "line 2: unexpected GL203 on a line that is ok: works in place",
    ]


@pytest.mark.parametrize("number", [1, 4, 5, 6])
def test_a_removed_mark_fails(number: int) -> None:
    lines = FIXTURE.splitlines()
    lines[number - 1] = lines[number - 1].partition("  #")[0]
    report = disagreements("\n".join(lines), FOUND)
    assert report
    assert all(words.startswith(f"line {number}: unexpected GL") for words in report)


@pytest.mark.parametrize(
    "mark",
    [
        "expect GL203",
        "expect:GL203",
        "expect: GL20",
        "expect: GL203 GL204",
        "expect: GL203,GL204",
        "expect: GL203 because",
        "expect:",
        "Expect: GL203",
        "ok",
        "ok:",
        "missed: GL201",
        "missed: GL201:",
        "missed: reason",
        "false alarm: GL201",
        "false-alarm: GL201: reason",
        "no_gradient:",
        "no_gradient: a b",
        "no_gradient: a,, b",
        "no gradient: a",
        "ok: fine  # expect: GL101",
    ],
)
def test_a_malformed_mark_raises(mark: str) -> None:
    with pytest.raises(MarkError, match="line 2"):
        read(f"x = 1\ny = 2  # {mark}\n")


def test_marks_share_a_comment() -> None:
    marks = read(
        "class A:  # gradlint: ignore[GL201]  # expect: GL001  # no_gradient: a.*, b\n  x = 1"
    )
    assert list(marks.expect) == [(1, "GL001")]
    assert marks.no_gradient == {1: ("a.*", "b")}


def test_other_comments_are_no_marks() -> None:
    marks = read("# expectations, okay and missing parts\nx = 1  # is ok: no mark at the start\n")
    assert marks == read("")


# ----------------------------------------------------------------------------------- truth

MODEL = """\
import torch
from torch import nn


class Cut(nn.Module):{claim}
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        self.frozen = nn.Linear(2, 2).requires_grad_(False)

    def forward(self, x=torch.ones(1, 2)):
        h = self.frozen(self.a(x).detach())
        return {{"logits": (self.b(h), [h]), "labels": h.argmax()}}
"""

SCRIPT = """\
import torch
from torch import nn


def step():{claim}
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    b(a(torch.ones(1, 2)).detach()).sum().backward()
    return {result}
"""


def untruths(source: str) -> list[str]:
    """What the truth harness says of the only claim in `source`."""
    pytest.importorskip("torch")
    import truth

    names: dict[str, Any] = {"__name__": "fixture"}
    exec(source, names)
    (claim,) = truth.claims(source)
    return truth.untruths(claim, names[claim.name])


def test_a_true_claim_is_silent() -> None:
    assert untruths(MODEL.format(claim="  # no_gradient: a.*")) == []
    assert untruths(MODEL.format(claim="  # no_gradient: a.weight, a.bias")) == []
    assert untruths(SCRIPT.format(claim="  # no_gradient: a.*", result="{'a': a, 'b': b}")) == []
    assert untruths(SCRIPT.format(claim="  # no_gradient: nothing", result="b")) == []


@pytest.mark.parametrize(
    ("globs", "report"),
    [
        ("nothing", ["Cut: a.bias gets no gradient", "Cut: a.weight gets no gradient"]),
        ("a.weight", ["Cut: a.bias gets no gradient"]),
        ("a.*, b.bias", ["Cut: b.bias gets a gradient"]),
        ("a.*, c.*", ["Cut: the glob c.* matches no trainable parameter"]),
        ("a.*, frozen.*", ["Cut: the glob frozen.* matches no trainable parameter"]),
    ],
)
def test_a_false_claim_fails(globs: str, report: list[str]) -> None:
    assert untruths(MODEL.format(claim=f"  # no_gradient: {globs}")) == report


def test_a_false_claim_about_a_script_fails() -> None:
    claimed = SCRIPT.format(claim="  # no_gradient: nothing", result="{'a': a, 'b': b}")
    assert untruths(claimed) == ["step: a.bias gets no gradient", "step: a.weight gets no gradient"]


def test_a_claim_stands_on_a_class_or_function() -> None:
    pytest.importorskip("torch")
    import truth

    assert truth.claims(MODEL.format(claim="")) == []
    with pytest.raises(MarkError, match="line 1"):
        truth.claims("x = 1  # no_gradient: nothing\n")


# ----------------------------------------------------------------------------------- pages

BAD = "x = torch.ones(2, requires_grad=True)\nx.detach().sum().backward()\n"
GOOD = "x = torch.ones(2, requires_grad=True)\nx.sum().backward()\n"
PAGE = f"""`x.detach()` has no graph.

What happens.

Bad:
    {BAD.replace(chr(10), chr(10) + "    ").rstrip()}

Good:
    {GOOD.replace(chr(10), chr(10) + "    ").rstrip()}

Raises: RuntimeError: element 0 of tensors does not require grad

Quiet on: nothing.
Also: GL202, GL203
Fix: none.
Source: torch 2.13.0
"""


def test_a_good_page_is_silent() -> None:
    assert pages.form_problems(PAGE) == []
    assert pages.also(PAGE) == {"GL202", "GL203"}
    assert pages.also(PAGE.replace("Also: GL202, GL203\n", "")) == set()


def test_examples_that_run_as_told_are_silent() -> None:
    pytest.importorskip("torch")
    assert pages.run_problems(PAGE, BAD, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "report"),
    [
        ("Good:\n", "Well:\n", "no `Good:`"),
        ("Quiet on: nothing.\n", "", "no `Quiet on:`"),
        ("Quiet on: nothing.", "Quiet on:", "nothing below `Quiet on:`"),
        ("Source: torch 2.13.0\n", "", "no `Source:`"),
        ("torch 2.13.0", "I know it", "`Source:` names no address and no torch version"),
        ("has no graph.", "has no graph", "the first line is a sentence of at most 88 characters"),
        ("has", "has " * 30, "the first line is a sentence of at most 88 characters"),
        ("Raises: RuntimeError", "Raises: Trouble", "`Raises:` begins with no exception type"),
        ("Fix: none.\n", "Bad: again\n", "headings out of order or twice: "),
    ],
)
def test_a_page_out_of_form_fails(old: str, new: str, report: str) -> None:
    assert old in PAGE
    assert any(p.startswith(report) for p in pages.form_problems(PAGE.replace(old, new, 1)))


def test_examples_that_run_otherwise_fail() -> None:
    pytest.importorskip("torch")
    quiet = PAGE.replace("Raises", "Rises")
    other = PAGE.replace("Raises: RuntimeError", "Raises: ValueError")
    assert len(pages.run_problems(quiet, BAD, GOOD)) == 1
    assert len(pages.run_problems(other, BAD, GOOD)) == 1
    assert len(pages.run_problems(PAGE, GOOD, GOOD)) == 1
    assert len(pages.run_problems(PAGE, BAD, BAD)) == 1
    assert len(pages.run_problems(PAGE, "x = undefined\n", "x = undefined\n")) == 2
