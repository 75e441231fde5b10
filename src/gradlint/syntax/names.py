"""From names in the source to canonical names: `th.no_grad` is `torch.no_grad`."""

from __future__ import annotations

import libcst as cst

_SAME = {
    "torch.autograd.no_grad": "torch.no_grad",
    "torch.autograd.grad_mode.no_grad": "torch.no_grad",
    "torch.autograd.enable_grad": "torch.enable_grad",
    "torch.autograd.grad_mode.enable_grad": "torch.enable_grad",
    "torch.autograd.inference_mode": "torch.inference_mode",
    "torch.autograd.grad_mode.inference_mode": "torch.inference_mode",
    "torch.autograd.set_grad_enabled": "torch.set_grad_enabled",
    "torch.autograd.grad_mode.set_grad_enabled": "torch.set_grad_enabled",
    "torch.autograd.variable.Variable": "torch.autograd.Variable",
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.nn.parameter.Buffer": "torch.nn.Buffer",
    "torch.nn.modules.Module": "torch.nn.Module",
}


def dotted(node: cst.CSTNode | None) -> str | None:
    """`a.b.c` for a name or a chain of attributes, else None."""
    parts: list[str] = []
    while type(node) is cst.Attribute:
        parts.append(node.attr.value)
        node = node.value
    if type(node) is not cst.Name:
        return None
    if not parts:
        return node.value
    parts.append(node.value)
    parts.reverse()
    return ".".join(parts)


def canonical(name: str) -> str:
    """The one name that the tables use for an object of torch that has several."""
    if not name.startswith("torch."):
        return name
    if name.startswith("torch.nn.modules.") and name.count(".") == 4:
        name = "torch.nn." + name.rpartition(".")[2]
    return _SAME.get(name, name)


class Imports:
    """What the imports of a file, wherever they stand, bind its names to."""

    def __init__(self) -> None:
        self._bound: dict[str, str] = {}

    def add(self, node: cst.Import | cst.ImportFrom) -> None:
        """Read one import statement."""
        if isinstance(node, cst.Import):
            for alias in node.names:
                self._add_import(alias)
        elif not isinstance(node.names, cst.ImportStar):
            package = "." * len(node.relative) + (dotted(node.module) or "")
            for alias in node.names:
                self._add_from(package, alias)

    def _add_import(self, alias: cst.ImportAlias) -> None:
        full = dotted(alias.name) or ""
        if alias.asname is not None:
            self._bind(alias.asname.name, full)
        else:
            top = full.partition(".")[0]
            self._bound[top] = top

    def _add_from(self, package: str, alias: cst.ImportAlias) -> None:
        name = dotted(alias.name) or ""
        full = f"{package}.{name}" if package.strip(".") else package + name
        self._bind(alias.asname.name if alias.asname is not None else alias.name, full)

    def _bind(self, target: cst.CSTNode, full: str) -> None:
        if isinstance(target, cst.Name):
            self._bound[target.value] = full

    def resolve(self, name: str | None) -> str | None:
        """The canonical name of a dotted name whose head is imported, else None."""
        if name is None:
            return None
        head, _, rest = name.partition(".")
        bound = self._bound.get(head)
        if bound is None:
            return None
        return canonical(f"{bound}.{rest}" if rest else bound)
