"""A program with thousands of quiet mutexes and two contended ones, by lock and under a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base.numbers import plain
from lockwright.experiment import (
    Column,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Summary,
    TableOf,
)
from lockwright.experiment import columns as make
from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import Entry, Plan
from lockwright.preload.locks import registry
from lockwright.run.bench_program import Subject, program
from lockwright.stats import inference

from lockwright_lab.bench import runs

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

OWN, BESIDE = "own", "beside"


def _own(name: str, unit: str, heading: str, definition: str, scale: float = 1.0) -> Figure:
    value = runs.of(OWN, runs.field("measured", name))
    return Figure(name, unit, True, definition, heading, scale, value)


def _value(figure: Figure) -> runs.Value:
    assert figure.value is not None
    return figure.value


SECONDS = _own("seconds", "s", "seconds", "duration of the work; median over the runs.")
OF_PLAN = Figure("plan_seconds", "s", value=runs.of(BESIDE, runs.field("measured", "seconds")))
TO_PLAN = Figure(
    "to_plan",
    "",
    lower_is_better=True,
    definition="seconds divided by those of a run of the plan right before or after it; median over"
    " the rounds. Above 1: the plan is faster. The plan beside itself shows the effect of noise.",
    heading="to plan",
    value=runs.quotient(_value(SECONDS), _value(OF_PLAN)),
)
PHASES = [
    _own(f"{name}_seconds", "s", f"{name} s", definition)
    for name, definition in (
        ("quiet", "seconds of the phase in which each thread acquires its own quiet mutexes."),
        ("crowd", "seconds in which more threads than processors contend for one mutex."),
        (
            "exchange",
            "seconds in which two threads exchange items through a slot that they poll.",
        ),
    )
]
START, GROWN, TAKEN = MEMORY = [
    _own(
        "start_bytes",
        "B",
        "KiB at start",
        "the process's own memory (Anonymous of /proc/self/smaps_rollup, exact to the page) before "
        "its first acquisition, when all threads have started: that of the program, and the pages "
        "that the library writes to as it is loaded.",
        1024,
    ),
    _own("grown_bytes", "B", "KiB grown", "its growth from there to the end of the work.", 1024),
    _own(
        "taken_bytes",
        "B",
        "bytes taken",
        "memory of locks outside the mutexes, as the library counts it to the byte: lock state "
        "that does not fit into a mutex, queue nodes, and data shared by all locks; the maximum.",
    ),
]
FIGURES = [SECONDS, OF_PLAN, TO_PLAN, *PHASES, *MEMORY]


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


def _columns(choice: Choice) -> list[Column]:
    def name(row: Summary) -> str:
        return choice.text if row.contender == PLAN else row.contender

    return [
        Column(
            "lock",
            "the lock of all mutexes; for the plan, those of the quiet mutexes, of the mutex of all"
            " threads and of the mutex of two threads.",
            name,
        ),
        make.with_spread(SECONDS),
        make.own_ratio(TO_PLAN),
        *map(make.with_spread, PHASES),
        *map(make.with_spread, MEMORY),
    ]


COLUMNS = _columns(Choice())


def _median(row: Summary, figure: str) -> float:
    values = row.over_rounds(figure)
    return float("inf") if values is None else values.median


def _slowness(row: Summary) -> float:
    """Return the ratio to the plan, taken within a round because the machine may change. Locks that
    were given up are last."""
    if row.contender == PLAN:
        return 1.0
    return float("inf") if row.gave_up else _median(row, "to_plan")


def remarks(rows: Sequence[Summary], timeout: float) -> list[str]:
    """Return sentences on the time and the memory of the plan and of the single locks."""
    plan = next(row for row in rows if row.contender == PLAN)
    singles = [row for row in rows if row.contender != PLAN]
    ended = [row for row in singles if row.over_rounds("to_plan") and not row.gave_up]
    if not ended:
        return []
    given_up = sum(row.gave_up for row in singles)
    return [*_time_remarks(ended, given_up, timeout), *_memory_remarks(plan, ended)]


def _ratio(row: Summary) -> inference.Ratio | None:
    """Return the geometric mean of the ratio to the plan, with its interval."""
    own, plan = (list(row.by_round(each).values()) for each in ("seconds", "plan_seconds"))
    return inference.paired_ratio(own, plan, lower_is_better=False)


def _time_remarks(ended: Sequence[Summary], given_up: int, timeout: float) -> list[str]:
    ratios = dict(
        zip(
            (row.contender for row in ended),
            inference.with_significance([_ratio(row) for row in ended]),
            strict=True,
        )
    )
    best = min(ended, key=_slowness)
    ratio = ratios[best.contender]
    sentence = f"The best single lock is {best.contender}"
    if ratio is not None:
        sentence += f": it takes {ratio.value:.3f} times as long as the plan"
        if ratio.low is not None and ratio.high is not None:
            sentence += f", 95 % interval {ratio.low:.3f} to {ratio.high:.3f}"
    slower = [row for row in ended if _slowness(row) > 1]
    shown = sum(getattr(ratios[row.contender], "shown", False) for row in slower)
    total = len(ended) + given_up
    counts = f"The plan is faster than {len(slower) + given_up} of {total} single locks"
    if given_up:
        counts += f", of which {given_up} did not end in {plain(timeout)} s"
    if slower:
        counts += (
            f"; for {shown} of the other {len(slower)} by more than chance explains "
            f"for one of {len(ended)}"
        )
    return [sentence + ".", counts + "."]


def _memory_remarks(plan: Summary, ended: Sequence[Summary]) -> list[str]:
    memories = (
        ("taken_bytes", 1, "bytes for locks outside the mutexes"),
        ("grown_bytes", 1024, "KiB in pages that it grows by"),
        ("start_bytes", 1024, "KiB in pages at the start"),
    )
    texts = []
    for key, unit, memory in memories:
        of_plan = _median(plan, key)
        more = [row for row in ended if _median(row, key) > of_plan]
        less = [row.contender for row in ended if _median(row, key) < of_plan]
        same = len(ended) - len(more) - len(less)
        texts.append(
            f"Under the plan the process takes {plain(of_plan / unit)} {memory}: less than under "
            f"{len(more)} of the {len(ended)} single locks that ended, as much as under {same}, "
            f"more than under {', '.join(less) or 'none'}."
        )
    return texts


def plan(common: runs.Common, options: Mapping[str, int], choice: Choice) -> Experiment:
    """Return the experiment, in which the plan runs beside each lock. options: of the measuring
    program."""
    environment = {VARIABLE: compile_for(choice.plan(), program()).text}
    of_plan = Contender(PLAN, environment, Subject(PLAN, registry().path_of_mixed()))

    def run(call: runs.Call) -> Outcome:
        call = replace(call, workload="quiet-and-hot")
        return runs.in_pair(call.round, {OWN: call.run, BESIDE: call.under(of_plan).run})

    locks = [Contender(each.name, environment, each) for each in common.chosen]
    title = "Thousands of quiet mutexes, and two contended ones"
    return runs.experiment(
        "plan",
        common,
        FIGURES,
        [TableOf(_columns(choice), lambda _: title, order=_slowness)],
        options,
        make=run,
        contenders=[of_plan, *locks],
        reference=PLAN,
        remarks=lambda cells: remarks(cells[0], common.timeout),
        settings={**options, **vars(choice), "timeout": common.timeout},
    )
