"""What each kind of expression evaluates to: one small function per node type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from gradlint.facts.attributes import attribute, read_attribute
from gradlint.facts.calls import call
from gradlint.facts.elements import (
    Index,
    asks_requires_grad,
    element_of,
    few_elements,
    graph_of_view,
    item_of,
    listed,
    merged_parameters,
    some_of,
)
from gradlint.facts.index import walk
from gradlint.facts.joining import join
from gradlint.facts.literals import literal_of
from gradlint.facts.mappings import any_dict, dict_of, known_items, may_be_key, updated
from gradlint.facts.memory import ArgumentMemory, reshaped
from gradlint.facts.operators import BINARY
from gradlint.facts.results import must_be_scalar
from gradlint.facts.sequences import any_list, appended, extended, held_in, repeated
from gradlint.facts.stores import indices_of
from gradlint.facts.uses import note_leaving
from gradlint.facts.values import (
    NOTHING,
    OTHER,
    TENSORS,
    UNKNOWN,
    Bound,
    Constant,
    Function,
    Live,
    ParametersOf,
    Value,
    combined,
    gathered,
    is_collection,
    listed_value,
    must_be_dict,
    own_graph,
)
from gradlint.knowledge.saved import NUMBER_FIRST, OPERATORS
from gradlint.model import COMPARISON, NOT_CONSTANT, SCALAR_INDEX, Form, Graph, Kind
from gradlint.syntax.names import dotted

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter
    from gradlint.facts.state import Env


def _name(run: Interpreter, node: cst.Name) -> Value:
    if node.value in ("True", "False", "None"):
        return Value(Kind.OTHER, ref=literal_of(node), graph=Graph.NO)
    return run.known_by_use(node.value, run.lookup(node.value))


def _literal(run: Interpreter, node: cst.BaseExpression) -> Value:
    literal = literal_of(node)
    return Value(Kind.OTHER, ref=literal, graph=Graph.NO) if literal is not None else OTHER


def _subscript(run: Interpreter, node: cst.Subscript) -> Value:
    _note_scalar_index(run, node)
    value = run.evaluate(node.value)
    indices = indices_of(run, node)
    item = item_of(run, node, value, indices[0] if len(indices) == 1 else None)
    if value.kind not in TENSORS or any(map(_may_select, indices)):
        return item
    view = graph_of_view(run, value, item)
    return replace(item, graph=view, memory=reshaped(value.memory))


def _may_select(index: Index) -> bool:
    """Whether indexing a tensor may copy: numbers and slices give a view."""
    return isinstance(index, Value) and index.kind is not Kind.OTHER


def _note_scalar_index(run: Interpreter, node: cst.Subscript) -> None:
    """`loss.data[0]`, where the loss has no dimension."""
    inner = node.value
    if not isinstance(inner, cst.Attribute) or inner.attr.value != "data" or len(node.slice) != 1:
        return
    index = node.slice[0].slice
    if isinstance(index, cst.Index) and isinstance(index.value, cst.Integer):
        whole, name = run.evaluate(inner.value), dotted(inner.value)
        uses = run.frame.index.attributes_of(name) if name is not None else ()
        if must_be_scalar(whole) or ("backward" in uses and _may_be_a_loss(whole)):
            run.intents[id(inner)] = (Form.READ, SCALAR_INDEX)


def _may_be_a_loss(value: Value) -> bool:
    """Whether nothing is known of how it was made: by a criterion that was handed in, say."""
    return value.memory is None or isinstance(value.memory.owner, ArgumentMemory)


def _binary(run: Interpreter, node: cst.BinaryOperation) -> Value:
    # Left-deep chains are walked in a loop: they may be longer than Python's stack.
    chain = [node]
    while isinstance(chain[-1].left, cst.BinaryOperation):
        chain.append(chain[-1].left)
    left = run.evaluate(chain[-1].left)
    for operation in reversed(chain):
        left = _combined(run, operation, left, run.evaluate(operation.right))
    return left


def _combined(run: Interpreter, node: cst.BinaryOperation, left: Value, right: Value) -> Value:
    if isinstance(node.operator, cst.Add) and (both := merged_parameters([left, right])):
        return both
    if isinstance(node.operator, cst.Add) and is_collection(left) and is_collection(right):
        return extended(left, right)
    if isinstance(node.operator, cst.BitOr) and is_collection(left) and is_collection(right):
        return updated(left, right) if must_be_dict(left) else extended(left, right)
    if isinstance(node.operator, cst.Multiply) and is_collection(left):
        return repeated(left, right.constant)
    kind, symbol = _arithmetic_kind(left.kind, right.kind), BINARY.get(type(node.operator), "")
    if left.kind is Kind.OTHER and right.kind in TENSORS:
        return run.operation(node, (right, left), kind, name=NUMBER_FIRST.get(symbol, ""))
    return run.operation(node, (left, right), kind, name=OPERATORS.get(symbol, ""))


def _arithmetic_kind(left: Kind, right: Kind) -> Kind:
    kinds = (left, right)
    if Kind.TENSOR in kinds or Kind.PARAMETER in kinds:
        return Kind.TENSOR
    if Kind.ARRAY in kinds:
        return Kind.ARRAY
    return Kind.UNKNOWN if Kind.UNKNOWN in kinds else Kind.OTHER


def _unary(run: Interpreter, node: cst.UnaryOperation) -> Value:
    value = run.evaluate(node.expression)
    if isinstance(node.operator, cst.Not):
        known = value.constant
        return Value(Kind.OTHER, ref=Constant(not known)) if isinstance(known, bool) else OTHER
    if isinstance(value.constant, int | float) and isinstance(node.operator, cst.Minus):
        return Value(Kind.OTHER, ref=Constant(-value.constant), graph=Graph.NO)
    kind = Kind.TENSOR if value.kind in TENSORS else value.kind
    name = "neg" if isinstance(node.operator, cst.Minus) else ""
    return run.operation(node, (value,), kind, name=name)


def _comparison(run: Interpreter, node: cst.Comparison) -> Value:
    _note_comparison(run, node)
    values = [run.evaluate(node.left), *(run.evaluate(c.comparator) for c in node.comparisons)]
    if len(node.comparisons) == 1 and isinstance(node.comparisons[0].operator, cst.Is | cst.IsNot):
        return _identity(values[0], values[1], isinstance(node.comparisons[0].operator, cst.Is))
    if not any(value.kind in TENSORS for value in values):
        return OTHER
    return run.ended(node, values, "no gradient", Kind.TENSOR)


def _note_comparison(run: Interpreter, node: cst.Comparison) -> None:
    """`p.requires_grad == False` as a statement, where `=` is meant."""
    is_equal = isinstance(node.comparisons[0].operator, cst.Equal)
    if isinstance(node.left, cst.Attribute) and is_equal and run.is_statement(node):
        run.intents[id(node.left)] = (Form.READ, COMPARISON)


def _identity(left: Value, right: Value, positive: bool) -> Value:
    """`x is None`, decided where x is known to be None, or known to be a tensor or module."""
    if right.constant is not None:
        return OTHER
    if left.constant is None:
        return Value(Kind.OTHER, ref=Constant(positive))
    if isinstance(left.ref, Constant):
        return Value(Kind.OTHER, ref=Constant(not positive))
    if left.kind in (*TENSORS, Kind.MODULE) or left.items is not None:
        return Value(Kind.OTHER, ref=Constant(not positive))
    return OTHER


def _boolean(run: Interpreter, node: cst.BooleanOperation) -> Value:
    left = run.evaluate(node.left)
    right = run.evaluate(node.right)
    is_and = isinstance(node.operator, cst.And)
    if isinstance(left.constant, bool):
        return left if is_and is not left.constant else right
    if isinstance(right.constant, bool) and is_and is not right.constant:
        return right
    return join(left, right)


def _conditional(run: Interpreter, node: cst.IfExp) -> Value:
    test = run.evaluate(node.test).constant
    if isinstance(test, bool):
        return run.evaluate(node.body if test else node.orelse)
    found: list[Value] = []
    run.branch(
        lambda: found.append(run.evaluate(node.body)),
        lambda: found.append(run.evaluate(node.orelse)),
    )
    return join(*found)


def _sequence(run: Interpreter, node: cst.Tuple | cst.List | cst.Set) -> Value:
    values = [run.evaluate(element.value) for element in node.elements]
    are_lists = any(isinstance(value.ref, ParametersOf) for value in values)
    if are_lists and (parameters := merged_parameters(values)) is not None:
        return parameters
    if not any(isinstance(element, cst.StarredElement) for element in node.elements):
        return listed_value(values)
    result = listed_value(())
    for element, value in zip(node.elements, values, strict=True):
        if isinstance(element, cst.StarredElement):
            result = extended(result, listed(run, value))
        else:
            result = appended(result, value)
    return result


def _dict(run: Interpreter, node: cst.Dict) -> Value:
    known: dict[object, Value] = {}
    others: list[Value] = []
    for element in node.elements:
        key: object = NOT_CONSTANT
        if isinstance(element, cst.DictElement):
            key = run.evaluate(element.key).constant
        value = run.evaluate(element.value)
        if may_be_key(key):
            known[key] = value
        elif isinstance(element, cst.DictElement):
            others.append(value)
        elif (items := known_items(value)) is not None:
            known.update(items)
        else:
            others += held_in(value)
    return any_dict([*known.values(), *others]) if others else dict_of(known)


# ------------------------------------------------------------------------------ comprehensions


def _comprehension(run: Interpreter, node: cst.ListComp | cst.GeneratorExp | cst.SetComp) -> Value:
    over = run.evaluate(node.for_in.iter)
    if items := _told_apart(node.for_in, over):
        return listed_value([_with_element(run, node.for_in, item, node.elt)[0] for item in items])
    return any_list([_in_comprehension(run, node.for_in, over, node.elt)])


def _dict_comprehension(run: Interpreter, node: cst.DictComp) -> Value:
    over = run.evaluate(node.for_in.iter)
    found = {}
    for item in _told_apart(node.for_in, over):
        key, value = _with_element(run, node.for_in, item, node.key, node.value)
        found[key.constant] = value
    if found and all(map(may_be_key, found)):
        return dict_of(found)
    return any_dict([_in_comprehension(run, node.for_in, over, node.key, node.value)])


def _told_apart(loop: cst.CompFor, over: Value) -> tuple[Value, ...]:
    """The elements that a comprehension over a known list takes one by one."""
    return few_elements(over) if loop.inner_for_in is None and not loop.ifs else ()


def _with_element(
    run: Interpreter, loop: cst.CompFor, item: Value, *results: cst.BaseExpression
) -> list[Value]:
    """The results of one round of a comprehension."""
    outer, run.env = run.env, dict(run.env)
    run.bind_target(loop.target, item)
    values = [run.evaluate(result) for result in results]
    _leave(run, outer, [loop.target])
    return values


def _in_comprehension(
    run: Interpreter, loop: cst.CompFor, over: Value, *results: cst.BaseExpression
) -> Value:
    """Any result of a comprehension: the last of `results`."""
    outer, selects, targets = run.env, False, []
    run.env = dict(outer)
    inner: cst.CompFor | None = loop
    while inner is not None:
        iterated = over if inner is loop else run.evaluate(inner.iter)
        run.bind_target(inner.target, element_of(run, iterated))
        targets.append(inner.target)
        for condition in inner.ifs:
            run.evaluate(condition.test)
            selects = selects or not asks_requires_grad(condition.test)
        inner = inner.inner_for_in
    value = UNKNOWN
    for result in results:
        value = run.evaluate(result)
    _leave(run, outer, targets)
    return some_of(value) if selects else value


def _leave(run: Interpreter, outer: Env, targets: Sequence[cst.CSTNode]) -> None:
    """Out of a comprehension, whose targets are its own: what it changes may have changed."""
    own = {part.value for t in targets for part in walk(t) if isinstance(part, cst.Name)}
    for name, before in outer.items():
        after = run.env[name]
        if after is not before and name not in own:
            outer[name] = join(before, after)
    run.env = outer


def _walrus(run: Interpreter, node: cst.NamedExpr) -> Value:
    value = run.evaluate(node.value)
    run.bind_target(node.target, value)
    return value


def _await(run: Interpreter, node: cst.Await) -> Value:
    return run.evaluate(node.expression)


def _lambda(run: Interpreter, node: cst.Lambda) -> Value:
    seen = [
        run.env[name.value]
        for name in walk(node.body)
        if isinstance(name, cst.Name) and name.value in run.env
    ]
    live, cut = gathered(seen)
    used = _used_of_self(run, node)
    graph = combined((Graph.MAYBE if used else Graph.NO, *map(own_graph, seen)))
    function = Function(node, run.frame.cls, dict(run.env), run.frame.scope)
    return Value(Kind.OTHER, live | used, cut, None, function, graph)


def _used_of_self(run: Interpreter, node: cst.Lambda) -> Live:
    """The members of self that a lambda mentions: where it goes, they may be used."""
    me, used = run.env.get(run.frame.self_name or ""), NOTHING
    if me is None or me.thing is None:
        return used
    for part in walk(node.body):
        if isinstance(part, cst.Attribute) and dotted(part.value) == run.frame.self_name:
            member = attribute(run, part, me, part.attr.value)
            owner = me.thing if isinstance(member.ref, Bound) else member.thing
            used = used | member.live | (run.source(owner) if owner is not None else NOTHING)
    return used


def _formatted(run: Interpreter, node: cst.FormattedString) -> Value:
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            run.evaluate(part.expression)
    return OTHER


def _yield(run: Interpreter, node: cst.Yield) -> Value:
    if node.value is not None:
        inner = node.value.item if isinstance(node.value, cst.From) else node.value
        value = run.evaluate(inner)
        run.escape(value)
        note_leaving(run, value)
        run.frame.returns.append(value)
    return UNKNOWN


def _starred(run: Interpreter, node: cst.StarredElement) -> Value:
    return run.evaluate(node.value)


EXPRESSIONS: dict[type[cst.CSTNode], Callable[[Interpreter, Any], Value]] = {
    cst.Name: _name,
    cst.Integer: _literal,
    cst.Float: _literal,
    cst.SimpleString: _literal,
    cst.ConcatenatedString: _literal,
    cst.FormattedString: _formatted,
    cst.Attribute: read_attribute,
    cst.Subscript: _subscript,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Comparison: _comparison,
    cst.BooleanOperation: _boolean,
    cst.IfExp: _conditional,
    cst.Tuple: _sequence,
    cst.List: _sequence,
    cst.Set: _sequence,
    cst.Dict: _dict,
    cst.ListComp: _comprehension,
    cst.GeneratorExp: _comprehension,
    cst.SetComp: _comprehension,
    cst.DictComp: _dict_comprehension,
    cst.NamedExpr: _walrus,
    cst.Await: _await,
    cst.Lambda: _lambda,
    cst.Yield: _yield,
    cst.StarredElement: _starred,
    cst.Call: call,
}
"""The transfer function of every expression that can carry a value; others are unknown."""
