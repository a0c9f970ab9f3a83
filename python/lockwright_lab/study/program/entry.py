"""The entry of a program, and its reader from TOML; docs/lab/programs.md describes every key."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lockwright_lab.study.program.inputs import KINDS
from lockwright_lab.study.program.readers import READERS
from lockwright_lab.study.schema import METRICS
from lockwright_lab.study.toml_table import Table

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
    """A file or directory that is made once: either `kind` with `arguments`, which are texts that
    may have placeholders, or `command`."""

    name: str
    kind: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    command: Command = ()


@dataclass(frozen=True)
class Metric:
    """A number to read. reader: `wall`, `regex`, `json` or the name of a built-in reader. source:
    OUTPUT or a file; better: HIGHER or LOWER; skip: number of values left out at the start, as
    during warm-up; take: one of TAKES, for the others."""

    reader: str
    pattern: str
    source: str
    unit: str
    better: str
    skip: int = 0
    take: str = "last"


@dataclass(frozen=True)
class Server:
    """The server of the measured command. ready_command, ready_pattern: tests that it is ready, at
    most one of them; without, `{port}` has to accept connections. seconds: time limit until it is
    ready, and again until it has ended. load: a command after it is ready, such as one that fills a
    database. stop: empty for SIGTERM."""

    command: Command
    ready_command: Command = ()
    ready_pattern: str = ""
    seconds: float = 30.0
    load: Command = ()
    stop: Command = ()


@dataclass(frozen=True)
class Check:
    """The conditions of a correct run. status: exit status; matches, absent: expressions that must,
    or must not, match the output; same: OUTPUT or files that must be the same as under the baseline
    lock; sha256: by OUTPUT or file; command: must succeed after the measured one, while the server
    still runs."""

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
    to leave out, with the reasons. files: texts written into {work} before each run. before, after:
    commands around each run. warmup: a command run `warmups` times before the measured one.
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
    """Return the program of a table. name: the default of its key `name`. Raises LockwrightError
    for any fault in the table."""
    program_name = table.text("name", name if name is not None else ...)
    if not _NAME.fullmatch(program_name):
        raise table.complaint(
            "name", f"is '{program_name}'", "use small letters, digits, points and hyphens"
        )
    server = _server(table)
    program = Program(
        name=program_name,
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
        inputs=tuple(map(_input, table.tables("input"))),
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
        input_ = Input(name, command=_command(table, "command"))
        table.end()
        return input_
    kind = table.text("kind", among=tuple(KINDS))
    numbers = table.values.keys() - {"name", "kind"}
    arguments = {}
    for name_of_number in sorted(numbers):
        if name_of_number not in KINDS[kind].defaults:
            known = ", ".join(KINDS[kind].defaults) or "none"
            raise table.complaint(name_of_number, f"is not a number of {kind}", f"it has {known}")
        value = table.value(
            name_of_number, (int, str), "a whole number or a text such as {=10*s}", ...
        )
        arguments[name_of_number] = str(value)
    table.end()
    return Input(name, kind, arguments)


def _server(table: Table) -> Server | None:
    server_table = table.table("server")
    if server_table is None:
        return None
    server = Server(
        command=_command(server_table, "command", ...),
        ready_command=_command(server_table, "ready_command"),
        ready_pattern=server_table.text("ready_pattern", ""),
        seconds=server_table.number("seconds", 30.0, 0.001),
        load=_command(server_table, "load"),
        stop=_command(server_table, "stop"),
    )
    _check_pattern(server_table, "ready_pattern", server.ready_pattern)
    server_table.end()
    if server.ready_command and server.ready_pattern:
        raise server_table.complaint(
            "", "has both ready_command and ready_pattern", "leave out one"
        )
    if (
        not (server.ready_command or server.ready_pattern)
        and not any("{port}" in word for word in _texts_of(server.command))
        and not any("{port}" in text for text in table.values.get("files", {}).values())
    ):
        raise server_table.complaint(
            "", "has no test of when it is ready", "use {port}, ready_command or ready_pattern"
        )
    return server


def _texts_of(command: Command) -> tuple[str, ...]:
    return (command,) if isinstance(command, str) else command


def _warmup(table: Table) -> dict[str, Any]:
    warmup_table = table.table("warmup")
    if warmup_table is None:
        return {}
    warmup = {
        "warmup": _command(warmup_table, "command"),
        "warmups": warmup_table.integer("runs", 1, 1),
    }
    warmup_table.end()
    return warmup


def _metric(table: Table, name: str) -> Metric | None:
    metric_table = table.table(name)
    if metric_table is None:
        return None
    reader = metric_table.text("read", among=("wall", "regex", "json", *READERS))
    known = READERS.get(reader)
    is_wall = reader == "wall"
    unit = "s" if is_wall else known.unit if known else ...
    better = LOWER if is_wall else known.better if known else ...
    metric = Metric(
        reader=reader,
        pattern=metric_table.text("pattern")
        if reader == "regex"
        else metric_table.text("path")
        if reader == "json"
        else "",
        source=metric_table.text("from", OUTPUT),
        unit=metric_table.text("unit", unit),
        better=metric_table.text("better", better, (HIGHER, LOWER)),
        skip=metric_table.integer("skip", 0),
        take=metric_table.text("take", "last", TAKES),
    )
    if reader == "regex":
        groups = _check_pattern(metric_table, "pattern", metric.pattern)
        if groups > 1:
            raise metric_table.complaint(
                "pattern", f"has {groups} groups", "keep one, write the others as (?:...)"
            )
    if name == "latency" and metric.unit.lower() not in METRICS["latency"].units:
        known_units = ", ".join(METRICS["latency"].units)
        raise metric_table.complaint("unit", f"is '{metric.unit}'", f"latency is in {known_units}")
    metric_table.end()
    return metric


def _check(table: Table) -> Check:
    check_table = table.table("check")
    if check_table is None:
        return Check()
    check = Check(
        status=check_table.integer("status", 0, 0, 255),
        matches=check_table.texts("matches", []),
        absent=check_table.texts("absent", []),
        same=check_table.texts("same", []),
        sha256=check_table.pairs("sha256"),
        command=_command(check_table, "command"),
    )
    for name, patterns in (("matches", check.matches), ("absent", check.absent)):
        for pattern in patterns:
            _check_pattern(check_table, name, pattern)
    check_table.end()
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
    paths = [input_.name for input_ in program.inputs]
    if len(set(paths)) != len(paths):
        raise table.complaint("input", "two have the same name", "rename one")
