"""Random faults in valid files: in their bytes, or in the values of their format.

Half of the changed values keep their type, and so pass a reader's first checks and test the later
ones; the others have a type or a size that no reader expects.
"""

import contextlib
import copy
import json
import random
import re
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lockwright.preload.layouts import layouts

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
_TEXTS = ("", " ", "a\nb", "\u202e", "<script>", "{{x}}", "%s", "\U0001f512", "-", "/", "nan")
_WORDS = (
    b"-1", b"0", b"nan", b"inf", b"99999999999999999999", b"1e308", b'""', b'"../../x"', b"[]",
    b"{}", b"true", b"null", b"1979-05-27", b'"\\u0000"', b"[[[[", b"\xff\xfe", b"\x00",
)  # fmt: skip
_NUMBER = re.compile(r"-?\d[\d_]*(\.\d+)?([eE][-+]?\d+)?")
_TOKEN = re.compile(rf'"[^"\n]*"|{_NUMBER.pattern}|\btrue\b|\bfalse\b')


def _several(draw: random.Random) -> range:
    return range(draw.choice((1, 1, 2, 5)))


def near(value: Any, draw: random.Random) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        around = (0, 1, -1, value + 1, value - 1, -value, 1000 * value, value // 1000)
        return draw.choice((*around, 2**31, 2**32, 2**53 + 1, 2**63, 2**64))
    if isinstance(value, float):
        return draw.choice((0.0, -value, 1.01 * value, 1e3 * value, value / 1e3, 5e-324, 1e300))
    if isinstance(value, str):
        return draw.choice((*_TEXTS, value * 2, value[: len(value) // 2], value.upper()))
    if isinstance(value, list):
        return _other_list(value, draw)
    if isinstance(value, dict) and value:
        names = [*value, *(near(name, draw) for name in value)]
        return {draw.choice(names): draw.choice(list(value.values())) for _ in names}
    return value


def _other_list(values: list[Any], draw: random.Random) -> list[Any]:
    place = draw.randrange(len(values) + 1)
    fewer, more = values[:place] + values[place + 1 :], values[: place + 1] + values[place:]
    shuffled = draw.sample(values, len(values))
    return draw.choice(([], values[::-1], fewer, more, shuffled, (values * 100)[:2000]))


def _json(text: str, draw: random.Random) -> str:
    """Change fields; a field is drawn at each level, so that small parts change as often."""
    document = json.loads(text)
    for _ in _several(draw):
        container = document
        while isinstance(container, dict | list) and container:
            key = draw.choice(
                list(container) if isinstance(container, dict) else range(len(container))
            )
            value = container[key]
            if isinstance(value, dict | list) and value and draw.random() < 0.85:
                container = value
                continue
            if draw.random() < 0.15:
                del container[key]
            else:
                new = draw.choice((near(value, draw), draw.choice(_VALUES)))
                # The next change must not change _VALUES.
                container[key] = copy.deepcopy(new)
            break
    return json.dumps(document)


def _other_word(word: str, draw: random.Random) -> str:
    if word.startswith('"'):
        return json.dumps(near(word[1:-1], draw), ensure_ascii=False)
    if _NUMBER.fullmatch(word):
        return str(near(float(word) if re.search("[.eE]", word) else int(word), draw))
    return {"true": "false", "false": "true"}.get(word) or str(near(word, draw))


def _toml(text: str, draw: random.Random) -> str:
    for _ in _several(draw):
        words = list(_TOKEN.finditer(text))
        if words and draw.random() < 0.75:
            word = draw.choice(words)
            new = draw.choice((draw.choice(words)[0], _other_word(word[0], draw)))
            text = text[: word.start()] + new + text[word.end() :]
        else:
            text = "\n".join(_other_list(text.split("\n"), draw))
    return text


def _csv(text: str, draw: random.Random) -> str:
    rows = [line.split(",") for line in text.split("\n")]
    for _ in _several(draw):
        row = draw.choice(rows or [[""]])
        column, other = draw.randrange(len(row)), draw.randrange(len(row))
        if draw.random() < 0.6:
            row[column] = draw.choice((_other_word(row[column], draw), row[other]))
        elif draw.random() < 0.5:
            for each in rows:
                if max(column, other) < len(each):
                    each[column], each[other] = each[other], each[column]
        else:
            rows = _other_list(rows, draw)
    return "\n".join(",".join(row) for row in rows)


def _database(path: Path, draw: random.Random) -> None:
    """Change cells; remove or repeat rows, or remove a column. SQLite refuses some of that."""
    refused = (sqlite3.Error, UnicodeEncodeError, OverflowError)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type='table'"
        tables = [row[0] for row in connection.execute(query)]
        for _ in _several(draw):
            with contextlib.suppress(*refused):
                _change_table(connection, draw.choice(tables), draw)
        with contextlib.suppress(*refused):
            connection.commit()


def _change_table(connection: sqlite3.Connection, table: str, draw: random.Random) -> None:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    rows = connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()
    column = draw.randrange(len(columns))
    if not rows or draw.random() < 0.05:
        connection.execute(f"ALTER TABLE {table} DROP COLUMN {columns[column]}")
        return
    number, *cells = draw.choice(rows)
    if draw.random() < 0.15:
        connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (number,))
        return
    value = cells[column]
    if isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):  # An earlier fault may have cut it.
            value = _json(value, draw)
    else:
        plain = [each for each in _VALUES if not isinstance(each, list | dict)]
        value = draw.choice((near(value, draw), draw.choice(rows)[1 + column], draw.choice(plain)))
    change = f"UPDATE {table} SET {columns[column]} = ? WHERE rowid = ?"
    connection.execute(change, (value, number))


#: A place in a binary file, and the size of the number there.
_Place = tuple[int, int]


def _numbers(data: bytes, draw: random.Random, place_of: Callable[[], _Place]) -> bytes:
    """Return a file with other numbers, or one that ends early. place_of: draws a place."""
    changed = bytearray(data)
    for _ in _several(draw):
        place, size = place_of()
        value = int.from_bytes(changed[place : place + size], "little")
        around = (0, 1, value + 1, value - 1, 2 * value, value ^ 1 << draw.randrange(8))
        limits = (len(data), 2 ** (8 * size) - 1, 2 ** (8 * size - 1), draw.getrandbits(8 * size))
        if place + size <= len(changed):
            new = draw.choice(around + limits) % (1 << 8 * size)
            changed[place : place + size] = new.to_bytes(size, "little")
    if draw.random() < 0.05:
        del changed[place_of()[0] :]
    return bytes(changed)


def _place_in_struct(name: str, draw: random.Random) -> _Place:
    """Return the place of a random number of a struct of layouts.json, each field equally often."""
    structs = layouts().structs
    place = 0
    while True:
        field = draw.choice(structs[name].fields)
        is_struct = field.type in structs
        size = structs[field.type].bytes if is_struct else int(field.type[1:] or 1)
        # The first rows of a table are in use.
        few = draw.randrange(min(field.count, 4))
        place += field.offset + size * draw.choice((0, few, draw.randrange(field.count)))
        if not is_struct:
            return place, size
        name = field.type


#: What follows the first 16 bytes of an ELF header, a row of the sections, one of the segments
#: (elf(5)), and the numbers in sections, each section as a repeated row; others are bytes.
_HEADER, _SECTION, _SEGMENT = "HHIQQQIHHHHHH", "IIQQQQIIQQ", "IIQQQQQQ"
_ROWS = {".dynamic": "QQ", ".dynsym": "IBBHQQ", ".symtab": "IBBHQQ", ".eh_frame_hdr": "I"}


def _place_in_program(data: bytes, draw: random.Random) -> _Place:
    """Return the place of a number in the header, the tables or the sections of an ELF file."""
    segments, sections = struct.unpack_from("<QQ", data, 32)
    _, segment_count, size, section_count, names = struct.unpack_from("<HHHHH", data, 54)
    row, begin = draw.choice(
        (
            (_HEADER, 16),
            (_SEGMENT, segments + 56 * draw.randrange(segment_count)),
            (_SECTION, sections + size * draw.randrange(section_count)),
            ("", sections + size * draw.randrange(section_count)),
        )
    )
    if not row:
        name, _, _, _, begin, length = struct.unpack_from("<IIQQQQ", data, begin)
        names_at = struct.unpack_from("<Q", data, sections + size * names + 24)[0]
        label = data[names_at + name : data.index(0, names_at + name)].decode()
        row = _ROWS.get(label, "B")
        width = struct.calcsize(f"<{row}")
        begin += width * draw.randrange(max(1, length // width))
    number = draw.randrange(len(row))
    return begin + struct.calcsize(f"<{row[:number]}"), struct.calcsize(row[number])


def _bytes(data: bytes, draw: random.Random) -> bytes:
    for _ in _several(draw):
        begin = draw.randrange(len(data) + 1)
        end = min(len(data), begin + draw.choice((0, 1, 1, 4, 100)))
        new = draw.choice((draw.choice(_WORDS), draw.randbytes(3), b"[" * 100_000))
        data = draw.choice(
            (data[:begin], data[:end] + data[begin:], data[:begin] + new + data[end:])
        )
    return data


def mutate(path: Path, reader: str, seed: int) -> None:
    """Change a valid file at random. The reader's name and the seed determine the faults."""
    draw = random.Random(f"{reader} {seed}")
    texts = {".json": _json, ".toml": _toml, ".csv": _csv}
    if draw.random() < 0.25:
        path.write_bytes(_bytes(path.read_bytes(), draw))
    elif path.suffix == ".sqlite":
        _database(path, draw)
    elif path.suffix in texts:
        path.write_text(texts[path.suffix](path.read_text(), draw), errors="surrogatepass")
    elif path.name in _STRUCTS:
        name, data = _STRUCTS[path.name], path.read_bytes()
        path.write_bytes(_numbers(data, draw, lambda: _place_in_struct(name, draw)))
    else:
        data = path.read_bytes()
        path.write_bytes(_numbers(data, draw, lambda: _place_in_program(data, draw)))
