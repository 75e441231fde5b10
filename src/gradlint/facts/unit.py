"""One file, and the questions that a rule may ask about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.analysis import Analysis
from gradlint.facts.classes import ClassFacts
from gradlint.facts.elements import trainable_of
from gradlint.facts.recorder import Argument, AttributeRecord, CallRecord
from gradlint.facts.roots import Roots, Starved
from gradlint.facts.values import SELF, Severed, Source
from gradlint.model import (
    AttributeUse,
    Call,
    Lost,
    Operand,
    Place,
    Starvation,
    Trainable,
)

if TYPE_CHECKING:
    from gradlint.syntax.tree import Tree


class Unit:
    """The facts of one file. Answers have no lines yet, and come in no particular order.

    `triggers` are the literals of the enabled rules: code that has none of them, and nothing to do
    with code that has, need not be interpreted. Without triggers, everything is.
    """

    def __init__(self, trees: Sequence[Tree], triggers: Iterable[str] = ()) -> None:
        self._trees = trees
        self._analysis = Analysis([tree.body for tree in trees], triggers)

    @cached_property
    def _roots(self) -> Roots:
        return Roots(self._analysis)

    # ---------------------------------------------------------------------------- questions

    def method_calls(self, name: str) -> Iterator[Call]:
        """Calls of a method of this name, whatever they are called on."""
        for record in self._analysis.run.recorder.calls.get(name, {}).values():
            if record.receiver is not None:
                yield self._call(record)

    def function_calls(self, name: str) -> Iterator[Call]:
        """Calls of a function by its canonical name, as in `torch.no_grad`."""
        for record in self._analysis.run.recorder.calls.get(name, {}).values():
            if record.receiver is None:
                yield self._call(record)

    def attribute_uses(self, name: str) -> Iterator[AttributeUse]:
        """Reads of an attribute of tensors, and writes of an attribute of anything."""
        for record in self._analysis.run.recorder.attributes.get(name, {}).values():
            yield self._attribute_use(record)

    @cached_property
    def _starvations(self) -> tuple[Starvation, ...]:
        return tuple(map(self._starvation, self._roots.starved()))

    def starvations(self) -> tuple[Starvation, ...]:
        """Every cut that keeps trainable parameters from learning."""
        return self._starvations

    def cut_parameters(self, class_name: str) -> set[str]:
        """Attributes of the class that forward uses only behind a cut, whatever is intended."""
        for cls in self._analysis.classes:
            if cls.name == class_name:
                sources = self._roots.cut_sources(cls, "forward")
                return {source.path[0] for source in sources if source.path}
        return set()

    # ------------------------------------------------------------------------------ answers

    def text(self, node: object) -> str:
        """The source of an expression, on one line."""
        assert isinstance(node, cst.CSTNode)
        return " ".join(self._trees[0].text(node).split())

    def _operand(self, argument: Argument) -> Operand:
        value = argument.value
        return Operand(self.text(argument.node), value.kind, value.constant)

    def _call(self, record: CallRecord) -> Call:
        plain = tuple(self._operand(a) for a in record.arguments if not a.keyword)
        named = tuple((a.keyword, self._operand(a)) for a in record.arguments if a.keyword)
        context = record.context
        return Call(
            place=record.place,
            symbol=context.symbol,
            in_initialiser=context.in_initialiser,
            grad_off=context.grad_off,
            name=record.name,
            receiver=self._operand(record.receiver) if record.receiver is not None else None,
            arguments=plain,
            keywords=named,
            is_statement=record.is_statement,
        )

    def _attribute_use(self, record: AttributeRecord) -> AttributeUse:
        context = record.context
        return AttributeUse(
            place=record.place,
            symbol=context.symbol,
            in_initialiser=context.in_initialiser,
            grad_off=context.grad_off,
            name=record.name,
            receiver=self._operand(record.receiver),
            form=record.form,
            via=record.via,
            value=self._operand(record.value) if record.value is not None else None,
        )

    def _starvation(self, found: Starved) -> Starvation:
        cut = found.cut
        lost = sorted((self._lost(s, found.owner) for s in found.lost), key=lambda one: one.name)
        return Starvation(
            place=cut.place,
            symbol=cut.symbol,
            cause=cut.cause,
            text=self.text(_expression(cut.place)),
            block=cut.block,
            owner=found.owner.name if found.owner is not None else "",
            root=found.root,
            root_place=found.root_place,
            lost=tuple(_distinct(lost)),
            survivors=tuple(sorted(found.survivors)),
            everything=_loses_everything(found),
        )

    def _lost(self, severed: Severed, owner: ClassFacts | None) -> Lost:
        source = severed.origin
        assert isinstance(source, Source)
        made = self._analysis.run.made.get(source.base)
        if owner is not None and source.path:
            made = _made_in(owner, source.path[0])
        return Lost(_name(source), source.trainable, source.is_parameter, severed.inside, made)


def _expression(place: Place) -> object:
    node = place.node
    return node.value if isinstance(node, cst.Assign) else node


def _made_in(owner: ClassFacts, name: str) -> Place | None:
    for facts in owner.lineage:
        if name in facts.made:
            return facts.made[name]
    return None


def _loses_everything(found: Starved) -> bool:
    """Whether nothing of the owner is left that could train at this root."""
    if found.owner is None or found.survivors:
        return False
    lost = {s.origin.path[0] for s in found.lost if isinstance(s.origin, Source) and s.origin.path}
    return all(
        name in lost or trainable_of(value) is Trainable.NO
        for name, value in found.owner.attributes.items()
        if value.ref is not None
    )


def _name(source: Source) -> str:
    head = () if source.base == SELF or not source.base.name else (source.base.name,)
    return ".".join((*head, *source.path)) or "self"


def _distinct(lost: list[Lost]) -> Iterator[Lost]:
    """Each name once; used before the block counts more than used inside it."""
    seen: dict[str, Lost] = {}
    for one in lost:
        if one.name not in seen or (seen[one.name].inside and not one.inside):
            seen[one.name] = one
    yield from seen.values()
