"""Random small modules, of which torch and the facts must say the same.

Every tensor is `(3, 4)` and double, so that each statement fits each other one. Nothing subtracts,
saturates or multiplies by zero, so that what takes part in a value also changes it. There are no
branches but those that a literal decides: a static answer about both sides is none about the side
that ran. A loop over `range(3)` stands for one that runs once or more often. Arguments are
annotated: `.data` of what may be no tensor is no cut.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from agreement_families import FAMILIES, HAS_A_BASE, HAS_A_BLOCK
from agreement_freezing import freezing
from agreement_program import Program

ONE_OF = (HAS_A_BASE, HAS_A_BLOCK)
"""Families that define the same name: a program has one of them at most."""


@dataclass(frozen=True)
class Sample:
    """One random program, and the families that it was made of."""

    source: str
    families: tuple[str, ...]


def sample(seed: int) -> Sample:
    """The program of a seed: a class `Model` whose forward takes one tensor."""
    chance = random.Random(seed)
    families = _families(chance)
    program = Program(chance)
    for name in families:
        FAMILIES[name](program)
    if chance.random() < 0.3:
        freezing(program)
        families = (*families, "freezing")
    return Sample(program.source(), families)


def _families(chance: random.Random) -> tuple[str, ...]:
    """Up to three families, in the order of the table."""
    chosen = set(chance.sample(list(FAMILIES), chance.randint(1, 3)))
    if chance.random() < 0.2:
        chosen.add("containers")  # which has by far the most forms
    for rivals in ONE_OF:
        for name in [rival for rival in rivals if rival in chosen][1:]:
            chosen.discard(name)
    return tuple(name for name in FAMILIES if name in chosen)
