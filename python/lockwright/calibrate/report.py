"""The common parts of all benchmarks: the report with its JSON file, progress, and tables."""

import json
import os
import resource
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich import box
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
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
    calls_served_by_others,
    metered,
    number,
    run,
    seconds_used,
)


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and the definition that `--help` gives."""

    heading: str
    definition: str


LOCK = Column("lock", "libc is the C library's mutex without a preloaded library.")

SPREAD = "Columns (±: half the distance between the quartiles over the rounds):"


def definitions(columns: Iterable[Column], heading: str = SPREAD) -> str:
    """Return the definitions as a block for click's help text, which `\\b` keeps from wrapping."""
    lines = ["\b", heading]
    for column in columns:
        text = f"{column.heading}: {column.definition}"
        lines += textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


@dataclass
class Report:
    """The results of one benchmark.

    command: the words that repeat it. settings: every option's value. runs: all output lines of
    the measuring program, with the lock and the round. rows: the figures of the table. summary: the
    summary of the rows, if the benchmark has one. busy: the share of all processors that other
    processes used. findings: those of `lockwright doctor` before the first run. meters: those that
    are read around each run, or None; meter_rows: their figures.
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
    _calls_served_by_others: dict[str, None] = field(default_factory=dict)

    def record(self, subject: Subject, round_number: int, outcome: Outcome, **more: object) -> None:
        """Store one run's lines, and its failure if it has one."""
        self.runs.append(
            {
                "lock": subject.name,
                "round": round_number,
                **more,
                "seconds": outcome.seconds,
                "failure": outcome.failure,
                "lines": list(outcome.lines),
                "counts": outcome.counts,
                "meters": dict(outcome.meters),
            }
        )
        self._calls_served_by_others |= dict.fromkeys(
            calls_served_by_others(subject, outcome.lines)
        )
        if outcome.failure and not outcome.timed_out:
            where = ", ".join(filter(None, [subject.name, labels_text(more)]))
            self.failures.append(f"{where}: {outcome.failure}")

    def keeps_exclusion(self, subject: Subject, outcome: Outcome) -> bool:
        """Return True if a run had as many sections as acquisitions; else store a failure."""
        final = outcome.line("final")
        if final is None or number(final, "guarded") == number(final, "acquisitions"):
            return True
        self.failures.append(f"{subject.name}: two threads were inside the section at once")
        return False

    def remarks(self) -> list[str]:
        """Return the remarks on the other libraries and on the meters."""
        return [*self._calls_served_by_others, *(self.meters.notes() if self.meters else [])]

    def write(self, path: Path) -> None:
        """Write all results as one JSON document."""
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


def labels_text(labels: Mapping[str, object]) -> str:
    """Return a text such as `threads 2, section-cycles 100`."""
    return ", ".join(f"{name} {value}" for name, value in labels.items())


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def _own_seconds() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + seconds_used()


@contextmanager
def watching_others(report: Report) -> Iterator[None]:
    """Set `report.busy`, the share of all processors that other processes used in the block.

    The report's meters measure the idle machine first, then every run in the block.
    """
    tree = Tree()
    if report.meters is not None:
        report.meters.measure_idle()
    before, own = load.processor_times(tree), _own_seconds()
    with metered(report.meters):
        yield
    after = load.processor_times(tree)
    if before is not None and after is not None:
        used = load.load_between(before, after, _own_seconds() - own)
        report.busy = None if used is None else used.others


@contextmanager
def progress(title: str, steps: int) -> Iterator["Steps"]:
    """Yield a progress bar on stderr, which is removed at the end; none without a terminal."""
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
        yield Steps(bar, bar.add_task(title, total=steps), title)


class Steps:
    """The progress of one benchmark."""

    def __init__(self, bar: Progress, task: TaskID, title: str) -> None:
        self._bar = bar
        self._task = task
        self._title = title

    def step(self, description: str) -> None:
        """Show that a run starts."""
        self._bar.update(self._task, advance=1, description=f"{self._title}: {description}")

    def advance(self) -> None:
        """Show that a run has ended."""
        self._bar.advance(self._task)


def rotated(chosen: Sequence[Subject], round_number: int) -> list[Subject]:
    """Return the subjects in the order of one round, which starts with another one each time."""
    shift = round_number % len(chosen)
    return [*chosen[shift:], *chosen[:shift]]


def beside_libc(
    report: Report,
    subject: Subject,
    round_number: int,
    workload: str,
    arguments: Mapping[str, object],
    timeout: float,
    **labels: object,
) -> tuple[Outcome, Outcome]:
    """Run `subject` and libc one after the other; return the two outcomes in that order.

    The order alternates from round to round, so that a drift affects both equally. libc is also
    run against itself, which shows the effect of noise on a ratio.
    """
    pair = [subject, Subject(LIBC)]
    outcomes = {}
    for index in (0, 1) if round_number % 2 == 0 else (1, 0):
        outcomes[index] = run(pair[index], workload, arguments, timeout=timeout)
        beside = pair[1 - index].name
        report.record(pair[index], round_number, outcomes[index], beside=beside, **labels)
    return outcomes[0], outcomes[1]


def noise(busy: float) -> str:
    """Return a line on the share of the processors that others used; a warning if it is high."""
    line = f"Others used {numbers.percent(busy)} of the processors meanwhile."
    if busy >= load.BUSY:
        line = f"Warning: noisy. {line} Repeat it on a quiet machine."
    return line


def empty_table(title: str, columns: Sequence[Column]) -> Table:
    """Return an empty table, its first column aligned left and all others right."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        table.add_column(column.heading, justify="left" if index == 0 else "right")
    return table
