"""Layers with and without parameters, containers, and classes that are modules by inheritance.

Source: https://docs.pytorch.org/docs/stable/nn.html (torch 2.13.0)
"""

from __future__ import annotations

MODULE_BASES = frozenset(
    {
        "torch.nn.Module",
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
        "pytorch_lightning.core.LightningModule",
        "transformers.PreTrainedModel",
        "transformers.modeling_utils.PreTrainedModel",
        "torch_geometric.nn.MessagePassing",
        "torch_geometric.nn.conv.MessagePassing",
        "fastai.basics.Module",
    }
)
"""Canonical names of classes whose subclasses are modules."""

MODULE_BASE_NAMES = frozenset({"Module", "LightningModule", "PreTrainedModel", "MessagePassing"})
"""Last names by which an imported base class is a module, whatever package it comes from."""

CONTAINERS = frozenset(
    {
        "torch.nn.Sequential",
        "torch.nn.ModuleList",
        "torch.nn.ModuleDict",
        "torch.nn.ParameterList",
        "torch.nn.ParameterDict",
    }
)
"""Modules whose parameters are those of what they are given."""

PARAMETER_CONTAINERS = frozenset({"torch.nn.ParameterList", "torch.nn.ParameterDict"})
"""Containers of parameters."""

KEYED_CONTAINERS = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
"""Containers that are iterated by their keys."""

WITHOUT_PARAMETERS = frozenset(
    f"torch.nn.{name}"
    for name in """
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
    AdaptiveMaxPool3d AlphaDropout AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss CELU
    CTCLoss ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d
    ConstantPad3d CosineEmbeddingLoss CrossMapLRN2d CosineSimilarity CrossEntropyLoss Dropout
    Dropout1d Dropout2d Dropout3d ELU FeatureAlphaDropout Flatten Fold FractionalMaxPool2d
    FractionalMaxPool3d GELU GLU GaussianNLLLoss Hardshrink Hardsigmoid Hardswish Hardtanh
    HingeEmbeddingLoss HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss
    L1Loss LPPool1d LPPool2d LPPool3d LeakyReLU LocalResponseNorm LogSigmoid LogSoftmax MSELoss
    MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d Mish
    MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d
    PairwiseDistance PixelShuffle PixelUnshuffle PoissonNLLLoss RReLU ReLU ReLU6 ReflectionPad1d
    ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU SiLU
    Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign
    Tanh Tanhshrink Threshold TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold
    Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d
    """.split()
)
"""Layers that have no parameters when built with their defaults."""

WITHOUT_PARAMETERS_IF = {
    "torch.nn.BatchNorm1d": ("affine", False),
    "torch.nn.BatchNorm2d": ("affine", False),
    "torch.nn.BatchNorm3d": ("affine", False),
    "torch.nn.SyncBatchNorm": ("affine", False),
    "torch.nn.LayerNorm": ("elementwise_affine", False),
    "torch.nn.RMSNorm": ("elementwise_affine", False),
    "torch.nn.GroupNorm": ("affine", False),
}
"""Layers that lose their parameters by one literal keyword."""

WITH_PARAMETERS_IF = {
    "torch.nn.InstanceNorm1d": ("affine", True),
    "torch.nn.InstanceNorm2d": ("affine", True),
    "torch.nn.InstanceNorm3d": ("affine", True),
}
"""Layers that get parameters by one literal keyword."""

NOT_LAYERS = frozenset(
    f"torch.nn.{name}" for name in "Parameter Buffer UninitializedParameter Module".split()
)
"""Capitalised names of torch.nn that are no layers."""

MODULE_ONLY_METHODS = frozenset(
    {
        "parameters",
        "named_parameters",
        "zero_grad",
        "state_dict",
        "load_state_dict",
        "named_modules",
        "named_children",
        "eval",
    }
)
"""Methods by which a value in training code is known to be a module (optimizers share three)."""

MODULE_ONLY_ATTRIBUTES = frozenset(
    {
        "weight",
        "bias",
        "in_features",
        "out_features",
        "in_channels",
        "out_channels",
        "num_features",
        "num_embeddings",
        "embedding_dim",
        "normalized_shape",
    }
)
"""Attributes of layers that no tensor has."""

OPTIMIZER_ONLY_METHODS = frozenset({"step", "add_param_group"})
"""Methods that tell an optimizer from a module."""


ALTERNATIVE_CONSTRUCTORS = frozenset({"from_config", "from_pretrained"})
"""Class methods of PreTrainedModel and the like that return an instance, `_from_config` too.

Source: https://huggingface.co/docs/transformers/main_classes/model
"""

_MODEL_ZOOS = ("torchvision.models.", "timm.create_model", "timm.models.create_model")


def must_make_a_module(name: str) -> bool:
    """Whether the function `name` of a library returns a model whose parameters train.

    Sources: torchvision 0.29 (torchvision.models), timm 1.0 (timm.create_model), transformers 5
    (AutoModel.from_pretrained and the like): each returns modules with requires_grad=True.
    """
    head, _, last = name.rpartition(".")
    if name.startswith(_MODEL_ZOOS):
        return last[:1].islower() and not last.startswith(("get_", "list_"))
    owner = head.rpartition(".")[2]
    is_model = "Model" in owner or ("For" in owner and not owner.endswith("Config"))
    return name.startswith("transformers.") and last in ALTERNATIVE_CONSTRUCTORS and is_model


def must_have_no_parameters(name: str, keywords: dict[str, object]) -> bool:
    """Whether the layer `name`, built with these literal keywords, holds no parameters."""
    if name in WITH_PARAMETERS_IF:
        keyword, value = WITH_PARAMETERS_IF[name]
        return keyword not in keywords or keywords[keyword] is (not value)
    if name in WITHOUT_PARAMETERS_IF:
        keyword, value = WITHOUT_PARAMETERS_IF[name]
        return keywords.get(keyword) is value
    return name in WITHOUT_PARAMETERS
