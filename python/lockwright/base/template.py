"""Placeholders in a command: `{threads}`, `{=EXPRESSION}` in t threads, and those of the caller."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping

from lockwright.base.errors import LockwrightError

_PLACEHOLDER = re.compile(r"\{threads\}|\{=([^{}]*)(\}?)")
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max}
_LONGEST = 200
"""Most characters of an expression: a longer one could exhaust the stack."""


def uses_threads(words: Iterable[str]) -> bool:
    """Return whether any of `words` has a placeholder."""
    return any(_PLACEHOLDER.search(word) for word in words)


def expand(word: str, threads: int) -> str:
    """Return `word` with its placeholders replaced; other braces stay as they are. Raises
    LockwrightError if an expression is malformed."""
    return fill(word, {"threads": str(threads)}, {"t": threads})


def fill(word: str, values: Mapping[str, str], numbers: Mapping[str, float]) -> str:
    """Return `word` with each `{NAME}` of `values` and `{=EXPRESSION}` replaced; other braces stay.

    numbers: the values of the names in expressions. Raises LockwrightError if an expression is
    malformed.
    """
    names = "|".join(map(re.escape, values))

    def replacement(match: re.Match[str]) -> str:
        expression = match.group(2)
        if expression is None:
            return values[match.group(1)]
        if not match.group(3):
            raise LockwrightError(f"'{match.group(0)}' has no closing brace", _help(numbers))
        return str(evaluate(expression, numbers))

    return re.sub(rf"\{{({names})\}}|\{{=([^{{}}]*)(\}}?)", replacement, word)


def evaluate(expression: str, numbers: Mapping[str, float]) -> int:
    """Return the value of an arithmetic expression in named numbers, rounded down. Raises
    LockwrightError if it is malformed."""
    quoted = f"'{{={expression}}}'"
    if len(expression) > _LONGEST:
        raise LockwrightError(f"{quoted} is too long", _help(numbers))
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise LockwrightError(f"{quoted} is not an expression", _help(numbers)) from error
    try:
        return math.floor(_value(tree.body, numbers))
    except ZeroDivisionError as error:
        raise LockwrightError(
            f"{quoted} divides by zero for {numbers['t']} threads", "change the expression"
        ) from error
    except ValueError as error:
        raise LockwrightError(f"{quoted} is not allowed: {error}", _help(numbers)) from error


def _help(numbers: Mapping[str, float]) -> str:
    return f"use whole numbers, {', '.join(numbers)}, + - * // ( ) min max, as in {{=3200000//t}}"


def _value(node: ast.expr, numbers: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name) if name in numbers:
            return numbers[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, numbers)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, numbers), _value(right, numbers))
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, numbers) for argument in node.args))
    raise ValueError(f"'{ast.unparse(node)}'")
