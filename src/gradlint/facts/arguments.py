"""The evaluated arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass

from gradlint.facts.recorder import Argument
from gradlint.facts.values import Value


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call is given, by position and by name; `nodes` are the expressions in order."""

    positional: list[Value]
    keywords: dict[str, Value]
    nodes: tuple[Argument, ...]

    @property
    def all(self) -> list[Value]:
        """Every argument, however it is passed."""
        return [*self.positional, *self.keywords.values()]

    def get(self, index: int, keyword: str) -> Value | None:
        """An argument that may be given by position or by name."""
        if index < len(self.positional):
            return self.positional[index]
        return self.keywords.get(keyword)
