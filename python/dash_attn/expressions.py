"""Expressions of a manifest: whole numbers, names of sizes, + - * %, parentheses, ceildiv, align, min and max.

They are parsed once, checked against what the language has, and evaluated without Python's own `eval`. Their numbers have
64 bits, and their operations are counted, so that no manifest keeps its reader busy.
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
LONGEST, MOST_OPERATIONS = 1000, 100  # characters and operations; dash-opt writes a tenth of both
LARGEST = 2**63 - 1  # as addresses, bytes and strides, which are i64


class Expression:
    """A parsed expression; `expression({"batch": 2})` is its value."""

    def __init__(self, text: str | int, place: str = "expression") -> None:
        """place: where in the manifest it stands, for messages. Raises ManifestError if it is not of the language."""
        if isinstance(text, int) and abs(text) > LARGEST:
            raise ManifestError(f"{place}: expected a number of at most 64 bits, found one of {text.bit_length()}")
        self.text, self.place = str(text), place
        if len(self.text) > LONGEST:
            raise ManifestError(f"{place}: expected an expression of at most {LONGEST} characters, "
                                f"found {len(self.text)}")
        try:
            self._tree = ast.parse(self.text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ManifestError(f"{place}: cannot read the expression '{self.text}'") from error
        operations = sum(isinstance(node, (ast.BinOp, ast.Call)) for node in ast.walk(self._tree))
        if operations > MOST_OPERATIONS:
            raise ManifestError(f"{place}: expected at most {MOST_OPERATIONS} operations, found {operations}")
        self.names = frozenset(self._check(self._tree))

    def __call__(self, values: Mapping[str, int]) -> int:
        """Raises ManifestError if a name has no value, for a division by zero, or beyond 64 bits."""
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
                result = value
            case ast.Name(id=name):
                result = values[name]
            case ast.BinOp(left=left, op=op, right=right):
                result = OPERATORS[type(op)](self._evaluate(left, values), self._evaluate(right, values))
            case ast.Call(func=ast.Name(id=name), args=[first, second]):
                result = FUNCTIONS[name](self._evaluate(first, values), self._evaluate(second, values))
            case _:
                raise AssertionError(f"unchecked expression '{self.text}'")
        if abs(result) > LARGEST:
            raise ManifestError(f"{self.place}: '{self.text}' is a number of more than 64 bits")
        return result
