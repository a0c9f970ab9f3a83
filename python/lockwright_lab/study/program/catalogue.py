"""The programs that come with Lockwright: a TOML file each, in lockwright_lab/study/catalogue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockwright.base import documents
from lockwright.base.errors import LockwrightError, nearest_hint

from lockwright_lab.study.program import entry
from lockwright_lab.study.program.entry import Program

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


def files_of(name: str) -> list[Path]:
    """Return the file of an entry, and of that which it inherits from."""
    parent = documents.read_toml(path(name)).get("from")
    return [path(each) for each in (name, parent) if each]


def table(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return the keys of an entry, with those that it inherits by `from`. Raises LockwrightError if
    a file cannot be read, or `from` names no entry, or one that inherits itself."""
    child = {"name": name, **documents.read_toml(path(name, folder))}
    parent = child.pop("from", "")
    if not parent:
        return child
    inherited = documents.read_toml(path(str(parent), folder))
    if "from" in inherited:
        file = path(name, folder)
        what = f"{file}: from: '{parent}' is not an entry of its own"
        raise LockwrightError(what, "name one that is")
    return merged(inherited, child)


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
    program = entry.read(table(name, folder), str(path(name, folder)))
    if program.name != name:
        what = f"{path(name, folder)}: name is '{program.name}'"
        raise LockwrightError(what, f"name it '{name}', as the file")
    return program
