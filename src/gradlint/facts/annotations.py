"""What a value must be by its annotation."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from gradlint.facts.values import OTHER, SELF, TENSOR, Each, Thing, Value
from gradlint.knowledge.modules import CONTAINERS, NOT_LAYERS, must_have_no_parameters
from gradlint.model import Kind
from gradlint.syntax.names import dotted

_TENSOR_TYPES = frozenset(
    f"torch.{name}"
    for name in "Tensor FloatTensor LongTensor HalfTensor BoolTensor IntTensor DoubleTensor".split()
)
_PLAIN_TYPES = frozenset({"int", "float", "str", "bool", "bytes", "Path", "argparse.Namespace"})
_ARRAY_TYPES = frozenset({"numpy.ndarray", "numpy.array"})
_WRAPPERS = frozenset({"Optional", "Union", "Annotated", "Final"})
_COLLECTIONS = frozenset(
    """
    List list Tuple tuple Sequence Iterable Iterator Collection Set set FrozenSet Generator
    """.split()
)

Resolve = Callable[[cst.CSTNode], str | None]


def from_annotation(node: cst.BaseExpression, resolve: Resolve) -> Value | None:
    """What a value of this annotated type must be; None when the type says nothing."""
    if isinstance(node, cst.Subscript):
        return _from_generic(node, resolve)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.BitOr):
        return from_annotation(node.left, resolve) or from_annotation(node.right, resolve)
    if isinstance(node, cst.SimpleString):
        return _from_text(node)
    name = resolve(node) or dotted(node)
    return _from_name(name) if name is not None else None


def _from_name(name: str) -> Value | None:
    if name in _TENSOR_TYPES or name == "Tensor":
        return TENSOR
    if name == "torch.nn.Parameter":
        return Value(Kind.PARAMETER)
    if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
        is_plain = name in NOT_LAYERS or name in CONTAINERS or must_have_no_parameters(name, {})
        return Value(Kind.MODULE, ref=None if is_plain else Thing(SELF, layer=name))
    if name == "torch.optim.Optimizer":
        return Value(Kind.OPTIMIZER)
    if name in _ARRAY_TYPES:
        return Value(Kind.ARRAY)
    return OTHER if name in _PLAIN_TYPES else None


def _from_text(node: cst.SimpleString) -> Value | None:
    text = node.raw_value.strip()
    return TENSOR if text in ("torch.Tensor", "Tensor") else None


def _from_generic(node: cst.Subscript, resolve: Resolve) -> Value | None:
    name = (dotted(node.value) or "").rpartition(".")[2]
    inner = [e.slice.value for e in node.slice if isinstance(e.slice, cst.Index)]
    found = [v for i in inner if (v := from_annotation(i, resolve)) is not None]
    if name in _WRAPPERS:
        return found[0] if found else None
    if name in _COLLECTIONS and found:
        return Value(Kind.OTHER, ref=Each(found[0]))
    return None
