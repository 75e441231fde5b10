"""How layers are built and called, to measure what their backward needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from backward_cases import (
    CASES,
    CHANCES,
    CHANNELS,
    DIMENSIONS,
    IMAGE,
    LABELS,
    LINE,
    MASK,
    PLACES,
    SIGNED,
    SIGNS,
    WIDE,
    in_order,
    shaped,
    with_and_without_options,
)
from backward_measure import Call, Named
from gradlint.knowledge.needs import Needs


def _for_all(names: str, *given: Named) -> dict[str, tuple[Named, ...]]:
    return dict.fromkeys(names.split(), given)


def _for_dimensions(names: str, *arguments: Any) -> dict[str, tuple[Any, ...]]:
    return {f"{name}{d}": arguments for name in names.split() for d in DIMENSIONS}


_BUILT_FROM: dict[str, tuple[Any, ...]] = {
    "Linear": (3, 2),
    "Bilinear": (3, 3, 2),
    "LayerNorm": (3,),
    "RMSNorm": (3,),
    "GroupNorm": (1, 3),
    "Embedding": (3, 2),
    "EmbeddingBag": (3, 2),
    "MultiheadAttention": (4, 2),
    **dict.fromkeys(["RNN", "GRU", "LSTM", "RNNCell", "GRUCell", "LSTMCell"], (3, 2)),
    **dict.fromkeys(["Softmax", "LogSoftmax", "Softmin"], (1,)),
    **dict.fromkeys(["Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"], (None, 2)),
    **dict.fromkeys(["PixelShuffle", "PixelUnshuffle", "ChannelShuffle", "Unfold"], (2,)),
    "LocalResponseNorm": (2,),
    "Threshold": (0.1, 0.0),
    "Unflatten": (1, (3, 1)),
    "Fold": ((4, 4), 2),
    **_for_dimensions("AvgPool MaxPool AdaptiveAvgPool AdaptiveMaxPool MaxUnpool", 2),
    **_for_dimensions("ZeroPad ReflectionPad ReplicationPad CircularPad", 1),
    **_for_dimensions("LPPool", 2.0, 2),
    **_for_dimensions("ConstantPad", 1, 0.0),
    **{f"BatchNorm{d}": (x.shape[1],) for d, x in DIMENSIONS.items()},
    **{f"InstanceNorm{d}": (x.shape[1],) for d, x in DIMENSIONS.items()},
    **{f"Conv{d}": (x.shape[1], x.shape[1], 2) for d, x in DIMENSIONS.items()},
    **{f"ConvTranspose{d}": (x.shape[1], x.shape[1], 2) for d, x in DIMENSIONS.items()},
}

_BUILT_WITH: dict[str, tuple[Named, ...]] = {
    **{f"InstanceNorm{d}": ({"affine": True},) for d in DIMENSIONS},
    "MultiheadAttention": ({}, {"batch_first": True}),
    "CrossEntropyLoss": (shaped(weight=(3,)),),
    "NLLLoss": (shaped(weight=(3,)),),
    "BCELoss": (shaped(weight=(2, 3)),),
    "BCEWithLogitsLoss": (shaped(weight=(2, 3), pos_weight=(3,)),),
}

_STATES, _CELL_STATES = shaped(h=(1, 1, 2), c=(1, 1, 2)), shaped(h=(2, 2), c=(2, 2))
_OF_DIMENSIONS = """
    LPPool Conv ConvTranspose BatchNorm InstanceNorm Dropout AvgPool MaxPool AdaptiveAvgPool
    AdaptiveMaxPool ZeroPad ConstantPad ReflectionPad ReplicationPad CircularPad
"""
_SIGNED = """
    ReLU LeakyReLU ELU CELU SELU SiLU Mish GELU Softplus Softsign LogSigmoid Hardshrink Softshrink
    Threshold Hardtanh PReLU
"""

_GIVEN: dict[str, tuple[Named, ...]] = {
    **_for_all(_SIGNED, {"input": SIGNED}),
    **_for_all("ReLU6 Hardsigmoid Hardswish", {"input": WIDE}),
    **_for_all("Softmax2d LocalResponseNorm Unfold PixelUnshuffle", {"input": IMAGE}),
    **_for_all("Upsample UpsamplingNearest2d UpsamplingBilinear2d", {"input": IMAGE}),
    **{f"{n}{d}": ({"input": x},) for n in _OF_DIMENSIONS.split() for d, x in DIMENSIONS.items()},
    **{f"MaxUnpool{d}": CASES[f"max_unpool{d}"] for d in DIMENSIONS},
    "GroupNorm": ({"input": LINE},),
    "GLU": (shaped(input=(2, 4)),),
    "Fold": (shaped(input=(1, 12, 9)),),
    **_for_all("PixelShuffle ChannelShuffle", CHANNELS),
    "Embedding": ({"input": LABELS},),
    "EmbeddingBag": ({"input": PLACES},),
    "MultiheadAttention": (shaped(query=(3, 2, 4), key=(3, 2, 4), value=(3, 2, 4)),),
    **_for_all("RNN GRU", {**shaped(input=(4, 1, 3)), "hx": _STATES["h"]}),
    "LSTM": ({**shaped(input=(4, 1, 3)), "hx": tuple(_STATES.values())},),
    **_for_all("RNNCell GRUCell", {"hx": _CELL_STATES["h"]}),
    "LSTMCell": ({"hx": tuple(_CELL_STATES.values())},),
    "CrossEntropyLoss": ({"target": LABELS}, {"target": CHANCES}),
    **_for_all("NLLLoss MultiMarginLoss", {"target": LABELS}),
    **_for_all("SoftMarginLoss HingeEmbeddingLoss MarginRankingLoss", {"target": SIGNS}),
    "KLDivLoss": ({"target": CHANCES},),
    "MultiLabelMarginLoss": CASES["multilabel_margin_loss"],
    "MultiLabelSoftMarginLoss": ({"target": MASK.float()},),
    "CosineEmbeddingLoss": CASES["cosine_embedding_loss"],
    "CTCLoss": CASES["ctc_loss"],
}


def layer_calls(name: str, row: Needs, **keywords: Any) -> Iterator[Call]:
    """Calls of a layer in train and in eval mode; LSTM also without oneDNN, which saves more."""
    built_with, given = _BUILT_WITH.get(name, ({},)), _GIVEN.get(name, ({},))
    for special, training, forward in product(built_with, (True, False), given):
        layer = getattr(nn, name)(*_BUILT_FROM.get(name, ()), **{**special, **keywords})
        own = dict(_own_tensors(layer.train(training)))
        for values in with_and_without_options(row, forward):
            for onednn in (True, False) if name == "LSTM" else (True,):
                yield Call(partial(_run, layer, row, list(own), onednn), values | own)


def _own_tensors(layer: nn.Module) -> Iterable[tuple[str, Tensor]]:
    torch.default_generator.manual_seed(3)
    for name, tensor in (*layer.named_parameters(), *layer.named_buffers()):
        if tensor.is_floating_point():
            yield name, torch.rand(tensor.shape) * 0.5 + 0.3


def _run(layer: nn.Module, row: Needs, own: list[str], onednn: bool, values: Named) -> Any:
    def with_own(*given: Any) -> Any:
        return torch.func.functional_call(layer, {name: values[name] for name in own}, given)

    with torch.backends.mkldnn.flags(enabled=onednn):
        return in_order(with_own, row, values)
