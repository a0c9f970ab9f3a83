"""A program with thousands of quiet mutexes and two hot ones, under single locks and a plan."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from lockwright.bench.figures import Spread, plain, show, show_ratio, spread
from lockwright.bench.report import Column, Report, in_turn, progress, table, watching_others
from lockwright.bench.run import Line, Subject, number, program, run
from lockwright.compare import stats
from lockwright.locks import Registry
from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import Entry, Plan

PLAN = "plan"
"""What the row of the plan is called."""

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
"""Of each kind the likely ones, and two with much state for each mutex."""

PHASES = ("quiet", "crowd", "exchange")

COLUMNS = [
    Column(
        "lock",
        "of all mutexes; in the row of the plan, of the quiet ones, of that which all threads want "
        "and of that of the two.",
    ),
    Column("seconds", "that the whole work takes; median over the rounds."),
    Column(
        "to plan",
        "seconds divided by those of the plan in the same round; median over the rounds. Above 1: "
        "the plan is faster.",
    ),
    Column("quiet s", "of these, all threads take the quiet mutexes, each its own."),
    Column("crowd s", "all threads, more than there are processors, want one mutex."),
    Column("exchange s", "two threads hand items over through a box that they look into."),
    Column(
        "KiB grown",
        "growth of the process's own memory (Anonymous of /proc/self/smaps_rollup) from before the "
        "first lock to the end of the work; what the stacks of the threads need is in all of them.",
    ),
    Column("stated outside", "bytes for each mutex that the lock says it takes from the pool."),
]


@dataclass(frozen=True)
class Choice:
    """The lock of each kind of mutex."""

    quiet: str = "ttas"
    crowd: str = "futex"
    exchange: str = "ticket"

    def plan(self) -> Plan:
        """What a file would say."""
        hot = (("bench::mutex_of_all", self.crowd), ("bench::mutex_of_two", self.exchange))
        entries = [Entry(n, (lock,), symbol=symbol) for n, (symbol, lock) in enumerate(hot, 1)]
        return Plan(Path(PLAN), (self.quiet,), tuple(entries))

    @property
    def shown(self) -> str:
        """In a few words."""
        return f"plan: {self.quiet}, {self.crowd}, {self.exchange}"


@dataclass
class _Seen:
    lines: dict[int, Line] = field(default_factory=dict)
    timed_out: int = 0

    def over(self, name: str) -> Spread | None:
        return spread([number(line, name) for line in self.lines.values()])


def measure(
    report: Report,
    known: Registry,
    chosen: Sequence[Subject],
    choice: Choice,
    rounds: int,
    given: Mapping[str, object],
    timeout: float,
) -> list[Table]:
    """Runs every lock and the plan in each round, fills `report`, and returns the table."""
    compiled = compile_for(choice.plan(), program())
    subjects = [*chosen, Subject(PLAN, known.path_of_mixed())]
    environment = {VARIABLE: compiled.text}
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    with watching_others(report), progress("plan", rounds * len(subjects)) as steps:
        for turn in range(rounds):
            for subject in in_turn(subjects, turn):
                steps.step(subject.name)
                one = seen[subject.name]
                if one.timed_out >= stats.GIVE_UP:
                    continue
                outcome = run(
                    subject, "quiet-and-hot", given, timeout=timeout, environment=environment
                )
                report.record(subject, turn, outcome)
                one.timed_out += outcome.timed_out
                line = outcome.line("measured")
                if line is not None and not outcome.failure:
                    one.lines[turn] = line
    return [_table(report, subjects, choice, seen)]


def _table(
    report: Report, subjects: Sequence[Subject], choice: Choice, seen: Mapping[str, _Seen]
) -> Table:
    shown = table("Thousands of quiet mutexes, and two hot ones", COLUMNS)
    rows: list[dict[str, object]] = []
    for subject in subjects:
        one = seen[subject.name]
        both = sorted(one.lines.keys() & seen[PLAN].lines.keys())
        ratios = [
            number(one.lines[t], "seconds") / number(seen[PLAN].lines[t], "seconds") for t in both
        ]
        outside = None if subject.lock is None else subject.lock.bytes_per_mutex_outside
        rows.append(
            {
                "lock": subject.name,
                "locks": choice if subject.name == PLAN else None,
                "seconds": one.over("seconds"),
                "ratio": spread(ratios),
                **{name: one.over(f"{name}_seconds") for name in PHASES},
                "grown_bytes": one.over("grown_bytes"),
                "bytes_per_mutex_outside": outside,
                "timed_out": one.timed_out,
            }
        )
    # The fastest first; those that did not end come last.
    rows.sort(key=lambda row: _median(row["seconds"]))
    report.rows.extend(rows)
    for row in rows:
        name = choice.shown if row["lock"] == PLAN else str(row["lock"])
        stated = row["bytes_per_mutex_outside"]
        seconds, ratio, grown = (_spread(row[key]) for key in ("seconds", "ratio", "grown_bytes"))
        if seconds is None:
            shown.add_row(name, "timed out" if row["timed_out"] else "-", *["-"] * 6)
            continue
        shown.add_row(
            name,
            show(seconds),
            show_ratio(ratio),
            *(show(_spread(row[phase])) for phase in PHASES),
            show(grown, 1024),
            "-" if stated is None else f"{stated:,}",
        )
    return shown


def _spread(value: object) -> Spread | None:
    return value if isinstance(value, Spread) else None


def _median(value: object) -> float:
    return value.median if isinstance(value, Spread) else float("inf")


def remarks(report: Report) -> list[str]:
    """Whether the plan is faster than every single lock, and what it takes of memory."""
    plan = next(row for row in report.rows if row["lock"] == PLAN)
    others = [row for row in report.rows if row["lock"] != PLAN and _spread(row["seconds"])]
    if _spread(plan["seconds"]) is None or not others:
        return []
    best = min(others, key=lambda row: _median(row["seconds"]))
    ratio = _spread(best["ratio"])
    said = [
        f"The best single lock is {best['lock']}: {_median(best['seconds']):.3g} s against "
        f"{_median(plan['seconds']):.3g} s under the plan, ratio {show_ratio(ratio)}."
    ]
    mine = _median(plan["grown_bytes"]) / 1024
    more = [row for row in others if _median(row["grown_bytes"]) / 1024 > mine]
    said.append(
        f"Under the plan the process's own memory grows by {plain(mine)} KiB, which is less than "
        f"under {len(more)} of {len(others)} single locks: "
        f"{', '.join(str(row['lock']) for row in more) or 'none'}."
    )
    return said
