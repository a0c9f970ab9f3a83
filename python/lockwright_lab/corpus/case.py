"""A case of the corpus, decoded from TOML; docs/lab/corpus.md describes every key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.base.errors import LockwrightError, nearest_hint
from msgspec import Meta, field

from lockwright_lab.study.program import catalogue, entry
from lockwright_lab.study.program.entry import Count, Program

CASES = Path(__file__).parent / "cases"
"""The folder of the cases that come with the laboratory."""

ANOTHER_LOCK = "another lock"

FIXES: Mapping[str, frozenset[str]] = {
    "shorter section": frozenset({"smaller section", "sleep outside"}),
    "split": frozenset({"sharding", "allocator", "per thread", "processes"}),
    "lock-free": frozenset({"atomic"}),
    "reader-writer": frozenset({"reader-writer lock"}),
    "fewer acquisitions": frozenset({"batch", "allocator"}),
    "fewer wakes": frozenset({"signal", "poll"}),
    "reuse": frozenset({"reuse", "parallel creation"}),
    "fewer threads": frozenset({"fewer threads"}),
    ANOTHER_LOCK: frozenset({"lock", "mutex"}),
}
"""The kinds of fixes, and the kinds of changes of `advise` that are the same. With "another lock",
also a lock that it names."""


class Side(Table, frozen=True):
    """The program before or after the fix. pip: requirements, of one version each; debian: packages
    of the release `suite`, which are unpacked, not installed; build: a line for `sh -ec` in the
    folder of the installation, with `version` and `words` as variables; words, environment: added
    to those of the program."""

    version: str
    pip: tuple[str, ...] = ()
    debian: tuple[str, ...] = ()
    suite: str = "bookworm"
    build: str = ""
    words: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}


class _File(Table, frozen=True):
    """The keys of a case's file. both: of Side, for both sides; program: a table of
    docs/lab/programs.md."""

    source: Annotated[str, Meta(pattern=r"^https?://\S+$")]
    program: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    both: Mapping[str, Any] = {}
    claimed: str = ""
    threads: Count = 2
    lock: str = ""
    fix: tuple[str, ...] = ()
    is_control: bool = field(default=False, name="control")

    def __post_init__(self) -> None:
        if self.is_control == bool(self.lock or self.fix):
            raise ValueError(
                "needs `lock` and `fix`, or `control = true`; a control has no bottleneck"
            )
        if not self.is_control and not (self.lock and self.fix):
            raise ValueError("has one of `lock` and `fix`; give both")
        try:
            re.compile(self.lock)
        except re.error as error:
            raise ValueError(f"lock: not a regular expression: {error}; correct it") from error
        for name in self.fix:
            if name not in FIXES:
                raise ValueError(f"fix is '{name}'; {nearest_hint(name, FIXES)}")


@dataclass(frozen=True)
class Case:
    """A case. path: of its file; programs, sides: before and after. lock: an expression for the
    names of the lock, or of the functions that take it; fix: kinds of FIXES, of which any is right;
    claimed: the gain, as the source says."""

    name: str
    path: Path
    source: str
    claimed: str
    threads: int
    lock: str
    fix: tuple[str, ...]
    is_control: bool
    sides: tuple[Side, Side]
    programs: tuple[Program, Program]

    @property
    def program(self) -> Program:
        """The program before the fix."""
        return self.programs[0]


def read(path: Path) -> Case:
    """Return the case of a file. Raises LockwrightError for any fault in it."""
    document = documents.load(_File, path)
    table = {"name": path.stem, **document.program}
    if parent := table.pop("from", ""):
        table = catalogue.merged(catalogue.table(str(parent)), table)
    program = entry.read(table, f"{path}: program")
    sides = tuple(
        documents.convert(Side, catalogue.merged(document.both, each), f"{path}: {key}")
        for key, each in (("before", document.before), ("after", document.after))
    )
    return Case(
        path.stem,
        path,
        document.source,
        document.claimed,
        document.threads,
        document.lock,
        document.fix,
        document.is_control,
        (sides[0], sides[1]),
        (_of_side(program, sides[0]), _of_side(program, sides[1])),
    )


def _of_side(program: Program, side: Side) -> Program:
    return msgspec.structs.replace(
        program,
        words={**program.words, **side.words},
        environment={**program.environment, **side.environment},
    )


def names() -> list[str]:
    """Return the names of the cases that come with the laboratory, sorted."""
    return sorted(path.stem for path in CASES.glob("*.toml"))


def find(words: list[str]) -> list[Case]:
    """Return the cases of names, files, and folders of files; all of the laboratory for none.
    Raises LockwrightError for a word that names none, and for two cases of one name."""
    paths = [path for word in words for path in _paths(word)] if words else _paths(str(CASES))
    cases = [read(path) for path in dict.fromkeys(path.resolve() for path in paths)]
    seen: dict[str, Path] = {}
    for each in cases:
        if each.name in seen:
            raise LockwrightError(
                f"{each.path} and {seen[each.name]} have the same name", "rename one"
            )
        seen[each.name] = each.path
    return cases


def _paths(word: str) -> list[Path]:
    path = Path(word)
    if "/" not in word and not word.endswith(".toml"):
        if word not in names():
            hint = nearest_hint(word, names(), "or give a file or a folder of cases")
            raise LockwrightError(f"no case is named '{word}'", hint)
        return [CASES / f"{word}.toml"]
    if not path.is_dir():
        return [path]
    if not (found := sorted(path.glob("*.toml"))):
        raise LockwrightError(f"{path} has no file of a case (*.toml)", "name another folder")
    return found
