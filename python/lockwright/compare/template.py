"""Placeholders in a command: `{threads}` and `{=EXPRESSION}` with t for the number of threads."""

import ast
import operator
import re
from collections.abc import Callable, Iterable

from lockwright.errors import LockwrightError

_PLACEHOLDER = re.compile(r"\{threads\}|\{=([^{}]*)(\}?)")
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max}
_LONGEST = 200
"""Characters in an expression: far more than is useful, far fewer than exhaust the stack."""
_HELP = "use whole numbers, t, + - * // ( ) min max, as in {=3200000//t}"


def uses_threads(words: Iterable[str]) -> bool:
    """Whether any of `words` has a placeholder."""
    return any(_PLACEHOLDER.search(word) for word in words)


def expand(word: str, threads: int) -> str:
    """`word` with its placeholders replaced; other braces stay as they are.

    Raises LockwrightError if an expression is malformed.
    """

    def value(match: re.Match[str]) -> str:
        expression = match.group(1)
        if expression is None:
            return str(threads)
        if not match.group(2):
            raise LockwrightError(f"'{match.group(0)}' has no closing brace", _HELP)
        return str(evaluate(expression, threads))

    return _PLACEHOLDER.sub(value, word)


def evaluate(expression: str, threads: int) -> int:
    """Value of an arithmetic expression in t. Raises LockwrightError if it is malformed."""
    shown = f"'{{={expression}}}'"
    if len(expression) > _LONGEST:
        raise LockwrightError(f"{shown} is too long", _HELP)
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise LockwrightError(f"{shown} is not an expression", _HELP) from error
    try:
        return _value(tree.body, threads)
    except ZeroDivisionError as error:
        raise LockwrightError(
            f"{shown} divides by zero for {threads} threads", "change the expression"
        ) from error
    except ValueError as error:
        raise LockwrightError(f"{shown} is not allowed: {error}", _HELP) from error


def _value(node: ast.expr, threads: int) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id="t"):
            return threads
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, threads)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, threads), _value(right, threads))
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument, threads) for argument in node.args))
    raise ValueError(f"'{ast.unparse(node)}'")
