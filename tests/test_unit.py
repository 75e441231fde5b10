"""The questions that a rule may ask about a file."""

from __future__ import annotations

import textwrap

import pytest

from gradlint.facts.unit import Unit
from gradlint.model import (
    NOT_CONSTANT,
    Form,
    Graph,
    Kind,
    Operand,
    Trainable,
    brief,
    first_that_fits,
    listed,
)
from gradlint.syntax.tree import parse

PRELUDE = "import torch\nfrom torch import nn\n"


def unit(source: str) -> Unit:
    return Unit([parse(PRELUDE + textwrap.dedent(source))])


def test_function_calls_have_canonical_names() -> None:
    facts = unit(
        """
        import torch as th
        from torch.autograd import no_grad as off
        th.no_grad()
        with off():
            th.zeros(3, device="cpu")
        """
    )
    assert [call.is_statement for call in facts.function_calls("torch.no_grad")] == [True, False]
    (zeros,) = facts.function_calls("torch.zeros")
    assert zeros.receiver is None
    assert zeros.grad_off is not None
    assert zeros.arguments == (Operand("3", Kind.OTHER, 3, Graph.NO),)
    assert zeros.keywords == (("device", Operand('"cpu"', Kind.OTHER, "cpu", Graph.NO)),)


def test_method_calls_know_their_receiver() -> None:
    facts = unit(
        """
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.fc = nn.Linear(3, 3)
                self.fc.weight.touch()
                self.fc.touch()
                width.touch()

        def use(x: torch.Tensor):
            x.touch()
        """
    )
    calls = {call.receiver.text: call for call in facts.method_calls("touch") if call.receiver}
    assert {text: call.receiver.kind for text, call in calls.items() if call.receiver} == {
        "self.fc.weight": Kind.PARAMETER,
        "self.fc": Kind.MODULE,
        "width": Kind.UNKNOWN,
        "x": Kind.TENSOR,
    }
    assert calls["width"].in_initialiser
    assert not calls["x"].in_initialiser
    assert calls["self.fc"].symbol == "Net.__init__"
    assert list(facts.function_calls("touch")) == []


def test_operands() -> None:
    parameter, module = Operand("p", Kind.PARAMETER), Operand("m", Kind.MODULE)
    assert parameter.must_be_tensor
    assert parameter.must_be_parameter
    assert not parameter.must_be_module
    assert module.must_be_module
    assert not module.must_be_tensor
    assert module.constant is NOT_CONSTANT


def test_attribute_uses() -> None:
    facts = unit(
        """
        def freeze(model: nn.Module, x: torch.Tensor):
            model.requires_grad = False
            x.requires_grad = True
            x.grad.zero_()
            return x.grad
        """
    )
    uses = {use.receiver.text: use for use in facts.attribute_uses("requires_grad")}
    assert uses["model"].form is Form.ASSIGN
    assert uses["model"].receiver.must_be_module
    assert uses["model"].value == Operand("False", Kind.OTHER, False, Graph.NO)
    assert uses["x"].value is not None
    assert uses["x"].value.constant is True
    grads = [(use.form, use.via) for use in facts.attribute_uses("grad")]
    assert grads == [(Form.INPLACE, "zero_"), (Form.READ, "")]


def test_starvations_say_what_is_lost_and_what_survives() -> None:
    facts = unit(
        """
        class Net(nn.Module):
            def __init__(self, other):
                super().__init__()
                self.enc = nn.Linear(3, 3)
                self.other = other
                self.head = nn.Linear(3, 3)

            def forward(self, x):
                h = self.enc(x) + self.other(x)
                return self.head(h.detach())
        """
    )
    (found,) = facts.starvations()
    assert (found.cause, found.text, found.owner) == ("detach", "h.detach()", "Net")
    assert (found.root, found.everything, found.survivors) == ("return", False, ("head",))
    lost = {one.name: one.trainable for one in found.lost}
    assert lost == {"enc": Trainable.YES, "other": Trainable.MAYBE}
    assert facts.cut_parameters("Net") == {"enc", "other"}
    assert facts.cut_parameters("Nobody") == set()


def test_no_class_of_that_method() -> None:
    assert unit("class Empty(nn.Module):\n    pass\n").cut_parameters("Empty") == set()


@pytest.mark.parametrize(
    ("names", "at_most", "text"),
    [
        ([], 3, ""),
        (["a"], 3, "`a`"),
        (["a", "b"], 3, "`a` and `b`"),
        (["a", "b", "c"], 3, "`a`, `b` and `c`"),
        (["a", "b", "c", "d"], 3, "`a`, `b` and 2 more"),
        (["a", "b", "c"], 1, "`a` and 2 more"),
    ],
)
def test_listed(names: list[str], at_most: int, text: str) -> None:
    assert listed(names, at_most) == text


def test_brief_keeps_both_ends() -> None:
    assert brief("self.encoder", 20) == "self.encoder"
    assert brief("self.encoder.layers[0].weight", 20) == "self.encoder.…weight"
    assert len(brief("x" * 99, 20)) == 20


def test_messages_are_clipped_only_when_nothing_fits() -> None:
    assert first_that_fits("x" * 89, "short") == "short"
    assert first_that_fits("y" * 90) == "y" * 87 + "…"


def summary_of(source: str) -> set[str]:
    """The names that any cut in the source starves."""
    return {one.name for found in unit(source).starvations() for one in found.lost}


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, flag=False):
        h = self.enc(x)
{body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "h = torch.utils.checkpoint.checkpoint(self.dec, h.detach())\nreturn h",
        "return self.dec(torch.as_tensor(h.detach()))",
        "match flag:\n    case True:\n        h = h.detach()\n    case _:\n        h = h.detach()\n"
        "return self.dec(h)",
        "while flag:\n    x = x + 1\nelse:\n    h = h.detach()\nreturn self.dec(h)",
        "try:\n    h = h.detach()\nfinally:\n    x = None\nreturn self.dec(h)",
        "assert isinstance(h, torch.Tensor)\ndel x\nreturn self.dec(h.detach())",
        "d = {'h': h.detach(), 'n': 3}\nreturn self.dec(d['h'])",
        "d = dict(h=h.detach())\nreturn [self.dec(v) for k, v in d.items()]",
        "d = {}\nd['h'] = h.detach()\nfor v in d.values():\n    x = self.dec(v)\nreturn x",
        "stop = lambda v: v.detach()\nreturn self.dec(stop(h))",
        "def stop(v):\n    return v.detach()\nreturn self.dec(stop(h))",
        "if (g := h.detach()) is not None:\n    return self.dec(g)\nreturn None",
        "h = h.detach() if flag else h.data\nreturn self.dec(h)",
        "h = torch.stack([*[h.detach()]])\nreturn self.dec(h)",
        "h = max(h.detach(), x)\nreturn self.dec(h)",
        "values, index = h.detach().topk(1)\nreturn self.dec(values)",
        "return self.dec(next(iter([h.detach()])))",
        "return self.dec(getattr(self, 'enc')(x).detach())",
        "return list(map(self.dec, [h.detach()]))",
    ],
)
def test_the_cut_is_followed_through(body: str) -> None:
    assert "enc" in summary_of(NET.format(body=textwrap.indent(body, " " * 8)))


@pytest.mark.parametrize(
    "body",
    [
        "print(f'{h.detach().mean()}')\nreturn self.dec(h)",
        "keep = [h]\nkeep += [h.detach()]\nreturn [self.dec(v) for v in keep]",
        "torch.autograd.grad(h.sum(), self.enc.weight)\nreturn self.dec(h.detach())",
        "torch.autograd.backward(h.sum())\nreturn self.dec(h.detach())",
        "h.register_hook(print)\nreturn self.dec(h.detach())",
        "yield h\nreturn self.dec(h.detach())",
        "unknown(h)\nreturn self.dec(h.detach())",
        "for _ in range(2):\n    if flag:\n        break\n    h = h.detach()\nreturn self.dec(h)",
        "if flag and x is None:\n    raise ValueError(x)\nreturn self.dec(h)",
        "setattr(self, 'kept', h)\nreturn self.dec(h.detach())",
        "return self.dec(h.detach()), {**{'h': h}}",
        "async def later():\n    return await h\nreturn self.dec(h.detach())",
    ],
)
def test_the_live_path_is_seen(body: str) -> None:
    assert "enc" not in summary_of(NET.format(body=textwrap.indent(body, " " * 8)))


def test_what_modules_are_made_of() -> None:
    facts = unit(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList()
                self.layers.append(nn.Linear(3, 3))
                self.more = nn.ModuleList()
                self.more.extend([nn.Linear(3, 3) for _ in range(2)])
                self.add_module("head", nn.Linear(3, 3))
                self.register_parameter("scale", nn.Parameter(torch.ones(3)))
                self.register_buffer("mean", torch.zeros(3))
                self.apply(self._init)

            def _init(self, module):
                module.weight.touch()

            def look(self, seen):
                for module in self.modules():
                    module.touch()
                for name, module in self.named_children():
                    module.weight.touch()
                for buffer in self.buffers():
                    buffer.touch()
                seen.append(self.layers)
                self.layers.register_full_backward_hook(print)
                return self.layers.forward

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                for layer in self.more:
                    x = layer(x)
                return self.head(x.detach()) * self.scale + self.mean
        """
    )
    (found,) = facts.starvations()
    assert {one.name for one in found.lost} == {"layers", "more"}
    assert set(found.survivors) == {"head", "scale"}
    kinds = [c.receiver.kind for c in facts.method_calls("touch") if c.receiver is not None]
    assert sorted(kind.value for kind in kinds) == ["module", "parameter", "parameter", "tensor"]


def test_a_frozen_part_is_enough_to_stay_silent() -> None:
    source = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            return self.dec(self.enc(x).detach())

    def freeze_all(net: Net):
        for child in list(net.children())[:1]:
            for p in child.parameters():
                p.requires_grad = False
    """
    assert not unit(source).starvations()


def test_what_must_be_trainable_comes_first() -> None:
    """A submodule counts as what its surest part is, in whatever order its parts were seen."""
    facts = unit(
        """
        class Inner(nn.Module):
            def __init__(self, other):
                super().__init__()
                self.layer, self.other = nn.Linear(4, 4), other

            def forward(self, x):
                return self.other(self.layer(x))


        class Net(nn.Module):
            def __init__(self, other):
                super().__init__()
                self.inner, self.head = Inner(other), nn.Linear(4, 2)

            def forward(self, x):
                with torch.no_grad():
                    h = self.inner(x)
                return self.head(h)
        """
    )
    (starvation,) = facts.starvations()
    assert starvation.lost[0].trainable is Trainable.YES
