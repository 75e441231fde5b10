"""The functions of torch that Python's operators stand for."""

from __future__ import annotations

import libcst as cst

OPERATORS: dict[type[cst.CSTNode], str] = {
    cst.Add: "torch.add",
    cst.Subtract: "torch.sub",
    cst.Multiply: "torch.mul",
    cst.Divide: "torch.div",
    cst.FloorDivide: "torch.floor_divide",
    cst.Power: "torch.pow",
    cst.Modulo: "torch.remainder",
    cst.MatrixMultiply: "torch.matmul",
}
"""Binary operators."""

AUGMENTED: dict[type[cst.CSTNode], str] = {
    cst.AddAssign: "+=",
    cst.SubtractAssign: "-=",
    cst.MultiplyAssign: "*=",
    cst.DivideAssign: "/=",
    cst.FloorDivideAssign: "//=",
    cst.PowerAssign: "**=",
    cst.ModuloAssign: "%=",
    cst.MatrixMultiplyAssign: "@=",
    cst.BitAndAssign: "&=",
    cst.BitOrAssign: "|=",
    cst.BitXorAssign: "^=",
    cst.LeftShiftAssign: "<<=",
    cst.RightShiftAssign: ">>=",
}
"""Augmented assignments, as they are written."""
