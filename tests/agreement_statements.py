"""The statements of a body: one function for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from agreement_body import LOOP, POOL, Body, Callee

BLOCKS = ("torch.no_grad()", "torch.set_grad_enabled(False)", "torch.no_grad()")

Statement = Callable[[Body], None]


def write(body: Body, count: int) -> None:
    """Adds `count` statements."""
    for _ in range(count):
        body.chance.choice(_kinds(body))(body)


def _kinds(body: Body) -> list[Statement]:
    """The statements that may come next, the usual ones several times."""
    loops = [_loop] if body.loops and not body.in_loop else []
    return [
        *[_plain] * 6,
        *[_cutting] * 3,
        *[_skip, _comprehension, _unpack, _in_place, _local_function],
        *[_list, _dict, _tuple],
        *([*[_block] * 3, *loops] if body.depth < 2 else []),
        *([call] * 5 if body.callees else []),
        *([_given] * 8 if body.scope.statements else []),
    ]


def _plain(body: Body) -> None:
    body.assign(body.expression())


def _cutting(body: Body) -> None:
    body.assign(body.cut())


def _skip(body: Body) -> None:
    name = body.any()
    body.say(f"{name} = {name} + {body.expression()}")


def call(body: Body) -> None:
    """A call of something in this file, in a call of another one at times."""
    callee = body.chance.choice(body.callees)
    text = body.fill(callee.form)
    if callee.results == 1:
        outer = [one for one in body.callees if one.results == 1 and "{}" in one.form]
        if outer and body.chance.random() < 0.2:
            text = body.fill(body.chance.choice(outer).form, text)
        body.assign(text)
    else:
        names = body.chance.sample(POOL, callee.results)
        body.say(f"{', '.join(names)} = {text}")
        body.bind(*names)


def _given(body: Body) -> None:
    """One of the statements that the scope offers."""
    form = body.chance.choice(body.scope.statements)
    new = body.target()
    body.say(form.format(tensor=body.any(), other=body.any(), value=body.value(), new=new))
    if "{new}" in form:
        body.bind(new)


# ------------------------------------------------------------------------------------- nested


@contextmanager
def _nested(body: Body, header: str) -> Iterator[None]:
    body.say(header)
    body.indent += 1
    body.depth += 1
    yield
    body.indent -= 1
    body.depth -= 1


def _block(body: Body) -> None:
    off = body.chance.choice(BLOCKS)
    with _nested(body, f"with {off if body.chance.random() < 0.9 else 'torch.enable_grad()'}:"):
        write(body, body.chance.randint(1, 3))


def _loop(body: Body) -> None:
    """A loop that may run once or often."""
    known, callees = list(body.known), list(body.callees)
    body.in_loop, body.loops = True, body.loops - 1
    with _nested(body, LOOP):
        write(body, body.chance.randint(1, 3))
    body.known, body.callees, body.in_loop = known, callees, False


def _local_function(body: Body) -> None:
    """A lambda or closure, which sees the tensors around it."""
    inner = replace(body, known=[*body.known, "t"], lines=[], callees=[], depth=2)
    name = body.chance.choice(["gate", "inner"])
    result = inner.cut() if body.chance.random() < 0.2 else inner.expression()
    if body.chance.random() < 0.5:
        body.say(f"{name} = lambda t: {result}")
    else:
        off = body.chance.random() < 0.2
        body.say("@torch.no_grad()\n" * off + f"def {name}(t: torch.Tensor):\n    return {result}")
    body.callees = [one for one in body.callees if not one.form.startswith(f"{name}(")]
    body.callees.append(Callee(f"{name}({{}})"))
    body.assign(f"{name}({body.any()})")


# ------------------------------------------------------------------------- several tensors


def _comprehension(body: Body) -> None:
    layer = f"{body.chance.choice(body.scope.layers)}(item)" if body.scope.layers else "item.cos()"
    each = body.chance.choice([layer, "item.detach()", "item.sin()"])
    body.assign(f"sum([{each} for item in ({body.any()}, {body.any()})])")


def _unpack(body: Body) -> None:
    first, second = body.chance.sample(POOL, 2)
    body.say(f"{first}, {second} = {body.any()}, {body.expression()}")
    body.bind(first, second)


def _in_place(body: Body) -> None:
    """A write to a sum of two, which nothing else shares and no backward needs."""
    name = body.target()
    body.say(f"{name} = {body.any()} + {body.any()}")
    body.bind(name)
    value = body.expression()
    if body.chance.random() < 0.4:
        body.say(f"with torch.no_grad():\n    {name} += {value}")
    else:
        body.say(body.chance.choice([f"{name} += {value}", f"{name}.add_({value})"]))


LIST_CHANGES = (
    "items.append({})",
    "items.extend([{}, {}])",
    "items += [{}]",
    "items = [*items, {}]",
    "items = items + [{}]",
    "items[0] = {}",
    "items.insert(0, {})",
    "items = [item.sin() for item in items]",
    "items = [item.detach() for item in items]",
    "items = items[1:]",
    "items.pop()",
)
LIST_READS = (
    "sum(items)",
    "torch.stack(items).mean(0)",
    "items[0]",
    "items[-1]",
    "items.pop()",
    "items.pop(0)",
    "sum([item.sin() for item in items])",
    "sum(u * v for u, v in zip(items, reversed(items)))",
    "sum(item * (index + 1) for index, item in enumerate(items))",
)


def _list(body: Body) -> None:
    """A list that is filled, and what is made of it."""
    body.say(f"items = [{body.any()}, {body.value()}]")
    if body.chance.random() < 0.6:
        change = body.chance.choice(LIST_CHANGES)
        body.say(change.format(*(body.value() for _ in range(change.count("{}")))))
    if body.chance.random() < 0.2:
        first, total = body.chance.sample(POOL, 2)
        body.say(f"{first}, *rest = items\n{total} = sum(rest, {first})")
        body.bind(first, total)
    else:
        body.assign(body.chance.choice(LIST_READS))


DICT_CHANGES = (
    'table["left"] = {}',
    'table["more"] = {}',
    "table.update(left={})",
    'table.update({{"more": {}}})',
    'table = {{**table, "more": {}}}',
    "table = {{key: item.sin() for key, item in table.items()}}",
    "table = {{key: item.detach() for key, item in table.items()}}",
    'table.pop("right")',
    'del table["right"]',
)
DICT_READS = (
    'table["left"]',
    'table.pop("left")',
    'table.get("left")',
    "sum(table.values())",
    "sum(item.sin() for item in table.values())",
    "sum([item for key, item in table.items()])",
    "torch.stack(list(table.values())).mean(0)",
    "sum(table[key] for key in table)",
)


def _dict(body: Body) -> None:
    """A dict with literal keys, and what is made of it."""
    makes = ['{{"left": {}, "right": {}}}', "dict(left={}, right={})"]
    body.say("table = " + body.chance.choice(makes).format(body.any(), body.value()))
    if body.chance.random() < 0.5:
        change = body.chance.choice(DICT_CHANGES)
        body.say(change.format(*(body.value() for _ in range(change.count("{}")))))
    body.assign(body.chance.choice(DICT_READS))


def _tuple(body: Body) -> None:
    """A tuple, and one or two of its elements."""
    first, second = body.chance.sample(POOL, 2)
    body.say(f"pair = ({body.value()}, {body.value()})")
    reads = (
        f"{first}, {second} = pair",
        f"{second}, {first} = pair[::-1]",
        f"({first}, _), {second} = pair, {body.any()}",
        f"{first}, {second} = pair[1], pair[0]",
        f"{first}, {second} = [item.cos() for item in pair]",
        f"{first}, {second} = torch.stack(pair)",
    )
    body.say(body.chance.choice(reads))
    body.bind(first, second)
