"""How locks behaved in other programs: a table of their values, from which a search begins."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lockwright.base.errors import LockwrightError

PUBLISHED: Final = Path(__file__).with_name("published.csv")
"""The values in the published study, see its first lines."""

_TODO = "give a file that 'lockwright bench tune --write-prior' wrote"


@dataclass(frozen=True)
class Values:
    """The values of locks in one program on one machine, with `count` nodes or threads: the
    logarithm of each lock's figure minus that of the best."""

    machine: str
    program: str
    count: int
    values: Mapping[str, float]


def read(path: Path) -> list[Values]:
    """Return the rows of a table. Raises LockwrightError for any other file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise LockwrightError(f"cannot read {path}: {error}", _TODO) from error
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    found = []
    for number, row in enumerate(rows, 2):
        try:
            values = {
                lock: float(text)
                for lock, text in row.items()
                if lock not in ("machine", "program", "count") and text
            }
            if not values or not all(map(math.isfinite, values.values())):
                raise ValueError("a row needs values of locks")
            found.append(Values(row["machine"], row["program"], int(row["count"]), values))
        except (KeyError, TypeError, ValueError) as error:
            raise LockwrightError(
                f"{path}: row {number} is no row of a prior ({error})", _TODO
            ) from error
    if len(found) < 2:
        raise LockwrightError(f"{path} has less than two programs", _TODO)
    return found


def as_text(rows: Sequence[Values], remarks: Iterable[str] = ()) -> str:
    """Return a table: the remarks, a heading, and a line for each program."""
    locks = sorted({lock for row in rows for lock in row.values})
    lines = [f"# {remark}" for remark in remarks]
    lines.append(",".join(["machine", "program", "count", *locks]))
    for row in rows:
        values = (row.values.get(lock) for lock in locks)
        texts = ["" if value is None else f"{round(value, 2) + 0.0:g}" for value in values]
        lines.append(",".join([row.machine, row.program, str(row.count), *texts]))
    return "\n".join(lines) + "\n"
