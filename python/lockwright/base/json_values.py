"""Values of JSON as the types that annotations name."""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")


def converted(kind: type[_Kind], value: Any) -> _Kind:
    """Return a value of JSON as a dataclass; an object's further values are left out. Raises
    ValueError if a value is missing, has another type than its field, is none of a Literal's, or is
    a number of 2^64 or more."""
    annotation: Any = kind
    return typing.cast(_Kind, _converter(annotation)(value))


_IN_JSON: dict[Any, Any] = {
    **{kind: kind for kind in (bool, int, str, dict, list)},
    float: (int, float),
    tuple: list,
    Mapping: dict,
}


_BEYOND = 2.0**64

_Converter = Callable[[Any], Any]


@cache
def _converter(annotation: Any) -> _Converter:
    """Return the function that returns a value of JSON as an annotation's type, and raises
    ValueError for another type. A file may have thousands of values: what depends on the annotation
    alone is computed once."""
    convert = _unchecked(annotation)
    origin = typing.get_origin(annotation) or annotation
    kinds = dict if dataclasses.is_dataclass(annotation) else _IN_JSON.get(origin, object)

    def checked(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise ValueError(
                f"{str(value)[:40]!r} is in the place of another type than {type(value).__name__}"
            )
        if isinstance(value, int | float) and not abs(value) < _BEYOND:
            raise ValueError(f"{str(value)[:40]} is not a number that such a file can have")
        return convert(value) if convert else value

    return checked


def _unchecked(annotation: Any) -> _Converter | None:
    """Return the function for a value that has the outer type of the annotation; None if that is
    all."""
    if dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation)
        fields = {name: _converter(hint) for name, hint in hints.items()}
        make: Callable[..., Any] = annotation  # type: ignore[assignment]
        return lambda value: _made(make, fields, value)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return lambda value: _one_of(arguments, value)
    if origin is tuple and arguments[-1] is Ellipsis:
        each = _converter(arguments[0])
        return lambda value: tuple([each(part) for part in value])
    if origin is list and arguments:
        of_element = _converter(arguments[0])
        return lambda value: [of_element(part) for part in value]
    if origin is tuple:
        of_parts = [_converter(part) for part in arguments]
        return lambda value: tuple(
            [of_part(part) for of_part, part in zip(of_parts, value, strict=True)]
        )
    if origin in (dict, Mapping):
        each = _converter(arguments[1])
        return lambda value: {key: each(part) for key, part in value.items()}
    if origin in (types.UnionType, typing.Union):
        present = _converter(next(part for part in arguments if part is not type(None)))
        return lambda value: None if value is None else present(value)
    return _check_parts if annotation is Any else None


def _one_of(words: tuple[Any, ...], value: Any) -> Any:
    if value not in words:
        raise ValueError(f"{str(value)[:40]!r} is none of: {', '.join(words)}")
    return value


def _made(
    kind: Callable[..., Any], fields: Mapping[str, _Converter], value: Mapping[str, Any]
) -> Any:
    known = {name: fields[name](part) for name, part in value.items() if name in fields}
    try:
        return kind(**known)
    except TypeError as error:
        missing = next((name for name in fields if name not in known), None)
        raise ValueError(f"{missing} is missing" if missing else str(error)) from error


def _check_parts(value: Any) -> Any:
    """Return a value of any type. Raises ValueError if a number in it is too large."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _converter(Any)(part)
    return value
