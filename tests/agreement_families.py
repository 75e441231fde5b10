"""The families of programs: each adds functions, classes or attributes that forward may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agreement_body import Callee, Scope
from agreement_program import LAYER, LAYERS, PARAMETER, Program, Result, function, one, two

OFF = "@torch.no_grad()\n"


def methods(program: Program) -> None:
    """Helper methods, which return one tensor or two."""
    chance = program.chance
    shapes: tuple[tuple[str, Result], ...] = (("helper", one), ("pair", two))
    for results, (name, result) in enumerate(shapes, start=1):
        header = OFF * (chance.random() < 0.15) + f"def {name}(self, x: torch.Tensor):"
        scope = replace(program.scope, callees=())
        program.methods[name] = function(chance, header, scope, ("x",), result, indent=2)
        program.callees.append(Callee(f"self.{name}({{}})", results))


# ------------------------------------------------------------------------------------ helpers


def functions(program: Program) -> None:
    """Functions of the file: with defaults, keywords, several results, calls of each other."""
    chance, callees = program.chance, list[Callee]()

    def define(name: str, parameters: str, known: str, result: Result, *calls: Callee) -> None:
        header = OFF * (chance.random() < 0.15) + f"def {name}({parameters}):"
        scope = Scope(callees=tuple(callees))
        program.definitions[name] = function(chance, header, scope, tuple(known), result, most=3)
        callees.extend(calls)

    define("soften", "u: torch.Tensor", "u", one, Callee("soften({})"))
    define(
        "mix",
        "u: torch.Tensor, v: torch.Tensor, weight: float = 0.5",
        "uv",
        lambda body: f"{body.any()} * weight + {body.any()}",
        Callee("mix({}, {})"),
        Callee("mix({}, v={})"),
        Callee("mix(v={}, u={}, weight=0.3)"),
        Callee("mix(*[{}, {}])"),
        Callee('mix(**{{"u": {}, "v": {}}})'),
    )
    define("split", "u: torch.Tensor", "u", two, Callee("split({})", 2))
    program.callees += callees


def flags(program: Program) -> None:
    """A function that a literal argument makes cut."""
    program.definitions["held"] = (
        "def held(u: torch.Tensor, stop: bool = False):\n"
        "    if stop:\n        return u.detach()\n    return u.sin()"
    )
    calls = ("held({})", "held({}, True)", "held({}, stop=True)", "held({}, stop=False)")
    program.callees += [Callee(form) for form in calls]


def layer_arguments(program: Program) -> None:
    """Functions and methods that are handed a layer or a parameter."""
    chance = program.chance
    scope = Scope(layers=("layer",))
    header = OFF * (chance.random() < 0.15) + "def through(layer: nn.Module, u: torch.Tensor):"
    program.definitions["through"] = function(chance, header, scope, ("u",), most=3)
    program.definitions["apply_all"] = (
        "def apply_all(layers: list[nn.Module], u: torch.Tensor):\n"
        "    for layer in layers:\n        u = layer(u)\n    return u"
    )
    program.definitions["scaled"] = (
        "def scaled(weight: nn.Parameter, u: torch.Tensor):\n    return u * weight"
    )
    program.callees += [
        Callee("through({layer}, {})"),
        Callee("through(u={}, layer={layer})"),
        Callee("apply_all([{layer}, self.layer1], {})"),
        Callee("scaled(self.scale, {})"),
    ]


def static_methods(program: Program) -> None:
    """A static method and a class method of the model."""
    chance = program.chance
    head = "@staticmethod\n" + OFF * (chance.random() < 0.15)
    header = f"{head}def merged(u: torch.Tensor, v: torch.Tensor):"
    program.methods["merged"] = function(chance, header, Scope(), ("u", "v"), most=3, indent=2)
    header = "@classmethod\ndef turned(cls, u: torch.Tensor):"
    program.methods["turned"] = function(chance, header, Scope(), ("u",), most=2, indent=2)
    program.callees += [
        Callee("self.merged({}, {})"),
        Callee("Model.merged({}, v={})"),
        Callee("self.turned({})"),
    ]


# --------------------------------------------------------------------------------- inheritance


def _base_class(program: Program, name: str, above: str, parts: list[str], *code: str) -> str:
    made = [f"        self.{part} = {program.attributes[part]}" for part in parts]
    start = f"class {name}({above}):" if above else f"class {name}:"
    if made:
        start += "\n    def __init__(self):\n        super().__init__()\n" + "\n".join(made)
    return "\n\n".join([start, *code]) if made else start + "\n" + "\n\n".join(code)


def _method(program: Program, name: str, scope: Scope, result: Result = one) -> str:
    header = f"def {name}(self, x: torch.Tensor):"
    return function(program.chance, header, scope, ("x",), result, indent=2)


def _own_layers(program: Program) -> tuple[list[str], Scope]:
    """Two layers and a parameter that a base makes, and what its methods may use."""
    parts = [*program.chance.sample(LAYERS, 2), "scale"]
    program.inherited |= frozenset(parts)
    layers = tuple(f"self.{part}" for part in parts[:2])
    return parts, Scope(layers=layers, parameters=("self.scale",))


def base_parts(program: Program) -> None:
    """A base with layers and a method, which the model may override and extend."""
    parts, scope = _own_layers(program)
    encode = _method(program, "encode", scope)
    program.definitions["Base"] = _base_class(program, "Base", "nn.Module", parts, encode)
    program.bases = "Base"
    if program.chance.random() < 0.5:
        extended = replace(program.scope, callees=(Callee("super().encode({})"),))
        program.methods["encode"] = _method(program, "encode", extended)
    program.callees += [Callee("self.encode({})")] * 3


def base_forward(program: Program) -> None:
    """A base with a forward of its own, which the model calls."""
    parts, scope = _own_layers(program)
    results = program.chance.choice([1, 2])
    code = _method(program, "forward", scope, one if results == 1 else two)
    program.definitions["Base"] = _base_class(program, "Base", "nn.Module", parts, code)
    program.bases = "Base"
    program.callees += [Callee("super().forward({})", results)] * 3


def base_hooks(program: Program) -> None:
    """A base whose forward calls what the model overrides; the model has no forward."""
    parts, scope = _own_layers(program)
    hooks = (Callee("self.encode({})"), Callee("self.head({})"), Callee("self.head({})"))
    body = replace(scope, callees=hooks)
    encode = _method(program, "encode", scope)
    head = "    def head(self, x: torch.Tensor):\n        raise NotImplementedError"
    code = _method(program, "forward", body)
    program.definitions["Base"] = _base_class(
        program, "Base", "nn.Module", parts, encode, head, code
    )
    program.bases = "Base"
    overrides = [_method(program, "head", program.scope)]
    if program.chance.random() < 0.5:
        above = replace(program.scope, callees=(Callee("super().encode({})"),))
        overrides.append(_method(program, "encode", above))
    program.forward = "\n\n".join(overrides)


def middle_class(program: Program) -> None:
    """Two classes above the model, each of which adds to the method of the one above."""
    parts, scope = _own_layers(program)
    encode = _method(program, "encode", scope)
    program.definitions["Base"] = _base_class(program, "Base", "nn.Module", parts, encode)
    upper = replace(scope, callees=(Callee("super().encode({})"),))
    encode = _method(program, "encode", upper)
    program.definitions["Middle"] = _base_class(program, "Middle", "Base", [], encode)
    program.bases = "Middle"
    program.callees += [Callee("self.encode({})"), Callee("super().encode({})")]


def mixin(program: Program) -> None:
    """A class without layers whose methods use those of the model."""
    code = _method(program, "blend", replace(program.scope, callees=()))
    program.definitions["Mixin"] = _base_class(program, "Mixin", "", [], code)
    program.bases = f"Mixin, {program.bases}"
    program.callees += [Callee("self.blend({})")] * 3


# ---------------------------------------------------------------------------------- containers


MODULE_STATEMENTS = (
    "for layer in self.stack:\n    {tensor} = layer({tensor})",
    "for layer in self.chain:\n    {tensor} = layer({tensor}) + {other}",
    "for layer in self.stack:\n    {tensor} = layer({tensor}.detach())",
    "for index, layer in enumerate(self.stack):\n    {tensor} = layer({tensor}) * (index + 1)",
    "for index in range(2):\n    {tensor} = self.stack[index]({tensor})",
    "for index, weight in enumerate(self.weights):\n"
    "    {tensor} = self.stack[index]({tensor}) * weight",
    "for layer, weight in zip(self.stack, self.weights):\n    {tensor} = layer({tensor}) * weight",
    "for layer, weight in zip(self.stack, self.weights):\n"
    "    {tensor} = layer({tensor}).detach() * weight",
    "for name, head in self.heads.items():\n    {tensor} = head({tensor}) * self.gains[name]",
    "for head in self.heads.values():\n    {tensor} = {other} + head({tensor})",
    "for name in self.heads:\n    {tensor} = self.heads[name]({tensor})",
    "for name, gain in self.gains.items():\n    {tensor} = {tensor} * gain",
    "{new} = sum(layer({tensor}) for layer in self.stack)",
    "{new} = sum([head({tensor}).detach() for head in self.heads.values()])",
    "first, second = self.stack\n{new} = second(first({tensor}))",
    'outs = {{name: head({tensor}) for name, head in self.heads.items()}}\n{new} = outs["left"]',
    "outs = [layer({tensor}) for layer in self.stack]\n{new} = outs[0] + outs[1].detach()",
    "outs = []\nfor layer in self.stack:\n    {tensor} = layer({tensor})\n"
    "    outs.append({tensor})\n{new} = sum(outs)",
)
MODULE_FORMS = (
    "self.chain({})",
    "self.chain[0]({})",
    "self.stack[0]({})",
    "self.stack[-1]({})",
    'self.heads["left"]({})',
    'self.heads["right"]({})',
    "{} * self.weights[0]",
    "{} + self.weights[1]",
    '{} * self.gains["left"]',
    '{} + self.gains["right"]',
)


def containers(program: Program) -> None:
    """Lists, dicts and chains of layers and of parameters."""
    stacks = [
        f"nn.ModuleList([{LAYER}, {LAYER}])",
        f"nn.ModuleList({LAYER} for _ in range(2))",
        f"nn.ModuleList([*[{LAYER}], {LAYER}])",
    ]
    program.attributes |= {
        "stack": program.chance.choice(stacks),
        "chain": f"nn.Sequential({LAYER}, nn.Tanh(), {LAYER})",
        "heads": f'nn.ModuleDict({{"left": {LAYER}, "right": {LAYER}}})',
        "weights": f"nn.ParameterList([{PARAMETER}, {PARAMETER}])",
        "gains": f'nn.ParameterDict({{"left": {PARAMETER}, "right": {PARAMETER}}})',
    }
    program.statements += program.chance.sample(MODULE_STATEMENTS, 6)
    program.forms += program.chance.sample(MODULE_FORMS, 5)


def _block_class(program: Program, result: Result) -> str:
    scope = Scope(layers=("self.inner", "self.outer"))
    code = _method(program, "forward", scope, result)
    made = f"        self.inner = {LAYER}\n        self.outer = {LAYER}"
    start = f"class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n{made}"
    return f"{start}\n\n{code}"


def blocks(program: Program) -> None:
    """Submodules of a class in the file, alone and in containers."""
    program.definitions["Block"] = _block_class(program, one)
    program.attributes |= {
        "block": "Block()",
        "blocks": "nn.ModuleList([Block(), Block()])",
        "tower": "nn.Sequential(Block(), Block())",
    }
    program.callees += [Callee("self.block({})"), Callee("self.tower({})")]
    program.forms += ["self.blocks[0]({})", "self.block.inner({})"]
    program.statements += ["for block in self.blocks:\n    {tensor} = block({tensor})"]


# ------------------------------------------------------------------------------------- outputs


def outputs(program: Program) -> None:
    """Results of several tensors, some of them cut, and losses."""
    program.definitions["Output"] = (
        "class Output(NamedTuple):\n    logits: torch.Tensor\n    hidden: torch.Tensor"
    )
    program.results = [
        "[{0}, {1}]",
        "{0}, ({1}, {cut})",
        "{0}, {1}.detach()",
        "Output({0}, {1})",
        "Output(logits={0}, hidden={cut})",
        "F.mse_loss({0}, torch.ones_like({1}))",
        "({0} * {1}).mean()",
        '{{"loss": {0}.pow(2).mean(), "logits": {1}.detach()}}',
        '{{"loss": F.mse_loss({0}, torch.zeros_like({1})), "states": [{cut}, {1}]}}',
        "dict(logits={0}, hidden={cut})",
        "tuple([{0}, {1}])",
        "torch.stack([{0}, {1}, {cut}])",
        "torch.cat([{0}, {1}], dim=-1)",
    ]


def block_outputs(program: Program) -> None:
    """A submodule that returns several tensors, which the model takes apart."""
    kind = program.chance.choice(["tuple", "dict", "named", "list"])
    forms = {
        "tuple": lambda body: f"{body.any()}, {body.any()}",
        "list": lambda body: f"[{body.any()}, {body.cut()}]",
        "dict": lambda body: f'{{"logits": {body.any()}, "hidden": {body.value()}}}',
        "named": lambda body: f"Output({body.any()}, {body.value()})",
    }
    program.definitions["Output"] = (
        "class Output(NamedTuple):\n    logits: torch.Tensor\n    hidden: torch.Tensor"
    )
    program.definitions["Block"] = _block_class(program, forms[kind])
    program.attributes["block"] = "Block()"
    whole = "out = self.block({tensor})\n"
    reads = {
        "dict": ('{new} = out["logits"]', '{new} = out["hidden"]', "{new} = sum(out.values())"),
        "named": ("{new} = out.logits", "{new} = out.hidden", "{new} = out[0] + out.hidden"),
    }.get(kind, ("{new} = out[0]", "{new} = out[1]", "{new}, _ = out", "_, {new} = out"))
    program.statements += [whole + read for read in reads]


FAMILIES: dict[str, Callable[[Program], None]] = {
    family.__name__: family
    for family in (
        methods,
        functions,
        flags,
        layer_arguments,
        static_methods,
        base_parts,
        base_forward,
        base_hooks,
        middle_class,
        mixin,
        containers,
        blocks,
        outputs,
        block_outputs,
    )
}
"""What a program may be made of, by name."""

HAS_A_BASE = ("base_parts", "base_forward", "base_hooks", "middle_class")
HAS_A_BLOCK = ("blocks", "block_outputs")
