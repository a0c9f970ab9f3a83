"""A program with thousands of quiet mutexes and two hot ones, under single locks and a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from lockwright.base.numbers import plain
from lockwright.bench.report import Column, Report, progress, rotated, table, watching_others
from lockwright.compare import stats
from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import Entry, Plan
from lockwright.preload.locks import Registry
from lockwright.run.bench_program import Subject, number, program, run
from lockwright.run.tools import Line
from lockwright.stats import inference
from lockwright.stats.spread import Spread, format_ratio, format_spread, spread

PLAN = "plan"
"""The name of the plan's row."""

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
"""The likely ones of each kind, and two with much state per mutex."""

PHASES = ("quiet", "crowd", "exchange")
MEMORY = ("start_bytes", "grown_bytes", "taken_bytes")

_Row = Mapping[str, object]

COLUMNS = [
    Column(
        "lock",
        "of all mutexes; in the row of the plan, of the quiet ones, of that which all threads want "
        "and of that of the two.",
    ),
    Column("seconds", "that the whole work takes; median over the runs."),
    Column(
        "to plan",
        "seconds divided by those of a run of the plan right before or after it; median over the "
        "rounds. Above 1: the plan is faster.",
    ),
    Column("quiet s", "of these, all threads take the quiet mutexes, each its own."),
    Column("crowd s", "all threads, more than there are processors, want one mutex."),
    Column("exchange s", "two threads hand items over through a box that they look into."),
    Column(
        "KiB at start",
        "the process's own memory (Anonymous of /proc/self/smaps_rollup, exact to the page) before "
        "its first lock, when all threads have started: the program's, and what the library "
        "writes to as it is loaded.",
    ),
    Column("KiB grown", "growth of it from there to the end of the work."),
    Column(
        "bytes taken",
        "for locks, outside the mutexes, as the library counts them to the byte: lock state that "
        "does not fit into a mutex, nodes of waiters, what all locks share. The most at the same "
        "time.",
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
        hot = (("bench::mutex_of_all", self.crowd), ("bench::mutex_of_two", self.exchange))
        entries = [Entry(n, (lock,), symbol=symbol) for n, (symbol, lock) in enumerate(hot, 1)]
        return Plan(Path(PLAN), (self.quiet,), tuple(entries))

    @property
    def shown(self) -> str:
        """The choice in a few words."""
        return f"plan: {self.quiet}, {self.crowd}, {self.exchange}"


@dataclass
class _LockResults:
    """The runs under one lock, and pairs of its seconds and those of the plan's run of the same
    round, if both ended."""

    lines: list[Line] = field(default_factory=list)
    beside: list[tuple[float, float]] = field(default_factory=list)
    timed_out: int = 0

    @property
    def given_up(self) -> bool:
        """Whether it is not run any more; earlier runs that ended do not count then."""
        return self.timed_out >= stats.GIVE_UP

    def over(self, name: str) -> Spread | None:
        return None if self.given_up else spread([number(line, name) for line in self.lines])

    def to_plan(self) -> Spread | None:
        """Return the ratio of its seconds to the plan's."""
        return None if self.given_up else spread([own / plan for own, plan in self.beside])

    def ratio(self) -> inference.Ratio | None:
        """Return the geometric mean of that ratio, with its interval."""
        if self.given_up:
            return None
        own, plans = [a for a, _ in self.beside], [b for _, b in self.beside]
        return inference.paired_ratio(own, plans, lower_is_better=False)


def measure(
    report: Report,
    known: Registry,
    chosen: Sequence[Subject],
    choice: Choice,
    rounds: int,
    given: Mapping[str, object],
    timeout: float,
) -> list[Table]:
    """Run every lock and the plan in each round, fill `report`, and return the table."""
    environment = {VARIABLE: compile_for(choice.plan(), program()).text}
    plan = Subject(PLAN, known.path_of_mixed())
    results: dict[str, _LockResults] = {subject.name: _LockResults() for subject in (plan, *chosen)}

    def once(subject: Subject, round_number: int, beside: Subject) -> float | None:
        outcome = run(subject, "quiet-and-hot", given, timeout=timeout, environment=environment)
        report.record(subject, round_number, outcome, beside=beside.name)
        one = results[subject.name]
        one.timed_out += outcome.timed_out
        line = outcome.line("measured")
        if line is None or outcome.failure:
            return None
        one.lines.append(line)
        return number(line, "seconds")

    with watching_others(report), progress("plan", rounds * len(chosen)) as steps:
        for round_number in range(rounds):
            for subject in rotated(chosen, round_number):
                steps.step(subject.name)
                if results[subject.name].given_up:
                    continue
                if round_number % 2 == 0:
                    own, plans = (
                        once(subject, round_number, plan),
                        once(plan, round_number, subject),
                    )
                else:
                    plans, own = (
                        once(plan, round_number, subject),
                        once(subject, round_number, plan),
                    )
                if own is not None and plans is not None:
                    results[subject.name].beside.append((own, plans))
    return [_table(report, choice, results)]


def _table(report: Report, choice: Choice, results: Mapping[str, _LockResults]) -> Table:
    shown = table("Thousands of quiet mutexes, and two hot ones", COLUMNS)
    rows: list[dict[str, object]] = []
    names = [name for name in results if name != PLAN]
    ratios = dict(
        zip(
            names,
            inference.with_significance([results[name].ratio() for name in names]),
            strict=True,
        )
    )
    for name, one in results.items():
        rows.append(
            {
                "lock": name,
                "locks": choice if name == PLAN else None,
                "seconds": one.over("seconds"),
                "to_plan": one.to_plan(),
                "ratio": ratios.get(name),
                **{name: one.over(f"{name}_seconds") for name in PHASES},
                **{name: one.over(name) for name in MEMORY},
                "timed_out": one.timed_out,
            }
        )
    # The fastest first; those that did not end come last.
    rows.sort(key=_slowness)
    report.rows.extend(rows)
    for row in rows:
        name = choice.shown if row["lock"] == PLAN else str(row["lock"])
        if row["seconds"] is None:
            shown.add_row(name, "timed out" if row["timed_out"] else "-", *["-"] * 7)
            continue
        at_start, grown, taken = (_spread(row[key]) for key in MEMORY)
        shown.add_row(
            name,
            format_spread(_spread(row["seconds"])),
            format_ratio(_spread(row["to_plan"])),
            *(format_spread(_spread(row[phase])) for phase in PHASES),
            format_spread(at_start, 1024),
            format_spread(grown, 1024),
            format_spread(taken),
        )
    return shown


def _spread(value: object) -> Spread | None:
    return value if isinstance(value, Spread) else None


def _median(value: object) -> float:
    return value.median if isinstance(value, Spread) else float("inf")


def _slowness(row: Mapping[str, object]) -> float:
    """Return the ratio to the plan of the same round, because the machine may change over time."""
    return 1.0 if row["lock"] == PLAN else _median(row["to_plan"])


def remarks(report: Report) -> list[str]:
    """Return whether the plan is faster than every single lock, and its memory."""
    plan = next(row for row in report.rows if row["lock"] == PLAN)
    singles = [row for row in report.rows if row["lock"] != PLAN]
    ended = [row for row in singles if row["to_plan"] is not None]
    if not ended:
        return []
    late = [row for row in singles if row["timed_out"] and row["to_plan"] is None]
    return [*_time_remarks(ended, late, report.settings), *_memory_remarks(plan, ended)]


def _time_remarks(ended: Sequence[_Row], late: Sequence[_Row], settings: _Row) -> list[str]:
    best = min(ended, key=_slowness)
    ratio = best["ratio"]
    sentence = f"The best single lock is {best['lock']}"
    if isinstance(ratio, inference.Ratio):
        sentence += f": it takes {ratio.value:.3f} times as long as the plan"
        if ratio.low is not None and ratio.high is not None:
            sentence += f", 95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    slower = [row for row in ended if _median(row["to_plan"]) > 1]
    beyond = [
        row for row in slower if isinstance(row["ratio"], inference.Ratio) and row["ratio"].shown
    ]
    everything = len(ended) + len(late)
    sums = f"The plan is faster than {len(slower) + len(late)} of {everything} single locks"
    if late:
        sums += f", of which {len(late)} did not end in {plain(float(str(settings['timeout'])))} s"
    if slower:
        sums += (
            f"; for {len(beyond)} of the other {len(slower)} by more than chance explains "
            f"for one of {len(ended)}"
        )
    return [sentence + ".", sums + "."]


def _memory_remarks(plan: _Row, ended: Sequence[_Row]) -> list[str]:
    whats = (
        ("taken_bytes", 1, "bytes for locks outside the mutexes"),
        ("grown_bytes", 1024, "KiB in pages that it grows by"),
        ("start_bytes", 1024, "KiB in pages at the start"),
    )
    texts = []
    for key, unit, what in whats:
        own = _median(plan[key])
        more = [row for row in ended if _median(row[key]) > own]
        less = [str(row["lock"]) for row in ended if _median(row[key]) < own]
        same = len(ended) - len(more) - len(less)
        texts.append(
            f"Under the plan the process takes {plain(own / unit)} {what}: less than under "
            f"{len(more)} of the {len(ended)} single locks that ended, as much as under {same}, "
            f"more than under {', '.join(less) or 'none'}."
        )
    return texts
