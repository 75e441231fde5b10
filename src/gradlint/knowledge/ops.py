"""What an operation does to the gradient of its inputs.

An operation that stands in no table passes gradient on (`Flow.PASSES`), which is what most of
torch does. Measured on torch 2.13.0; tests/test_knowledge.py executes every row.
Source: https://docs.pytorch.org/docs/stable/notes/autograd.html
"""

from __future__ import annotations

from enum import Enum


class Flow(Enum):
    """What happens to the graph between the inputs and the result of an operation."""

    PASSES = "the result has a graph to its inputs"
    DETACHES = "the result shares the data and has no graph"
    NEW = "the result is a new tensor that takes no value from its inputs"
    COPIES = "the result takes the values and is a new leaf without a graph"
    NO_GRADIENT = "the result cannot carry gradient: integers or booleans"
    ZERO_GRADIENT = "the graph is there, and the gradient through it is zero everywhere"
    TO_HOST = "the result leaves torch: a Python number, a list or an array"
    NO_TENSOR = "the result says something about the tensor and is none"


def _table(flow: Flow, names: str, prefix: str = "") -> dict[str, Flow]:
    return {prefix + name: flow for name in names.split()}


_COMPARISONS = "eq ne gt ge lt le greater less greater_equal less_equal not_equal"
_TESTS = "isnan isinf isfinite logical_not logical_and logical_or logical_xor"
_INDICES = "argmax argmin argsort nonzero"
_REDUCTIONS = "all any argwhere count_nonzero isclose isneginf isposinf isreal signbit"
_STEPS = "round floor ceil trunc fix sign sgn angle"

METHODS: dict[str, Flow] = {
    **_table(Flow.DETACHES, "detach detach_"),
    **_table(Flow.TO_HOST, "item tolist numpy __float__ __int__"),
    **_table(Flow.NO_GRADIENT, f"{_COMPARISONS} {_TESTS} {_INDICES} long int bool byte short char"),
    **_table(Flow.NO_GRADIENT, f"multinomial equal allclose {_REDUCTIONS}"),
    **_table(Flow.ZERO_GRADIENT, f"{_STEPS} bernoulli"),
    **_table(Flow.COPIES, "histc"),
    **_table(Flow.NEW, "new_zeros new_ones new_full new_empty"),
    **_table(Flow.COPIES, "new_tensor"),
    **_table(
        Flow.NO_TENSOR,
        "size dim ndimension numel nelement stride element_size data_ptr storage_offset "
        "is_floating_point is_complex is_contiguous get_device",
    ),
}
"""What a method of a tensor does; `x.detach()` is `detach`."""

FUNCTIONS: dict[str, Flow] = {
    **_table(
        Flow.NEW,
        "zeros ones rand randn randint randperm empty full arange linspace logspace eye "
        "zeros_like ones_like rand_like randn_like empty_like full_like",
        "torch.",
    ),
    **_table(Flow.COPIES, "tensor scalar_tensor histc", "torch."),
    **_table(
        Flow.NO_GRADIENT,
        f"{_COMPARISONS} {_TESTS} {_INDICES} bucketize searchsorted bincount multinomial "
        f"equal allclose {_REDUCTIONS}",
        "torch.",
    ),
    **_table(Flow.NO_GRADIENT, "one_hot", "torch.nn.functional."),
    **_table(Flow.ZERO_GRADIENT, f"{_STEPS} bernoulli poisson", "torch."),
    **_table(Flow.DETACHES, "detach", "torch."),
    **_table(
        Flow.NO_TENSOR,
        "numel is_tensor is_floating_point is_grad_enabled is_inference_mode_enabled manual_seed "
        "get_default_dtype",
        "torch.",
    ),
}
"""What a function of torch does, by its canonical name."""

VALUES_AND_INDICES = frozenset(
    {"topk", "sort", "max", "min", "median", "nanmedian", "mode", "kthvalue", "cummax", "cummin"}
)
"""Functions and methods that return (values, indices); some of them only when given a dim."""

INTEGER_TYPES = frozenset(
    f"torch.{name}"
    for name in "uint8 int8 int16 short int32 int int64 long bool LongTensor IntTensor".split()
)
"""Types to which a conversion ends the graph."""

HOLDERS_OF_DATA = (
    "dataset",
    "trainset",
    "testset",
    "train_set",
    "test_set",
    "train_data",
    "test_data",
    "batch",
    "loader",
    "sample",
    "node",
    "graph",
    "field",
)
"""Parts of names by which PyTorch code calls things that keep a tensor in an attribute `data`.

They only ever keep a finding back: names are no evidence for one.
"""

MAY_RETURN_ITS_INPUT = frozenset(
    {
        "to",
        "cpu",
        "cuda",
        "float",
        "double",
        "half",
        "bfloat16",
        "type",
        "type_as",
        "contiguous",
    }
)
"""Methods that return the tensor itself when there is nothing to convert, under no_grad too."""

RETURNS_ITS_RECEIVER = frozenset({"requires_grad_", "share_memory_"})
"""Methods without a trailing in-place meaning whose result stands for the receiver."""

NOT_IN_PLACE = frozenset({"requires_grad_", "share_memory_", "detach_"})
"""Names that end in one underscore and change no value."""

VIEWS = frozenset(
    {
        "view",
        "view_as",
        "reshape",
        "transpose",
        "permute",
        "t",
        "squeeze",
        "unsqueeze",
        "expand",
        "expand_as",
        "flatten",
        "narrow",
        "select",
        "diagonal",
        "unfold",
        "chunk",
        "split",
        "unbind",
        "swapaxes",
        "movedim",
    }
)
"""Methods whose result shares the storage of a contiguous receiver."""

SHARES_MEMORY = VIEWS - {"reshape", "flatten", "expand", "expand_as"}
"""Views that never copy, and to which one may write."""

FILLS = frozenset({"[]", "masked_fill_", "fill_", "index_fill_", "zero_"})
"""In-place writes whose last operand may be a constant, item assignment among them."""

ADDITIVE = frozenset({"add_", "sub_", "+=", "-="})
"""In-place writes by which the gradient of the receiver stays as it is."""

NO_PROBABILITY = -1e4
"""What scores are filled with to be nothing after a softmax, in half precision too."""

FULL_REDUCTIONS = frozenset(
    name
    for short in "sum mean prod norm max min median var std amax amin".split()
    for name in (short, f"torch.{short}")
)
"""What returns a scalar when it is given nothing but its input."""

REDUCING_LOSSES = frozenset(
    f"torch.nn.functional.{name}"
    for name in """
    binary_cross_entropy binary_cross_entropy_with_logits cross_entropy huber_loss kl_div l1_loss
    mse_loss multilabel_margin_loss nll_loss smooth_l1_loss soft_margin_loss
    """.split()
) | frozenset(
    f"torch.nn.{name}"
    for name in """
    BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss KLDivLoss L1Loss MSELoss
    MultiLabelMarginLoss NLLLoss SmoothL1Loss SoftMarginLoss
    """.split()
)
"""Losses that return a scalar when they are given nothing but input and target."""

LOSSES = REDUCING_LOSSES | {
    "torch.nn.functional.cosine_similarity",
    "torch.nn.functional.cosine_embedding_loss",
    "torch.nn.CosineSimilarity",
}
"""What compares its first operand with its second, the target."""

TENSOR_ONLY = frozenset(
    """
    unsqueeze permute backward contiguous masked_fill masked_fill_ expand_as
    softmax log_softmax bmm matmul clamp clamp_ clamp_min fill_ add_ mul_ div_ sub_ copy_
    zero_ normal_ uniform_ retain_grad addcmul_ addcdiv_ new_zeros new_ones new_full new_empty
    index_select index_fill_ scatter scatter_ scatter_add_ gather view_as type_as
    element_size lerp_ sigmoid numel is_contiguous dim detach_
    repeat_interleave logsumexp mm topk masked_select is_floating_point
    """.split()
)
"""Methods that only tensors have, among what PyTorch code calls: evidence for a tensor."""

TENSOR_OR_MODULE = frozenset(
    {"cuda", "half", "bfloat16", "float", "double", "cpu", "requires_grad_"}
)
"""Methods that tensors and modules have."""

NOT_ON_MODULES = frozenset({"detach", "detach_", "data", "shape", "dtype", "view", "reshape"})
"""Of two things that can be moved to a GPU, the one that has these is a tensor."""

TENSOR_ONLY_ATTRIBUTES = frozenset({"grad", "grad_fn", "is_leaf", "is_cuda", "requires_grad"})
"""Attributes that only tensors have, among what PyTorch code reads (a module's requires_grad is a
mistake of its own)."""

NOT_A_TENSOR_ATTRIBUTES = frozenset(
    {
        "shape",
        "dtype",
        "device",
        "requires_grad",
        "is_leaf",
        "ndim",
        "grad_fn",
        "is_cuda",
        "layout",
        "itemsize",
        "nbytes",
        "is_sparse",
        "is_quantized",
        "is_meta",
    }
)
"""Attributes of a tensor that are no tensors."""

ALWAYS_TENSOR_ATTRIBUTES = frozenset({"weight", "bias", "grad", "running_mean", "running_var"})
"""Attributes that are tensors wherever PyTorch code reads `.data` of them (61 of 61 sites)."""


def must_write_in_place(name: str) -> bool:
    """True for a method or function whose trailing underscore says that it changes its tensor.

    Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html (methods that end in `_`).
    """
    last = name.rpartition(".")[2]
    return last.endswith("_") and not last.endswith("__") and last not in NOT_IN_PLACE
