"""Random small modules, and what torch says of their parameters.

Every tensor is `(3, 4)` and double, so that each statement fits each other one. Nothing subtracts,
saturates or multiplies by zero, so that what takes part in a value also changes it: a parameter's
influence is measured by giving it other values. There are no branches: a static answer about
both sides is none about the side that ran. A loop stands for one that runs once or more often.
Arguments are annotated: `.data` of what may be no tensor is no cut.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from truth import backward, floating

HEADER = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"

LAYERS = ("layer1", "layer2", "layer3", "layer4")
PARAMETERS = ("scale", "shift")
ATTRIBUTES = {
    **dict.fromkeys(LAYERS, "nn.Linear(4, 4)"),
    **dict.fromkeys(PARAMETERS, "nn.Parameter(torch.rand(4) + 0.5)"),
    "stack": "nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])",
    "chain": "nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))",
}
"""The attributes that a module may own, and how they are made."""

FUNCTIONS = (
    "torch.tanh({})",
    "torch.sigmoid({})",
    "F.softplus({})",
    "{}.sin()",
    "{}.cos()",
    "({} * 0.5)",
    "(1.5 + {})",
    "{}.clone()",
    "{}.transpose(0, 1).flip(0).t()",
)
CUTS = ("{}.detach()", "{}.data", "{}.detach().clone()", "{}.detach().sin()", "torch.detach({})")
BLOCKS = ("torch.no_grad()", "torch.set_grad_enabled(False)", "torch.no_grad()")
LOOP = "for _ in range(3):"
POOL = "abcdefgh"


@dataclass
class Body:
    """A function body while it is written: its lines, and the tensors that have a name by now."""

    chance: random.Random
    helpers: tuple[str, ...]
    known: list[str]
    lines: list[str] = field(default_factory=list)
    indent: int = 2
    depth: int = 0
    in_loop: bool = False

    def say(self, line: str) -> None:
        """Adds one line at the current depth."""
        self.lines.append("    " * self.indent + line)

    def any(self) -> str:
        """A tensor that has a name."""
        return self.chance.choice(self.known)

    def target(self) -> str:
        """A name to assign to, often a new one."""
        fresh = [name for name in POOL if name not in self.known]
        return self.chance.choice(fresh) if fresh and self.chance.random() < 0.6 else self.any()

    def bind(self, name: str) -> None:
        """Notes that `name` is a tensor from here on."""
        if name not in self.known:
            self.known.append(name)

    def assign(self, expression: str) -> None:
        """Gives an expression a name."""
        name = self.target()
        self.say(f"{name} = {expression}")
        self.bind(name)

    # ------------------------------------------------------------------------ expressions

    def expression(self) -> str:
        """A tensor, in one or two steps."""
        layer, parameter = self.chance.choice(LAYERS), self.chance.choice(PARAMETERS)
        function = self.chance.choice(FUNCTIONS)
        return self.chance.choice(
            [
                f"self.{layer}({self.any()})",
                f"self.{layer}({function.format(self.any())})",
                f"torch.tanh(self.{layer}({self.any()}))",
                function.format(self.any()),
                f"{self.any()} + {self.any()}",
                f"{self.any()} * {self.any()}.sigmoid()",
                f"{self.any()} * self.{parameter}",
                f"{self.any()} + self.{parameter}",
                f"self.chain({self.any()})",
                f"F.linear({self.any()}, self.{layer}.weight, self.{layer}.bias)",
            ]
        )

    def cut(self) -> str:
        """A tensor that has lost its graph."""
        inner = self.any() if self.chance.random() < 0.6 else f"({self.expression()})"
        return self.chance.choice(CUTS).format(inner)

    # ------------------------------------------------------------------------- statements

    def write(self, count: int) -> None:
        """Adds `count` statements."""
        for _ in range(count):
            self.chance.choice(self.kinds())()

    def kinds(self) -> list[Callable[[], None]]:
        """The statements that may come next, the usual ones several times."""
        single = [self.skip, self.gather, self.comprehension, self.unpack, self.in_place]
        nested = [self.block] * 3 + ([] if self.in_loop else [self.loop, self.loop_over_stack])
        return [
            *[self.plain] * 8,
            *[self.cutting] * 3,
            *single,
            *(nested if self.depth < 2 else []),
            *([self.help] * 2 if self.helpers else []),
        ]

    def plain(self) -> None:
        self.assign(self.expression())

    def cutting(self) -> None:
        self.assign(self.cut())

    def skip(self) -> None:
        name = self.any()
        self.say(f"{name} = {name} + {self.expression()}")

    def block(self) -> None:
        off = self.chance.choice(BLOCKS)
        self.nested(f"with {off if self.chance.random() < 0.9 else 'torch.enable_grad()'}:")

    def loop(self) -> None:
        """A loop that may run once or often."""
        before, self.in_loop = list(self.known), True
        self.nested(LOOP)
        self.known, self.in_loop = before, False

    def loop_over_stack(self) -> None:
        name = self.any()
        self.say("for layer in self.stack:")
        self.say(f"    {name} = layer({name})")

    def nested(self, header: str) -> None:
        self.say(header)
        self.indent += 1
        self.depth += 1
        self.write(self.chance.randint(1, 3))
        self.indent -= 1
        self.depth -= 1

    def gather(self) -> None:
        """A list that is filled, and what is made of it."""
        self.say(f"items = [{self.any()}, {self.expression()}]")
        if self.chance.random() < 0.5:
            self.say(f"items.append({self.cut()})")
        self.assign(self.chance.choice(["sum(items)", "torch.stack(items).mean(0)"]))

    def comprehension(self) -> None:
        layer = self.chance.choice(LAYERS)
        each = self.chance.choice([f"self.{layer}(item)", "item.detach()", "item.sin()"])
        self.assign(f"sum([{each} for item in ({self.any()}, {self.any()})])")

    def unpack(self) -> None:
        first, second = self.chance.sample(POOL, 2)
        self.say(f"{first}, {second} = {self.any()}, {self.expression()}")
        self.bind(first)
        self.bind(second)

    def in_place(self) -> None:
        """A write to a sum of two, which nothing else shares and no backward needs."""
        name = self.target()
        self.say(f"{name} = {self.any()} + {self.any()}")
        self.bind(name)
        value = self.expression()
        if self.chance.random() < 0.4:
            self.say("with torch.no_grad():")
            self.say(f"    {name} += {value}")
        else:
            self.say(self.chance.choice([f"{name} += {value}", f"{name}.add_({value})"]))

    def help(self) -> None:
        helper = self.chance.choice(self.helpers)
        if helper.startswith("pair"):
            first, second = self.chance.sample(POOL, 2)
            self.say(f"{first}, {second} = self.{helper}({self.any()})")
            self.bind(first)
            self.bind(second)
        else:
            self.assign(f"self.{helper}({self.any()})")


def module_source(seed: int) -> str:
    """The source of a class `Model` whose forward takes one tensor."""
    chance = random.Random(seed)
    helpers = tuple(chance.sample(("helper", "pair"), chance.randint(0, 2)))
    methods = [_method(chance, name) for name in helpers]
    body = Body(chance, helpers, ["x"])
    body.write(chance.randint(3, 9))
    body.say(f"return {_result(body)}")
    forward = "\n".join(["    def forward(self, x: torch.Tensor):", *body.lines])
    return (
        HEADER + "\n\n".join([_constructor(forward + "".join(methods)), forward, *methods]) + "\n"
    )


def _method(chance: random.Random, name: str) -> str:
    body = Body(chance, (), ["x"])
    body.write(chance.randint(1, 4))
    body.say(f"return {body.any()}, {body.any()}" if name == "pair" else f"return {body.any()}")
    decorator = ["    @torch.no_grad()"] if chance.random() < 0.15 else []
    return "\n".join([*decorator, f"    def {name}(self, x: torch.Tensor):", *body.lines])


def _result(body: Body) -> str:
    forms = ["{0}", "{0}", "{0}, {1}", '{{"logits": {0}, "hidden": {1}}}', "self.layer4({0}) + {1}"]
    return body.chance.choice(forms).format(body.any(), body.any())


def _constructor(used_in: str) -> str:
    made = [f"        self.{n} = {how}" for n, how in ATTRIBUTES.items() if f"self.{n}" in used_in]
    lines = ["class Model(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    return "\n".join([*lines, *made])


# ----------------------------------------------------------------------------------- truth


def cut_attributes(source: str) -> set[str] | None:
    """Attributes that change the output and never get a gradient, however often a loop runs.

    None when torch refuses the module.
    """
    cut: set[str] = set()
    trained: set[str] = set()
    for variant in _with_other_loops(source):
        try:
            cut_here, trained_here = _run(variant)
        except RuntimeError:
            return None
        cut |= cut_here
        trained |= trained_here
    return cut - trained


def _with_other_loops(source: str) -> Iterator[str]:
    """The source with each of its loops run once, twice and often, in every combination."""
    parts = source.split(LOOP)
    for counts in itertools.product((1, 2, 5), repeat=len(parts) - 1):
        loops = [f"for _ in range({count}):" for count in counts]
        yield "".join(itertools.chain(*zip(parts, [*loops, ""], strict=True)))


def _run(source: str) -> tuple[set[str], set[str]]:
    """The attributes that are cut, and those that are trained."""
    torch.manual_seed(0)
    names: dict[str, Any] = {"__name__": "sample"}
    exec(compile(source, "sample.py", "exec"), names)
    model: nn.Module = names["Model"]().double()
    x = torch.rand(3, 4, dtype=torch.float64)
    backward(floating(model(x)))
    parameters = dict(model.named_parameters())
    trained = {_attribute(name) for name, p in parameters.items() if p.grad is not None}
    others = {_attribute(name) for name in parameters} - trained
    return {name for name in others if _influences(model, x, name)}, trained


def _attribute(name: str) -> str:
    return name.partition(".")[0]


@torch.no_grad()
def _influences(model: nn.Module, x: torch.Tensor, attribute: str) -> bool:
    before = _values(model(x))
    for name, parameter in model.named_parameters():
        if _attribute(name) == attribute:
            kept = parameter.clone()
            parameter.add_(torch.randn_like(parameter) * 0.1)
            changed = _values(model(x)) != before
            parameter.copy_(kept)
            if changed:
                return True
    return False


def _values(output: Any) -> list[Any]:
    tensors: Iterable[torch.Tensor] = floating(output)
    return [tensor.tolist() for tensor in tensors]


# -------------------------------------------------------------------------------- shrinking


def shrunk(source: str, differs: Callable[[str], bool]) -> str:
    """The source without the lines that it can lose and still differ."""
    lines = source.splitlines()
    tried = len(lines)
    while tried:
        tried -= 1
        fewer = [*lines[:tried], *lines[tried + 1 :]]
        if _still(fewer, differs):
            lines, tried = fewer, len(fewer)
    return "\n".join(lines) + "\n"


def _still(lines: list[str], differs: Callable[[str], bool]) -> bool:
    try:
        return differs("\n".join(lines) + "\n")
    except Exception:  # no longer a module that runs
        return False
