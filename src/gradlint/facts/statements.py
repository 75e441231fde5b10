"""What each kind of statement does to names and grad mode: one small function per node type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from gradlint.facts.attributes import note_deletion, written_attribute
from gradlint.facts.conditions import asks_training, leaves, narrow
from gradlint.facts.elements import (
    element_of,
    few_elements,
    listed,
    merged_parameters,
    without,
    worth_unrolling,
)
from gradlint.facts.in_place import in_place, rebind
from gradlint.facts.mappings import updated
from gradlint.facts.modes import mode_of
from gradlint.facts.operators import AUGMENTED
from gradlint.facts.sequences import extended
from gradlint.facts.stores import index_of, store, whole_of
from gradlint.facts.uses import note_leaving, tainted
from gradlint.facts.values import (
    NONE,
    TENSORS,
    UNKNOWN,
    Class,
    Function,
    ParametersOf,
    Value,
    flat,
    is_collection,
    must_be_dict,
    uncut,
)
from gradlint.knowledge.modules import CONTAINERS
from gradlint.knowledge.saved import OPERATORS
from gradlint.knowledge.training import EXPECTING
from gradlint.model import Form, Graph, Kind, Trainable
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def _line(run: Interpreter, node: cst.SimpleStatementLine | cst.SimpleStatementSuite) -> None:
    for small in node.body:
        if run.dead:
            return
        run.statement = small
        transfer = STATEMENTS.get(type(small))
        if transfer is not None:
            transfer(run, small)


def _expression(run: Interpreter, node: cst.Expr) -> None:
    run.evaluate(node.value)


# -------------------------------------------------------------------------------- assignments


def _assign(run: Interpreter, node: cst.Assign) -> None:
    _note_data_targets(run, (target.target for target in node.targets))
    value = run.evaluate(node.value)
    for target in node.targets:
        run.bind_target(target.target, value, node.value)


def _annotated(run: Interpreter, node: cst.AnnAssign) -> None:
    if node.value is not None:
        _note_data_targets(run, (node.target,))
        run.bind_target(node.target, run.evaluate(node.value), node.value)


def _note_data_targets(run: Interpreter, targets: Any) -> None:
    """`x.data[i] = v` assigns to x.data."""
    for target in targets:
        if isinstance(target, cst.Subscript):
            written = written_attribute(target)
            if written is not None:
                run.intents[id(written)] = (Form.ASSIGN, "")


def _augmented(run: Interpreter, node: cst.AugAssign) -> None:
    written = written_attribute(node.target)
    if written is not None:
        run.intents[id(written)] = (Form.INPLACE, AUGMENTED[type(node.operator)])
    old = run.evaluate(node.target)
    new = run.evaluate(node.value)
    if old.kind in TENSORS:
        in_place(run, node, node.target, old, [new], AUGMENTED[type(node.operator)])
        return
    result = _sum_of(run, node, old, new)
    if isinstance(node.target, cst.Name):
        run.env[node.target.value] = result
    elif isinstance(node.target, cst.Subscript) and whole_of(run, node.target) is not None:
        store(run, node.target, result, new)
    else:
        run.escape(new)
        rebind(run, node.target, result)


def _sum_of(run: Interpreter, node: cst.AugAssign, old: Value, new: Value) -> Value:
    merged = merged_parameters([old, new])
    if merged is not None:
        return merged if run.unsure <= run.loops else replace(merged, ref=ParametersOf(()))
    if is_collection(old) and isinstance(node.operator, cst.AddAssign):
        return extended(old, listed(run, new))
    if must_be_dict(old) and isinstance(node.operator, cst.BitOrAssign):
        return updated(old, new)
    kind = Kind.TENSOR if new.kind in TENSORS else Kind.UNKNOWN
    if old.kind is Kind.OTHER and new.kind is Kind.OTHER:
        kind = Kind.OTHER
    symbol = AUGMENTED[type(node.operator)].removesuffix("=")
    return run.operation(node, (old, new), kind, name=OPERATORS.get(symbol, ""))


# ------------------------------------------------------------------------------- leaving


def _return(run: Interpreter, node: cst.Return) -> None:
    value = run.evaluate(node.value) if node.value is not None else NONE
    note_leaving(run, value)
    if run.evaluating:
        value = uncut(value)
    run.frame.returns.append(tainted(run, value))
    run.dead = True


def _raise(run: Interpreter, node: cst.Raise) -> None:
    if node.exc is not None:
        run.evaluate(node.exc)
    run.dead = True


def _jump(run: Interpreter, node: cst.Break | cst.Continue) -> None:
    run.jump()


def _assert(run: Interpreter, node: cst.Assert) -> None:
    run.evaluate(node.test)
    narrow(run, node.test)


def _delete(run: Interpreter, node: cst.Del) -> None:
    targets = node.target.elements if isinstance(node.target, cst.Tuple) else ()
    for target in (node.target, *(element.value for element in targets)):
        if isinstance(target, cst.Name):
            run.env.pop(target.value, None)
        elif isinstance(target, cst.Attribute):
            note_deletion(run, run.evaluate(target))
        elif isinstance(target, cst.Subscript):
            _delete_item(run, target)


def _delete_item(run: Interpreter, target: cst.Subscript) -> None:
    whole = whole_of(run, target)
    if whole is not None:
        store(run, target.value, without(whole, index_of(run, target)), whole)
    elif isinstance(target.value, cst.Attribute):
        run.escape(run.evaluate(target.value))  # of a field: who knows it would have to know


# ------------------------------------------------------------------------------- branches


def _if(run: Interpreter, node: cst.If) -> None:
    run.statement = node.test
    test = run.evaluate(node.test).constant
    otherwise = node.orelse

    training = asks_training(node.test)

    def then() -> None:
        narrow(run, node.test)
        run.evaluating += training is False
        run.block(node.body)
        run.evaluating -= training is False

    def rest() -> None:
        run.evaluating += training is True
        if isinstance(otherwise, cst.If):
            _if(run, otherwise)
        elif otherwise is not None:
            run.block(otherwise.body)
        run.evaluating -= training is True

    if isinstance(test, bool) or test is None:
        (then if test else rest)()
    else:
        run.branch(then, rest)
    if training is True and leaves(node.body):  # what follows runs in evaluation only
        run.evaluating += 1


def _for(run: Interpreter, node: cst.For) -> None:
    run.statement = node.iter
    over = run.evaluate(node.iter)

    def round_with(element: Value) -> Callable[[], None]:
        def step() -> None:
            run.bind_target(node.target, element)
            run.block(node.body)

        return step

    if worth_unrolling(few := few_elements(over)):
        for item in few:
            run.once(round_with(item))
    else:
        run.loop(round_with(element_of(run, over)), _runs_surely(run, node.iter, over))
    if node.orelse is not None:
        run.block(node.orelse.body)


def _runs_surely(run: Interpreter, iterated: cst.BaseExpression, over: Value) -> bool:
    """Whether a loop over this runs at least once: range(3), a literal, layers of a model."""
    func = iterated.func if isinstance(iterated, cst.Call) else None
    if over.items or not isinstance(iterated, cst.Call):
        return bool(over.items) or _has_layers(over)
    if isinstance(func, cst.Attribute) and func.attr.value in ("items", "keys", "values"):
        return _has_layers(run.evaluate(func.value))
    if not isinstance(func, cst.Name):
        return _has_layers(over)
    values = [run.evaluate(argument.value) for argument in iterated.args]
    if func.value in ("enumerate", "reversed", "zip", "list", "tuple"):
        pairs = zip(iterated.args, values, strict=True)
        return all(_runs_surely(run, argument.value, value) for argument, value in pairs)
    return func.value == "range" and _is_filled([value.constant for value in values])


def _has_layers(value: Value) -> bool:
    layers = value.thing if value.kind is Kind.MODULE else None
    if layers is None or layers.trainable is Trainable.MAYBE:
        return False
    return layers.trainable is Trainable.YES or layers.layer in CONTAINERS


def _is_filled(constants: list[object]) -> bool:
    """Whether a range with these bounds is known to have an element."""
    bounds = [bound for bound in constants if isinstance(bound, int)]
    if len(bounds) < len(constants) or not 1 <= len(bounds) <= 3 or bounds[2:] == [0]:
        return False
    return bool(range(*bounds))


def _while(run: Interpreter, node: cst.While) -> None:
    def step() -> None:
        run.statement = node.test
        run.evaluate(node.test)
        narrow(run, node.test)
        run.block(node.body)

    run.loop(step)
    if node.orelse is not None:
        run.block(node.orelse.body)


def _try(run: Interpreter, node: cst.Try | cst.TryStar) -> None:
    def body() -> None:
        run.guards += bool(node.handlers)
        run.block(node.body)
        run.guards -= bool(node.handlers)
        if node.orelse is not None and not run.dead:
            run.block(node.orelse.body)

    def handler(one: cst.ExceptHandler | cst.ExceptStarHandler) -> Callable[[], None]:
        return lambda: run.block(one.body)

    run.branch(body, *(handler(one) for one in node.handlers))
    if node.finalbody is not None:
        dead, run.dead = run.dead, False
        run.block(node.finalbody.body)
        run.dead = run.dead or dead


def _match(run: Interpreter, node: cst.Match) -> None:
    run.statement = node.subject
    run.evaluate(node.subject)

    def case(one: cst.MatchCase) -> Callable[[], None]:
        return lambda: run.block(one.body)

    cases = [case(one) for one in node.cases]
    last = node.cases[-1] if node.cases else None
    if last is None or last.guard is not None or not _matches_all(last.pattern):
        cases.append(lambda: None)
    run.branch(*cases)


def _matches_all(pattern: cst.MatchPattern) -> bool:
    return isinstance(pattern, cst.MatchAs) and pattern.pattern is None


def _with(run: Interpreter, node: cst.With) -> None:
    outer, guards = run.mode, run.guards
    for item in node.items:
        run.statement = item.item
        decided, mode = mode_of(run, item.item, item)
        if decided is not None:
            run.mode = mode
        run.guards += _expects_an_exception(item.item)
        value = run.evaluate(item.item)
        if item.asname is not None:
            run.bind_target(item.asname.name, UNKNOWN if decided is not None else value)
    run.block(node.body)
    run.mode, run.guards = outer, guards


def _expects_an_exception(item: cst.BaseExpression) -> bool:
    """`with pytest.raises(RuntimeError):` and the like."""
    name = dotted(item.func) if isinstance(item, cst.Call) else None
    return (name or "").rpartition(".")[2] in EXPECTING


# ----------------------------------------------------------------------------- definitions


def _function(run: Interpreter, node: cst.FunctionDef) -> None:
    """A function inside a function: kept for its calls, and run once for what it says.

    Where it goes, what it returns may go.
    """
    function = Function(node, run.frame.cls, run.env, run.frame.scope)
    run.env[node.name.value] = Value(Kind.OTHER, ref=function, graph=Graph.NO)
    result = run.run_closure(node, function)
    live, _ = flat(result)
    graph = Graph.MAYBE if live else Graph.NO
    run.env[node.name.value] = Value(Kind.OTHER, live, ref=function, graph=graph)
    decorated = any(mode_of(run, d.decorator, d)[0] is None for d in node.decorators)
    if decorated or node.asynchronous is not None:
        run.escape(result)  # who knows who runs it


def _class(run: Interpreter, node: cst.ClassDef) -> None:
    run.env[node.name.value] = Value(ref=Class(run.declare_local(node)))


STATEMENTS: dict[type[cst.CSTNode], Callable[[Interpreter, Any], None]] = {
    cst.SimpleStatementLine: _line,
    cst.SimpleStatementSuite: _line,
    cst.Expr: _expression,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augmented,
    cst.Return: _return,
    cst.Raise: _raise,
    cst.Break: _jump,
    cst.Continue: _jump,
    cst.Assert: _assert,
    cst.Del: _delete,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.Match: _match,
    cst.With: _with,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
}
"""The transfer function of every statement that does something to values."""
