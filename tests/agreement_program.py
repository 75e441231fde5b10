"""A file while it is written: a class `Model`, and the functions and classes that it uses."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from agreement_body import Body, Callee, Scope
from agreement_statements import call, write

HEADER = (
    "from typing import NamedTuple\n\nimport torch\n"
    "import torch.nn.functional as F\nfrom torch import nn\n\n\n"
)

LAYERS = ("layer1", "layer2", "layer3", "layer4")
PARAMETERS = ("scale", "shift")
LAYER = "nn.Linear(4, 4)"
PARAMETER = "nn.Parameter(torch.rand(4) + 0.5)"
RESULTS = ("{0}", "{0}", "{0}, {1}", '{{"logits": {0}, "hidden": {1}}}')


@dataclass
class Program:
    """What is known of the file so far.

    `attributes` says how each attribute of the model is made; those of a base are in `inherited`.
    `definitions` and `methods` are by name, and left out where nothing uses the name. `setup`
    comes after the attributes in the constructor; `results` are the forms of what forward returns.
    """

    chance: random.Random
    bases: str = "nn.Module"
    attributes: dict[str, str] = field(
        default_factory=lambda: {
            **dict.fromkeys(LAYERS, LAYER),
            **dict.fromkeys(PARAMETERS, PARAMETER),
        }
    )
    inherited: frozenset[str] = frozenset()
    definitions: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    forms: list[str] = field(default_factory=list)
    callees: list[Callee] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=lambda: list(RESULTS))
    setup: list[str] = field(default_factory=list)
    forward: str | None = None

    @property
    def scope(self) -> Scope:
        """What a method of the model may use."""
        return Scope(
            tuple(f"self.{name}" for name in LAYERS),
            tuple(f"self.{name}" for name in PARAMETERS),
            tuple(self.forms),
            tuple(self.callees),
            tuple(self.statements),
        )

    def source(self) -> str:
        """The file; forward is written now, unless a base has it."""
        if self.forward is None:
            self.forward = forward(self)
        methods = _used(self.methods, "\n".join([self.forward, *self.setup]))
        code = "\n\n".join(text for text in (self.forward, *methods) if text)
        model = "\n\n".join([self._constructor(code), code])
        return HEADER + "\n\n\n".join([*_used(self.definitions, model), model]) + "\n"

    def _constructor(self, code: str) -> str:
        """The head of the model, with those attributes that some code uses."""
        used = "\n".join([code, *self.setup, *self.definitions.values()])
        made = [
            f"self.{name} = {how}"
            for name, how in self.attributes.items()
            if name not in self.inherited and _mentions(used, f"self.{name}")
        ]
        start = f"class Model({self.bases}):\n    def __init__(self):\n        super().__init__()"
        return "\n".join([start, *(f"        {line}" for line in [*made, *self.setup])])


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}\b", text) is not None


def _used(texts: dict[str, str], by: str) -> list[str]:
    """The texts whose names are used, by `by` or by one that is itself used."""
    kept: list[str] = []
    for name, text in reversed(texts.items()):
        if re.search(rf"\b{re.escape(name)}\b", "\n".join([by, *kept])):
            kept.insert(0, text)
    return kept


def forward(program: Program, most: int = 9) -> str:
    """A forward that uses what the program offers."""
    body = Body(program.chance, program.scope, ["x"], loops=2)
    write(body, program.chance.randint(1, 3))
    if program.callees:
        call(body)
    write(body, program.chance.randint(2, most - 3))
    form = program.chance.choice(program.results)
    body.say(f"return {form.format(body.any(), body.any(), cut=body.cut())}")
    return "\n".join(["    def forward(self, x: torch.Tensor):", *body.lines])


Result = Callable[[Body], str]


def one(body: Body) -> str:
    """A function's result: one tensor."""
    return body.any()


def two(body: Body) -> str:
    """A function's result: two tensors."""
    return f"{body.any()}, {body.any()}"


def function(
    chance: random.Random,
    header: str,
    scope: Scope,
    known: tuple[str, ...],
    result: Result = one,
    most: int = 4,
    indent: int = 1,
) -> str:
    """A function of a few statements under `header`, which may start with decorators."""
    body = Body(chance, scope, list(known), loops=int(chance.random() < 0.3), indent=indent)
    write(body, chance.randint(1, most))
    body.say(f"return {result(body)}")
    head = ["    " * (indent - 1) + line for line in header.splitlines()]
    return "\n".join([*head, *body.lines])
