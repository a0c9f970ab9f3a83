"""A program with thousands of quiet mutexes and two contended ones, by lock and under a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lockwright.base.numbers import plain
from lockwright.experiment import Contender, Outcome, Summary
from lockwright.plan.compiled import VARIABLE, compile_for
from lockwright.plan.read import Entry, Plan
from lockwright.preload.locks import registry
from lockwright.run.bench_program import Subject, program
from lockwright.stats import inference

from lockwright_lab.bench import runs
from lockwright_lab.bench.measurement import Given, Measurement
from lockwright_lab.bench.settings import only_locks

PLAN = "plan"
"""The name of the row of the plan."""


def _plan(own: Mapping[str, str]) -> Plan:
    """Return the plan of the lock of each kind of mutex."""
    symbols = (("bench::mutex_of_all", own["crowd"]), ("bench::mutex_of_two", own["exchange"]))
    entries = [
        Entry("mutex", n, (lock,), symbol=symbol) for n, (symbol, lock) in enumerate(symbols, 1)
    ]
    return Plan(Path(PLAN), (own["quiet lock"],), tuple(entries))


def _median(row: Summary, figure: str) -> float:
    values = row.over_rounds(figure)
    return float("inf") if values is None else values.median


def _slowness(row: Summary) -> float:
    """Return the ratio to the plan, taken within a round because the machine may change. Locks that
    were given up are last."""
    if row.contender == PLAN:
        return 1.0
    return float("inf") if row.gave_up else _median(row, "to_plan")


def _remarks(cells: Sequence[Sequence[Summary]], given: Given) -> list[str]:
    """Return sentences on the time of the plan and of the single locks."""
    rows, timeout = cells[0], given.common.timeout
    singles = [row for row in rows if row.contender != PLAN]
    ended = [row for row in singles if row.over_rounds("to_plan") and not row.gave_up]
    if not ended:
        return []
    given_up = sum(row.gave_up for row in singles)
    return _time_remarks(ended, given_up, timeout)


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


def _check(given: Given) -> Given:
    for name in given.own.values():
        registry().find(name)
    processors = runs.processors()
    threads = max(2, given.options["threads"] * processors)
    options = {**given.options, "threads": threads, "processors": processors}
    return only_locks(replace(given, options=options), "is not a lock of a plan")


def _contenders(given: Given) -> list[Contender]:
    """Return the plan, and each lock; all have the plan's variable, so that both can run."""
    environment = {VARIABLE: compile_for(_plan(given.own), program()).text}
    library = Subject(PLAN, registry().path_of_mixed())
    locks = [Contender(each.name, environment, each) for each in given.common.chosen]
    return [Contender(PLAN, environment, library), *locks]


def _run(call: runs.Call) -> Outcome:
    call = replace(call, workload="quiet-and-hot")
    library = Subject(PLAN, registry().path_of_mixed())
    plan = replace(call.contender, name=PLAN, subject=library)
    return runs.in_pair(call.round, {"own": call.run, "beside": call.under(plan).run})


QUIET_AND_HOT = Measurement(
    "plan",
    check=_check,
    contenders=_contenders,
    run=_run,
    order=_slowness,
    remarks=_remarks,
    further={"reference": PLAN},
)
