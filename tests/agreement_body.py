"""A function body while it is written: the tensors that have a name, and expressions of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

LOOP = "for _ in range(3):"
"""A loop that stands for one that runs once or more often."""

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
POOL = "abcdefgh"


@dataclass(frozen=True)
class Callee:
    """Something to call: `form` has a `{}` for each tensor and `{layer}` for a layer."""

    form: str
    results: int = 1


@dataclass(frozen=True)
class Scope:
    """What a function can use besides the tensors that it gives a name.

    `forms` are further expressions with a `{}` for each tensor. `statements` are as many lines
    with `{tensor}` for a tensor that has a name, `{value}` for one that may be cut, `{new}` for
    the name of the result, which is a tensor too.
    """

    layers: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()
    callees: tuple[Callee, ...] = ()
    statements: tuple[str, ...] = ()


@dataclass
class Body:
    """Lines that are written one after the other, each of what is known by then."""

    chance: random.Random
    scope: Scope
    known: list[str]
    loops: int = 0
    lines: list[str] = field(default_factory=list)
    callees: list[Callee] = field(default_factory=list)
    indent: int = 2
    depth: int = 0
    in_loop: bool = False

    def __post_init__(self) -> None:
        self.callees = [*self.scope.callees, *self.callees]

    def say(self, text: str) -> None:
        """Adds a line, or several, at the current depth."""
        self.lines += ["    " * self.indent + line for line in text.splitlines()]

    def any(self) -> str:
        """A tensor that has a name, often one of the latest."""
        return self.chance.choice(self.known[-3:] if self.chance.random() < 0.6 else self.known)

    def target(self) -> str:
        """A name to assign to, often a new one."""
        fresh = [name for name in POOL if name not in self.known]
        return self.chance.choice(fresh) if fresh and self.chance.random() < 0.6 else self.any()

    def bind(self, *names: str) -> None:
        """Notes that the names are tensors from here on, the latest last."""
        self.known = [*(name for name in self.known if name not in names), *names]

    def assign(self, expression: str) -> None:
        """Gives an expression a name."""
        name = self.target()
        self.say(f"{name} = {expression}")
        self.bind(name)

    def fill(self, form: str, *given: str) -> str:
        """The form with tensors, the given ones first, and a layer where it wants one."""
        tensors = [*given, *(self.argument() for _ in range(form.count("{}")))]
        layer = self.chance.choice(self.scope.layers) if self.scope.layers else ""
        return form.format(*tensors, layer=layer)

    def argument(self) -> str:
        """A tensor for a call: often a name, sometimes what a function makes of one."""
        plain = self.chance.random() < 0.8
        return self.any() if plain else self.chance.choice(FUNCTIONS).format(self.any())

    def expression(self) -> str:
        """A tensor, in one or two steps."""
        return self.fill(self.chance.choice(list(self._forms())))

    def _forms(self) -> Iterator[str]:
        function = self.chance.choice(FUNCTIONS)
        yield from (function, "{} + {}", "{} * {}.sigmoid()")
        if self.scope.layers:
            yield from ("{layer}({})", "{layer}({})", "torch.tanh({layer}({}))")
            yield f"{{layer}}({function})"
            yield "F.linear({}, {layer}.weight, {layer}.bias)"
        if self.scope.parameters:
            parameter = self.chance.choice(self.scope.parameters)
            yield from (f"{{}} * {parameter}", f"{{}} + {parameter}")
        yield from self.scope.forms

    def cut(self) -> str:
        """A tensor that has lost its graph."""
        inner = self.any() if self.chance.random() < 0.6 else f"({self.expression()})"
        return self.chance.choice(CUTS).format(inner)

    def value(self) -> str:
        """A tensor, cut or not."""
        return self.cut() if self.chance.random() < 0.3 else self.expression()
