"""The words every layer speaks: places, events, reports, findings. Plain frozen data, stdlib only.

The facts layer makes *events* and *starvations*, a rule turns them into *reports*, and the engine
gives each report its lines and makes a *finding* of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


class Severity(Enum):
    """How bad: an error means that training is wrong, a warning that it is fragile."""

    ERROR = "error"
    WARNING = "warning"


class Confidence(Enum):
    """How sure the linter is that the finding is true."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """0 for low, 2 for high."""
        return ("low", "medium", "high").index(self.value)


class Kind(Enum):
    """What a value must be; `UNKNOWN` may be anything."""

    TENSOR = "tensor"
    PARAMETER = "parameter"
    MODULE = "module"
    OPTIMIZER = "optimizer"
    ARRAY = "array"
    OTHER = "other"
    UNKNOWN = "unknown"


class Graph(Enum):
    """Whether a tensor requires gradient: a leaf by its flag, what is computed by its grad_fn."""

    COMPUTED = "computed"
    LEAF = "leaf"
    MAYBE = "maybe"
    NO = "no"


class Trainable(Enum):
    """Whether an optimizer can be meant to change it: `MAYBE` where its class is not in reach."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


# ------------------------------------------------------------------------------------ places


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands: lines and columns from 1, in characters, the end half open."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A piece of source whose line nobody has asked for yet.

    `node` is what is pointed at, `statement` the statement in which a suppression counts. Both
    are syntax nodes: opaque outside syntax/ and facts/.
    """

    node: object
    statement: object


@dataclass(frozen=True, slots=True)
class Label:
    """A place and what to say there."""

    place: Place
    message: str


# ------------------------------------------------------------------------------------ events


class _NotConstant(Enum):
    NOT_CONSTANT = "not constant"


NOT_CONSTANT = _NotConstant.NOT_CONSTANT


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that takes part in an event.

    `text` is the user's own expression, on one line. `constant` is the literal value (a bool, a
    number, a string or None), or `NOT_CONSTANT`. `graph` is what must hold while it runs.
    `declares` are names that the class of the object, where it stands in this file, defines or
    reads of itself. `value` is opaque: a Unit can be asked about it.
    """

    text: str
    kind: Kind = Kind.UNKNOWN
    constant: object = NOT_CONSTANT
    graph: Graph = Graph.MAYBE
    declares: frozenset[str] = frozenset()
    value: object = field(default=None, compare=False, repr=False)

    @property
    def must_be_tensor(self) -> bool:
        """True when evidence says that it is a tensor or a parameter."""
        return self.kind in (Kind.TENSOR, Kind.PARAMETER)

    @property
    def must_be_parameter(self) -> bool:
        """True for an nn.Parameter or an item of parameters(), frozen or not."""
        return self.kind is Kind.PARAMETER

    @property
    def must_be_module(self) -> bool:
        """True when it is an nn.Module."""
        return self.kind is Kind.MODULE


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the code does at a place.

    `symbol` is the enclosing class and function, as in `Model.forward`, or "" at module level.
    `in_initialiser` is True in __init__, reset_parameters, an nn.init helper and the like.
    `grad_off` is the place of the no_grad (or the like) that is in force, if one is.
    `is_conditional` says that a test decides whether it happens, `is_guarded` that an exception
    is expected.
    """

    place: Place
    symbol: str
    in_initialiser: bool
    grad_off: Place | None
    is_conditional: bool
    is_guarded: bool


@dataclass(frozen=True, slots=True)
class Call(Event):
    """A call. `name` is a method's name, or a function's canonical name (`torch.no_grad`).

    `receiver` is set for methods of values. `is_statement` says that the result is thrown away,
    `is_made_a_leaf` that requires_grad_() is called on it.
    """

    name: str
    receiver: Operand | None
    arguments: tuple[Operand, ...]
    keywords: tuple[tuple[str, Operand], ...]
    is_statement: bool
    then: str = ""


SCALAR_INDEX = "[0]"
"""What `via` says of `loss.data[0]`, where the loss has no dimension."""


COMPARISON = "=="
"""What `via` says of `p.requires_grad == False` as a statement."""


class Form(Enum):
    """What is done to an attribute."""

    READ = "read"
    ASSIGN = "assign"
    INPLACE = "inplace"


@dataclass(frozen=True, slots=True)
class AttributeUse(Event):
    """A use of `receiver.name`.

    `via` names what writes in place: a method (`mul_`), an operator (`+=`), `out=`, or the
    canonical name of a function that works in place (`torch.nn.init.normal_`); "setattr" where
    that is called to assign; SCALAR_INDEX for a read that is indexed and has no dimension;
    COMPARISON for one that is only compared, as a statement.
    `value` is what is assigned.
    """

    name: str
    receiver: Operand
    form: Form
    via: str = ""
    value: Operand | None = None


MODES = ("no_grad", "inference_mode", "set_grad_enabled")
"""The causes of a cut that switch off recording."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Trainable parameters that a cut keeps from a loss.

    `name` is the dotted path in its owner (`encoder.layer1`). `made` is where it is created, if
    that is in this file. `inside` says that it is used under the grad mode that cuts, not before.
    """

    name: str
    trainable: Trainable
    is_parameter: bool
    inside: bool
    made: Place | None


@dataclass(frozen=True, slots=True)
class Starvation:
    """One cut, and the trainable parameters that get no gradient because of it.

    `cause` is "detach", "data", "no_grad", "inference_mode" or "set_grad_enabled"; `text` is the
    cut expression; `block` the place of the with, decorator or call that switches gradients off.
    `owner` is the class (or "" in a script), `root` says what has lost its graph: "return" for
    what forward or training_step returns, "backward" for the receiver of backward(), "loss" when
    that receiver is itself computed under the mode.
    `survivors` are the names that still learn; `everything` says that the owner has no other
    parameters, so that nothing of it can train. `decorates` is the root method (`Net.forward`)
    that the block decorates, if it does.
    """

    place: Place
    symbol: str
    cause: str
    text: str
    block: Place | None
    owner: str
    root: str
    root_place: Place | None
    lost: tuple[Lost, ...]
    survivors: tuple[str, ...]
    everything: bool
    decorates: str = ""


@dataclass(frozen=True, slots=True)
class GraphlessBackward:
    """A backward() that raises: what it is called on was cut from its graph by `cause` at `cut`.

    `receiver` is the user's expression for it, `text` the cut expression, `block` the place of the
    mode, if one cut it. `is_loss_itself` says that nothing was computed from it after the cut.
    """

    place: Place
    symbol: str
    receiver: str
    cause: str
    cut: Place
    text: str
    block: Place | None
    is_loss_itself: bool


@dataclass(frozen=True, slots=True)
class UnrecordedWrite(Event):
    """An in-place write to a computed tensor that autograd does not record.

    `cause` is "data" or "detach" when it goes through one at `alias`, else the mode in force.
    `via` is the method or operator, `target` what is written to. `saved` is the operation whose
    backward needs the old value and `saved_by` its place, if there is one.
    """

    target: Operand
    cause: str
    via: str
    alias: Place | None
    saved: str
    saved_by: Place | None


@dataclass(frozen=True, slots=True)
class StaleSnapshot:
    """A value that `text` keeps at `place` shares the memory of what it is later set against."""

    place: Place
    symbol: str
    text: str
    compared: Place


@dataclass(frozen=True, slots=True)
class InferenceUse(Event):
    """An inference tensor where autograd does not take one.

    `how` is "saved", "in place", "flag", or "made" for a module that is made under the mode and
    given to an optimizer.

    `text` is the expression that fails.
    """

    how: str
    operation: str
    text: str


class ModeRole(Enum):
    """How a piece of code uses a grad mode.

    A STATEMENT is a call whose result is thrown away, a BLOCK a `with torch.no_grad():`, which an
    UNCALLED_BLOCK has without its parentheses. A FUNCTION or CLASS is decorated. A VALUE is
    assigned, passed on, returned or chosen by a condition.
    """

    STATEMENT = "statement"
    BLOCK = "block"
    UNCALLED_BLOCK = "uncalled block"
    FUNCTION = "function"
    CLASS = "class"
    VALUE = "value"


@dataclass(frozen=True, slots=True, eq=False)
class ModeScope:
    """The function, class body or module level that names a grad mode.

    `symbol` is that of an event, `name` its own. `trains` says that it calls backward(),
    `file_trains` that something in its file does. `runs_alone` says that no training comes after
    it: it is all that a thread or process does, or part of a script that trains nothing.
    """

    symbol: str
    name: str
    is_function: bool
    trains: bool
    file_trains: bool
    runs_alone: bool


@dataclass(frozen=True, slots=True, eq=False)
class ModeUse:
    """A place that names a grad mode, whether or not it is ever run.

    `name` is canonical (`torch.no_grad`), `text` what the user writes for it. `records` says
    whether gradients are recorded under it, None where that is decided at run time. `target` is
    the function or class that it decorates, or the function right below a statement.
    `is_restored` says that what a statement sets is set back by a block or decorator around it,
    or by code that has saved the mode. `yields` are where a block hands control to a consumer.
    """

    place: Place
    scope: ModeScope
    name: str
    text: str
    role: ModeRole
    records: bool | None
    target: str = ""
    is_restored: bool = False
    in_finally: bool = False
    yields: tuple[Place, ...] = ()
    branches: tuple[tuple[int, int], ...] = ()

    def excludes(self, other: ModeUse) -> bool:
        """True when the two stand in different branches of one `if` or `match`."""
        mine = dict(self.branches)
        return any(mine.get(node, branch) != branch for node, branch in other.branches)


# ---------------------------------------------------------------------------------- findings


@dataclass(frozen=True, slots=True)
class Report:
    """What a rule yields: a finding that has no lines yet.

    `message` is one present-tense clause of at most 88 characters with the user's names in
    backticks, `why` at most two sentences of facts, `help` an imperative. `severity` and
    `confidence` default to the rule's. `label` is said under the primary place.
    """

    at: Place
    message: str
    why: str
    help: str
    symbol: str = ""
    label: str = ""
    parameters: tuple[str, ...] = ()
    related: tuple[Label, ...] = ()
    severity: Severity | None = None
    confidence: Confidence | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A further span of a finding, in `path`."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `content`."""

    span: Span
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding; `safe` when they cannot change what the code computes."""

    safe: bool
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is printed. `path` uses `/`; `silenced_by` are the lines where a suppression counts."""

    code: str
    rule: str
    severity: Severity
    confidence: Confidence
    path: str
    span: Span
    message: str
    why: str = ""
    help: str = ""
    symbol: str = ""
    label: str = ""
    parameters: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    cell: int | None = None
    fingerprint: str = ""
    url: str | None = None
    silenced_by: frozenset[int] = frozenset()

    @property
    def sort_key(self) -> tuple[str, int, int, str]:
        """Path, line, column, code: the order of every report."""
        return (self.path, self.span.line, self.span.column, self.code)


# ------------------------------------------------------------------------------------- words


def brief(text: str, at_most: int = 32) -> str:
    """`text` for a message, shortened in its middle."""
    if len(text) <= at_most:
        return text
    head = at_most * 2 // 3
    return f"{text[:head]}…{text[len(text) - (at_most - head - 1) :]}"


MESSAGE_LENGTH = 88
"""Characters of a message at most, so that one line of an editor or a terminal holds it."""


def first_that_fits(*messages: str) -> str:
    """The first message that is short enough, else the last one, clipped."""
    for message in messages:
        if len(message) <= MESSAGE_LENGTH:
            return message
    return f"{messages[-1][: MESSAGE_LENGTH - 1]}…"


def listed(names: Sequence[str], at_most: int = 3) -> str:
    """`a`, `b` and `c`; what is too much is counted: `a`, `b` and 3 more."""
    quoted = [f"`{name}`" for name in names]
    if len(quoted) > at_most:
        shown = max(at_most - 1, 1)
        return f"{', '.join(quoted[:shown])} and {len(quoted) - shown} more"
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
