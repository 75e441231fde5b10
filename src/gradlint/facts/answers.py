"""From the facts of a file to the words in which rules are told them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from gradlint.facts.classes import ClassFacts
from gradlint.facts.elements import trainable_of
from gradlint.facts.graphless import Graphless
from gradlint.facts.interpreter import Interpreter
from gradlint.facts.memory import Saved
from gradlint.facts.recorder import (
    Argument,
    AttributeRecord,
    CallRecord,
    Context,
    InferenceRecord,
    StaleRecord,
    WriteRecord,
)
from gradlint.facts.roots import Starved
from gradlint.facts.uses import MODULE
from gradlint.facts.values import SELF, Severed, Source, Value, graph_of
from gradlint.model import (
    AttributeUse,
    Call,
    GraphlessBackward,
    InferenceUse,
    Lost,
    Operand,
    Place,
    StaleSnapshot,
    Starvation,
    Trainable,
    UnrecordedWrite,
)
from gradlint.syntax.tree import Tree


@dataclass(frozen=True, slots=True)
class Seen:
    """The value behind an operand, and the class in whose method it was seen."""

    value: Value
    cls: ClassFacts | None


class Answers:
    """Words for what has been found in one file."""

    def __init__(self, tree: Tree, run: Interpreter) -> None:
        self._tree = tree
        self._run = run

    def text(self, node: object) -> str:
        """The source of an expression, on one line."""
        assert isinstance(node, cst.CSTNode)
        return " ".join(self._tree.text(node).split())

    # -------------------------------------------------------------------------------- events

    def operand(self, argument: Argument, context: Context) -> Operand:
        """A value that takes part in an event."""
        value = argument.value
        return Operand(
            text=self.text(argument.node),
            kind=value.kind,
            constant=value.constant,
            graph=self._run.recorder.graphs.get(id(argument.node), graph_of(value)),
            declares=self._declared(value),
            value=Seen(value, context.cls),
        )

    def _declared(self, value: Value) -> frozenset[str]:
        cls = value.thing.cls if value.thing is not None else None
        return self._run.names_of(cls) if cls is not None else frozenset()

    def call(self, record: CallRecord) -> Call:
        """A call of a function or method."""
        context = record.context
        plain = tuple(self.operand(a, context) for a in record.arguments if not a.keyword)
        named = tuple((a.keyword, self.operand(a, context)) for a in record.arguments if a.keyword)
        receiver = self.operand(record.receiver, context) if record.receiver is not None else None
        return Call(
            place=record.place,
            symbol=context.symbol,
            in_initialiser=context.in_initialiser,
            grad_off=context.grad_off,
            is_conditional=context.is_conditional,
            is_guarded=context.is_guarded,
            name=record.name,
            receiver=receiver,
            arguments=plain,
            keywords=named,
            is_statement=record.is_statement,
            then=record.then,
        )

    def attribute_use(self, record: AttributeRecord) -> AttributeUse:
        """A use of an attribute."""
        context = record.context
        return AttributeUse(
            place=record.place,
            symbol=context.symbol,
            in_initialiser=context.in_initialiser,
            grad_off=context.grad_off,
            is_conditional=context.is_conditional,
            is_guarded=context.is_guarded,
            name=record.name,
            receiver=self.operand(record.receiver, context),
            form=record.form,
            via=record.via,
            value=self.operand(record.value, context) if record.value is not None else None,
        )

    def write(self, record: WriteRecord) -> UnrecordedWrite:
        """A write that autograd does not record."""
        context, saved = record.context, record.saved
        return UnrecordedWrite(
            place=record.place,
            symbol=context.symbol,
            in_initialiser=context.in_initialiser,
            grad_off=context.grad_off,
            is_conditional=context.is_conditional,
            is_guarded=context.is_guarded,
            target=self.operand(record.target, context),
            cause=record.cause,
            via=record.via,
            alias=record.alias.place if record.alias is not None else None,
            saved=self._operation(saved) if saved is not None else "",
            saved_by=saved.place if saved is not None else None,
        )

    def _operation(self, saved: Saved) -> str:
        """The operation by its own name, a module by the user's."""
        call = saved.place.node
        if saved.operation == MODULE and isinstance(call, cst.Call):
            return self.text(call.func)
        return saved.operation.rpartition(".")[2]

    def stale(self, record: StaleRecord) -> StaleSnapshot:
        """A value that was kept without a copy."""
        place = record.alias.place
        return StaleSnapshot(
            place, record.alias.symbol, self.text(_expression(place)), record.place
        )

    def inference(self, record: InferenceRecord) -> InferenceUse:
        """An inference tensor where autograd takes none."""
        context = record.context
        target = record.target if record.target is not None else _expression(record.place)
        return InferenceUse(
            place=record.place,
            symbol=context.symbol,
            in_initialiser=context.in_initialiser,
            grad_off=context.grad_off,
            is_conditional=context.is_conditional,
            is_guarded=context.is_guarded,
            how=record.how,
            operation=record.operation,
            text=self.text(target),
        )

    # ------------------------------------------------------------------------------- verdicts

    def graphless(self, found: Graphless) -> GraphlessBackward:
        """A backward() that must raise."""
        return GraphlessBackward(
            place=found.place,
            symbol=found.symbol,
            receiver=self.text(_sent_back(found.place)),
            cause=found.cut.cause,
            cut=found.cut.place,
            text=self.text(_expression(found.cut.place)),
            block=found.cut.block,
            is_loss_itself=found.is_loss_itself,
        )

    def starvation(self, found: Starved) -> Starvation:
        """A cut, with what it starves."""
        cut = found.cut
        lost = sorted((self._lost(s, found.owner) for s in found.lost), key=_surest_first)
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
            decorates=found.decorates,
        )

    def _lost(self, severed: Severed, owner: ClassFacts | None) -> Lost:
        source = severed.origin
        assert isinstance(source, Source)
        made = self._run.made.get(source.base)
        if owner is not None and source.path:
            made = _made_in(owner, source.path[0])
        return Lost(_name(source), source.trainable, source.is_parameter, severed.inside, made)


def _expression(place: Place) -> object:
    node = place.node
    return node.value if isinstance(node, cst.Assign) else node


def _sent_back(place: Place) -> object:
    """What backward() is called on: its receiver, or its argument."""
    call = place.node
    assert isinstance(call, cst.Call)
    if call.args and not (isinstance(call.func, cst.Attribute) and call.args[0].keyword):
        return call.args[0].value
    return call.func.value if isinstance(call.func, cst.Attribute) else call.func


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


def _surest_first(lost: Lost) -> tuple[str, int]:
    return lost.name, list(Trainable).index(lost.trainable)


def _distinct(lost: list[Lost]) -> Iterator[Lost]:
    """Each name once; used before the block counts more than used inside it."""
    seen: dict[str, Lost] = {}
    for one in lost:
        if one.name not in seen or (seen[one.name].inside and not one.inside):
            seen[one.name] = one
    yield from seen.values()
