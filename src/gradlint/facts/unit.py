"""One file, and the questions that a rule may ask about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from gradlint.facts.analysis import Analysis
from gradlint.facts.answers import Answers, Seen
from gradlint.facts.classes import ClassFacts
from gradlint.facts.graphless import Graphless, graphless
from gradlint.facts.mode_uses import mode_uses
from gradlint.facts.roots import Roots, Starved
from gradlint.facts.values import Live, Source
from gradlint.facts.writes import written_origins
from gradlint.model import (
    AttributeUse,
    Call,
    GraphlessBackward,
    InferenceUse,
    ModeUse,
    Operand,
    StaleSnapshot,
    Starvation,
    UnrecordedWrite,
)

if TYPE_CHECKING:
    from gradlint.syntax.tree import Tree


class Unit:
    """The facts of one file. Answers have no lines yet, and come in no particular order.

    `triggers` are the literals of the enabled rules: code that has none of them, and nothing to do
    with code that has, need not be interpreted. Without triggers, everything is.
    """

    def __init__(self, trees: Sequence[Tree], triggers: Iterable[str] = ()) -> None:
        self._analysis = Analysis([tree.body for tree in trees], triggers)
        self._recorder = self._analysis.run.recorder
        self._answers = Answers(trees[0], self._analysis.run)

    # -------------------------------------------------------------------------------- events

    def method_calls(self, name: str) -> Iterator[Call]:
        """Calls of a method of this name, whatever they are called on."""
        for record in self._recorder.calls.get(name, {}).copy().values():
            if record.receiver is not None:
                yield self._answers.call(record)

    def function_calls(self, name: str) -> Iterator[Call]:
        """Calls of a function by its canonical name, as in `torch.no_grad`."""
        for record in self._recorder.calls.get(name, {}).copy().values():
            if record.receiver is None:
                yield self._answers.call(record)

    def attribute_uses(self, name: str) -> Iterator[AttributeUse]:
        """Reads of an attribute of tensors, and writes of an attribute of anything."""
        for record in self._recorder.attributes.get(name, {}).copy().values():
            yield self._answers.attribute_use(record)

    def mode_uses(self) -> tuple[ModeUse, ...]:
        """Every place that names a grad mode, in code that is never run too."""
        return self._mode_uses

    def unrecorded_writes(self) -> Iterator[UnrecordedWrite]:
        """In-place writes to computed tensors that autograd does not record, and that matter."""
        for record in list(self._recorder.writes.values()):
            origins = written_origins(record)
            if not self._must_be_frozen(origins, record.context.cls):
                yield self._answers.write(record)

    def stale_snapshots(self) -> Iterator[StaleSnapshot]:
        """Values that are kept without a copy, and change with what they are compared to."""
        return map(self._answers.stale, self._recorder.stale.values())

    def inference_uses(self) -> Iterator[InferenceUse]:
        """Inference tensors where autograd takes none."""
        for record in list(self._recorder.inference.values()):
            if not self._must_be_frozen(record.needing, record.context.cls):
                yield self._answers.inference(record)

    # ------------------------------------------------------------------------------ verdicts

    def starvations(self) -> tuple[Starvation, ...]:
        """Every cut that keeps trainable parameters from learning."""
        return self._starvations

    def graphless_backwards(self) -> Iterator[GraphlessBackward]:
        """Every backward() that must raise for want of a graph, unless a starvation says why."""
        told = {s.cut for s in self._roots.starved() if s.is_sure and s.is_told}
        for found in self._graphless:
            if found.is_loss_itself or found.cut not in told:
                yield self._answers.graphless(found)

    def must_train(self, operand: Operand) -> bool:
        """False when every parameter that the operand depends on is frozen."""
        seen = operand.value
        assert isinstance(seen, Seen)
        return not self._must_be_frozen(seen.value.live, seen.cls)

    def may_be_meant_to_train(self, operand: Operand) -> bool:
        """False when a parameter is frozen, kept by hand, deleted or in no optimizer."""
        seen = operand.value
        assert isinstance(seen, Seen)
        sources = [origin for origin in seen.value.live if isinstance(origin, Source)]
        return all(self._roots.may_be_meant_to_train(source, seen.cls) for source in sources)

    def cut_parameters(self, class_name: str) -> set[str]:
        """Attributes of the class that forward uses only behind a cut, whatever is intended."""
        for cls in self._analysis.classes:
            if cls.name == class_name:
                sources = self._roots.cut_sources(cls, "forward")
                return {source.path[0] for source in sources if source.path}
        return set()

    # ------------------------------------------------------------------------------- answers

    @cached_property
    def _roots(self) -> Roots:
        return Roots(self._analysis)

    @cached_property
    def _mode_uses(self) -> tuple[ModeUse, ...]:
        return mode_uses(self._analysis.declarations, self._analysis.run.indexer)

    @cached_property
    def _graphless(self) -> tuple[Graphless, ...]:
        return tuple(graphless(self._roots, self._analysis.run.scalar_cuts))

    @cached_property
    def _starvations(self) -> tuple[Starvation, ...]:
        lost_losses = {
            cut.key for found in self._graphless if found.is_loss_itself for cut in found.cuts
        }
        return tuple(self._starvation(found, lost_losses) for found in self._roots.starved())

    def _starvation(self, found: Starved, lost_losses: set[object]) -> Starvation:
        said = self._answers.starvation(found)
        if found.root == "backward" and found.cut.key in lost_losses:
            return replace(said, root="loss")
        return said

    def _must_be_frozen(self, origins: Live, inside: ClassFacts | None) -> bool:
        sources = [origin for origin in origins if isinstance(origin, Source)]
        if not sources or len(sources) < len(origins):
            return False
        return all(self._roots.must_be_frozen(source, inside) for source in sources)
