"""The programs that come with Lockwright: a TOML file each, in lockwright_lab/study/catalogue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError, nearest_hint

from lockwright_lab.study import toml_table
from lockwright_lab.study.program import entry
from lockwright_lab.study.program.entry import Program
from lockwright_lab.study.toml_table import Table

FOLDER = Path(__file__).parents[1] / "catalogue"


def names(folder: Path = FOLDER) -> list[str]:
    """Return the names of all entries, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def path(name: str, folder: Path = FOLDER) -> Path:
    """Return the file of an entry. Raises LockwrightError, with the nearest name, for no entry."""
    if name not in (known := names(folder)):
        hint = nearest_hint(name, known, "see 'lockwright study catalogue'")
        raise LockwrightError(f"no program of the catalogue is named '{name}'", hint)
    return folder / f"{name}.toml"


def table(name: str, folder: Path = FOLDER) -> Table:
    """Return the keys of an entry, with those that it inherits by `from`."""
    child = toml_table.load(path(name, folder))
    parent = child.text("from", "")
    if not parent:
        return child
    if parent == name or toml_table.load(path(parent, folder)).has("from"):
        raise child.complaint("from", f"'{parent}' is not an entry of its own", "name one that is")
    values = {key: value for key, value in child.values.items() if key != "from"}
    return Table(child.file, child.key, merged(table(parent, folder).values, values))


def merged(parent: Mapping[str, Any], child: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of `parent` overridden by those of `child`; tables are merged key by key."""
    values = dict(parent)
    for key, value in child.items():
        inherited = values.get(key)
        both = isinstance(value, dict) and isinstance(inherited, dict)
        values[key] = {**inherited, **value} if both and inherited else value
    return values


def find(name: str, folder: Path = FOLDER) -> Program:
    """Return the entry of that name. Raises LockwrightError if there is none, or if it is wrong."""
    values = table(name, folder)
    program = entry.read(values, name)
    if program.name != name:
        raise values.complaint("name", f"is '{program.name}'", f"name it '{name}', as the file")
    return program
