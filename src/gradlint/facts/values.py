"""The abstract value: what is known of a value about kind, live sources and cut sources.

`live` holds the sources with an unbroken gradient path into the value, `cut` those whose path has
been broken, each with the place of the break. An operation unions both over its inputs.
`graph` says whether it must require gradient, `memory` which tensor's memory it looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from gradlint.facts.memory import Memory
from gradlint.model import NOT_CONSTANT, Graph, Kind, Place, Trainable

if TYPE_CHECKING:
    import libcst as cst

    from gradlint.facts.classes import ClassFacts


# ----------------------------------------------------------------------------------- sources


@dataclass(frozen=True, slots=True)
class Base:
    """Where a path of attributes starts: the instance, an argument, a variable, or a call.

    `role` is "self", "argument", "variable" or "made"; `scope` tells equal names apart.
    """

    role: str
    name: str
    scope: int = 0


SELF = Base("self", "self")
MEMBER = Base("member", "")
"""Where paths of a member start that has no name of its own: at what holds it."""
ANY = "*"
"""In a path: some member, nobody knows which."""


@dataclass(frozen=True, slots=True)
class Source:
    """Trainable parameters: an nn.Parameter, or all parameters of a module."""

    base: Base
    path: tuple[str, ...]
    trainable: Trainable
    is_parameter: bool = False


@dataclass(frozen=True, slots=True)
class Inflow:
    """Whatever graph an argument or field brings; replaced by it where the call is known."""

    name: str


Origin = Source | Inflow


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A place where gradient stops. `cause` is "detach", "data", "no_grad", "no gradient", ...

    `order` counts the cuts of a file as they are found, so that reports do not depend on sets.
    """

    cause: str
    place: Place
    block: Place | None
    symbol: str
    order: int

    @property
    def key(self) -> object:
        """What counts as one cut: a block, wherever in it gradient stops, or the place."""
        return self.block.node if self.block is not None else self


@dataclass(frozen=True, slots=True)
class Severed:
    """One source and the cut that broke its path; `inside`: used under the mode, not before it."""

    origin: Origin
    cut: Cut
    inside: bool


_T = TypeVar("_T")
Live = frozenset[Origin]
Broken = frozenset[Severed]
NOTHING: Live = frozenset()
UNBROKEN: Broken = frozenset()


# -------------------------------------------------------------------------------- references


@dataclass(frozen=True, slots=True)
class Thing:
    """An object that is reached by a path: a module, a parameter, or something unknown.

    `cls` is its class where that is in this file, `element` the class of all that a container
    holds, `parts` those members of it that have a name of their own. `bound` are attributes that
    the constructor was given, as (name, value). `layer` is the class of torch.nn that it is,
    `made_in` the inference_mode under which it was made. `chain` are the layers of a Sequential,
    if one of them is of a class of this file.
    """

    base: Base
    path: tuple[str, ...] = ()
    cls: ClassFacts | None = None
    trainable: Trainable = Trainable.MAYBE
    element: ClassFacts | None = None
    parts: tuple[Thing, ...] = ()
    bound: tuple[tuple[str, Value], ...] = ()
    layer: str = ""
    made_in: Cut | None = None
    chain: tuple[Thing, ...] = ()

    def member(self, name: str) -> Thing:
        """What `.name` of it is when nothing more is known."""
        return Thing(self.base, (*self.path, name))

    @property
    def unnamed_chain(self) -> tuple[Thing, ...]:
        """The layers of a Sequential, unless one of them goes by a name that means it here only."""
        return self.chain if all(link.base == MEMBER for link in self.chain) else ()


@dataclass(frozen=True, slots=True)
class ParametersOf:
    """The result of parameters(), named_parameters() or a list of them."""

    things: tuple[Thing, ...]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Each:
    """An iterable whose every element is `element`; a dict, when `keyed`, whose values are."""

    element: Value
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class Keys:
    """A dict with these literal keys, whose values are the `items`."""

    names: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """A named tuple or dataclass of this file with these fields, whose values are the `items`."""

    cls: ClassFacts
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or lambda, and the class in which it stands.

    A local one has a `closure`, the names that it sees; `scope` is the function around it.
    """

    node: cst.FunctionDef | cst.Lambda
    cls: ClassFacts | None
    closure: dict[str, Value] | None = None
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """A function together with its receiver."""

    function: Function
    receiver: Value


@dataclass(frozen=True, slots=True)
class Class:
    """A class of this file, as a value."""

    cls: ClassFacts


@dataclass(frozen=True, slots=True)
class Super:
    """The result of super()."""

    cls: ClassFacts


@dataclass(frozen=True, slots=True)
class Imported:
    """Something that is imported, by its canonical name."""

    name: str


PACKED = "torch.nn.utils.rnn.PackedSequence"

Ref = (
    Thing
    | ParametersOf
    | Each
    | Keys
    | Fields
    | Constant
    | Function
    | Bound
    | Class
    | Super
    | Imported
)


# ------------------------------------------------------------------------------------ values


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of one value. `items` are the elements of a tuple or list of known length."""

    kind: Kind = Kind.UNKNOWN
    live: Live = NOTHING
    cut: Broken = UNBROKEN
    items: tuple[Value, ...] | None = None
    ref: Ref | None = None
    graph: Graph = Graph.MAYBE
    memory: Memory | None = None

    @property
    def thing(self) -> Thing | None:
        """The object that it refers to, if it is one."""
        return self.ref if type(self.ref) is Thing else None

    @property
    def constant(self) -> object:
        """The literal that it is, or NOT_CONSTANT."""
        return self.ref.value if type(self.ref) is Constant else NOT_CONSTANT

    @property
    def has_graph_facts(self) -> bool:
        """True when it, or an element of it, has live or cut sources."""
        return bool(self.live or self.cut) or any(i.has_graph_facts for i in self.items or ())


MOST_PARTS = 256  # of a nested tuple or list, whose elements are told apart up to this size


def listed_value(values: Sequence[Value], ref: Keys | Fields | None = None) -> Value:
    """A list of known elements, or of any of them when it is too large to tell them apart."""
    if _parts(values, MOST_PARTS) <= MOST_PARTS:
        return Value(Kind.OTHER, items=tuple(values), ref=ref, graph=Graph.NO)
    live, cut = gathered(values)
    element = Value(live=live, cut=cut, graph=combined(map(own_graph, values)))
    return Value(Kind.OTHER, ref=Each(element, keyed=type(ref) is Keys), graph=Graph.NO)


def _parts(values: Sequence[Value], at_most: int) -> int:
    """How many values there are with all their elements, counted up to one more than the limit."""
    count, todo = 0, list(values)
    while todo and count <= at_most:
        value = todo.pop()
        count += 1
        todo.extend(value.items or ())
        if type(value.ref) is Each:
            todo.append(value.ref.element)
    return count


UNKNOWN = Value()
OTHER = Value(Kind.OTHER, graph=Graph.NO)
TENSOR = Value(Kind.TENSOR, graph=Graph.NO)
NONE = Value(Kind.OTHER, ref=Constant(None), graph=Graph.NO)
FALSE = Value(Kind.OTHER, ref=Constant(False), graph=Graph.NO)
TENSORS = (Kind.TENSOR, Kind.PARAMETER)
"""The kinds of what must be a tensor."""


def constant(literal: object) -> Value:
    """The value that a literal stands for."""
    return Value(Kind.OTHER, ref=Constant(literal), graph=Graph.NO)


def flat(value: Value) -> tuple[Live, Broken]:
    """Live and cut sources of the value and all its elements."""
    live, cut = value.live, value.cut
    if value.items:
        for item in value.items:
            more_live, more_cut = flat(item)
            live, cut = union(live, more_live), union(cut, more_cut)
    if type(value.ref) is Each:
        more_live, more_cut = flat(value.ref.element)
        live, cut = union(live, more_live), union(cut, more_cut)
    return live, cut


def gathered(values: Iterable[Value]) -> tuple[Live, Broken]:
    """Live and cut sources of several values together."""
    live, cut = NOTHING, UNBROKEN
    for value in values:
        more_live, more_cut = flat(value)
        live, cut = union(live, more_live), union(cut, more_cut)
    return live, cut


def uncut(value: Value) -> Value:
    """The value without its cuts: where nothing trains, they take nothing away."""
    items = tuple(map(uncut, value.items)) if value.items is not None else None
    ref = value.ref
    if isinstance(ref, Each):
        ref = replace(ref, element=uncut(ref.element))
    return replace(value, cut=UNBROKEN, items=items, ref=ref)


def own_graph(value: Value) -> Graph:
    """Whether it, or an element of it, requires gradient, apart from what inflows bring."""
    if value.items is not None:
        return combined(map(own_graph, value.items))
    if isinstance(value.ref, Each):
        return own_graph(value.ref.element)
    return Graph.NO if isinstance(value.ref, Constant) else value.graph


def combined(graphs: Iterable[Graph]) -> Graph:
    """Whether the result of an operation on such values requires gradient."""
    found = set(graphs)
    if Graph.COMPUTED in found or Graph.LEAF in found:
        return Graph.COMPUTED
    return Graph.MAYBE if Graph.MAYBE in found else Graph.NO


def graph_of(value: Value) -> Graph:
    """Whether it, or an element of it, requires gradient."""
    known = own_graph(value)
    return Graph.MAYBE if known is Graph.NO and flat(value)[0] else known


def union(one: frozenset[_T], other: frozenset[_T]) -> frozenset[_T]:
    if not other or one is other:
        return one
    return one | other if one else other


def is_collection(value: Value) -> bool:
    """Whether it is a list, tuple or dict about whose elements something is known."""
    return value.kind not in TENSORS and (value.items is not None or type(value.ref) is Each)


def must_be_dict(value: Value) -> bool:
    """Whether it is known to be a dict."""
    return type(value.ref) is Keys or (type(value.ref) is Each and value.ref.keyed)
