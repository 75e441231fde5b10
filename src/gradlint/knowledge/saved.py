"""What autograd saves for backward, for operators, methods of tensors and functions.

needs.py says how to read a row. Measured on torch 2.13.0; tests/test_knowledge.py executes them.
Source: https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from gradlint.knowledge import saved_nn
from gradlint.knowledge.needs import Needs, table

_FUNCTIONS_AND_METHODS = """
exp exp2 reciprocal rsqrt det | input | input: output | 0
sigmoid | input | input: output | 0 1
tanh | input | input: output | -1 1
expm1 | input | input: output | -1
sqrt | input | input: output | -inf inf
relu | input | input: ~output | -inf:0
tan inverse cholesky | input | input: output
softmax log_softmax | input dim dtype= | input: output

sin sinc sinh cos cosh log log10 log1p log2 square erf erfc erfinv | input | input: input
acos acosh asin asinh atan atanh digamma lgamma i0 matrix_exp | input | input: input
arccos arccosh arcsin arcsinh arctan arctanh | input | input: input
logit | input eps= | input: input
var | input dim= unbiased= keepdim= | input: input
renorm | input p dim maxnorm | input: input
abs absolute | input | input: ~input
hardshrink | input lambd= | input: ~input
clamp_min | input min | input: ~input ~min; min: ~input ~min
clamp_max | input max | input: ~input ~max; max: ~input ~max
clamp clip | input min max= | \
    input: ~input ~min ~max; min: ~input ~min ~max; max: ~input ~min ~max

prod | input dim= keepdim= | input: input output | 0
cumprod | input dim | input: input output | 0
std | input dim= unbiased= keepdim= | input: input output | -inf 0 inf
norm | input | input: input output | -inf 0 inf
max min median nanmedian | input | input: input output | -inf inf
amax amin | input dim= keepdim= | input: input output
aminmax pinverse | input | input: input output
logsumexp | input dim keepdim= | input: input output | inf
logcumsumexp | input dim | input: input output | inf

sort | input dim= descending= | input: output.indices
topk | input k dim= largest= sorted= | input: output.indices
kthvalue | input k dim= keepdim= | input: output.indices
mode | input dim= keepdim= | input: output.indices
cummax cummin | input dim | input: output.indices

mul multiply matmul inner kron vdot | input other | input: other; other: input
cross | input other dim= | input: other; other: input
mm bmm | input mat2 | input: mat2; mat2: input
mv | input vec | input: vec; vec: input
dot | input tensor | input: tensor; tensor: input
outer ger | input vec2 | input: vec2; vec2: input
addmm | input mat1 mat2 | mat1: mat2; mat2: mat1
addmv | input mat vec | mat: vec; vec: mat
addbmm baddbmm | input batch1 batch2 | batch1: batch2; batch2: batch1
addr | input vec1 vec2 | vec1: vec2; vec2: vec1
addcmul | input tensor1 tensor2 | tensor1: tensor2; tensor2: tensor1

div divide true_divide xlogy | input other | input: other; other: input other
atan2 arctan2 logaddexp logaddexp2 | input other | input: input other; other: input other
hypot | input other | input: input output; other: other output | -inf inf
copysign | input other | input: input output | 0
ldexp | input other | input: other; other: output
fmod remainder | input other | other: ~input ~other
maximum minimum fmax fmin | input other | input: ~input ~other; other: ~input ~other
dist | input other | input: input other output; other: input other output | -inf 0 inf
pow | input exponent | input: input exponent; exponent: input output
addcdiv | input tensor1 tensor2 | input: (tensor2); tensor1: tensor2; tensor2: tensor1 tensor2
lerp | input end weight | input: weight; end: weight; weight: input end
prelu | input weight | input: ~input weight; weight: input

gather index_select | input dim index | input: index
take | input index | input: index
index_add | input dim index source | source: index
index_copy | input dim index source | input: index; source: index
index_fill | input dim index value | input: index; value: index
index_put | input indices values | input: indices; values: indices
scatter | input dim index src | input: index; src: index
scatter_add | input dim index src | src: index
masked_select | input mask | input: mask
masked_fill | input mask value | input: mask; value: mask
masked_scatter | input mask source | input: mask; source: mask

add sub subtract | input other
neg negative positive deg2rad rad2deg frac trace logdet slogdet clone msort corrcoef | input
t adjoint ravel fliplr flipud | input
sum mean nansum nanmean | input *rest
quantile nanquantile | input q dim= keepdim=
cumsum | input dim
tril triu diag | input diagonal=
nan_to_num | input nan= posinf= neginf=
take_along_dim | input indices dim
reshape flatten unflatten squeeze unsqueeze transpose swapaxes swapdims permute | input *rest
movedim moveaxis flip roll rot90 tile broadcast_to repeat_interleave diff | input *rest
narrow select diagonal diag_embed chunk split tensor_split unbind | input *rest
"""

_METHODS_ONLY = """
where | input condition other | input: condition; other: condition
__getitem__ | input index | input: index
__rpow__ | input other | input: output | 0
__radd__ __rsub__ __rmul__ __rtruediv__ | input other
contiguous cpu double float half bfloat16 | input
to type type_as view view_as reshape_as expand expand_as repeat unfold sum_to_size | input *rest
"""

_IN_PLACE = """
exp_ exp2_ reciprocal_ rsqrt_ | input | input: output | 0
sigmoid_ | input | input: output | 0 1
tanh_ | input | input: output | -1 1
expm1_ | input | input: output | -1
sqrt_ | input | input: output | -inf inf
relu_ | input | input: ~output | -inf:0
tan_ | input | input: output
mul_ multiply_ | input other | input: other
div_ divide_ true_divide_ | input other | input: other; other: other
pow_ | input exponent | input: exponent; exponent: output
addcmul_ | input tensor1 tensor2 | tensor1: tensor2; tensor2: tensor1
lerp_ | input end weight | input: weight; end: weight; weight: end
masked_fill_ | input mask value | input: mask; value: mask
index_copy_ | input dim index source | input: index; source: index
index_add_ | input dim index source | source: index
scatter_ | input dim index src | input: index; src: index
scatter_add_ | input dim index src | src: index
abs_ acos_ asin_ atan_ cos_ cosh_ sin_ sinh_ log_ log10_ log1p_ log2_ square_ erf_ erfc_ | input
neg_ negative_ zero_ | input
add_ sub_ subtract_ copy_ | input other
fill_ | input value
tril_ triu_ | input diagonal=
"""

_FUNCTIONS_ONLY = """
selu celu | input | input: input
var_mean | input dim= unbiased= keepdim= | input: input
std_mean | input dim= unbiased= keepdim= | input: input output
where | condition input other | input: condition; other: condition
cdist | x1 x2 | x1: x1 x2 output; x2: x1 x2 output | -inf 0 inf
rsub | input other
cat concat stack | tensors dim=
hstack vstack dstack column_stack | tensors
meshgrid cartesian_prod block_diag broadcast_tensors | *rest
"""

_LINEAR_ALGEBRA = """
norm vector_norm matrix_norm | input | input: input output | -inf 0 inf
det | A | A: output | 0
inv qr svd | A | A: output
cholesky eigh | input | input: output
matrix_exp | input | input: input
pinv | input | input: input output
solve | A B | A: output; B: (A)
vecdot | x y | x: y; y: x
cross | input other | input: other; other: input
multi_dot | tensors | tensors: tensors
slogdet svdvals | A
eigvalsh cond | input
"""

_SPECIAL = """
expit | input | input: output | 0 1
softmax log_softmax | input dim | input: output
logsumexp | input dim keepdim= | input: input output | inf
entr erf erfc erfinv | input | input: input
logit | input eps= | input: input
xlogy xlog1py | input other | input: other; other: input other
ndtr | input
"""

METHODS = {**table(_FUNCTIONS_AND_METHODS), **table(_METHODS_ONLY), **table(_IN_PLACE)}
"""Methods of tensors; `x[index]` is `__getitem__`. One in place returns its receiver: `output`."""

FUNCTIONS = {
    **table(_FUNCTIONS_AND_METHODS, "torch."),
    **table(_FUNCTIONS_ONLY, "torch."),
    **table(_LINEAR_ALGEBRA, "torch.linalg."),
    **table(_SPECIAL, "torch.special."),
    **saved_nn.FUNCTIONAL,
}
"""Functions by their canonical names."""

OPERATORS = {
    "+": "torch.add",
    "-": "torch.sub",
    "*": "torch.mul",
    "/": "torch.div",
    "@": "torch.matmul",
    "**": "torch.pow",
    "%": "torch.remainder",
}
"""The function behind an operator whose left operand is a tensor."""

NUMBER_FIRST = {
    "+": "__radd__",
    "-": "__rsub__",
    "*": "__rmul__",
    "/": "__rtruediv__",
    "**": "__rpow__",
}
"""The method behind an operator whose left operand is a number: `2 / x` does not read `x`."""

AUGMENTED = {"+=": "add_", "-=": "sub_", "*=": "mul_", "/=": "div_", "**=": "pow_"}
"""The method behind an augmented assignment to a tensor."""


def needs_of(name: str) -> Needs | None:
    """The row of a method (`exp`), a function (`torch.exp`) or a layer (`torch.nn.Linear`)."""
    return METHODS.get(name) or FUNCTIONS.get(name) or saved_nn.LAYERS.get(name)
