"""What autograd saves for backward, for functions and layers of torch.nn.

needs.py says how to read a row. Measured on torch 2.13.0; tests/test_knowledge.py executes them.
Source: https://docs.pytorch.org/docs/stable/nn.functional.html
"""

from __future__ import annotations

from gradlint.knowledge.needs import table

_REDUCTION = "size_average= reduce= reduction="

_FUNCTIONAL = f"""
sigmoid | input | input: output | 0 1
tanh | input | input: output | -1 1
relu | input | input: ~output | -inf:0
softmax log_softmax softmin | input dim _stacklevel= dtype= | input: output
gumbel_softmax | logits tau= | logits: output
selu silu mish hardswish softsign gelu | input | input: input
elu celu | input alpha= | input: input
softplus | input beta= threshold= | input: input
glu | input dim= | input: input
relu6 hardsigmoid logsigmoid | input | input: ~input
leaky_relu | input negative_slope= | input: ~input
rrelu | input lower= upper= | input: ~input
hardtanh | input min_val= max_val= | input: ~input
hardshrink softshrink | input lambd= | input: ~input
threshold | input threshold value | input: ~input
prelu | input weight | input: ~input weight; weight: input
tanhshrink | input

relu_ | input | input: ~output | -inf:0
leaky_relu_ | input negative_slope= | input: ~output
elu_ celu_ | input | input: output | -1
selu_ | input | input: output
hardtanh_ | input

linear | input weight bias= | input: weight; weight: input
bilinear | input1 input2 weight bias= | \
    input1: input2 weight; input2: input1 weight; weight: input1 input2
conv1d conv2d conv3d | input weight bias= stride= padding= dilation= groups= | \
    input: weight; weight: input; bias: (input) (weight)
conv_transpose1d conv_transpose2d conv_transpose3d | \
    input weight bias= stride= padding= output_padding= groups= dilation= | \
    input: weight; weight: input; bias: (input) (weight)
layer_norm | input normalized_shape weight= bias= eps= | \
    input: input weight (bias); weight: input (bias); bias: (input) (weight)
rms_norm | input normalized_shape weight= eps= | input: input weight
group_norm | input num_groups weight= bias= eps= | \
    input: input weight; weight: input; bias: (input) (weight)
batch_norm | input running_mean running_var weight= bias= | \
    input: (running_mean) running_var weight; weight: input running_mean running_var; \
    bias: (input) (running_mean) (running_var) (weight)
instance_norm | input running_mean= running_var= weight= bias= | \
    input: input; weight: input; bias: (input)
local_response_norm | input size alpha= beta= k= | input: input
normalize | input p= dim= eps= | input: input
embedding | input weight padding_idx= | weight: input
embedding_bag | input weight offsets | weight: input (offsets)
scaled_dot_product_attention | query key value attn_mask= | \
    query: value; key: value; attn_mask: value
grid_sample | input grid | input: grid; grid: input grid
lp_pool1d lp_pool2d lp_pool3d | input norm_type kernel_size stride= | input: input
max_unpool1d max_unpool2d max_unpool3d | input indices kernel_size | input: indices
max_pool1d max_pool2d max_pool3d | input kernel_size stride= padding= dilation= ceil_mode=
adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d | input output_size
avg_pool1d avg_pool2d avg_pool3d | input *rest
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d | input *rest
dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout | input *rest
interpolate upsample pad unfold fold affine_grid | input *rest
pixel_shuffle pixel_unshuffle channel_shuffle | input *rest

mse_loss smooth_l1_loss | input target {_REDUCTION} | input: input target; target: input target
huber_loss | input target reduction= delta= | input: input target; target: input target
cross_entropy | input target weight= size_average= ignore_index= reduce= reduction= | \
    input: target weight; target: weight
nll_loss | input target weight= size_average= ignore_index= reduce= reduction= | \
    input: target weight
binary_cross_entropy | input target weight= {_REDUCTION} | \
    input: input target weight; target: input weight
binary_cross_entropy_with_logits | input target weight= {_REDUCTION} pos_weight= | \
    input: input target weight pos_weight; target: input weight pos_weight
kl_div | input target {_REDUCTION} | input: target; target: input target
poisson_nll_loss | input target | input: target; target: input
soft_margin_loss | input target {_REDUCTION} | input: input target
multi_margin_loss multilabel_soft_margin_loss | input target | input: ~input target
multilabel_margin_loss | input target {_REDUCTION} | input: ~input target
cosine_embedding_loss | input1 input2 target margin= | \
    input1: input1 input2; input2: input1 input2
ctc_loss | log_probs targets input_lengths target_lengths | log_probs: log_probs targets
cosine_similarity | x1 x2 dim= eps= | x1: x1; x2: x2
pairwise_distance | x1 x2 | x1: output; x2: output | -inf 0 inf
pdist | input | input: input output | -inf 0 inf
l1_loss | input target {_REDUCTION}
hinge_embedding_loss | input target margin=
margin_ranking_loss | input1 input2 target margin=
triplet_margin_loss | anchor positive negative margin=
gaussian_nll_loss | input target var
"""

_LAYERS = """
Sigmoid | input | input: output | 0 1
Tanh | input | input: output | -1 1
ReLU | input | input: ~output | -inf:0
Softmax LogSoftmax Softmin Softmax2d | input | input: output
SELU SiLU Mish Hardswish Softsign GELU ELU CELU Softplus GLU | input | input: input
LocalResponseNorm LPPool1d LPPool2d LPPool3d | input | input: input
ReLU6 Hardsigmoid LogSigmoid LeakyReLU Hardtanh | input | input: ~input
Hardshrink Softshrink Threshold | input | input: ~input
PReLU | input | input: ~input weight; weight: input

Linear | input | input: weight; weight: input
Bilinear | input1 input2 | input1: input2 weight; input2: input1 weight; weight: input1 input2
Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d | input | \
    input: weight; weight: input; bias: (input) (weight)
LayerNorm | input | input: input weight (bias); weight: input (bias); bias: (input) (weight)
GroupNorm | input | input: input weight; weight: input; bias: (input) (weight)
RMSNorm | input | input: input weight
BatchNorm1d BatchNorm2d BatchNorm3d | input | \
    input: weight (running_mean) (running_var); weight: input (running_mean) (running_var); \
    bias: (input) (weight) (running_mean) (running_var)
InstanceNorm1d InstanceNorm2d InstanceNorm3d | input | input: input; weight: input; bias: (input)
Embedding EmbeddingBag | input | weight: input
MultiheadAttention | query key value | \
    query: in_proj_weight out_proj.weight; key: in_proj_weight out_proj.weight; \
    value: in_proj_weight out_proj.weight; in_proj_weight: out_proj.weight; \
    in_proj_bias: out_proj.weight
RNN GRU | input hx= | \
    input: weight_ih_l0 weight_hh_l0; hx: weight_hh_l0; weight_ih_l0: input weight_hh_l0; \
    weight_hh_l0: hx weight_hh_l0; bias_ih_l0: weight_hh_l0; bias_hh_l0: weight_hh_l0
LSTM | input hx= | \
    input: hx weight_ih_l0 weight_hh_l0; hx: hx weight_hh_l0; \
    weight_ih_l0: input hx weight_hh_l0; weight_hh_l0: hx weight_hh_l0; \
    bias_ih_l0: hx weight_hh_l0; bias_hh_l0: hx weight_hh_l0
RNNCell | input hx= | \
    input: weight_ih output; hx: weight_hh output; weight_ih: input output; weight_hh: hx; \
    bias_ih: output; bias_hh: output | -1 1
GRUCell | input hx= | input: weight_ih; hx: weight_hh; weight_ih: input; weight_hh: hx
LSTMCell | input hx= | \
    input: hx weight_ih; hx: hx weight_hh; weight_ih: input hx; weight_hh: hx; bias_ih: hx; \
    bias_hh: hx
MaxUnpool1d MaxUnpool2d MaxUnpool3d | input indices | input: indices

Identity Tanhshrink Flatten Unflatten Unfold Fold | input
Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout | input
MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d | input
AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d | input
AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d | input
Upsample UpsamplingNearest2d UpsamplingBilinear2d | input
PixelShuffle PixelUnshuffle ChannelShuffle | input
ZeroPad1d ZeroPad2d ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d | input
ReflectionPad1d ReflectionPad2d ReflectionPad3d | input
ReplicationPad1d ReplicationPad2d ReplicationPad3d | input
CircularPad1d CircularPad2d CircularPad3d | input

MSELoss SmoothL1Loss HuberLoss | input target | input: input target; target: input target
CrossEntropyLoss | input target | input: target weight; target: weight
NLLLoss | input target | input: target weight
BCELoss | input target | input: input target weight; target: input weight
BCEWithLogitsLoss | input target | \
    input: input target weight pos_weight; target: input weight pos_weight
KLDivLoss | input target | input: target; target: input target
PoissonNLLLoss | input target | input: target; target: input
SoftMarginLoss | input target | input: input target
MultiMarginLoss MultiLabelMarginLoss | input target | input: ~input target
MultiLabelSoftMarginLoss | input target | input: ~input target
CosineEmbeddingLoss | input1 input2 target | input1: input1 input2; input2: input1 input2
CTCLoss | log_probs targets input_lengths target_lengths | log_probs: log_probs targets
CosineSimilarity | x1 x2 | x1: x1; x2: x2
PairwiseDistance | x1 x2 | x1: output; x2: output | -inf 0 inf
L1Loss HingeEmbeddingLoss | input target
MarginRankingLoss | input1 input2 target
TripletMarginLoss | anchor positive negative
GaussianNLLLoss | input target var
"""

_WITH_INPLACE = """
functional.relu ReLU | input | input: ~output | -inf:0
functional.leaky_relu LeakyReLU | input | input: ~output
functional.elu functional.celu ELU CELU | input | input: output | -1
functional.selu SELU | input | input: output
functional.relu6 functional.hardtanh functional.hardsigmoid functional.hardswish | input
functional.silu functional.mish | input
ReLU6 Hardtanh Hardsigmoid Hardswish SiLU Mish Threshold | input
functional.threshold | input threshold value
"""

FUNCTIONAL = table(_FUNCTIONAL, "torch.nn.functional.")
"""Functions by their canonical names."""

LAYERS = table(_LAYERS, "torch.nn.")
"""Calls of a layer, by the canonical name of its class."""

WITH_INPLACE = table(_WITH_INPLACE, "torch.nn.")
"""The rows of functions that are given `inplace=True`, and of layers that are built with it."""

DEPENDS_ON = {
    "torch.nn.CELU": (1, "inplace"),
    "torch.nn.CrossEntropyLoss": (5, "label_smoothing"),
    "torch.nn.ELU": (1, "inplace"),
    "torch.nn.Hardsigmoid": (0, "inplace"),
    "torch.nn.Hardswish": (0, "inplace"),
    "torch.nn.Hardtanh": (2, "inplace"),
    "torch.nn.InstanceNorm1d": (4, "track_running_stats"),
    "torch.nn.InstanceNorm2d": (4, "track_running_stats"),
    "torch.nn.InstanceNorm3d": (4, "track_running_stats"),
    "torch.nn.KLDivLoss": (3, "log_target"),
    "torch.nn.LeakyReLU": (1, "inplace"),
    "torch.nn.Mish": (0, "inplace"),
    "torch.nn.PairwiseDistance": (0, "p"),
    "torch.nn.PoissonNLLLoss": (0, "log_input"),
    "torch.nn.ReLU": (0, "inplace"),
    "torch.nn.ReLU6": (0, "inplace"),
    "torch.nn.SELU": (0, "inplace"),
    "torch.nn.SiLU": (0, "inplace"),
    "torch.nn.Threshold": (2, "inplace"),
}
"""Arguments, by position and name, that a layer must be built without for its row in `LAYERS`."""
