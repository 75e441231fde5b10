"""Runs functions abstractly: each once per kind of arguments, and fits the summary to each call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import libcst as cst

from gradlint.facts.annotations import from_annotation
from gradlint.facts.arguments import Arguments
from gradlint.facts.attributes import store_attribute
from gradlint.facts.binding import (
    bind,
    first_parameter,
    has_decorator,
    instance,
    is_static,
    parameters_of,
    symbolic,
)
from gradlint.facts.callees import call_value
from gradlint.facts.classes import ClassFacts
from gradlint.facts.declare import Declarations
from gradlint.facts.effects import Effects
from gradlint.facts.elements import unpacked, with_stored
from gradlint.facts.evidence import kind_by_use
from gradlint.facts.expressions import EXPRESSIONS
from gradlint.facts.fitting import Fit
from gradlint.facts.in_place import in_place
from gradlint.facts.joining import join, join_all
from gradlint.facts.memory import ArgumentMemory, Memory, Traces
from gradlint.facts.modes import decorated_mode
from gradlint.facts.names import Names
from gradlint.facts.results import must_be_scalar
from gradlint.facts.scopes import own_names
from gradlint.facts.state import CALLERS_MODE, Env, Frame
from gradlint.facts.statements import STATEMENTS
from gradlint.facts.stores import index_of, store
from gradlint.facts.values import NONE, UNKNOWN, Base, Class, Each, Function, Inflow, Thing, Value
from gradlint.facts.writes import without_old_notes, writes_to_arguments
from gradlint.knowledge.training import INITIALISERS
from gradlint.model import Form, Graph, Kind, Trainable
from gradlint.syntax.names import dotted

_DEPTH = 14  # calls within calls, beyond which a call is taken as an operation on its arguments
_STEPS = 100_000  # calls and statements interpreted for one file, beyond which no call is followed


@dataclass(frozen=True, slots=True)
class Summary:
    """What a function does, in terms of its arguments and its instance."""

    returned: Value
    effects: Effects


class Interpreter(Names):
    """One file. Transfer functions for nodes live in statements and expressions."""

    def __init__(self, declarations: Declarations) -> None:
        super().__init__(declarations)
        self.intents: dict[int, tuple[Form, str]] = {}
        self.followers: dict[int, str] = {}
        self.hooks: dict[tuple[int, Base, tuple[str, ...]], Value] = {}
        self.variants: dict[object, tuple[ClassFacts, dict[str, Value]]] = {}
        self.local_classes: list[ClassFacts] = []
        self._local_classes: dict[int, ClassFacts] = {}
        self._summaries: dict[object, Summary] = {}
        self._active: set[object] = set()
        self._depth = 0
        self._steps = 0

    # ------------------------------------------------------------------------------ dispatch

    def evaluate(self, node: cst.BaseExpression) -> Value:
        """What `node` evaluates to, recording what it does."""
        transfer = EXPRESSIONS.get(type(node))
        return transfer(self, node) if transfer is not None else UNKNOWN

    def execute(self, body: Iterable[cst.CSTNode]) -> None:
        """Run statements in order, until one leaves the block."""
        for node in body:
            if self.dead:
                return
            self._steps += 1
            transfer = STATEMENTS.get(type(node))
            if transfer is not None:
                transfer(self, node)

    def block(self, body: cst.BaseSuite) -> None:
        """Run an indented block, or the statements after a colon."""
        if isinstance(body, cst.IndentedBlock):
            self.execute(body.body)
        else:
            self.execute((body,))

    def bind_target(
        self, target: cst.CSTNode, value: Value, source: cst.CSTNode | None = None
    ) -> None:
        """`target = value`; `source` is the expression that gave the value."""
        if isinstance(target, cst.Name):
            if not target.value.strip("_") and must_be_scalar(value):
                self.escape(value)  # a loss, of no use here: other callers train on it
            base = Base("variable", target.value, self.frame.scope)
            self.env[target.value] = self.name_made(value, base)
        elif isinstance(target, cst.Tuple | cst.List):
            parts = unpacked(self, value, target.elements)
            for element, part in zip(target.elements, parts, strict=True):
                self.bind_target(element.value, part)
        elif isinstance(target, cst.Attribute):
            store_attribute(self, target, value, source)
        elif isinstance(target, cst.Subscript):
            self._store_item(target, value)

    def _store_item(self, target: cst.Subscript, value: Value) -> None:
        whole = self.evaluate(target.value)
        if whole.kind in (Kind.TENSOR, Kind.PARAMETER):
            in_place(self, target, target.value, whole, [value], "[]")
            return
        if whole.kind is Kind.MODULE:
            self.escape(value)
        else:
            changed = with_stored(whole, index_of(self, target), value)
            store(self, target.value, changed, value)

    def call(self, node: cst.CSTNode, callee: Value, arguments: Arguments) -> Value:
        """What calling a value gives."""
        self._steps += 1
        return call_value(self, node, callee, arguments)

    # ----------------------------------------------------------------------------- functions

    def declare_local(self, node: cst.ClassDef) -> ClassFacts:
        """A class that stands inside a function; its methods are run like those of any class."""
        known = self._local_classes.get(id(node))
        if known is None:
            known = self._local_classes[id(node)] = self.declarations.declare_class(node)
            self.local_classes.append(known)
        return known

    def run_closure(self, node: cst.FunctionDef, function: Function) -> Value:
        """What a local function returns for any arguments; run here for what it records, too."""
        index = self.indexer.of(node)
        keywords = {
            p.name.value: self._from_evidence(p, index.attributes_of(p.name.value))
            for p in parameters_of(node)
        }
        dead, env = self.dead, self.env
        self.env = dict(env)
        result = self._call_inline(node, function, [], keywords)
        self.dead, after, self.env = dead, self.env, env
        for name, value in env.items():
            if after[name] is not value:  # who knows whether it runs
                env[name] = join(value, after[name])
        return result

    def call_function(
        self,
        node: cst.CSTNode,
        function: Function,
        receiver: Value | None,
        args: list[Value],
        keywords: dict[str, Value],
    ) -> Value:
        """The result of calling a function of this file, with its effects taken over."""
        if function.closure is not None or isinstance(function.node, cst.Lambda):
            return self._call_inline(node, function, args, keywords)
        given = bind(function.node, receiver, args, keywords)
        scope, writes = id(function.node), "data" in self.indexer.of(function.node).attributes
        if writes:
            given = {name: without_old_notes(self, value) for name, value in given.items()}
        seen = {name: symbolic(value, name, scope, writes) for name, value in given.items()}
        summary = self.summary(function, receiver, seen)
        if summary is None:
            return self._unfollowed(node, [*args, *keywords.values()])
        return self._fit(node, summary, receiver, given)

    def summary(
        self, function: Function, receiver: Value | None, seen: Mapping[str, Value]
    ) -> Summary | None:
        """The summary for arguments of these kinds; None inside itself or too deep."""
        me = receiver.thing if receiver is not None else None
        cls = me.cls if me is not None else None
        off = self.mode is not None
        key = (id(function.node), function.cls, cls, off, tuple(sorted(seen.items(), key=_first)))
        found = self._summaries.get(key)
        if found is None and key not in self._active and self._may_go_deeper():
            self._active.add(key)
            found = self._summaries[key] = self._summarise(function, receiver, cls, seen)
            self._active.discard(key)
        return found

    def _unfollowed(self, node: cst.CSTNode, arguments: list[Value]) -> Value:
        """A recursive call, or one too deep: it may do anything with its arguments."""
        self.escape(*arguments)
        return self.operation(node, arguments, Kind.UNKNOWN)

    def _may_go_deeper(self) -> bool:
        return self._depth < _DEPTH and self._steps < _STEPS

    def _summarise(
        self,
        function: Function,
        receiver: Value | None,
        cls: ClassFacts | None,
        seen: Mapping[str, Value],
    ) -> Summary:
        node = function.node
        assert isinstance(node, cst.FunctionDef)
        frame = self._frame_of(node, function.cls, cls if cls is not None else function.cls)
        outer = (self.env, self.mode, self.dead, self.frame, self.statement)
        around = (self.unsure, self.loops, self.jumps, self.traces, self.evaluating)
        if self.frame.scope == 0:
            self.globals = self.env
        self.env, self.dead, self.frame = {}, False, frame
        self.mode = CALLERS_MODE if self.mode is not None else None
        self.unsure, self.loops, self.jumps, self.traces = 0, 0, [], Traces()
        self._depth += 1
        self._enter(node, function.cls, cls, seen, receiver)
        self.block(node.body)
        self._depth -= 1
        self.env, self.mode, self.dead, self.frame, self.statement = outer
        frame.effects.late_writes = writes_to_arguments(self)
        frame.effects.pending = self.traces.pending
        self.unsure, self.loops, self.jumps, self.traces, self.evaluating = around
        frame.effects.reached.add(id(node))
        return Summary(join_all(frame.returns) or NONE, frame.effects)

    def _frame_of(
        self, node: cst.FunctionDef, owner: ClassFacts | None, cls: ClassFacts | None
    ) -> Frame:
        name = node.name.value
        symbol = f"{owner.name}.{name}" if owner is not None else name
        first = first_parameter(node) if owner is not None and not is_static(node) else None
        return Frame(symbol, id(node), owner, first, name in INITIALISERS)

    def _enter(
        self,
        node: cst.FunctionDef,
        owner: ClassFacts | None,
        cls: ClassFacts | None,
        seen: Mapping[str, Value],
        receiver: Value | None,
    ) -> None:
        """Bind the parameters and take up the mode that a decorator sets."""
        index = self.frame.index = self.indexer.of(node)
        self.frame.parameters = frozenset(p.name.value for p in parameters_of(node))
        for parameter in parameters_of(node):
            name = parameter.name.value
            value = seen.get(name)
            if value is None:
                value = self._from_evidence(parameter, index.attributes_of(name))
            elif value.kind is Kind.UNKNOWN:
                value = self._sharpened(value, parameter, index.attributes_of(name))
            self.env[name] = value
        facts = cls if cls is not None else owner
        if self.frame.self_name is not None and receiver is not None and facts is not None:
            of_class = isinstance(receiver.ref, Class) or has_decorator(node, "classmethod")
            me = Value(ref=Class(facts)) if of_class else instance(facts)
            self.env[self.frame.self_name] = me
        self.mode = decorated_mode(self, node)

    def _from_evidence(self, parameter: cst.Param, used: frozenset[str]) -> Value:
        name = parameter.name.value
        thing = Thing(Base("argument", name, self.frame.scope))
        live, memory = frozenset({Inflow(name)}), Memory(ArgumentMemory(name))
        value = Value(live=live, ref=thing, graph=Graph.NO, memory=memory)
        return self._sharpened(value, parameter, used)

    def _sharpened(self, value: Value, parameter: cst.Param, used: frozenset[str]) -> Value:
        annotated = None
        if parameter.annotation is not None:
            hint = parameter.annotation.annotation
            annotated = from_annotation(hint, self.declarations.resolve)
            cls = self.declarations.classes.get(dotted(hint) or "")
            if cls is not None and value.thing is not None and value.thing.cls is None:
                self.class_at[value.thing.base] = cls
                return instance(cls, value.thing)
        if annotated is None:
            return replace(value, kind=kind_by_use(used))
        if isinstance(annotated.ref, Each):
            element = replace(annotated.ref.element, live=value.live, cut=value.cut)
            return Value(annotated.kind, ref=replace(annotated.ref, element=element))
        if (
            annotated.kind is Kind.MODULE
            and annotated.thing is not None
            and value.thing is not None
        ):
            layer = replace(value.thing, layer=annotated.thing.layer, trainable=Trainable.YES)
            return replace(value, kind=annotated.kind, ref=layer)
        if annotated.kind is Kind.PARAMETER and value.thing is not None:
            live = self.source(value.thing, is_parameter=True)
            return replace(value, kind=annotated.kind, live=live, graph=Graph.LEAF)
        return replace(value, kind=annotated.kind)

    # -------------------------------------------------------------- fitting a summary to a call

    def _fit(
        self,
        node: cst.CSTNode,
        summary: Summary,
        receiver: Value | None,
        given: Mapping[str, Value],
    ) -> Value:
        fit = Fit(self, node, receiver, given)
        fit.take_over(summary.effects)
        returned = fit.value(summary.returned)
        made = isinstance(returned.ref, Thing) and returned.ref.base.role == "made"
        if isinstance(returned.ref, Thing) and made and not fit.hands_in(returned.ref.base):
            base = self.make(node)  # each call of a factory makes an object of its own
            returned = replace(returned, ref=replace(returned.ref, base=base))
        return returned

    def _call_inline(
        self, node: cst.CSTNode, function: Function, args: list[Value], keywords: dict[str, Value]
    ) -> Value:
        """A local function or lambda: run where it is called, on the names that it sees."""
        key = id(function.node)
        if key in self._active or not self._may_go_deeper():
            return self._unfollowed(node, [*args, *keywords.values()])
        self._active.add(key)
        self._depth += 1
        frame = self.frame
        outer = (self.env, self.dead, frame.returns, self.mode, self.statement, self.jumps)
        seen, parameters = function.closure or {}, frame.parameters
        is_inside = function.scope == frame.scope
        self.env = {**seen, **self.env} if is_inside else {**self.env, **seen}
        bound = bind(function.node, None, args, keywords)
        self.env.update(bound)
        frame.returns, frame.parameters, self.jumps = [], parameters | bound.keys(), []
        if isinstance(function.node, cst.Lambda):
            result = self.evaluate(function.node.body)
        else:
            self.mode = decorated_mode(self, function.node)
            self.block(function.node.body)
            result = join_all(frame.returns) or NONE
        inner, frame.parameters = self.env, parameters
        (self.env, self.dead, frame.returns, self.mode, self.statement, self.jumps) = outer
        self._depth -= 1
        self._active.discard(key)
        if is_inside:
            self._take_over_names(function, inner)
        return result

    def _take_over_names(self, function: Function, inner: Env) -> None:
        """What a local function has made of names that are not its own: a list is longer, say."""
        changed = {n for n, value in self.env.items() if inner.get(n, value) is not value}
        for name in changed - own_names(function.node) if changed else ():
            self.env[name] = inner[name]


def _first(item: tuple[str, Value]) -> str:
    return item[0]
