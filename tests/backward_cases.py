"""What methods and functions are called with, to measure what their backward needs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from backward_measure import Call, Named
from gradlint.knowledge.needs import Needs


def amounts(name: str, *shape: int, low: float = 0.15, high: float = 0.85) -> Tensor:
    """Values between `low` and `high`, the same for the same name."""
    generator = torch.Generator().manual_seed(sum(map(ord, name)))
    return torch.rand(shape, generator=generator) * (high - low) + low


def shaped(**shapes: tuple[int, ...]) -> Named:
    """Tensors of these shapes, by name."""
    return {name: amounts(name, *shape) for name, shape in shapes.items()}


LABELS = torch.tensor([0, 2])
SIGNS = torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]])
MASK = SIGNS > 0
PLACES = torch.tensor([[0, 2, 1], [1, 0, 2]])
SIGNED = (amounts("signed", 2, 3) - 0.5) * 3
WIDE = (amounts("wide", 2, 3) - 0.5) * 14
CHANCES = amounts("chances", 2, 3).softmax(1)
EVERY_FILL = torch.tensor([-3, -2, -1, -0.5, 0, 0.5, 0.7, 1, 2, 6, 7, 8, 9])
INVERTIBLE = amounts("square", 3, 3) @ amounts("square", 3, 3).mT + torch.eye(3)
LINE, IMAGE, VOLUME = amounts("x", 2, 3, 8), amounts("x", 2, 3, 8, 8), amounts("x", 1, 2, 4, 4, 4)
DIMENSIONS = {"1d": LINE, "2d": IMAGE, "3d": VOLUME}
CHANNELS = shaped(input=(1, 4, 3, 3))
HEADS = shaped(query=(1, 2, 4, 8), key=(1, 2, 4, 8), value=(1, 2, 4, 8))
PAIR = (torch.tensor([0, 1]), torch.tensor([2, 0]))

USUAL: Named = {
    "A": INVERTIBLE,
    "_stacklevel": 3,
    "alpha": 1.0,
    "beta": 0.75,
    "ceil_mode": False,
    "condition": MASK,
    "delta": 0.2,
    "descending": True,
    "diagonal": 0,
    "dilation": 1,
    "dim": 1,
    "dtype": torch.float32,
    "eps": 1e-6,
    "groups": 1,
    "ignore_index": -100,
    "index": PLACES,
    "indices": PLACES,
    "k": 2,
    "keepdim": True,
    "kernel_size": 2,
    "lambd": 0.4,
    "largest": False,
    "lower": 0.1,
    "margin": 0.3,
    "mask": MASK,
    "max_val": 0.5,
    "maxnorm": 0.5,
    "min_val": -0.5,
    "nan": 0.0,
    "negative_slope": 0.2,
    "neginf": -1.0,
    "norm_type": 2.0,
    "normalized_shape": (3,),
    "num_groups": 1,
    "output_padding": 0,
    "output_size": 2,
    "p": 2.0,
    "padding": 0,
    "padding_idx": 1,
    "posinf": 1.0,
    "q": 0.4,
    "reduce": None,
    "reduction": "sum",
    "rest": (),
    "size": 2,
    "size_average": None,
    "sorted": True,
    "stride": 1,
    "tau": 2.0,
    "threshold": 0.5,
    "unbiased": False,
    "upper": 0.4,
    "value": amounts("value"),
}
"""What an argument is where `CASES` says nothing else. All others are tensors `(2, 3)`."""


def _for_all(names: str, *cases: Named) -> dict[str, tuple[Named, ...]]:
    return dict.fromkeys(names.split(), cases)


def _weighted(**shapes: tuple[int, ...]) -> Named:
    return shaped(weight=(3,), bias=(3,), **shapes)


def _convolution(x: Tensor) -> Named:
    channels, sides = x.shape[1], [2] * (x.dim() - 2)
    return {"input": x, **shaped(weight=(channels, channels, *sides), bias=(channels,))}


_POOLS = ("avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool", "lp_pool")
_BOUNDS = {"min": amounts("low", 2, 3, high=0.4), "max": amounts("high", 2, 3, low=0.5)}
_SIGNED = """
    abs absolute relu selu celu hardshrink silu mish elu gelu softplus softsign tanhshrink rrelu
    leaky_relu softshrink logsigmoid hardtanh abs_ relu_ elu_ celu_ selu_ leaky_relu_ hardtanh_
"""

CASES: dict[str, tuple[Named, ...]] = {
    **_for_all(_SIGNED, {"input": SIGNED}),
    **_for_all("relu6 hardsigmoid hardswish fmod remainder", {"input": WIDE}),
    **_for_all("acosh arccosh", {"input": amounts("input", 2, 3) + 1.2}),
    **_for_all(
        "det inverse cholesky matrix_exp pinverse trace logdet slogdet eigh pinv eigvalsh cond",
        {"input": INVERTIBLE},
    ),
    **_for_all("max min median nanmedian amax amin aminmax", {"input": EVERY_FILL, "dim": 0}),
    **_for_all("clamp clip clamp_min clamp_max", {"min": 0.3, "max": 0.6}, _BOUNDS),
    **_for_all(
        "mul multiply div divide true_divide add sub subtract",
        {},
        {"other": 3.0},
        shaped(other=(3,)),
        shaped(other=()),
    ),
    "pow": ({}, {"exponent": 3.0}, {"exponent": 2}, {"exponent": 0.5}),
    "matmul": (
        shaped(input=(2, 3), other=(3, 2)),
        shaped(input=(3,), other=(3,)),
        shaped(input=(2, 3), other=(3,)),
        shaped(input=(4, 2, 3), other=(3, 2)),
        shaped(input=(4, 2, 3), other=(4, 3, 2)),
        {"input": HEADS["query"], "other": HEADS["key"].mT},
    ),
    "mm": (shaped(mat2=(3, 2)),),
    "bmm": (shaped(input=(2, 2, 3), mat2=(2, 3, 2)),),
    "mv": (shaped(vec=(3,)),),
    "dot": (shaped(input=(3,), tensor=(3,)),),
    "vdot": (shaped(input=(3,), other=(3,)),),
    **_for_all("outer ger", shaped(input=(3,), vec2=(3,))),
    "addmm": (shaped(input=(2, 2), mat1=(2, 3), mat2=(3, 2)),),
    "addmv": (shaped(input=(2,), mat=(2, 3), vec=(3,)),),
    "addbmm": (shaped(input=(2, 2), batch1=(2, 2, 3), batch2=(2, 3, 2)),),
    "baddbmm": (shaped(input=(2, 2, 2), batch1=(2, 2, 3), batch2=(2, 3, 2)),),
    "addr": (shaped(vec1=(2,), vec2=(3,)),),
    "copysign": ({"input": SIGNED, "other": SIGNED.flip(0)},),
    "lerp": ({}, {"weight": 0.3}),
    "prelu": ({"input": SIGNED, **shaped(weight=(1,))},),
    "index_select": ({"index": LABELS},),
    **_for_all(
        "index_add index_copy index_fill index_add_ index_copy_",
        {"index": LABELS, **shaped(source=(2, 2))},
    ),
    "index_put": ({"indices": PAIR, **shaped(values=(2,))},),
    "__getitem__": ({"index": LABELS // 2}, {"index": MASK}, {"index": PAIR}),
    **_for_all("masked_fill masked_fill_", {}, {"value": 1.0}),
    **_for_all("__radd__ __rsub__ __rmul__ __rtruediv__ __rpow__", {"other": 2.0}),
    **_for_all("reshape view", {"rest": ((3, 2),)}),
    **_for_all("view_as reshape_as", {"rest": (amounts("like", 3, 2),)}),
    **_for_all("broadcast_to expand", {"rest": ((4, 2, 3),)}),
    "expand_as": ({"rest": (amounts("like", 4, 2, 3),)},),
    "sum_to_size": ({"rest": ((1, 3),)},),
    **_for_all("transpose swapaxes swapdims movedim moveaxis", {"rest": (0, 1)}),
    "permute": ({"rest": ((1, 0),)},),
    "flip": ({"rest": ((0,),)},),
    "roll": ({"rest": (1,)},),
    "unflatten": ({"rest": (1, (3, 1))},),
    "unfold": ({"rest": (1, 2, 1)},),
    "narrow": ({"rest": (1, 0, 2)},),
    "select": ({"rest": (1, 0)},),
    "unsqueeze": ({"rest": (0,)},),
    **_for_all("tile repeat", {"rest": ((2, 1),)}),
    **_for_all("chunk split tensor_split repeat_interleave", {"rest": (2,)}),
    **_for_all("to type", {"rest": (torch.float64,)}),
    "type_as": ({"rest": (amounts("like").double(),)},),
    "cdist": (shaped(x1=(2, 3), x2=(4, 3)),),
    "solve": (shaped(B=(3, 2)),),
    **_for_all(
        "cat concat stack hstack vstack dstack column_stack",
        {"tensors": [amounts("first", 2, 3), amounts("second", 2, 3)]},
    ),
    "multi_dot": ({"tensors": [amounts("first", 2, 3), amounts("second", 3, 2)]},),
    **_for_all(
        "meshgrid cartesian_prod block_diag broadcast_tensors",
        {"rest": (amounts("first", 3), amounts("second", 3))},
    ),
    # torch.nn.functional
    "threshold": ({"input": SIGNED, "value": 0.0},),
    "glu": (shaped(input=(2, 4)),),
    "linear": (shaped(weight=(2, 3), bias=(2,)), shaped(input=(4, 2, 3), weight=(2, 3), bias=(2,))),
    "bilinear": (shaped(weight=(2, 3, 3), bias=(2,)),),
    **{f"conv{d}": (_convolution(x),) for d, x in DIMENSIONS.items()},
    **{f"conv_transpose{d}": (_convolution(x),) for d, x in DIMENSIONS.items()},
    **_for_all("layer_norm rms_norm", _weighted()),
    "group_norm": (_weighted(input=(2, 3, 8)),),
    "batch_norm": (_weighted(input=(2, 3, 8), running_mean=(3,), running_var=(3,)),),
    "instance_norm": ({**_weighted(input=(2, 3, 8)), "running_mean": None, "running_var": None},),
    "local_response_norm": ({"input": IMAGE, "k": 1.0},),
    "normalize": ({}, {"p": 1.0}),
    "embedding": ({"input": LABELS, **shaped(weight=(3, 2))},),
    "embedding_bag": ({"input": PLACES.flatten(), "offsets": LABELS, **shaped(weight=(3, 2))},),
    "scaled_dot_product_attention": (
        {**HEADS, **shaped(attn_mask=(4, 4))},
        {n: x.double() for n, x in {**HEADS, **shaped(attn_mask=(4, 4))}.items()},
        {**{name: x[0, 0] for name, x in HEADS.items()}, **shaped(attn_mask=(4, 4))},
    ),
    "grid_sample": ({"input": IMAGE, "grid": amounts("grid", 2, 3, 3, 2, low=-0.9, high=0.9)},),
    "affine_grid": ({**shaped(input=(1, 2, 3)), "rest": ((1, 1, 3, 3),)},),
    **{f"{n}{d}": ({"input": x, "rest": (2,)},) for n in _POOLS for d, x in DIMENSIONS.items()},
    **{f"dropout{d}": ({"input": x, "rest": (0.5, True)},) for d, x in DIMENSIONS.items()},
    **_for_all("dropout alpha_dropout feature_alpha_dropout", {"rest": (0.5, True)}),
    "max_unpool1d": ({**shaped(input=(1, 1, 2)), "indices": torch.tensor([[[0, 3]]])},),
    "max_unpool2d": ({**shaped(input=(1, 1, 1, 2)), "indices": torch.tensor([[[[0, 3]]]])},),
    "max_unpool3d": ({**shaped(input=(1, 1, 1, 1, 2)), "indices": torch.tensor([[[[[0, 3]]]]])},),
    **_for_all("interpolate upsample", {"input": IMAGE, "rest": (None, 2.0, "bilinear")}),
    "pad": tuple(
        {"input": IMAGE, "rest": ((1, 1, 1, 1), mode)}
        for mode in ("constant", "reflect", "replicate", "circular")
    ),
    "torch.nn.functional.unfold": ({"input": IMAGE, "rest": (2,)},),
    "fold": ({**shaped(input=(1, 12, 9)), "rest": ((4, 4), 2)},),
    **_for_all("pixel_shuffle channel_shuffle", {**CHANNELS, "rest": (2,)}),
    "pixel_unshuffle": ({"input": IMAGE, "rest": (2,)},),
    **_for_all("cross_entropy", *({"target": t, **shaped(weight=(3,))} for t in (LABELS, CHANCES))),
    "nll_loss": ({"target": LABELS, **shaped(weight=(3,))},),
    "binary_cross_entropy_with_logits": (shaped(pos_weight=(3,)),),
    "kl_div": ({"target": CHANCES},),
    **_for_all("soft_margin_loss hinge_embedding_loss margin_ranking_loss", {"target": SIGNS}),
    "multi_margin_loss": ({"target": LABELS},),
    "multilabel_margin_loss": (
        {"input": SIGNED, "target": torch.tensor([[0, -1, -1], [1, 2, -1]])},
    ),
    "multilabel_soft_margin_loss": ({"target": MASK.float()},),
    "cosine_embedding_loss": ({"target": torch.tensor([1.0, -1.0])},),
    "ctc_loss": (
        {
            "log_probs": amounts("log_probs", 5, 1, 3).log_softmax(-1),
            "targets": torch.tensor([[1, 2]]),
            "input_lengths": torch.tensor([5]),
            "target_lengths": torch.tensor([2]),
        },
    ),
}
"""What an operation is given otherwise, by its canonical or its last name."""


def calls(name: str, function: Any, row: Needs) -> Iterator[Call]:
    """Calls of a function or method: without options, and with all that the row names."""
    last = name.rpartition(".")[2]
    for special in CASES.get(name) or CASES.get(last) or ({},):
        for values in with_and_without_options(row, special):
            yield Call(partial(in_order, function, row), values)


def with_and_without_options(row: Needs, special: Named) -> Iterator[Named]:
    """What to give: `special`, else the usual."""
    required = {name.lstrip("*"): _argument(name.lstrip("*"), special) for name in row.required}
    yield required
    if row.options:
        yield required | {name: _argument(name, special) for name in row.options}


def _argument(name: str, special: Named) -> Any:
    return special[name] if name in special else USUAL.get(name, amounts(name, 2, 3))


def in_order(function: Any, row: Needs, values: Named) -> Any:
    """The result of a call that gives everything by position, as the row says."""
    given: list[Any] = []
    for name in (*row.required, *row.options):
        if name.startswith("*"):
            given.extend(values[name[1:]])
        elif name in values:
            given.append(values[name])
    return function(*given)
