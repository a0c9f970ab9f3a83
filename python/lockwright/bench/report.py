"""What all benchmarks have in common: rounds, progress, the table, the JSON file."""

import json
import os
import resource
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from lockwright.base import files, numbers, terminal
from lockwright.machine import load, provenance
from lockwright.machine.finding import Finding
from lockwright.machine.meters import Meters
from lockwright.machine.procfs import Tree
from lockwright.run.bench_program import (
    LIBC,
    Outcome,
    Subject,
    metered,
    number,
    run,
    seconds_used,
    unserved_calls,
)


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and the definition that `--help` gives."""

    heading: str
    definition: str


LOCK = Column("lock", "libc is the C library's own mutex with nothing preloaded.")

SPREAD = "Columns (±: half the distance between the quartiles over the rounds):"


def definitions(columns: Iterable[Column], heading: str = SPREAD) -> str:
    """The definitions as a block for click's help text, kept as it is by the `\\b` mark."""
    lines = ["\b", heading]
    for column in columns:
        text = f"{column.heading}: {column.definition}"
        lines += textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


@dataclass
class Report:
    """One benchmark's results, as they are shown and as they are written.

    command: the words that repeat it. settings: every option's value. runs: all the lines that
    the measuring program printed, with the lock and the round. rows: the figures of the table.
    summary: what they come to, of measurements that say so.
    findings: what `lockwright doctor` says of the machine before the first run.
    meters: what is read around each run, None for nothing; meter_rows: the figures
    that come of it.
    """

    workload: str
    command: list[str]
    settings: Mapping[str, object]
    columns: Sequence[Column]
    runs: list[dict[str, object]] = field(default_factory=list)
    rows: list[dict[str, object]] = field(default_factory=list)
    summary: list[dict[str, object]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    busy: float | None = None
    findings: list[Finding] = field(default_factory=list)
    meters: Meters | None = None
    meter_rows: list[dict[str, object]] = field(default_factory=list)
    _unserved_calls: dict[str, None] = field(default_factory=dict)

    def record(self, subject: Subject, turn: int, outcome: Outcome, **more: object) -> None:
        """Keeps one run's lines, and its failure if it was one."""
        self.runs.append(
            {
                "lock": subject.name,
                "round": turn,
                **more,
                "seconds": outcome.seconds,
                "failure": outcome.failure,
                "lines": list(outcome.lines),
                "counts": outcome.counts,
                "meters": dict(outcome.meters),
            }
        )
        self._unserved_calls |= dict.fromkeys(unserved_calls(subject, outcome.lines))
        if outcome.failure and not outcome.timed_out:
            where = ", ".join(f"{k} {v}" for k, v in more.items())
            self.failures.append(
                f"{subject.name}{', ' + where if where else ''}: {outcome.failure}"
            )

    def keeps_exclusion(self, subject: Subject, outcome: Outcome) -> bool:
        """Whether a run counted as many sections as acquisitions; a failure is kept otherwise."""
        final = outcome.line("final")
        if final is None or number(final, "guarded") == number(final, "acquisitions"):
            return True
        self.failures.append(f"{subject.name}: two threads were inside the section at once")
        return False

    def remarks(self) -> list[str]:
        """What a reader must know of the other libraries and of the meters."""
        return [*self._unserved_calls, *(self.meters.notes() if self.meters else [])]

    def write(self, path: Path) -> None:
        """Writes everything as one JSON document."""
        document = {
            "workload": self.workload,
            "command": self.command,
            "machine": provenance.machine()
            | {provenance.FINDINGS: provenance.as_facts(self.findings)},
            "settings": dict(self.settings),
            "processor_share_of_others": self.busy,
            "columns": {c.heading: c.definition for c in self.columns},
            "rows": self.rows,
            "summary": self.summary,
            "meter_rows": self.meter_rows,
            "meters": self.meters.as_facts() if self.meters else {},
            "failures": self.failures,
            "runs": self.runs,
        }
        files.write(path, json.dumps(document, indent=1, default=vars) + "\n", "--json")


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


def _own_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + seconds_used()


@contextmanager
def watching_others(report: Report) -> Iterator[None]:
    """Sets `report.busy`: the share of all processors that other processes used meanwhile.

    Every run in the block is read by the report's meters; before it, they see the idle machine.
    """
    tree = Tree()
    if report.meters is not None:
        report.meters.measure_idle()
    before, own = load.processor_times(tree), _own_seconds()
    with metered(report.meters):
        yield
    after = load.processor_times(tree)
    if before is not None and after is not None:
        seen = load.load_between(before, after, _own_seconds() - own)
        report.busy = None if seen is None else seen.others


@contextmanager
def progress(what: str, steps: int) -> Iterator["Steps"]:
    """A progress bar on stderr that vanishes at the end; nothing where no one looks at it."""
    console = terminal.errors()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        yield Steps(bar, bar.add_task(what, total=steps), what)


class Steps:
    """The progress of one benchmark."""

    def __init__(self, bar: Progress, task: object, what: str) -> None:
        self._bar = bar
        self._task = task
        self._what = what

    def step(self, now: str) -> None:
        """One more run is about to start; `now` says which."""
        self._bar.update(self._task, advance=1, description=f"{self._what}: {now}")  # type: ignore[arg-type]


def in_turn(chosen: Sequence[Subject], turn: int) -> list[Subject]:
    """The subjects in the order of one round: each round starts with another one."""
    shift = turn % len(chosen)
    return [*chosen[shift:], *chosen[:shift]]


def beside_libc(
    report: Report,
    subject: Subject,
    turn: int,
    workload: str,
    arguments: Mapping[str, object],
    timeout: float,
    **labels: object,
) -> tuple[Outcome, Outcome]:
    """Runs `subject` and libc right after one another; returns the two outcomes in that order.

    Which comes first changes from round to round, so what drifts, drifts for both alike. libc
    is run beside itself, which shows what the noise alone does to a ratio.
    """
    pair = [subject, Subject(LIBC)]
    outcomes: list[Outcome | None] = [None, None]
    for place in (0, 1) if turn % 2 == 0 else (1, 0):
        outcome = run(pair[place], workload, arguments, timeout=timeout)
        report.record(pair[place], turn, outcome, beside=pair[1 - place].name, **labels)
        outcomes[place] = outcome
    own, other = outcomes
    assert own is not None
    assert other is not None
    return own, other


def noise(busy: float) -> str:
    """A line on the share of the processors that others used; a warning where it is high."""
    line = f"Others used {numbers.percent(busy)} of the processors meanwhile."
    if busy >= load.BUSY:
        line = f"Warning: noisy. {line} Repeat it on a quiet machine."
    return line


def table(title: str, columns: Sequence[Column]) -> Table:
    """An empty table, its first column to the left and all others to the right."""
    empty = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        empty.add_column(column.heading, justify="left" if index == 0 else "right")
    return empty
