"""A program with thousands of quiet mutexes and two contended ones, by lock and under a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base.numbers import plain
from lockwright.calibrate.report import (
    Column,
    Report,
    empty_table,
    progress,
    rotated,
    watching_others,
)
from lockwright.compare import stats
from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import Entry, Plan
from lockwright.preload.locks import Registry
from lockwright.run.bench_program import Subject, number, program, run
from lockwright.run.tools import Line
from lockwright.stats import inference
from lockwright.stats.spread import Spread, format_ratio, format_spread, spread
from rich.table import Table

PLAN = "plan"
"""The name of the row of the plan."""

DEFAULT_LOCKS = (
    "pthread",
    "futex",
    "ttas",
    "backoff",
    "mutexee",
    "biased-futex",
    "biased-mcs-stp",
    "mcs-stp",
    "clh-stp",
    "malth-stp",
    "lifo-cr",
    "shfllock-stp",
    "fissile",
    "c-bo-mcs-stp",
    "hmcs",
    "alock-ls",
)
"""Locks that may be best for one kind of mutex, and two with much state per mutex."""

PHASES = ("quiet", "crowd", "exchange")
MEMORY = ("start_bytes", "grown_bytes", "taken_bytes")

_Row = Mapping[str, object]

COLUMNS = [
    Column(
        "lock",
        "the lock of all mutexes; for the plan, those of the quiet mutexes, of the mutex of all "
        "threads and of the mutex of two threads.",
    ),
    Column("seconds", "duration of the work; median over the runs."),
    Column(
        "to plan",
        "seconds divided by those of a run of the plan right before or after it; median over the "
        "rounds. Above 1: the plan is faster.",
    ),
    Column("quiet s", "seconds of the phase in which each thread acquires its own quiet mutexes."),
    Column("crowd s", "seconds in which more threads than processors contend for one mutex."),
    Column(
        "exchange s", "seconds in which two threads exchange items through a slot that they poll."
    ),
    Column(
        "KiB at start",
        "the process's own memory (Anonymous of /proc/self/smaps_rollup, exact to the page) before "
        "its first acquisition, when all threads have started: that of the program, and the pages "
        "that the library writes to as it is loaded.",
    ),
    Column("KiB grown", "its growth from there to the end of the work."),
    Column(
        "bytes taken",
        "memory of locks outside the mutexes, as the library counts it to the byte: lock state "
        "that does not fit into a mutex, queue nodes, and data shared by all locks; the maximum.",
    ),
]


@dataclass(frozen=True)
class Choice:
    """The lock of each kind of mutex."""

    quiet: str = "ttas"
    crowd: str = "futex"
    exchange: str = "ticket"

    def plan(self) -> Plan:
        """Return the choice as a plan."""
        symbols = (("bench::mutex_of_all", self.crowd), ("bench::mutex_of_two", self.exchange))
        entries = [
            Entry("mutex", n, (lock,), symbol=symbol) for n, (symbol, lock) in enumerate(symbols, 1)
        ]
        return Plan(Path(PLAN), (self.quiet,), tuple(entries))

    @property
    def text(self) -> str:
        """The names of the three locks."""
        return f"plan: {self.quiet}, {self.crowd}, {self.exchange}"


@dataclass
class _LockResults:
    """The runs under one lock. beside: its seconds and those of the plan's run beside it."""

    lines: list[Line] = field(default_factory=list)
    beside: list[tuple[float, float]] = field(default_factory=list)
    timed_out: int = 0

    @property
    def given_up(self) -> bool:
        """True if the lock is not run again; its earlier runs do not count then."""
        return self.timed_out >= stats.GIVE_UP

    def over_rounds(self, name: str) -> Spread | None:
        return None if self.given_up else spread([number(line, name) for line in self.lines])

    def to_plan(self) -> Spread | None:
        """Return the ratio of its seconds to the plan's."""
        return None if self.given_up else spread([own / plan for own, plan in self.beside])

    def ratio(self) -> inference.Ratio | None:
        """Return the geometric mean of that ratio, with its interval."""
        if self.given_up:
            return None
        own, plan = [a for a, _ in self.beside], [b for _, b in self.beside]
        return inference.paired_ratio(own, plan, lower_is_better=False)


def measure(
    report: Report,
    known: Registry,
    chosen: Sequence[Subject],
    choice: Choice,
    rounds: int,
    options: Mapping[str, object],
    timeout: float,
) -> list[Table]:
    """Run every lock and the plan in each round, fill `report`, and return the table."""
    environment = {VARIABLE: compile_for(choice.plan(), program()).text}
    plan = Subject(PLAN, known.path_of_mixed())
    results: dict[str, _LockResults] = {subject.name: _LockResults() for subject in (plan, *chosen)}

    def seconds_of_run(subject: Subject, round_number: int, beside: Subject) -> float | None:
        outcome = run(subject, "quiet-and-hot", options, timeout=timeout, environment=environment)
        report.record(subject, round_number, outcome, beside=beside.name)
        results[subject.name].timed_out += outcome.timed_out
        line = outcome.line("measured")
        if line is None or outcome.failure:
            return None
        results[subject.name].lines.append(line)
        return number(line, "seconds")

    with watching_others(report), progress("plan", rounds * len(chosen)) as steps:
        for round_number in range(rounds):
            for subject in rotated(chosen, round_number):
                steps.step(subject.name)
                if results[subject.name].given_up:
                    continue
                pairs = [(subject, plan), (plan, subject)]
                seconds = {
                    each.name: seconds_of_run(each, round_number, beside)
                    for each, beside in (pairs if round_number % 2 == 0 else reversed(pairs))
                }
                own, of_plan = seconds[subject.name], seconds[PLAN]
                if own is not None and of_plan is not None:
                    results[subject.name].beside.append((own, of_plan))
    return [_table(report, choice, results)]


def _table(report: Report, choice: Choice, results: Mapping[str, _LockResults]) -> Table:
    table = empty_table("Thousands of quiet mutexes, and two contended ones", COLUMNS)
    rows: list[dict[str, object]] = []
    names = [name for name in results if name != PLAN]
    tested = inference.with_significance([results[name].ratio() for name in names])
    ratios = dict(zip(names, tested, strict=True))
    for name, lock_results in results.items():
        rows.append(
            {
                "lock": name,
                "locks": choice if name == PLAN else None,
                "seconds": lock_results.over_rounds("seconds"),
                "to_plan": lock_results.to_plan(),
                "ratio": ratios.get(name),
                **{name: lock_results.over_rounds(f"{name}_seconds") for name in PHASES},
                **{name: lock_results.over_rounds(name) for name in MEMORY},
                "timed_out": lock_results.timed_out,
            }
        )
    # The fastest first, and locks that were given up last.
    rows.sort(key=_slowness)
    report.rows.extend(rows)
    for row in rows:
        name = choice.text if row["lock"] == PLAN else str(row["lock"])
        if row["seconds"] is None:
            table.add_row(name, "timed out" if row["timed_out"] else "-", *["-"] * 7)
            continue
        at_start, grown, taken = (_spread(row[key]) for key in MEMORY)
        table.add_row(
            name,
            format_spread(_spread(row["seconds"])),
            format_ratio(_spread(row["to_plan"])),
            *(format_spread(_spread(row[phase])) for phase in PHASES),
            format_spread(at_start, 1024),
            format_spread(grown, 1024),
            format_spread(taken),
        )
    return table


def _spread(value: object) -> Spread | None:
    return value if isinstance(value, Spread) else None


def _median(value: object) -> float:
    return value.median if isinstance(value, Spread) else float("inf")


def _slowness(row: Mapping[str, object]) -> float:
    """Return the ratio to the plan, taken within a round because the machine may change."""
    return 1.0 if row["lock"] == PLAN else _median(row["to_plan"])


def remarks(report: Report) -> list[str]:
    """Return sentences on the time and the memory of the plan and of the single locks."""
    plan = next(row for row in report.rows if row["lock"] == PLAN)
    singles = [row for row in report.rows if row["lock"] != PLAN]
    ended = [row for row in singles if row["to_plan"] is not None]
    if not ended:
        return []
    given_up = [row for row in singles if row["timed_out"] and row["to_plan"] is None]
    return [*_time_remarks(ended, given_up, report.settings), *_memory_remarks(plan, ended)]


def _time_remarks(ended: Sequence[_Row], given_up: Sequence[_Row], settings: _Row) -> list[str]:
    best = min(ended, key=_slowness)
    ratio = best["ratio"]
    sentence = f"The best single lock is {best['lock']}"
    if isinstance(ratio, inference.Ratio):
        sentence += f": it takes {ratio.value:.3f} times as long as the plan"
        if ratio.low is not None and ratio.high is not None:
            sentence += f", 95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    slower = [row for row in ended if _median(row["to_plan"]) > 1]
    shown = sum(getattr(row["ratio"], "shown", False) for row in slower)
    total = len(ended) + len(given_up)
    counts = f"The plan is faster than {len(slower) + len(given_up)} of {total} single locks"
    if given_up:
        limit = plain(float(str(settings["timeout"])))
        counts += f", of which {len(given_up)} did not end in {limit} s"
    if slower:
        counts += (
            f"; for {shown} of the other {len(slower)} by more than chance explains "
            f"for one of {len(ended)}"
        )
    return [sentence + ".", counts + "."]


def _memory_remarks(plan: _Row, ended: Sequence[_Row]) -> list[str]:
    memories = (
        ("taken_bytes", 1, "bytes for locks outside the mutexes"),
        ("grown_bytes", 1024, "KiB in pages that it grows by"),
        ("start_bytes", 1024, "KiB in pages at the start"),
    )
    texts = []
    for key, unit, memory in memories:
        of_plan = _median(plan[key])
        more = [row for row in ended if _median(row[key]) > of_plan]
        less = [str(row["lock"]) for row in ended if _median(row[key]) < of_plan]
        same = len(ended) - len(more) - len(less)
        texts.append(
            f"Under the plan the process takes {plain(of_plan / unit)} {memory}: less than under "
            f"{len(more)} of the {len(ended)} single locks that ended, as much as under {same}, "
            f"more than under {', '.join(less) or 'none'}."
        )
    return texts
