"""Expressions of a manifest: whole numbers, names of sizes, + - * %, parentheses, ceildiv, align, min and max.

They are parsed once, checked against what the language has, and evaluated without Python's own `eval`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

from .errors import ManifestError

OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod}
FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "ceildiv": lambda a, b: -(-a // b),
    "align": lambda a, b: -(-a // b) * b,
    "min": min,
    "max": max,
}


class Expression:
    """A parsed expression; `expression({"batch": 2})` is its value."""

    def __init__(self, text: str | int, place: str = "expression") -> None:
        """place: where in the manifest it stands, for messages. Raises ManifestError if it is not of the language."""
        self.text, self.place = str(text), place
        try:
            self._tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ManifestError(f"{place}: cannot read the expression '{self.text}'") from error
        self.names = frozenset(self._check(self._tree))

    def __call__(self, values: Mapping[str, int]) -> int:
        """Raises ManifestError if a name has no value, or for a division by zero."""
        try:
            return self._evaluate(self._tree, values)
        except KeyError as error:
            known = ", ".join(sorted(values))
            raise ManifestError(f"{self.place}: '{self.text}' uses {error}, known are {known}") from None
        except ZeroDivisionError:
            raise ManifestError(f"{self.place}: '{self.text}' divides by zero") from None

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def _check(self, node: ast.expr) -> set[str]:
        """The names in it; refuses what the language does not have."""
        match node:
            case ast.Constant(value=value) if type(value) is int:
                return set()
            case ast.Name(id=name):
                return {name}
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._check(left) | self._check(right)
            case ast.Call(func=ast.Name(id=name), args=[first, second], keywords=[]) if name in FUNCTIONS:
                return self._check(first) | self._check(second)
        found = ast.unparse(node)
        raise ManifestError(f"{self.place}: '{self.text}' may have whole numbers, names, + - * %, parentheses and "
                            f"{', '.join(FUNCTIONS)} of two values, found '{found}'")

    def _evaluate(self, node: ast.expr, values: Mapping[str, int]) -> int:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return values[name]
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](self._evaluate(left, values), self._evaluate(right, values))
            case ast.Call(func=ast.Name(id=name), args=[first, second]):
                return FUNCTIONS[name](self._evaluate(first, values), self._evaluate(second, values))
        raise AssertionError(f"unchecked expression '{self.text}'")
