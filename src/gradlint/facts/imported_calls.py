"""Calls of imported functions and classes: torch by its tables, others by what is common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from gradlint.facts.arguments import Arguments
from gradlint.facts.elements import (
    element_of,
    few_elements,
    merged_parameters,
)
from gradlint.facts.in_place import in_place
from gradlint.facts.joining import join_all
from gradlint.facts.layer_calls import layer_call, optimizer_call, pretrained_call
from gradlint.facts.memory import Memory, ObjectMemory, reshaped
from gradlint.facts.modes import mode_of
from gradlint.facts.opaque import note_intent, unknown_call
from gradlint.facts.uses import go_backward, note_gradient, note_use
from gradlint.facts.values import (
    FALSE,
    OTHER,
    PACKED,
    TENSOR,
    TENSORS,
    UNKNOWN,
    Each,
    Imported,
    Thing,
    Value,
    combined,
    constant,
    gathered,
    listed_value,
    must_be_dict,
    own_graph,
)
from gradlint.knowledge.modules import (
    must_make_a_module,
)
from gradlint.knowledge.ops import FUNCTIONS, VALUES_AND_INDICES, Flow, must_write_in_place
from gradlint.model import Graph, Kind, Trainable

if TYPE_CHECKING:
    from gradlint.facts.interpreter import Interpreter


def imported_call(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """The value of calling `name`, a canonical name."""
    special = _SPECIAL.get(name)
    if special is not None:
        return special(run, node, name, arguments)
    for prefix, transfer in _FAMILIES:
        if name.startswith(prefix):
            return transfer(run, node, name, arguments)
    return _foreign(run, node, name, arguments)


# ----------------------------------------------------------------------------- torch functions


def _torch(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """A function that works on tensors."""
    if must_write_in_place(name) or arguments.keywords.get("inplace", UNKNOWN).constant is True:
        return _in_place(run, node, name, arguments)
    value = by_flow(run, node, FUNCTIONS.get(name, Flow.PASSES), arguments.all, name)
    if FUNCTIONS.get(name) in (Flow.NEW, Flow.COPIES):
        value = replace(value, graph=_asked_for(arguments))
    return with_indices(run, node, name.rpartition(".")[2], value, arguments.all[1:])


def _in_place(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """torch.relu_(x), F.relu(x, inplace=True): x itself, changed."""
    if not arguments.positional:
        return UNKNOWN
    receiver, *others = arguments.positional
    via = name.rpartition(".")[2]
    return in_place(run, node, arguments.nodes[0].node, receiver, others, via)


def _stack(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """stack(tensors): iterating over the result gives them one by one again."""
    whole, tensors, dim = _torch(run, node, name, arguments), *_first_two(arguments)
    rows = few_elements(tensors) if dim.constant == 0 and not must_be_dict(tensors) else ()
    if not rows:
        return whole
    memory = reshaped(whole.memory)
    items = (replace(run.operation(node, (row,)), memory=memory) for row in rows)
    return replace(whole, items=tuple(items))


def _first_two(arguments: Arguments) -> tuple[Value, Value]:
    """What is stacked, and along which dimension."""
    return arguments.get(0, "tensors") or UNKNOWN, arguments.get(1, "dim") or constant(0)


def _asked_for(arguments: Arguments) -> Graph:
    """What requires_grad says of a tensor that is made here."""
    wanted = arguments.keywords.get("requires_grad")
    if wanted is None or wanted.constant is False:
        return Graph.NO
    return Graph.LEAF if wanted.constant is True else Graph.MAYBE


def with_indices(
    run: Interpreter, node: cst.CSTNode, name: str, value: Value, options: list[Value]
) -> Value:
    """The result of topk, sort, max over a dim: values with a graph, and indices without."""
    if name not in VALUES_AND_INDICES or not (value.live or value.cut):
        return value
    if options and options[0].kind in TENSORS:  # torch.max(a, b), which compares two tensors
        return value
    indices = run.ended(node, [value], "no gradient", Kind.TENSOR)
    return replace(value, items=(replace(value, items=None), indices))


def by_flow(
    run: Interpreter, node: cst.CSTNode, flow: Flow, inputs: list[Value], name: str = ""
) -> Value:
    """The result of an operation with this effect on the graph."""
    if flow is Flow.PASSES:
        return run.operation(node, inputs, name=name)
    note_use(run, node, inputs)
    if flow is Flow.NEW:
        return replace(TENSOR, memory=run.new_memory(node))
    if flow is Flow.NO_TENSOR:
        return OTHER
    if flow is Flow.DETACHES:
        whole = inputs[0] if inputs else UNKNOWN
        return run.severed(node, whole, "detach", Kind.TENSOR)
    if flow is Flow.TO_HOST:
        return run.ended(node, inputs, "host", Kind.OTHER)
    if flow is Flow.ZERO_GRADIENT:
        graph = combined(map(own_graph, inputs)) if run.mode is None else Graph.NO
        return replace(run.ended(node, inputs, "zero gradient", Kind.TENSOR), graph=graph)
    cause = "copy" if flow is Flow.COPIES else "no gradient"
    return run.ended(node, inputs, cause, Kind.TENSOR)


def _parameter(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    wanted = arguments.get(1, "requires_grad")
    trainable = Trainable.YES
    if wanted is not None and wanted.constant is not True:
        trainable = Trainable.NO if wanted.constant is False else Trainable.MAYBE
    thing = Thing(run.make(node), trainable=trainable)
    if trainable is Trainable.NO:
        return Value(Kind.TENSOR, ref=thing, graph=Graph.NO)
    live = run.source(thing, is_parameter=True)
    memory = Memory(ObjectMemory(thing.base, thing.path))
    return Value(Kind.PARAMETER, live, ref=thing, graph=Graph.LEAF, memory=memory)


def _initialise(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    return arguments.positional[0] if arguments.positional else UNKNOWN


def _first(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """compile(model), weight_norm(layer), DataParallel(model): what it is given, wrapped."""
    return arguments.positional[0] if arguments.positional else UNKNOWN


def _as_tensor(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """as_tensor(x): x itself when it is a tensor, a copy of a list of numbers."""
    value = arguments.get(0, "data") or UNKNOWN
    if value.kind in TENSORS:
        return value
    return run.ended(node, [value], "copy", Kind.TENSOR)


def _from_numpy(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    _, cut = gathered(arguments.all)
    return Value(Kind.TENSOR, cut=cut, graph=Graph.NO)


def _rewrap(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    return run.ended(node, arguments.positional[:1], "copy", Kind.TENSOR)


def _gradients(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """autograd.grad(loss, inputs): the loss is differentiated here."""
    run.escape(*arguments.all)
    note_gradient(run, listed_value(arguments.positional[:1]))
    run.traces.end_graph()
    wanted = arguments.keywords.get("create_graph", FALSE).constant
    graph = Graph.NO if wanted is False else Graph.MAYBE
    return Value(Kind.OTHER, ref=Each(replace(TENSOR, graph=graph)), graph=Graph.NO)


def _backward(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    for value in arguments.positional[:1]:
        go_backward(run, node, value)
    return OTHER


def _checkpoint(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    function, *given = arguments.positional
    return run.call(node, function, Arguments(given, {}, ()))


def _switch(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """set_grad_enabled(False) as a statement holds until something else is said."""
    if run.is_statement(node):
        _, run.mode = mode_of(run, node, node)
    return UNKNOWN


def _packed(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """A PackedSequence: not a tensor, though its data attribute is one."""
    live, cut = gathered(arguments.all)
    return Value(Kind.OTHER, live, cut, ref=Imported(PACKED))


def _nothing(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    return OTHER


def _unknown_torch(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    live, cut = gathered(arguments.all)
    return Value(Kind.UNKNOWN, live, cut)


# ------------------------------------------------------------------------------------ others


def _deepcopy(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """A copy of a module is a module of its own."""
    value = arguments.positional[0] if arguments.positional else UNKNOWN
    if isinstance(value.ref, Thing):
        old = value.ref
        thing = Thing(
            run.make(node),
            cls=old.cls,
            trainable=old.trainable,
            element=old.element,
            layer=old.layer,
            chain=old.unnamed_chain,
        )
        return Value(value.kind, ref=thing)
    return copied(value)


def copied(value: Value) -> Value:
    """A value with memory of its own, its elements too."""
    ref, items = value.ref, value.items
    if isinstance(ref, Each):
        ref = replace(ref, element=copied(ref.element))
    if items is not None:
        items = tuple(map(copied, items))
    return replace(value, items=items, ref=ref, memory=None)


def _chain(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """itertools.chain(a, b): the elements of both."""
    merged = merged_parameters(arguments.positional)
    if merged is not None:
        return merged
    elements = [element_of(run, value) for value in arguments.positional]
    return Value(Kind.OTHER, ref=Each(join_all(elements) or UNKNOWN))


def _numpy(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    return run.ended(node, arguments.all, "host", Kind.ARRAY)


def _math(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    return run.ended(node, arguments.all, "host", Kind.OTHER)


def _rearrange(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    return run.operation(node, arguments.all)


def _foreign(run: Interpreter, node: cst.Call, name: str, arguments: Arguments) -> Value:
    """Something of a package that is not in reach: an object if it is a class, else unknown."""
    if must_make_a_module(name):
        return Value(Kind.MODULE, ref=Thing(run.make(node), trainable=Trainable.YES))
    if name.rpartition(".")[2][:1].isupper():
        note_intent(run, name, arguments)
        run.escape(*arguments.all)
        live, cut = gathered(arguments.all)
        return Value(Kind.UNKNOWN, live, cut, ref=Thing(run.make(node)))
    return unknown_call(run, node, UNKNOWN, arguments)


Transfer = Callable[["Interpreter", cst.Call, str, Arguments], Value]

_SPECIAL: dict[str, Transfer] = {
    "torch.nn.Parameter": _parameter,
    "torch.stack": _stack,
    "torch.nn.Embedding.from_pretrained": pretrained_call,
    "torch.nn.EmbeddingBag.from_pretrained": pretrained_call,
    "torch.nn.Buffer": lambda *_: TENSOR,
    "torch.Tensor": lambda *_: TENSOR,
    "torch.as_tensor": _as_tensor,
    "torch.asarray": _as_tensor,
    "torch.from_numpy": _from_numpy,
    "torch.autograd.Variable": _rewrap,
    "torch.autograd.grad": _gradients,
    "torch.autograd.backward": _backward,
    "torch.utils.checkpoint.checkpoint": _checkpoint,
    "torch.set_grad_enabled": _switch,
    "torch.compile": _first,
    "torch.jit.script": _first,
    "torch.nn.DataParallel": _first,
    "torch.nn.parallel.DistributedDataParallel": _first,
    "torch.nn.utils.rnn.pack_padded_sequence": _packed,
    "torch.nn.utils.rnn.pack_sequence": _packed,
    "torch.nn.utils.weight_norm": _first,
    "torch.nn.utils.spectral_norm": _first,
    "torch.nn.utils.rnn.pad_packed_sequence": _torch,
    "torch.nn.utils.rnn.pad_sequence": _torch,
    "torch.nn.utils.parameters_to_vector": _torch,
    "torch.load": lambda *_: UNKNOWN,
    "torch.save": _nothing,
    "torch.device": _nothing,
    "torch.finfo": _nothing,
    "torch.iinfo": _nothing,
    "itertools.chain": _chain,
    "copy.deepcopy": _deepcopy,
    "copy.copy": _deepcopy,
}
"""Functions whose effect is their own."""

_FAMILIES: tuple[tuple[str, Transfer], ...] = (
    ("torch.nn.functional.", _torch),
    ("torch.nn.init.", _initialise),
    ("torch.nn.utils.parametrizations.", _first),
    ("torch.nn.utils.", _nothing),
    ("torch.nn.", layer_call),
    ("torch.optim.", optimizer_call),
    ("torch.utils.", _unknown_torch),
    ("torch.distributed.", _unknown_torch),
    ("torch.distributions.", _unknown_torch),
    ("torch.cuda.", _unknown_torch),
    ("torch.backends.", _nothing),
    ("torch.", _torch),
    ("einops.", _rearrange),
    ("numpy.", _numpy),
    ("math.", _math),
)
"""Packages of functions with a common effect; the first prefix that fits decides."""
