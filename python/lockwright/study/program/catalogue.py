"""The programs that come with Lockwright: a TOML file each, in lockwright/study/catalogue."""

from difflib import get_close_matches
from pathlib import Path

from lockwright.errors import LockwrightError
from lockwright.study import tables
from lockwright.study.program import entry
from lockwright.study.program.entry import Program

FOLDER = Path(__file__).parents[1] / "catalogue"


def names(folder: Path = FOLDER) -> list[str]:
    """The names of all entries, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def path(name: str, folder: Path = FOLDER) -> Path:
    """The file of an entry. Raises LockwrightError, with the nearest name, if there is none."""
    if name not in (known := names(folder)):
        near = get_close_matches(name, known, n=1)
        todo = f"did you mean '{near[0]}'?" if near else "see 'lockwright study catalogue'"
        raise LockwrightError(f"no program of the catalogue is named '{name}'", todo)
    return folder / f"{name}.toml"


def find(name: str, folder: Path = FOLDER) -> Program:
    """The entry of that name. Raises LockwrightError if there is none, or if it is wrong."""
    table = tables.load(path(name, folder))
    program = entry.read(table, name)
    if program.name != name:
        raise table.complaint("name", f"is '{program.name}'", f"name it '{name}', as the file")
    return program
