"""Literals as constants."""

from __future__ import annotations

import libcst as cst

from gradlint.facts.values import Constant

_DIGITS, _LETTERS = 12, 80
_LONG_QUOTES = ("'''", '"""')
_WORDS = {"True": True, "False": False, "None": None}


def literal_of(node: cst.BaseExpression) -> Constant | None:
    """The constant that a literal stands for: a word, a string, or a number of sensible size."""
    if type(node) is cst.Name and node.value in _WORDS:
        return Constant(_WORDS[node.value])
    if type(node) is cst.SimpleString:
        return _string(node.value)
    if type(node) is cst.Integer and len(node.value) < _DIGITS:
        return Constant(int(node.value, 0))
    if type(node) is cst.Float and len(node.value) < _DIGITS:
        return Constant(float(node.value))
    return None


def _string(text: str) -> Constant | None:
    """A short string without prefix and escapes, which is all that names of things need."""
    if text[0] not in "'\"" or len(text) > _LETTERS or "\\" in text or text[:3] in _LONG_QUOTES:
        return None
    return Constant(text[1:-1])
