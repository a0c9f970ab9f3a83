"""The entry of a program, and its reader from TOML.

docs/programs.md describes every key.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockwright.study.program.inputs import KINDS
from lockwright.study.program.readers import READERS
from lockwright.study.schema import METRICS
from lockwright.study.toml_table import Table

Command = str | tuple[str, ...]
"""A line for `sh -ec`, or the words of a program."""

OUTPUT = "output"
"""The name, among file names, of the measured command's output."""

HIGHER, LOWER = "higher", "lower"
TAKES = ("last", "first", "mean", "median", "max", "min", "sum")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_UNDER_LOCK = ("server", "command", "both")


@dataclass(frozen=True)
class Input:
    """A file or directory that is made once. Either `kind` with `arguments`, or `command`.

    arguments: numbers of the kind, as texts that may have placeholders.
    """

    name: str
    kind: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    command: Command = ()


@dataclass(frozen=True)
class Metric:
    """The reading of a number. way: `wall`, `regex`, `json` or the name of a built-in reader.

    source: OUTPUT or a file; better: HIGHER or LOWER. skip: values left out at the start, as those
    of a program that prints one each second while it warms up; take: one of TAKES, for the others.
    """

    way: str
    pattern: str
    source: str
    unit: str
    better: str
    skip: int = 0
    take: str = "last"


@dataclass(frozen=True)
class Server:
    """The server of the measured command.

    ready_command, ready_pattern: at most one of them, the test that it is ready; without, `{port}`
    has to accept connections. seconds: time limit until it is ready, and again until it has ended.
    load: a command after it is ready, such as one that fills a database. stop: empty for SIGTERM.
    """

    command: Command
    ready_command: Command = ()
    ready_pattern: str = ""
    seconds: float = 30.0
    load: Command = ()
    stop: Command = ()


@dataclass(frozen=True)
class Check:
    """The conditions of a correct run.

    status: exit status; matches, absent: expressions that must, or must not, match the output;
    same: OUTPUT or files that must be the same as under the baseline lock; sha256: by OUTPUT or
    file; command: must succeed after the measured one, while the server still runs.
    """

    status: int = 0
    matches: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    command: Command = ()


@dataclass(frozen=True)
class Program:
    """One program with one workload.

    packages: of Debian; install: a hint where these are not enough; needs: required commands, files
    or patterns of files; version: a command whose first line is stored. environment, preload:
    variables and further libraries of the process under the lock; under: which process that is.
    least, most: numbers of threads. timeout: seconds of the measured command; seconds: typical
    duration of a run, 0 if unknown. memory: whether its files should be in memory. without: locks
    to leave out, with the reasons. files: texts that are written into {work} before each run.
    before, after: commands around each run. warmup: a command that is run `warmups` times before
    the measured one.
    """

    name: str
    command: Command
    metric: Metric
    about: str = ""
    category: str = ""
    packages: tuple[str, ...] = ()
    install: str = ""
    needs: tuple[str, ...] = ()
    version: Command = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    preload: tuple[str, ...] = ()
    under: str = "command"
    least: int = 1
    most: int = 100_000
    timeout: float = 60.0
    seconds: float = 0.0
    memory: bool = False
    without: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    before: Command = ()
    after: Command = ()
    server: Server | None = None
    warmup: Command = ()
    warmups: int = 0
    latency: Metric | None = None
    check: Check = Check()

    @property
    def locked(self) -> tuple[Command, ...]:
        """The commands that run under the lock."""
        server = self.server.command if self.server else ()
        return {"server": (server,), "command": (self.command,), "both": (server, self.command)}[
            self.under
        ]


def read(table: Table, name: str | None = None) -> Program:
    """Return the program of a table. Raises LockwrightError for any fault in it.

    name: the default of its key `name`.
    """
    own = table.text("name", name if name is not None else ...)
    if not _NAME.fullmatch(own):
        raise table.complaint(
            "name", f"is '{own}'", "use small letters, digits, points and hyphens"
        )
    server = _server(table)
    program = Program(
        name=own,
        command=_command(table, "command", ...),
        metric=_metric(table, "metric") or Metric("wall", "", OUTPUT, "s", LOWER),
        about=table.text("about", ""),
        category=table.text("category", ""),
        packages=table.texts("packages", []),
        install=table.text("install", ""),
        needs=table.texts("needs", []),
        version=_command(table, "version"),
        environment=table.pairs("environment"),
        preload=table.texts("preload", []),
        under=table.text("under", "server" if server else "command", _UNDER_LOCK),
        least=table.integer("least_threads", 1, 1),
        most=table.integer("most_threads", 100_000, 1),
        timeout=table.number("timeout", 60.0, 0.001),
        seconds=table.number("seconds", 0.0),
        memory=table.flag("memory"),
        without=table.pairs("without"),
        inputs=tuple(_input(each) for each in table.tables("input")),
        files=table.pairs("files"),
        before=_command(table, "before"),
        after=_command(table, "after"),
        server=server,
        **_warmup(table),
        latency=_metric(table, "latency"),
        check=_check(table),
    )
    table.end()
    _check_consistency(table, program)
    return program


def words_of(command: Command) -> tuple[str, ...]:
    """Return the texts of a command that may have placeholders."""
    return (command,) if isinstance(command, str) else command


def _command(table: Table, name: str, default: Any = ()) -> Command:
    value = table.value(name, (str, list), "a line for the shell, or a list of words", default)
    if isinstance(value, str):
        if not value.strip():
            raise table.complaint(name, "is empty", "give a command, or leave it out")
        return value
    if name in table.values and not (value and all(isinstance(word, str) for word in value)):
        raise table.complaint(name, "is not a list of words", "write it as ['xz', '-k', 'file']")
    return tuple(value)


def _input(table: Table) -> Input:
    name = table.text("name")
    if name in ("", ".", "..") or "/" in name:
        raise table.complaint(
            "name", f"is '{name}'", "give the name of a file, without a directory"
        )
    if table.has("command"):
        made = Input(name, command=_command(table, "command"))
        table.end()
        return made
    kind = table.text("kind", among=tuple(KINDS))
    numbers = table.values.keys() - {"name", "kind"}
    arguments = {}
    for each in sorted(numbers):
        if each not in KINDS[kind].defaults:
            known = ", ".join(KINDS[kind].defaults) or "none"
            raise table.complaint(each, f"is not a number of {kind}", f"it has {known}")
        value = table.value(each, (int, str), "a whole number or a text such as {=10*s}", ...)
        arguments[each] = str(value)
    table.end()
    return Input(name, kind, arguments)


def _server(table: Table) -> Server | None:
    own = table.table("server")
    if own is None:
        return None
    server = Server(
        command=_command(own, "command", ...),
        ready_command=_command(own, "ready_command"),
        ready_pattern=own.text("ready_pattern", ""),
        seconds=own.number("seconds", 30.0, 0.001),
        load=_command(own, "load"),
        stop=_command(own, "stop"),
    )
    _check_pattern(own, "ready_pattern", server.ready_pattern)
    own.end()
    if server.ready_command and server.ready_pattern:
        raise own.complaint("", "has both ready_command and ready_pattern", "leave out one")
    if (
        not (server.ready_command or server.ready_pattern)
        and not any("{port}" in word for word in words_of(server.command))
        and not any("{port}" in text for text in table.values.get("files", {}).values())
    ):
        raise own.complaint(
            "", "has no test of when it is ready", "use {port}, ready_command or ready_pattern"
        )
    return server


def _warmup(table: Table) -> dict[str, Any]:
    own = table.table("warmup")
    if own is None:
        return {}
    found = {"warmup": _command(own, "command"), "warmups": own.integer("runs", 1, 1)}
    own.end()
    return found


def _metric(table: Table, name: str) -> Metric | None:
    own = table.table(name)
    if own is None:
        return None
    reader = own.text("read", among=("wall", "regex", "json", *READERS))
    known = READERS.get(reader)
    is_wall = reader == "wall"
    unit = "s" if is_wall else known.unit if known else ...
    better = LOWER if is_wall else known.better if known else ...
    metric = Metric(
        way=reader,
        pattern=own.text("pattern")
        if reader == "regex"
        else own.text("path")
        if reader == "json"
        else "",
        source=own.text("from", OUTPUT),
        unit=own.text("unit", unit),
        better=own.text("better", better, (HIGHER, LOWER)),
        skip=own.integer("skip", 0),
        take=own.text("take", "last", TAKES),
    )
    if reader == "regex":
        groups = _check_pattern(own, "pattern", metric.pattern)
        if groups > 1:
            raise own.complaint(
                "pattern", f"has {groups} groups", "keep one, write the others as (?:...)"
            )
    if name == "latency" and metric.unit.lower() not in METRICS["latency"].units:
        known_units = ", ".join(METRICS["latency"].units)
        raise own.complaint("unit", f"is '{metric.unit}'", f"latency is in {known_units}")
    own.end()
    return metric


def _check(table: Table) -> Check:
    own = table.table("check")
    if own is None:
        return Check()
    check = Check(
        status=own.integer("status", 0, 0, 255),
        matches=own.texts("matches", []),
        absent=own.texts("absent", []),
        same=own.texts("same", []),
        sha256=own.pairs("sha256"),
        command=_command(own, "command"),
    )
    for name, patterns in (("matches", check.matches), ("absent", check.absent)):
        for pattern in patterns:
            _check_pattern(own, name, pattern)
    own.end()
    return check


def _check_pattern(table: Table, name: str, pattern: str) -> int:
    try:
        return re.compile(pattern).groups
    except re.error as error:
        raise table.complaint(
            name, f"'{pattern}' is not a regular expression: {error}", "correct it"
        ) from error


def _check_consistency(table: Table, program: Program) -> None:
    """Check conditions that involve several keys. Raises LockwrightError if one fails."""
    if program.under != "command" and program.server is None:
        raise table.complaint("under", f"is '{program.under}'", "there is no server; leave it out")
    for command in program.locked:
        if isinstance(command, str) and "{lock}" not in command:
            raise table.complaint(
                "command",
                f"'{command.strip()[:60]}' does not say which of its programs is under the lock",
                "put {lock} before the name of the program, or write the command as a list",
            )
    if program.least > program.most:
        raise table.complaint("least_threads", "is above most_threads", "correct one of them")
    paths = [each.name for each in program.inputs]
    if len(set(paths)) != len(paths):
        raise table.complaint("input", "two have the same name", "rename one")
