"""Random faults in valid files: in their bytes, or in the values of their format."""

import contextlib
import copy
import json
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import plausible_faults

#: From this seed on, changes of JSON documents select a field at each level, so that fields of
#: small and of large parts change equally often. Smaller seeds select among all values; they
#: include those that once found a fault.
BY_FIELD = 1_000_000

#: From this seed on, two thirds of the files have faults of plausible_faults.
PLAUSIBLE = 10**10

#: The structs that binary files of these names consist of.
_STRUCTS = {
    "counts.bin": "stats_page",
    "segment.bin": "metrics_page",
    "buffer.bin": "profile_buffer",
}

_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**70, -0.5, 1e308, float("inf"), float("nan"), "", "x" * 5000,
    "../../../../etc/passwd", "/dev/null", "\x1b[31m", "\0", "\ud800", [], [[]], {}, {"x": 1},
)  # fmt: skip
_WORDS = (
    b"-1", b"0", b"nan", b"inf", b"99999999999999999999", b"1e308", b'""', b'"../../x"', b"[]",
    b"{}", b"true", b"null", b"1979-05-27", b'"\\u0000"', b"[[[[", b"\xff\xfe", b"\x00",
)  # fmt: skip


def _nodes(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of every value in a JSON document."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(pairs):
        yield document, key
        if isinstance(value, dict | list):
            yield from _nodes(value)


def _changed_json(text: str, draw: random.Random, by_field: bool) -> str:
    document = json.loads(text)
    if not isinstance(document, dict | list):
        return json.dumps(draw.choice(_VALUES))
    for _ in range(draw.choice((1, 1, 1, 3))):
        if not document:
            break
        container, key = (
            plausible_faults.random_field(document, draw, stop=0.15)
            if by_field
            else draw.choice(list(_nodes(document)))
        )
        if draw.random() < 0.2:
            del container[key]
        else:
            container[key] = copy.deepcopy(draw.choice(_VALUES))
    return json.dumps(document)


def _changed_json_line(text: str, draw: random.Random, by_field: bool) -> str:
    lines = text.split("\n")
    # The first one differs from the others.
    number = draw.choice((0, draw.randrange(len(lines))))
    if lines[number]:
        lines[number] = _changed_json(lines[number], draw, by_field)
    return "\n".join(lines)


def _changed_bytes(data: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 2, 8))):
        begin = draw.randrange(len(data) + 1)
        end = min(len(data), begin + draw.choice((0, 1, 1, 4, 100)))
        fault = draw.randrange(5)
        if fault == 0:
            data = data[:begin]
        elif fault == 1:
            data = data[:begin] + bytes(draw.randrange(256) for _ in range(3)) + data[end:]
        elif fault == 2:
            data = data[:begin] + draw.choice(_WORDS) + data[end:]
        elif fault == 3:
            data = data[:end] + data[begin:]
        else:
            data = data[:begin] + b"[" * draw.choice((1, 100_000)) + data[end:]
    return data


def _changed_line(data: bytes, draw: random.Random) -> bytes:
    """Replace a value after `=` or a comma, or move a line."""
    lines = data.split(b"\n")
    number = draw.randrange(len(lines))
    separator = b"=" if b"=" in lines[number] else b","
    fields = lines[number].split(separator)
    if draw.random() < 0.7 and len(fields) > 1:
        fields[draw.randrange(1, len(fields))] = b" " + draw.choice(_WORDS)
        lines[number] = separator.join(fields)
    else:
        lines.insert(draw.randrange(len(lines)), lines.pop(number))
    return b"\n".join(lines)


def _changed_numbers(data: bytes, draw: random.Random) -> bytes:
    """Replace numbers of binary tables: most where the file begins, where an ELF file has its
    header, or in the table of sections at its end."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 2, 4))):
        size = draw.choice((1, 2, 4, 8))
        begin = draw.choice((0, 0, max(0, len(data) - 2048), draw.randrange(len(data))))
        place = min(begin + draw.randrange(1024), len(data) - size)
        value = draw.choice((0, 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), draw.getrandbits(16)))
        changed[place : place + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return bytes(changed)


def _change_cell(path: Path, draw: random.Random, by_field: bool) -> None:
    connection = sqlite3.connect(path)
    tables = [
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    table = draw.choice(tables)
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    column = draw.choice(columns)
    rows = connection.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid").fetchall()
    with contextlib.suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
        if not rows or draw.random() < 0.1:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        else:
            number, value = draw.choice(rows)
            if isinstance(value, str) and value.startswith("{") and draw.random() < 0.8:
                value = _changed_json(value, draw, by_field)
            else:
                plain = [each for each in _VALUES if not isinstance(each, list | dict)]
                value = draw.choice(plain)
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, number))
        # SQLite may refuse a change only here.
        connection.commit()
    connection.close()


def _mutate_plausibly(path: Path, draw: random.Random) -> None:
    if path.suffix == ".sqlite":
        plausible_faults.change_database(path, draw)
    elif path.suffix == ".elf":
        path.write_bytes(plausible_faults.changed_program(path.read_bytes(), draw))
    elif path.name in _STRUCTS:
        name = _STRUCTS[path.name]
        path.write_bytes(plausible_faults.changed_struct(path.read_bytes(), name, draw))
    else:
        change = {
            ".json": plausible_faults.changed_json,
            ".jsonl": plausible_faults.changed_json_lines,
            ".toml": plausible_faults.changed_toml,
            ".csv": plausible_faults.changed_csv,
        }[path.suffix]
        path.write_text(change(path.read_text(), draw))


def mutate(path: Path, reader: str, seed: int) -> None:
    """Change a valid file at random. The reader's name and the seed determine the faults."""
    draw = random.Random(f"{reader} {seed}")
    if seed >= PLAUSIBLE and draw.random() < 2 / 3:
        _mutate_plausibly(path, draw)
        return
    by_field = seed >= BY_FIELD
    data = path.read_bytes()
    if path.suffix == ".sqlite" and draw.random() < 0.8:
        _change_cell(path, draw, by_field)
    elif path.suffix in (".elf", ".bin") and draw.random() < 0.9:
        path.write_bytes(_changed_numbers(data, draw))
    elif path.suffix == ".json" and draw.random() < 0.7:
        path.write_bytes(_changed_json(data.decode(), draw, by_field).encode())
    elif path.suffix == ".jsonl" and draw.random() < 0.7:
        path.write_bytes(_changed_json_line(data.decode(), draw, by_field).encode())
    elif path.suffix in (".toml", ".csv") and draw.random() < 0.6:
        path.write_bytes(_changed_line(data, draw))
    else:
        path.write_bytes(_changed_bytes(data, draw))
