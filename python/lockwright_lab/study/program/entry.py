"""The entry of a program, decoded from TOML; docs/lab/programs.md describes every key."""

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, get_args

from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.base.errors import nearest_hint
from msgspec import Meta, field
from msgspec.structs import force_setattr

from lockwright_lab.study.program.inputs import KINDS
from lockwright_lab.study.program.readers import READERS
from lockwright_lab.study.schema import METRICS

Command = Annotated[str, Meta(pattern=r"\S")] | Annotated[tuple[str, ...], Meta(min_length=1)]
"""A line for `sh -ec`, or the words of a program; an empty tuple for none."""

OUTPUT = "output"
"""The name, among file names, of the measured command's output."""

HIGHER: Literal["higher"] = "higher"
LOWER: Literal["lower"] = "lower"
Take = Literal["last", "first", "mean", "median", "max", "min", "sum"]
TAKES: tuple[Take, ...] = get_args(Take)

MOST_THREADS = 100_000
"""The default of `most`."""

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
_Limit = Annotated[float, Meta(ge=0.001, le=1e9)]
"""Seconds of a time limit."""


def _check_among(key: str, value: str, known: Collection[str]) -> None:
    if value not in known:
        raise ValueError(f"{key} is '{value}'; {nearest_hint(value, known)}")


def _groups(key: str, pattern: str) -> int:
    """Return the number of groups of a regular expression. Raises ValueError if it is none."""
    try:
        return re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{key}: '{pattern}' is not a regular expression: {error}") from error


class Input(Table, frozen=True):
    """A file or directory that is made once: either `kind` with `arguments`, which are numbers, or
    texts that may have placeholders; or `command`."""

    name: str
    kind: str = ""
    arguments: Mapping[str, int | str] = {}
    command: Command = ()

    def __post_init__(self) -> None:
        if self.name in ("", ".", "..") or "/" in self.name:
            raise ValueError(f"name is '{self.name}'; give the name of a file, without a directory")
        if self.command:
            if self.kind or self.arguments:
                raise ValueError("has a command and more; leave out one of them")
            return
        _check_among("kind", self.kind, KINDS)
        for name in self.arguments:
            if name not in KINDS[self.kind].defaults:
                known = ", ".join(KINDS[self.kind].defaults) or "none"
                raise ValueError(f"{name} is not a number of {self.kind}; it has {known}")


class Metric(Table, frozen=True):
    """A number to read. reader: `wall`, `regex`, `json` or the name of a built-in reader, which
    have a default unit and direction; pattern, path: for `regex` and `json`. source: OUTPUT or a
    file; skip: number of values left out at the start, as during warm-up; take: for the others."""

    reader: str = field(name="read")
    pattern: str = ""
    source: str = field(default=OUTPUT, name="from")
    unit: str = ""
    better: Literal["higher", "lower", ""] = ""
    skip: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    take: Take = "last"
    path: str = ""

    def __post_init__(self) -> None:
        _check_among("read", self.reader, ("wall", "regex", "json", *READERS))
        if self.reader == "wall":
            force_setattr(self, "unit", "s")
            force_setattr(self, "better", LOWER)
        elif known := READERS.get(self.reader):
            force_setattr(self, "unit", self.unit or known.unit)
            force_setattr(self, "better", self.better or known.better)
        needed = {"regex": ["pattern"], "json": ["path"]}.get(self.reader, [])
        for key in (*needed, "unit", "better"):
            if not getattr(self, key):
                raise ValueError(f"{key} is missing; a reader '{self.reader}' needs it")
        if (groups := _groups("pattern", self.pattern)) > 1:
            raise ValueError(f"pattern has {groups} groups; keep one, write the others as (?:...)")


class Server(Table, frozen=True):
    """The server of the measured command. ready_command, ready_pattern: tests that it is ready, at
    most one of them; without, `{port}` has to accept connections. seconds: time limit until it is
    ready, and again until it has ended. load: a command after it is ready, such as one that fills a
    database. stop: empty for SIGTERM."""

    command: Command
    ready_command: Command = ()
    ready_pattern: str = ""
    seconds: _Limit = 30.0
    load: Command = ()
    stop: Command = ()

    def __post_init__(self) -> None:
        _groups("ready_pattern", self.ready_pattern)
        if self.ready_command and self.ready_pattern:
            raise ValueError("has both ready_command and ready_pattern; leave out one")


class Warmup(Table, frozen=True):
    """A command, by default the measured one, that is run `runs` times before."""

    command: Command = ()
    runs: Count = 1


class Check(Table, frozen=True):
    """The conditions of a correct run. status: exit status; matches, absent: expressions that must,
    or must not, match the output; same: OUTPUT or files that must be the same as under the baseline
    lock; sha256: by OUTPUT or file; command: must succeed after the measured one, while the server
    still runs."""

    status: Annotated[int, Meta(ge=0, le=255)] = 0
    matches: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    sha256: Mapping[str, str] = {}
    command: Command = ()

    def __post_init__(self) -> None:
        for key in ("matches", "absent"):
            for pattern in getattr(self, key):
                _groups(key, pattern)


class Program(Table, frozen=True):
    """One program with one workload.

    packages: of Debian; install: a hint where these are not enough; needs: required commands, files
    or patterns of files, by default the program of the command; version: a command whose first line
    is stored. environment, preload: variables and further libraries of the process under the lock;
    under: which process that is, by default the server if there is one. least, most: numbers of
    threads. timeout: seconds of the measured command; seconds: typical duration of a run, 0 if
    unknown. memory: whether its files should be in memory. without: locks to leave out, with the
    reasons. files: texts written into {work} before each run. words: texts for placeholders of its
    own. before, after: commands around each run.
    """

    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]*$")]
    command: Command
    metric: Metric = Metric("wall")
    about: str = ""
    category: str = ""
    packages: tuple[str, ...] = ()
    install: str = ""
    needs: tuple[str, ...] = ()
    version: Command = ()
    environment: Mapping[str, str] = {}
    preload: tuple[str, ...] = ()
    under: Literal["server", "command", "both"] | None = None
    least: Count = field(default=1, name="least_threads")
    most: Count = field(default=MOST_THREADS, name="most_threads")
    timeout: _Limit = 60.0
    seconds: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    memory: bool = False
    without: Mapping[str, str] = {}
    inputs: tuple[Input, ...] = field(default=(), name="input")
    files: Mapping[str, str] = {}
    words: Mapping[str, str] = {}
    before: Command = ()
    after: Command = ()
    server: Server | None = None
    warmup: Warmup | None = None
    latency: Metric | None = None
    check: Check = Check()

    def __post_init__(self) -> None:
        if self.under in ("server", "both") and self.server is None:
            raise ValueError(f"under is '{self.under}'; there is no server: leave it out")
        for command in self.locked:
            if isinstance(command, str) and "{lock}" not in command:
                raise ValueError(
                    f"command: '{command.strip()[:60]}' does not say which of its programs is under"
                    " the lock; put {lock} before its name, or write the command as a list"
                )
        if not self.needs and isinstance(self.command, tuple) and "{" not in self.command[0]:
            force_setattr(self, "needs", self.command[:1])
        if self.least > self.most:
            raise ValueError("least_threads is above most_threads; correct one of them")
        if len({each.name for each in self.inputs}) < len(self.inputs):
            raise ValueError("two inputs have the same name; rename one")
        units = METRICS["latency"].units
        if self.latency is not None and self.latency.unit.lower() not in units:
            raise ValueError(f"latency.unit is '{self.latency.unit}'; give {', '.join(units)}")
        self._check_readiness()

    def _check_readiness(self) -> None:
        server = self.server
        if server is None or server.ready_command or server.ready_pattern:
            return
        words = (server.command,) if isinstance(server.command, str) else server.command
        if not any("{port}" in text for text in (*words, *self.files.values())):
            raise ValueError(
                "server has no test of when it is ready; use {port}, ready_command or ready_pattern"
            )

    @property
    def locked(self) -> tuple[Command, ...]:
        """The commands that run under the lock."""
        server: Command = self.server.command if self.server else ()
        under = self.under or ("server" if self.server else "command")
        return {"server": (server,), "command": (self.command,), "both": (server, self.command)}[
            under
        ]


def read(document: Mapping[str, Any], where: str) -> Program:
    """Return the program of a table. where: its place, for messages. Raises LockwrightError for any
    fault in it."""
    values = dict(document)
    if isinstance(values.get("input"), list):
        values["input"] = [_with_arguments(each) for each in values["input"]]
    return documents.convert(Program, values, where)


def _with_arguments(table: Any) -> Any:
    """Return the table of an input with the numbers of its kind in a table of their own."""
    if not isinstance(table, dict):
        return table
    known = {key: table[key] for key in ("name", "kind", "command") if key in table}
    return {**known, "arguments": {key: table[key] for key in table if key not in known}}
