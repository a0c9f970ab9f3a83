"""Random faults that keep the form of a file: a value becomes another of its type, a part is
missing or there twice. Such a file passes a reader's first checks, and so tests the later ones."""

import contextlib
import copy
import json
import random
import re
import sqlite3
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lockwright.preload.layouts import Struct, layouts

_TEXTS = (
    "", " ", "\n", "a\nb", "\x1b[2J", "\u202e", "<script>", "{{x}}", "%s", "é", "\U0001f512", "-",
    "../x", "/", "0", "nan", "1e400",
)  # fmt: skip
_NUMBER = re.compile(r"-?\d[\d_]*(\.\d+)?([eE][-+]?\d+)?")
_TOKEN = re.compile(rf'"[^"\n]*"|{_NUMBER.pattern}|\btrue\b|\bfalse\b')

#: Most elements of a list that was multiplied.
_MOST = 2000


def near(value: Any, draw: random.Random) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice(
            (0, 1, -1, 2, value + 1, value - 1, -value, 3 * value, 1000 * value, value // 1000,
             2**31, 2**32, 2**53 + 1, 2**63, 2**64)
        )  # fmt: skip
    if isinstance(value, float):
        return draw.choice(
            (0.0, 1.0, -value, value / 2, 1.01 * value, 1e3 * value, value / 1e3, 5e-324, 1e-9,
             1e18, 1e300)
        )  # fmt: skip
    if isinstance(value, str):
        return draw.choice(
            (*_TEXTS, value + value, value[: len(value) // 2], value.upper(), f" {value}",
             (value + "x")[:1] * 5000)
        )  # fmt: skip
    if isinstance(value, list):
        return _other_list(value, draw)
    if isinstance(value, dict):
        return _other_object(value, draw)
    return value


def _other_list(values: list[Any], draw: random.Random) -> list[Any]:
    if not values:
        return []
    place = draw.randrange(len(values))
    return draw.choice(
        (
            [],
            values[::-1],
            values[:place] + values[place + 1 :],
            values[: place + 1] + values[place:],
            draw.sample(values, len(values)),
            values[:1],
            (values * 100)[:_MOST],
        )
    )


def _other_object(values: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    if not values:
        return {"x": 1}
    changed = dict(values)
    first, second = draw.choice(list(changed)), draw.choice(list(changed))
    fault = draw.randrange(5)
    if fault == 0:
        changed[first], changed[second] = changed[second], changed[first]
    elif fault == 1:
        changed[first] = copy.deepcopy(changed[second])
    elif fault == 2:
        del changed[first]
    elif fault == 3:
        changed[near(first, draw)] = changed.pop(first)
    else:
        return {}
    return changed


def random_field(document: Any, draw: random.Random, stop: float = 0.1) -> tuple[Any, Any]:
    """Return the container and the key of a value: a random child, or a descendant of it. stop:
    probability of a value that has children itself, at each level."""
    container = document
    while True:
        key = draw.choice(list(container) if isinstance(container, dict) else range(len(container)))
        value = container[key]
        if not isinstance(value, dict | list) or not value or draw.random() < stop:
            return container, key
        container = value


def changed_json(text: str, draw: random.Random) -> str:
    """Return a JSON document with 1 to 5 faults."""
    document = json.loads(text)
    for _ in range(draw.choice((1, 1, 2, 5))):
        if not isinstance(document, dict | list) or not document:
            break
        container, key = random_field(document, draw)
        if draw.random() < 0.15:
            other, other_key = random_field(document, draw)
            container[key] = copy.deepcopy(other[other_key])
        else:
            container[key] = near(container[key], draw)
    return json.dumps(document)


def changed_json_lines(text: str, draw: random.Random) -> str:
    """Return lines of JSON with faults in one of them, or with one that is missing, elsewhere or
    there twice."""
    lines = text.split("\n")
    number = draw.choice((0, draw.randrange(len(lines))))
    if lines[number] and draw.random() < 0.8:
        lines[number] = changed_json(lines[number], draw)
    else:
        lines = _other_list(lines, draw)
    return "\n".join(lines)


def _number(text: str) -> int | float:
    return float(text) if re.search("[.eE]", text) else int(text)


def _other_token(token: str, draw: random.Random) -> str:
    if token.startswith('"'):
        return json.dumps(near(token[1:-1], draw), ensure_ascii=False)
    if token in ("true", "false"):
        return "false" if token == "true" else "true"
    return str(near(_number(token), draw))


def changed_toml(text: str, draw: random.Random) -> str:
    """Return a TOML document with 1 to 5 faults."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        tokens = list(_TOKEN.finditer(text))
        if tokens and draw.random() < 0.75:
            token = draw.choice(tokens)
            new = draw.choice(tokens)[0] if draw.random() < 0.3 else _other_token(token[0], draw)
            text = text[: token.start()] + new + text[token.end() :]
        else:
            text = "\n".join(_other_list(text.split("\n"), draw))
    return text


def _other_cell(cell: str, draw: random.Random) -> str:
    if _NUMBER.fullmatch(cell) is None:
        return str(near(cell, draw))
    return str(near(_number(cell), draw))


def changed_csv(text: str, draw: random.Random) -> str:
    """Return a table with 1 to 5 faults in its cells, its columns or its rows."""
    rows = [line.split(",") for line in text.split("\n")]
    for _ in range(draw.choice((1, 1, 2, 5))):
        fault, row = draw.random(), draw.choice(rows)
        column, other = draw.randrange(len(row)), draw.randrange(len(row))
        if fault < 0.5:
            row[column] = _other_cell(row[column], draw)
        elif fault < 0.6:
            row[column] = row[other]
        elif fault < 0.8:
            for each in rows:
                if max(column, other) < len(each):
                    each[column], each[other] = each[other], each[column]
        elif fault < 0.9:
            for each in rows[1:]:
                if column < len(each):
                    each[column] = row[column]
        else:
            rows = _other_list(rows, draw) or [[""]]
    return "\n".join(",".join(row) for row in rows)


def change_database(path: Path, draw: random.Random) -> None:
    """Put 1 to 5 faults into cells and rows of a database."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        tables = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        for _ in range(draw.choice((1, 1, 2, 5))):
            with contextlib.suppress(sqlite3.Error, UnicodeEncodeError, OverflowError):
                _change_table(connection, draw.choice(tables), draw)
        with contextlib.suppress(sqlite3.Error):
            connection.commit()


def _change_table(connection: sqlite3.Connection, table: str, draw: random.Random) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    rows = connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()
    if not rows:
        return
    (number, *cells), other = draw.choice(rows), draw.choice(rows)
    column = draw.randrange(len(columns))
    fault = draw.random()
    if fault < 0.1:
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
    elif fault < 0.2:
        # Refused where the cell that keeps its value has to be unique.
        cells[column] = near(cells[column], draw)
        marks = ", ".join("?" * len(cells))
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", cells)
    elif fault < 0.23:
        connection.execute(f"DELETE FROM {table}")
    else:
        value = other[1 + column] if fault < 0.4 else _other_content(cells[column], draw)
        connection.execute(
            f"UPDATE {table} SET {columns[column]} = ? WHERE rowid = ?", (value, number)
        )


def _other_content(value: Any, draw: random.Random) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        # An earlier fault may have cut it.
        with contextlib.suppress(ValueError):
            return changed_json(value, draw)
    return near(value, draw)


def _other_number(data: bytearray, place: int, size: int, draw: random.Random) -> int:
    """Return a value for the number of `size` bytes at a place of a binary file."""
    value = int.from_bytes(data[place : place + size], "little")
    new: int = draw.choice(
        (0, 1, 2, 7, value + 1, value - 1, value + 8, 2 * value, value ^ 1 << draw.randrange(8),
         len(data), len(data) - 1, 2 ** (8 * size) - 1, 2 ** (8 * size - 1), 2 ** (8 * size - 4),
         draw.getrandbits(8 * size))
    )  # fmt: skip
    return new % (1 << 8 * size)


def _changed_at(
    data: bytes, draw: random.Random, place_of: Callable[[random.Random], tuple[int, int]]
) -> bytes:
    """Return a file with 1 to 4 other numbers. place_of: draws the place and the size of one."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4))):
        place, size = place_of(draw)
        if place + size <= len(changed):
            new = _other_number(changed, place, size, draw)
            changed[place : place + size] = new.to_bytes(size, "little")
    if draw.random() < 0.05:
        place, size = place_of(draw)
        del changed[place + draw.choice((0, size)) :]
    return bytes(changed)


def _place_in(structs: Mapping[str, Struct], name: str, draw: random.Random) -> tuple[int, int]:
    """Return the place and the size of a random number of a struct, each field equally often."""
    if draw.random() < 0.05:
        return draw.choice((0, 8)), 8  # The mark of the file, and the number of its layout.
    place = 0
    while True:
        field = draw.choice(structs[name].fields)
        is_struct = field.type in structs
        size = 1 if field.type == "S" else int(field.type[1:]) if not is_struct else 0
        size = structs[field.type].bytes if is_struct else size
        # The first rows of a table are in use.
        few = draw.randrange(min(field.count, 4))
        place += field.offset + size * draw.choice((0, few, draw.randrange(field.count)))
        if not is_struct:
            return place, size
        name = field.type


def changed_struct(data: bytes, name: str, draw: random.Random) -> bytes:
    """Return a file with other numbers in fields. name: the struct of layouts.json that it has."""
    return _changed_at(data, draw, lambda draw: _place_in(layouts().structs, name, draw))


#: What follows the first 16 bytes of an ELF header, a row of the sections, one of the segments
#: (elf(5)), and the numbers in sections, each section as a repeated row.
_HEADER, _SECTION, _SEGMENT = "HHIQQQIHHHHHH", "IIQQQQIIQQ", "IIQQQQQQ"
_ROWS = {
    ".dynamic": "QQ",
    ".dynsym": "IBBHQQ",
    ".symtab": "IBBHQQ",
    ".eh_frame_hdr": "I",
    ".note.gnu.build-id": "III",
    ".gnu_debuglink": "B",
    ".dynstr": "B",
    ".shstrtab": "B",
    ".debug_line": "B",
    ".debug_line_str": "B",
    ".debug_info": "B",
    ".debug_abbrev": "B",
}


def _place_in_row(begin: int, row: str, draw: random.Random) -> tuple[int, int]:
    number = draw.randrange(len(row))
    return begin + struct.calcsize(f"<{row[:number]}"), struct.calcsize(row[number])


def changed_program(data: bytes, draw: random.Random) -> bytes:
    """Return a 64-bit ELF file with other numbers in its header, its tables or its sections."""
    segments, sections = struct.unpack_from("<QQ", data, 32)
    _, segment_count, size, section_count, names = struct.unpack_from("<HHHHH", data, 54)
    names_at = struct.unpack_from("<Q", data, sections + size * names + 24)[0]
    contents = []
    for number in range(section_count):
        name, _, _, _, begin, length = struct.unpack_from("<IIQQQQ", data, sections + size * number)
        label = data[names_at + name : data.index(0, names_at + name)].decode()
        if label in _ROWS and length:
            contents.append((begin, length, _ROWS[label]))

    def place(draw: random.Random) -> tuple[int, int]:
        kind = draw.random()
        if kind < 0.1:
            return _place_in_row(16, _HEADER, draw)
        if kind < 0.25:
            return _place_in_row(segments + 56 * draw.randrange(segment_count), _SEGMENT, draw)
        if kind < 0.45:
            return _place_in_row(sections + size * draw.randrange(section_count), _SECTION, draw)
        begin, length, row = draw.choice(contents)
        width = struct.calcsize(f"<{row}")
        return _place_in_row(begin + width * draw.randrange(max(1, length // width)), row, draw)

    return _changed_at(data, draw, place)
