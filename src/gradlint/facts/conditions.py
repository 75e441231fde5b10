"""What the test of a branch says where it holds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.model import Kind

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def asks_training(test: cst.BaseExpression) -> bool | None:
    """True for `self.training`, False for `not self.training`."""
    is_not = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
    asked = test.expression if isinstance(test, cst.UnaryOperation) and is_not else test
    if isinstance(asked, cst.Attribute) and asked.attr.value == "training":
        return not is_not
    return None


def leaves(body: cst.BaseSuite) -> bool:
    """Whether the block ends with a return or a raise."""
    last = body.body[-1] if body.body else None
    smalls = last.body if isinstance(last, cst.SimpleStatementLine) else ()
    return any(isinstance(small, cst.Return | cst.Raise) for small in smalls)


def narrow(run: Interpreter, test: cst.BaseExpression) -> None:
    """What is known where `test` holds: isinstance(x, torch.Tensor)."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        narrow(run, test.left)
        narrow(run, test.right)
    elif isinstance(test, cst.Call) and len(test.args) == 2:
        subject, wanted = test.args[0].value, test.args[1].value
        if isinstance(test.func, cst.Name) and test.func.value == "isinstance":
            _narrow_to(run, subject, wanted)


def _narrow_to(run: Interpreter, subject: cst.BaseExpression, wanted: cst.BaseExpression) -> None:
    if not isinstance(subject, cst.Name):
        return
    value = run.lookup(subject.value)
    options = (
        [run.declarations.resolve(element.value) for element in wanted.elements]
        if isinstance(wanted, cst.Tuple)
        else [run.declarations.resolve(wanted)]
    )
    kinds = {_kind_of_type(option) for option in options}
    if len(kinds) == 1 and (kind := kinds.pop()) is not None and value.kind is Kind.UNKNOWN:
        run.env[subject.value] = replace(value, kind=kind)


def _kind_of_type(name: str | None) -> Kind | None:
    if name is None:
        return None
    if name == "torch.Tensor":
        return Kind.TENSOR
    if name == "torch.nn.Parameter":
        return Kind.PARAMETER
    is_layer = name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()
    return Kind.MODULE if is_layer else None
