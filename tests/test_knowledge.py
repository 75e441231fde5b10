"""Every row of knowledge/ is executed on torch: a table that says otherwise fails here."""

from __future__ import annotations

import builtins
import contextlib
import gc
import inspect
import operator
import warnings
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from backward_cases import CASES, amounts, calls
from backward_layers import layer_calls
from backward_measure import (
    Call,
    Named,
    measured_uses,
    must_change_gradient,
    survives_fill,
    tensors,
)
from gradlint.knowledge import modes, modules, needs, ops, saved, saved_nn, training
from gradlint.knowledge.needs import Needs, Use
from gradlint.knowledge.ops import Flow

Recipe = Callable[[Tensor], Any]
Arguments = Callable[[Tensor], tuple[Any, ...]]

OTHER_VALUES = torch.tensor([[0.9, 0.05, 0.2], [0.1, 0.8, 0.0]])
CORNERS = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""`OTHER_VALUES`, rounded."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Uninitialised memory is filled, so that it depends on nothing; warnings are not asked for."""
    torch.use_deterministic_algorithms(True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.use_deterministic_algorithms(False)


# --------------------------------------------------------------------------- measurements


def graph_tensor(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """A leaf `(2, 3)` with values between 0 and 1, and a tensor that is computed from it."""
    torch.manual_seed(0)
    leaf = torch.rand(2, 3, dtype=dtype, requires_grad=True)
    return leaf, leaf * 1


def value(result: Any) -> str:
    """The value of a result, such that equal values (nan too) are equal texts."""
    return repr(
        [t.tolist() for t in tensors(result)] or getattr(result, "tolist", lambda: result)()
    )


def depends_on_its_input(recipe: Recipe) -> bool:
    """Whether other values in the input give another result."""
    _, x = graph_tensor()
    torch.manual_seed(1)
    before = value(recipe(x))
    with torch.no_grad():
        x.detach().copy_(OTHER_VALUES)
    torch.manual_seed(1)
    return before != value(recipe(x))


def measure(recipe: Recipe) -> Flow:
    """What torch does to the graph in `recipe`."""
    leaf, x = graph_tensor()
    result = recipe(x)
    if not tensors(result):
        if isinstance(result, bool) and depends_on_its_input(recipe):
            return Flow.NO_GRADIENT
        return Flow.TO_HOST if depends_on_its_input(recipe) else Flow.NO_TENSOR
    with_graph = [tensor for tensor in tensors(result) if tensor.grad_fn is not None]
    if with_graph:
        torch.stack([(t * torch.rand_like(t)).abs().sum() for t in with_graph]).sum().backward()
        assert leaf.grad is not None
        return Flow.PASSES if leaf.grad.any() else Flow.ZERO_GRADIENT
    return _without_graph(recipe, x, result)


def _without_graph(recipe: Recipe, x: Tensor, result: Any) -> Flow:
    if not depends_on_its_input(recipe):
        return Flow.NEW
    if not any(tensor.is_floating_point() for tensor in tensors(result)):
        return Flow.NO_GRADIENT
    shared = {x.untyped_storage().data_ptr()} & {
        tensor.untyped_storage().data_ptr() for tensor in tensors(result)
    }
    return Flow.DETACHES if shared else Flow.COPIES


# ------------------------------------------------------------------------- what is called

ARGUMENTS: dict[str, Arguments] = {
    "item": lambda x: (x.sum(),),
    "__float__": lambda x: (x.sum(),),
    "__int__": lambda x: (x.sum() * 100,),
    "numpy": lambda x: (x.detach(),),
    "long": lambda x: (x * 100,),
    "int": lambda x: (x * 100,),
    "byte": lambda x: (x * 100,),
    "short": lambda x: (x * 100,),
    "char": lambda x: (x * 100,),
    "bool": lambda x: (some_zeros(x),),
    "multinomial": lambda x: (x, 2),
    "nonzero": lambda x: (some_zeros(x),),
    "isnan": lambda x: (some_zeros(x) / some_zeros(x),),
    "isinf": lambda x: (1 / some_zeros(x),),
    "isfinite": lambda x: (1 / some_zeros(x),),
    "equal": lambda x: (x.round(), CORNERS),
    "allclose": lambda x: (x.round(), CORNERS),
    "all": lambda x: (F.threshold(0.85 - x, 0.0, 0.0),),
    "count_nonzero": lambda x: (F.threshold(x, 0.85, 0.0),),
    "any": lambda x: (F.threshold(x, 0.85, 0.0),),
    "argwhere": lambda x: (some_zeros(x),),
    "isclose": lambda x: (x.round(), CORNERS),
    "isneginf": lambda x: (-1 / some_zeros(x),),
    "isposinf": lambda x: (1 / some_zeros(x),),
    "isreal": lambda x: (torch.complex(x, some_zeros(x)),),
    "signbit": lambda x: (x - 0.5,),
    "eq": lambda x: (x.round(), CORNERS),
    "ne": lambda x: (x.round(), CORNERS),
    "not_equal": lambda x: (x.round(), CORNERS),
    "logical_not": lambda x: (some_zeros(x),),
    "logical_and": lambda x: (some_zeros(x), CORNERS),
    "logical_or": lambda x: (some_zeros(x), CORNERS),
    "logical_xor": lambda x: (some_zeros(x), CORNERS),
    "new_zeros": lambda x: (x, 2),
    "new_ones": lambda x: (x, 2),
    "new_empty": lambda x: (x, 2),
    "new_full": lambda x: (x, (2,), 1.0),
    "new_tensor": lambda x: (x, x),
    "zeros": lambda x: (2,),
    "ones": lambda x: (2,),
    "rand": lambda x: (2,),
    "randn": lambda x: (2,),
    "randint": lambda x: (9, (2,)),
    "randperm": lambda x: (4,),
    "empty": lambda x: (2,),
    "full": lambda x: ((2,), 1.0),
    "arange": lambda x: (4.0,),
    "linspace": lambda x: (0, 1, 3),
    "logspace": lambda x: (0, 1, 3),
    "eye": lambda x: (2,),
    "full_like": lambda x: (x, 1.0),
    "scalar_tensor": lambda x: (x.sum().item(),),
    "bucketize": lambda x: (x, torch.tensor([0.2, 0.4, 0.6])),
    "searchsorted": lambda x: (torch.tensor([0.2, 0.4, 0.6]), x),
    "bincount": lambda x: ((x * 9).long().flatten(),),
    "one_hot": lambda x: ((x * 9).long(), 9),
    "is_grad_enabled": lambda x: (),
    "is_inference_mode_enabled": lambda x: (),
    "get_default_dtype": lambda x: (),
    "manual_seed": lambda x: (0,),
}
"""What is called with something else than `DEFAULT_ARGUMENTS`, to show what it does."""

DEFAULT_ARGUMENTS: tuple[Arguments, ...] = (
    lambda x: (x,),
    lambda x: (x, 0.5),
    lambda x: (x, torch.full((2, 3), 0.5)),
)
"""Tried in turn, until torch accepts one."""


def some_zeros(x: Tensor) -> Tensor:
    """`x` with its small values replaced by zero."""
    return F.threshold(x, 0.5, 0.0)


def recipe(name: str, function: Callable[..., Any]) -> Recipe:
    """A call of `function` that shows what it does to the graph."""

    def call(x: Tensor) -> Any:
        errors: list[Exception] = []
        for arguments in [ARGUMENTS[name]] if name in ARGUMENTS else DEFAULT_ARGUMENTS:
            try:
                return function(*arguments(x))
            except (TypeError, RuntimeError) as error:
                errors.append(error)
        raise TypeError(f"{name} cannot be called: {errors}")

    return call


def resolve(name: str) -> Any:
    """What a canonical name like `torch.nn.functional.one_hot` stands for."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


# ------------------------------------------------------------------------------ operations


@pytest.mark.parametrize(("name", "flow"), ops.METHODS.items())
def test_method(name: str, flow: Flow) -> None:
    assert measure(recipe(name, getattr(Tensor, name))) is flow


@pytest.mark.parametrize(("name", "flow"), ops.FUNCTIONS.items())
def test_function(name: str, flow: Flow) -> None:
    assert measure(recipe(name.rpartition(".")[2], resolve(name))) is flow


def test_no_arguments_are_left_over() -> None:
    named = {name.rpartition(".")[2] for name in {**ops.METHODS, **ops.FUNCTIONS}}
    assert set(ARGUMENTS) <= named


def test_numpy_refuses_a_graph_tensor() -> None:
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        graph_tensor()[1].numpy()


UNLISTED = [
    name
    for name in dir(Tensor)
    if not name.startswith("_") and not name.endswith("_") and callable(getattr(Tensor, name))
    if name not in ops.METHODS
]

MORE_ARGUMENTS: tuple[Arguments, ...] = (
    *DEFAULT_ARGUMENTS,
    lambda x: (x, 0),
    lambda x: (x, 1, 0),
    lambda x: (x, (1, 6)),
    lambda x: (x, 0, torch.tensor([0])),
    lambda x: (x, 1, 2, 1),
    lambda x: (x, x > 0.5, 0.0),
    lambda x: (x, x > 0.5),
    lambda x: (x, x, x),
    lambda x: (x, x, 0.5),
    lambda x: (x.mT @ x,),
    lambda x: (x, x.mT),
    lambda x: (x.flatten(), x.flatten()),
    lambda x: (x[None], x.mT[None]),
    lambda x: (x.mT @ x + torch.eye(3),),
)
"""For methods that are in no table; tried in turn."""

ABOUT_THE_TENSOR = """
    const_data_ptr dense_dim dim_order is_conj is_distributed is_inference is_neg is_pinned
    hash_tensor is_same_size is_set_to is_shared is_signed module_load new register_hook retain_grad
    sparse_dim storage storage_type type untyped_storage
""".split()
"""Methods in no table whose results nobody sends backward."""


def unlisted_flow(name: str) -> Flow | None:
    """What an unlisted method does at best, or None where nothing here calls it."""
    flows = []
    for arguments in MORE_ARGUMENTS:
        with contextlib.suppress(Exception):
            flows.append(measure(partial(_apply, getattr(Tensor, name), arguments)))
    if not flows or Flow.PASSES in flows:
        return Flow.PASSES if flows else None
    return Flow.NO_GRADIENT if flows[0] is Flow.NEW else flows[0]  # False for all values tried


def _apply(method: Callable[..., Any], arguments: Arguments, x: Tensor) -> Any:
    return method(*arguments(x))


def test_what_stands_in_no_table_passes_gradient_on() -> None:
    flows = {name: flow for name in UNLISTED if (flow := unlisted_flow(name))}
    other = {name: flow for name, flow in flows.items() if flow is not Flow.PASSES}
    assert len(flows) > 200
    assert {name: f for name, f in other.items() if name not in ABOUT_THE_TENSOR} == {}


@pytest.mark.parametrize("name", sorted(ops.VALUES_AND_INDICES))
def test_values_and_indices(name: str) -> None:
    _, x = graph_tensor()
    for function in (getattr(torch, name), getattr(Tensor, name)):
        values, indices = function(x, 1)
        assert values.grad_fn is not None
        assert not indices.is_floating_point()
        assert indices.grad_fn is None


@pytest.mark.parametrize("name", sorted(ops.INTEGER_TYPES))
def test_integer_type(name: str) -> None:
    _, x = graph_tensor()
    assert not x.type(resolve(name)).requires_grad


# --------------------------------------------------------------- same tensor, views, writes


RETURNS_ITSELF: dict[str, Callable[[Tensor], tuple[Tensor, Tensor]]] = {
    "to": lambda x: (x, x.to(torch.float32)),
    "cpu": lambda x: (x, x.cpu()),
    "float": lambda x: (x, x.float()),
    "double": lambda x: (d := x.double(), d.double()),
    "half": lambda x: (h := x.half(), h.half()),
    "bfloat16": lambda x: (b := x.bfloat16(), b.bfloat16()),
    "type": lambda x: (x, x.type(torch.float32)),
    "type_as": lambda x: (x, x.type_as(CORNERS)),
    "contiguous": lambda x: (x, x.contiguous()),
}


@pytest.mark.parametrize("name", sorted(ops.MAY_RETURN_ITS_INPUT))
def test_may_return_its_input(name: str) -> None:
    if name == "cuda" and not torch.cuda.is_available():
        said = " ".join((Tensor.cuda.__doc__ or "").split())
        assert "already in CUDA memory" in said
        assert "the original object is returned" in said
        return
    _, x = graph_tensor()
    with torch.no_grad():
        before, after = RETURNS_ITSELF[name](x)
    assert after is before


@pytest.mark.parametrize("name", sorted(ops.RETURNS_ITS_RECEIVER))
def test_returns_its_receiver(name: str) -> None:
    _, x = graph_tensor()
    assert getattr(x, name)() is x


VIEW_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "view": (-1,),
    "view_as": (CORNERS,),
    "reshape": (-1,),
    "transpose": (0, 1),
    "permute": (1, 0),
    "unsqueeze": (0,),
    "expand": (4, 2, 3),
    "expand_as": (torch.ones(4, 2, 3),),
    "narrow": (0, 0, 1),
    "select": (0, 1),
    "unfold": (0, 1, 1),
    "chunk": (2,),
    "split": (1,),
    "swapaxes": (0, 1),
    "movedim": (0, 1),
}


@pytest.mark.parametrize("name", sorted(ops.VIEWS))
def test_view(name: str) -> None:
    _, x = graph_tensor()
    with torch.no_grad():
        views = tensors(getattr(x, name)(*VIEW_ARGUMENTS.get(name, ())))
    for view in views:
        assert view is not x
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert view.requires_grad, "though it has no graph"
        assert view.grad_fn is None


@pytest.mark.parametrize("name", sorted(ops.SHARES_MEMORY))
def test_writing_to_a_view_writes_to_the_whole(name: str) -> None:
    x = torch.rand(2, 3)
    view = tensors(getattr(x, name)(*VIEW_ARGUMENTS.get(name, ())))[0]
    view.fill_(7)
    assert (x == 7).any()


@pytest.mark.parametrize("name", sorted(ops.FULL_REDUCTIONS))
def test_a_full_reduction_has_no_dimension(name: str) -> None:
    x = torch.rand(2, 3)
    result = resolve(name)(x) if "." in name else getattr(x, name)()
    assert result.dim() == 0


@pytest.mark.parametrize("name", sorted(ops.LOSSES))
def test_a_loss_compares_two_operands(name: str) -> None:
    result, pair = _loss(name)
    if name in ops.REDUCING_LOSSES:
        assert result.dim() == 0
    assert len(pair) == 2


def _loss(name: str) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The loss with the first targets that it takes."""
    function = resolve(name)() if name.rpartition(".")[2][0].isupper() else resolve(name)
    x = torch.rand(2, 3) * 0.5
    for target in (torch.rand(2, 3), torch.tensor([0, 1]), torch.zeros(2, 3, dtype=torch.long)):
        with contextlib.suppress(RuntimeError, TypeError, ValueError):
            return function(x, target), (x, target)
    extra = torch.ones(2)
    return function(x, x, extra), (x, x)


@pytest.mark.parametrize("via", sorted(ops.ADDITIVE))
def test_adding_past_autograd_leaves_the_gradient(via: str) -> None:
    leaf, h = graph_tensor()
    noise = torch.ones(2, 3)
    with torch.no_grad():
        if via.endswith("_"):
            getattr(h, via)(noise)
        elif via == "+=":
            h += noise
        else:
            h -= noise
    h.sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.eq(1).all()


@pytest.mark.parametrize("via", sorted(ops.FILLS - {"[]"}))
def test_a_fill_sets_constants(via: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "masked_fill_": (torch.tensor(True), 7),
        "index_fill_": (0, torch.tensor([0, 1]), 7),
        "zero_": (),
    }
    x = torch.rand(2, 3)
    getattr(x, via)(*arguments.get(via, (7,)))
    assert len(set(x.flatten().tolist())) == 1


def test_what_is_filled_as_no_probability_needs_no_gradient() -> None:
    """Masked past autograd or not, scores get the same gradient through a softmax."""
    gradients = []
    for record in (True, False):
        leaf, scores = graph_tensor()
        with torch.set_grad_enabled(record):
            scores[:, 0] = ops.NO_PROBABILITY
        scores.softmax(-1)[:, 1].sum().backward()
        assert leaf.grad is not None
        gradients.append(leaf.grad.tolist())
    assert gradients[0] == gradients[1]


UNDERSCORED = [
    name
    for name in dir(Tensor)
    if name.endswith("_") and not name.startswith(("_", "resize_"))
    # resize_ and its like write only where the size is another one
]


def writes(name: str) -> bool | None:
    """Whether a method counts as a write for autograd, or None where nothing here calls it."""
    for arguments in MORE_ARGUMENTS:
        for dtype in (torch.float32, torch.int64):
            _, x = graph_tensor()
            target = x if dtype is torch.float32 else x.detach().long()
            version = target._version
            with contextlib.suppress(Exception):
                getattr(target, name)(*arguments(target)[1:])
                return target._version > version
    return None


def test_in_place_names() -> None:
    written = {name: wrote for name in UNDERSCORED if (wrote := writes(name)) is not None}
    assert len(written) > 100
    assert written == {name: ops.must_write_in_place(name) for name in written}
    assert set(written) >= ops.NOT_IN_PLACE


def test_in_place_names_of_functions_and_operators() -> None:
    assert ops.must_write_in_place("torch.nn.init.normal_")
    assert not ops.must_write_in_place("__iadd__")
    assert not ops.must_write_in_place("add")


# -------------------------------------------------------------------- evidence for tensors

OTHER_TYPES = (nn.Module, torch.optim.Optimizer, np.ndarray, str, list, dict, set, int, float)


@pytest.mark.parametrize("name", sorted(ops.TENSOR_ONLY | ops.TENSOR_ONLY_ATTRIBUTES))
def test_tensor_only(name: str) -> None:
    assert hasattr(Tensor, name)
    assert [other for other in OTHER_TYPES if hasattr(other, name)] == []


@pytest.mark.parametrize("name", sorted(ops.TENSOR_OR_MODULE))
def test_tensor_or_module(name: str) -> None:
    assert hasattr(Tensor, name)
    assert [other for other in OTHER_TYPES if hasattr(other, name)] == [nn.Module]


@pytest.mark.parametrize("name", sorted(ops.NOT_ON_MODULES))
def test_not_on_modules(name: str) -> None:
    assert hasattr(Tensor, name)
    assert not hasattr(nn.Module, name)


@pytest.mark.parametrize("name", sorted(ops.NOT_A_TENSOR_ATTRIBUTES))
def test_attribute_is_no_tensor(name: str) -> None:
    assert not isinstance(getattr(graph_tensor()[1], name), Tensor)


@pytest.mark.parametrize("name", sorted(ops.ALWAYS_TENSOR_ATTRIBUTES))
def test_attribute_is_a_tensor(name: str) -> None:
    layer = nn.BatchNorm1d(3)
    layer(torch.rand(4, 3)).sum().backward()
    owner = layer.weight if name == "grad" else layer
    assert isinstance(getattr(owner, name), Tensor)


# ----------------------------------------------------------------------------- grad modes


def records() -> bool:
    """Whether autograd records right now."""
    return (torch.ones(2, requires_grad=True) * 1).requires_grad


@pytest.mark.parametrize("name", sorted(modes.OFF))
def test_mode_off(name: str) -> None:
    mode = resolve(name)
    with mode():
        assert not records()
    assert not mode()(records)()
    assert records()


def test_inference_mode_false_is_no_mode() -> None:
    with torch.inference_mode(mode=False):
        assert records()


def test_inference_mode_outlasts_what_is_entered_inside() -> None:
    assert modes.INFERENCE in modes.OFF
    with resolve(modes.INFERENCE)():
        for other in (torch.enable_grad(), torch.set_grad_enabled(True), torch.no_grad()):
            with other:
                assert not records_on_inference()


def records_on_inference() -> bool:
    """Whether a result made here would take part in a graph."""
    return not (torch.ones(2) * 1).is_inference()


@pytest.mark.parametrize("name", sorted(modes.ON))
def test_mode_on(name: str) -> None:
    mode = resolve(name)
    with torch.no_grad():
        assert not records()
        assert mode()(records)()
        with mode():
            assert records()


def test_the_switch_is_a_context_and_a_call() -> None:
    switch = resolve(modes.SWITCH)
    with switch(False):
        within = [records()]
        with switch(True):
            within.append(records())
    switch(False)
    after = [records()]
    switch(True)
    after.append(records())
    assert within == after == [False, True]


def test_causes_name_every_mode_that_switches_off() -> None:
    assert set(modes.CAUSES) == {*modes.OFF, modes.SWITCH}
    assert all(name == f"torch.{cause}" for name, cause in modes.CAUSES.items())


# -------------------------------------------------------------------------------- modules

LAYER_ARGUMENTS = (
    (),
    (2,),
    (2, 2),
    (2, 2, 2),
    (1, (2, 2)),
    (2, 2, 1, 1),
    ([2, 2],),
)
"""Tried in turn, until the layer can be built."""

CANNOT_BE_BUILT = {"Module", "Container", "UninitializedParameter", "UninitializedBuffer"}

LAYERS = [
    name
    for name in nn.modules.__all__
    if inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module)
    if name not in CANNOT_BE_BUILT
]


BUILT_FROM: dict[str, tuple[Any, ...]] = {
    "AdaptiveLogSoftmaxWithLoss": (4, 4, [2]),
    "RNNBase": ("LSTM", 2, 2),
    "TransformerDecoder": (nn.TransformerDecoderLayer(2, 1), 1),
    "TransformerEncoder": (nn.TransformerEncoderLayer(2, 1), 1),
}
"""What the others are built from."""


def build(name: str, **keywords: Any) -> nn.Module:
    """The layer `name` of torch.nn, built with as few arguments as it takes."""
    errors = []
    for arguments in [BUILT_FROM[name]] if name in BUILT_FROM else LAYER_ARGUMENTS:
        try:
            layer = getattr(nn, name)(*arguments, **keywords)
        except (TypeError, ValueError, RuntimeError, AssertionError) as error:
            errors.append(error)
        else:
            assert isinstance(layer, nn.Module)
            return layer
    raise TypeError(f"{name} cannot be built: {errors}")


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    if f"torch.nn.{name}" in modules.CONTAINERS:
        return
    without = not list(build(name).parameters())
    assert modules.must_have_no_parameters(f"torch.nn.{name}", {}) == without


def test_every_named_layer_is_built() -> None:
    named = {*modules.WITHOUT_PARAMETERS, *modules.WITHOUT_PARAMETERS_IF}
    assert {*named, *modules.WITH_PARAMETERS_IF} <= {f"torch.nn.{name}" for name in LAYERS}


@pytest.mark.parametrize(
    "name", sorted({*modules.WITHOUT_PARAMETERS_IF, *modules.WITH_PARAMETERS_IF})
)
@pytest.mark.parametrize("value", [True, False])
def test_keyword_decides(name: str, value: bool) -> None:
    keyword, _ = {**modules.WITHOUT_PARAMETERS_IF, **modules.WITH_PARAMETERS_IF}[name]
    without = not list(build(name.rpartition(".")[2], **{keyword: value}).parameters())
    assert modules.must_have_no_parameters(name, {keyword: value}) == without


@pytest.mark.parametrize("name", sorted(modules.CONTAINERS))
def test_container_holds_what_it_is_given(name: str) -> None:
    content: Any = nn.Parameter(torch.ones(2)) if "Parameter" in name else nn.Linear(2, 2)
    container = resolve(name)()
    if name.endswith("Dict"):
        container["a"] = content
    else:
        container.append(content)
    parameters = [content] if isinstance(content, Tensor) else list(content.parameters())
    assert all(a is b for a, b in zip(container.parameters(), parameters, strict=True))
    assert not list(resolve(name)().parameters())
    held = next(iter(container.values() if name.endswith("Dict") else container))
    assert isinstance(held, nn.Parameter) == (name in modules.PARAMETER_CONTAINERS)
    assert ("a" in list(container)) == (name in modules.KEYED_CONTAINERS)


@pytest.mark.parametrize("name", sorted(modules.PARAMETER_CONTAINERS))
def test_container_makes_parameters_of_tensors(name: str) -> None:
    tensor = torch.ones(2)
    container = resolve(name)({"a": tensor} if name in modules.KEYED_CONTAINERS else [tensor])
    assert [p.requires_grad for p in container.parameters()] == [True]


@pytest.mark.parametrize("name", sorted(modules.NOT_LAYERS))
def test_not_a_layer(name: str) -> None:
    found = resolve(name)
    assert inspect.isclass(found)
    assert found is nn.Module or not issubclass(found, nn.Module)


@pytest.mark.parametrize("name", sorted(modules.MODULE_ONLY_METHODS))
def test_module_method(name: str) -> None:
    assert callable(getattr(nn.Module, name))
    assert not hasattr(Tensor, name)


def test_optimizers_share_three_methods_of_modules() -> None:
    shared = {n for n in modules.MODULE_ONLY_METHODS if hasattr(torch.optim.Optimizer, n)}
    assert len(shared) == 3


@pytest.mark.parametrize("name", sorted(modules.OPTIMIZER_ONLY_METHODS))
def test_optimizer_method(name: str) -> None:
    assert callable(getattr(torch.optim.Optimizer, name))
    assert not hasattr(nn.Module, name)
    assert not hasattr(Tensor, name)


# ------------------------------------------------------------------------------- training


@pytest.mark.parametrize("name", sorted(training.KEEPS_NOTHING))
def test_builtin(name: str) -> None:
    assert callable(getattr(builtins, name))


def test_builtins_keep_no_tensor() -> None:
    """Those that a tensor can be given to; a list or an iterator is their result, and goes."""
    for name in training.KEEPS_NOTHING:
        _, x = graph_tensor()
        gone = weakref.ref(x)
        with contextlib.suppress(Exception):
            getattr(builtins, name)(x)
        del x
        gc.collect()
        assert gone() is None, name


# -------------------------------------------------------------------- what backward needs

FILLS = (-inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0, 7.0, inf)
ROWS = {**saved.METHODS, **saved.FUNCTIONS}
POSITIONAL_ONLY = {"__getitem__", *saved.NUMBER_FIRST.values()}


@pytest.fixture
def tiny() -> Iterator[None]:
    """One thread, which is faster here; a few operations have no deterministic variant."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.set_num_threads(threads)


def callee(name: str) -> Any:
    """The function, or the method, that a row is about."""
    return resolve(name) if name.startswith("torch.") else getattr(Tensor, name)


def is_in_place(name: str) -> bool:
    """Whether the output is the first argument."""
    return ops.must_write_in_place(name)


def survived(called: list[Call]) -> set[float]:
    """The fills of the output that leave the gradient right in all calls."""
    return {fill for fill in FILLS if all(survives_fill(call, fill) for call in called)}


def check_row(row: Needs, called: list[Call], in_place: bool = False) -> None:
    """Measures both columns of a row."""
    assert called
    assert all(call.differentiable() for call in called)
    uses = measured_uses(called, in_place=in_place)
    assert uses == row.uses
    if any(needs.OUTPUT in taken for taken in uses.values()):
        assert survived(called) == {fill for fill in FILLS if row.must_survive_fill(fill)}
    else:
        assert row.fills == ()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ROWS)
def test_needs(name: str) -> None:
    row = ROWS[name]
    check_row(row, list(calls(name, callee(name), row)), is_in_place(name))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", saved_nn.LAYERS)
def test_needs_of_layer(name: str) -> None:
    row = saved_nn.LAYERS[name]
    check_row(row, list(layer_calls(name.rpartition(".")[2], row)))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", saved_nn.WITH_INPLACE)
def test_needs_with_inplace(name: str) -> None:
    row = saved_nn.WITH_INPLACE[name]
    if name in saved_nn.LAYERS:
        check_row(row, list(layer_calls(name.rpartition(".")[2], row, inplace=True)), True)
        assert saved_nn.DEPENDS_ON[name][1] == "inplace"
    else:
        check_row(row, list(calls(name, partial(resolve(name), inplace=True), row)), True)


def test_functions_of_nn_are_functions() -> None:
    assert saved_nn.FUNCTIONAL.items() <= saved.FUNCTIONS.items()


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", sorted(n for n, row in ROWS.items() if len(row.uses) > 1))
def test_needs_add_up(name: str) -> None:
    """What several inputs need that are trained together is what each of them needs."""
    row = ROWS[name]
    seen: dict[tuple[str, tuple[str, ...]], list[bool]] = {}
    for call in calls(name, callee(name), row):
        together = tuple(call.differentiable())
        for of in [*call.given[is_in_place(name) :], needs.OUTPUT]:
            changed = must_change_gradient(call, together, of)
            seen.setdefault((of, together), []).append(changed)
    assert {k: all(v) for k, v in seen.items()} == {k: row.must_read(*k) for k in seen}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", [n for n in ROWS if n not in POSITIONAL_ONLY])
def test_arguments_have_these_names(name: str) -> None:
    row = ROWS[name]
    if "*" in "".join(row.required):
        return
    first = row.required[: not name.startswith("torch.")]

    def by_name(values: Named) -> Any:
        keywords = {key: value for key, value in values.items() if key not in first}
        return callee(name)(*(values[key] for key in first), **keywords)

    for call in calls(name, callee(name), row):
        expected = tensors(call.attempt().result)
        assert expected
        assert all(map(torch.equal, tensors(Call(by_name, call.values).attempt().result), expected))


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "@": operator.matmul,
    "**": operator.pow,
    "%": operator.mod,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "**=": operator.ipow,
}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("symbol", "name"), {**saved.OPERATORS, **saved.AUGMENTED}.items())
def test_operator(symbol: str, name: str) -> None:
    row = ROWS[name]
    check_row(row, list(calls(name, BINARY[symbol], row)), is_in_place(name))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("symbol", "name"), saved.NUMBER_FIRST.items())
def test_operator_after_a_number(symbol: str, name: str) -> None:
    swapped = partial(lambda apply, input, other: apply(other, input), BINARY[symbol])
    check_row(ROWS[name], list(calls(name, swapped, ROWS[name])))


OTHERWISE: Named = {
    "label_smoothing": 0.1,
    "log_input": False,
    "log_target": True,
    "p": 1.0,
    "track_running_stats": True,
}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("name", "argument"), saved_nn.DEPENDS_ON.items())
def test_depends_on(name: str, argument: tuple[int, str]) -> None:
    position, keyword = argument
    last = name.rpartition(".")[2]
    assert list(inspect.signature(getattr(nn, last)).parameters)[position] == keyword
    if keyword == "inplace":
        assert name in saved_nn.WITH_INPLACE
    else:
        row = saved_nn.LAYERS[name]
        otherwise = layer_calls(last, row, **{keyword: OTHERWISE[keyword]})
        assert measured_uses(otherwise, in_place=False) != row.uses


def test_no_cases_are_left_over() -> None:
    assert set(CASES) <= {*ROWS, *(name.rpartition(".")[2] for name in ROWS)}


def test_rows_are_read() -> None:
    row = needs.table("f g | input weight dim= | input: ~weight (scale); weight: output | 0 2:5")[
        "g"
    ]
    assert row.owned == {"scale"}
    assert [row.argument(i) for i in range(4)] == ["input", "weight", "dim", None]
    assert row.must_cover(2, ["dim"])
    assert not row.must_cover(4, [])
    assert not row.must_cover(1, ["out"])
    assert [row.must_survive_fill(fill) for fill in (0, 1, 2, 3)] == [True, False, True, True]
    assert row.use("weight", ["input", "weight"]) is Use.SIDE
    assert row.use("scale", ["input"]) is Use.KEPT
    assert row.must_read(needs.OUTPUT, ["weight"])
    assert not row.must_read(needs.OUTPUT, ["input"])
    assert not row.must_read("scale", ["input", "weight"])
    assert row.must_refuse_inference("scale", ["input"])
    assert not row.must_refuse_inference("weight", ["weight"])


def test_rest_is_any_number_of_arguments() -> None:
    row = needs.table("f | input *rest", "torch.")["torch.f"]
    assert [row.argument(i) for i in (0, 1, 9)] == ["input", "rest", "rest"]
    assert row.must_cover(9, ["anything"])


def test_needs_of_finds_methods_functions_and_layers() -> None:
    found = [saved.needs_of(name) for name in ("exp", "torch.exp", "torch.nn.Linear", "torch.f")]
    assert found[0] is saved.METHODS["exp"]
    assert found[1] is saved.FUNCTIONS["torch.exp"]
    assert found[2] is saved_nn.LAYERS["torch.nn.Linear"]
    assert found[3] is None


def test_indices_are_needed_where_values_come_with_them() -> None:
    takers = {n for n, row in ROWS.items() if row.use(needs.INDICES, ["input"])}
    assert {name.rpartition(".")[2] for name in takers} <= ops.VALUES_AND_INDICES


def test_inference_tensors_alone_have_no_graph() -> None:
    """Nothing is saved, and nothing raises: autograd takes no part."""
    with torch.inference_mode():
        x = amounts("x", 2, 3).requires_grad_()
    for name in ("exp", "sin", "sigmoid"):
        assert getattr(x, name)().grad_fn is None


# ------------------------------------------------------------------------- nothing left out

NAMES_ONLY = set(
    """
    ROOT_METHODS INITIALISERS BUILDERS KEEPS_NOTHING_METHODS MODULE_BASES MODULE_BASE_NAMES
    HOLDERS_OF_DATA FREEZING_WORDS OPTIMIZER_WORD EXPECTING
    ALTERNATIVE_CONSTRUCTORS
    """.split()
)
"""Tables of names that other packages and users choose: nothing to execute."""


def test_every_table_is_tested() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for module in (modes, modules, needs, ops, saved, saved_nn, training):
        last = module.__name__.rpartition(".")[2]
        tables = {name for name in vars(module) if name.isupper() and not name.startswith("_")}
        missing = {name for name in tables - NAMES_ONLY if f"{last}.{name}" not in source}
        assert missing == set(), last


@pytest.mark.parametrize("name", sorted(modules.MODULE_ONLY_ATTRIBUTES))
def test_no_tensor_has_the_attributes_of_layers(name: str) -> None:
    layers = (nn.Linear(2, 2), nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2), nn.LayerNorm(2))
    assert not hasattr(torch.ones(1), name)
    assert any(hasattr(layer, name) for layer in (*layers, nn.Embedding(2, 2)))


def test_a_module_of_torch_is_one() -> None:
    assert "torch.nn.Module" in modules.MODULE_BASES
    assert "Module" in modules.MODULE_BASE_NAMES
