"""`--set NAME=VALUE`: the parameters of a measurement or a workload."""

import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.commands.common.grammar import Decorator
from lockwright.commands.common.options import name_list, number_list

from lockwright_lab.bench.measurement import Option
from lockwright_lab.commands.common.grammar import shared

HEADING = "Parameters of --set:"


def set_option(text: str = "") -> Decorator:
    """Return `--set`. text: a further sentence of its help."""
    return shared("--set", f"A parameter of those above; repeatable.{text}", "words")


def described(parameters: Iterable[tuple[str, str, str]]) -> str:
    """Return names, defaults and meanings of parameters as a block for click's help text."""
    lines = ["\b", HEADING]
    for name, default, meaning in parameters:
        text = f"{name}={default}: {meaning}"
        lines += textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


def given(words: Sequence[str], known: Collection[str]) -> dict[str, str]:
    """Return the values of parameters by their names. Raises LockwrightError for a word that is not
    NAME=VALUE, with the name of a parameter."""
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise LockwrightError(f"--set '{word}' has no value", "write it as NAME=VALUE")
        if name not in known:
            hint = nearest_hint(name, known) if known else "leave out --set"
            raise LockwrightError(f"there is no parameter '{name}' of --set", hint)
        values[name] = value
    return values


def shown(default: Any) -> str:
    """Return a default as it would be given."""
    if isinstance(default, list):
        return ",".join(map(shown, default))
    if isinstance(default, bool):
        return "yes" if default else "no"
    return f"{default:g}" if isinstance(default, float) else str(default)


def value_of(name: str, of: Option, text: str) -> Any:
    """Return the value that a text gives a parameter. Raises LockwrightError for another type."""
    match of.default:
        case bool():
            if text not in ("yes", "no"):
                raise _refused(name, text, "give yes or no")
            return text == "yes"
        case list():
            return list_of(name, of, text)
        case int() | float():
            return _number(name, of, text)
    return text


def list_of(name: str, of: Option, text: str) -> list[Any]:
    """Return the values of a list. Raises LockwrightError for a wrong one."""
    if of.among:
        return list(name_list(text, name, of.among))
    values = number_list(text, name, of.least or 0.0)
    if of.most is not None and max(values) > of.most:
        raise _refused(name, f"{max(values):g}", f"give numbers up to {of.most:g}")
    return values


def _number(name: str, of: Option, text: str) -> int | float:
    is_whole = isinstance(of.default, int)
    least = of.least if of.least is not None else float(is_whole)
    try:
        value = int(text) if is_whole else float(text)
    except ValueError:
        value = -1
    if not least <= value <= (of.most or 1e12):
        kind = "a whole number" if is_whole else "a number"
        bound = f" to {of.most:,.0f}" if of.most else " on"
        raise _refused(name, text, f"give {kind} from {least:g}{bound}")
    return value


def _refused(name: str, text: str, todo: str) -> LockwrightError:
    return LockwrightError(f"invalid value '{text}' for {name}", todo)
