"""The encoding of Protocol Buffers (protobuf.dev/programming-guides/encoding), as far as needed."""

from collections.abc import Iterable

Value = int | str | bytes | list[int]


def message(*fields: tuple[int, Value]) -> bytes:
    """Return the encoded fields, by their numbers: integers as varints, lists of them packed, other
    values by length. Default values, 0 or empty, are left out, as in proto3."""
    return b"".join(_field(number, value) for number, value in fields if value)


def repeated(number: int, values: Iterable[bytes | str]) -> bytes:
    """Return a field that occurs once for each value, empty ones too."""
    return b"".join(_by_length(number, value) for value in values)


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, list):
        return _by_length(number, b"".join(map(_varint, value)))
    return _by_length(number, value)


def _by_length(number: int, value: bytes | str) -> bytes:
    data = value.encode(errors="replace") if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
