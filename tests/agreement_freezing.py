"""Constructors that freeze: layers and parameters, before and after they become attributes."""

from __future__ import annotations

import re

from agreement_program import LAYER, LAYERS, PARAMETERS, Program, forward

LAYER_FORMS = (
    "{}.requires_grad_(False)",
    "{}.requires_grad_(requires_grad=False)",
    "for parameter in {}.parameters():\n    parameter.requires_grad = False",
    "for parameter in {}.parameters():\n    parameter.requires_grad_(False)",
    "for _, parameter in {}.named_parameters():\n    parameter.requires_grad = False",
    "{}.weight.requires_grad_(False)\n{}.bias.requires_grad_(False)",
    "for layer in [{}, {}]:\n    layer.requires_grad_(False)",
    "for layer in ({}, {}):\n    for parameter in layer.parameters():\n"
    "        parameter.requires_grad = False",
    "for parameter in [*{}.parameters(), *{}.parameters()]:\n    parameter.requires_grad = False",
    "self.freeze({})",
    "freeze({})",
)
PART_FORMS = (
    "{}.weight.requires_grad = False",
    "{}.bias.requires_grad_(False)",
    'for name, parameter in {}.named_parameters():\n    if name == "weight":\n'
    "        parameter.requires_grad = False",
    'for name, parameter in {}.named_parameters():\n    parameter.requires_grad = "bias" in name',
)
PARAMETER_FORMS = ("{}.requires_grad = False", "{}.requires_grad_(False)")
WHOLE_FORMS = (
    "self.requires_grad_(False)",
    "for parameter in self.parameters():\n    parameter.requires_grad = False",
    "for _, parameter in self.named_parameters():\n    parameter.requires_grad_(False)",
    'for name, parameter in self.named_parameters():\n    if name.startswith("{name}"):\n'
    "        parameter.requires_grad = False",
    'for name, parameter in self.named_parameters():\n    if not name.startswith("{name}"):\n'
    "        parameter.requires_grad = False",
    "for name, parameter in self.named_parameters():\n"
    '    parameter.requires_grad = name.startswith("{name}")',
)
UNFREEZE_FORMS = (
    "{}.requires_grad_(True)",
    "{}.requires_grad_()",
    "for parameter in {}.parameters():\n    parameter.requires_grad = True",
)


def freezing(program: Program) -> None:
    """Freezes some of what forward uses, and may unfreeze a part of it again."""
    chance = program.chance
    program.forward = program.forward or forward(program)
    text = "\n".join([program.forward, *program.methods.values(), *program.definitions.values()])
    used = [name for name in program.attributes if re.search(rf"self\.{name}\b", text)]
    modules = [name for name in used if name not in PARAMETERS] or [LAYERS[0]]
    for _ in range(chance.randint(1, 2)):
        _freeze_one(program, modules, used)
    if chance.random() < 0.35:
        _say(program, chance.choice(UNFREEZE_FORMS), modules)
    if program.setup and chance.random() < 0.25:
        _into_method(program)


def _freeze_one(program: Program, modules: list[str], used: list[str]) -> None:
    chance = program.chance
    plain = [name for name in modules if name in LAYERS]
    parameters = [name for name in used if name in PARAMETERS]
    kind = chance.choice(["layer", "layer", "made", "part", "parameter", "whole"])
    if kind == "part" and plain:
        _say(program, chance.choice(PART_FORMS), plain)
    elif kind == "parameter" and parameters:
        _say(program, chance.choice(PARAMETER_FORMS), parameters)
    elif kind == "made":
        names = [name for name in used or modules if name in program.attributes]
        _freeze_when_made(program, chance.choice(names or [LAYERS[0]]))
    elif kind == "whole":
        form = chance.choice(WHOLE_FORMS)
        program.setup += form.format(name=chance.choice(modules)).splitlines()
    else:
        has_weights = [name for name in modules if name in LAYERS]
        form = chance.choice(LAYER_FORMS)
        _say(program, form, has_weights or [LAYERS[0]] if ".weight" in form else modules)
    program.definitions["freeze"] = (
        "def freeze(layer: nn.Module):\n"
        "    for parameter in layer.parameters():\n        parameter.requires_grad = False"
    )
    program.methods["freeze"] = (
        "    def freeze(self, layer: nn.Module):\n        layer.requires_grad_(False)"
    )


def _say(program: Program, form: str, names: list[str]) -> None:
    """Fills the form: with one name when it is about the parts of one layer."""
    first = program.chance.choice(names)
    others = [first if ".weight" in form else program.chance.choice(names)] * form.count("{}")
    filled = form.format(*(f"self.{name}" for name in [first, *others][: form.count("{}")]))
    program.setup += filled.splitlines()


def _freeze_when_made(program: Program, name: str) -> None:
    """Freezes what an attribute is made of before it is one."""
    made = program.attributes.get(name, LAYER)
    if name in program.inherited:
        program.setup.append(f"self.{name}.requires_grad_(False)")
    elif name in PARAMETERS:
        forms = ("{}, requires_grad=False)", "{}, False)", "{}).requires_grad_(False)")
        if made.count("requires_grad") + made.count("False") == 0:
            program.attributes[name] = program.chance.choice(forms).format(made[:-1])
    elif program.chance.random() < 0.5:
        program.attributes[name] = f"({made}).requires_grad_(False)"
    else:
        freeze = program.chance.choice(
            [
                "made.requires_grad_(False)",
                "for p in made.parameters():\n    p.requires_grad = False",
            ]
        )
        lines = [f"made = {made}", *freeze.splitlines(), f"self.{name} = made"]
        program.setup = [*lines, *program.setup]
        del program.attributes[name]


def _into_method(program: Program) -> None:
    """Moves what the constructor does into a method that it calls."""
    lines = "\n".join(f"        {line}" for line in program.setup)
    program.methods["set_up"] = f"    def set_up(self):\n{lines}"
    program.setup = ["self.set_up()"]
