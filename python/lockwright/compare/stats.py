"""Statistics of a comparison for each lock, as pure functions of plan and records."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockwright.compare.plan import Plan
from lockwright.run import record
from lockwright.run.record import Record
from lockwright.stats.inference import Ratio, paired_ratio, spread, with_significance
from lockwright.stats.near import is_near

GIVE_UP = 2
"""Time-outs at one number of threads after which a lock is not run there again."""


@dataclass(frozen=True)
class Summary:
    """The results of a lock at one number of threads.

    values: of the counted runs that finished, in order of rounds; median and spread are None where
    there are too few; wanted: number of planned runs; gave_up: whether no more runs are made after
    GIVE_UP time-outs; mark: `*` for the best, `=` for one whose median is near its, otherwise
    empty. fate: why it was dropped or retained, where locks are dropped; limit: then of its runs,
    in seconds.
    """

    threads: int
    lock: str
    values: tuple[float, ...]
    median: float | None
    spread: float | None
    ratio: Ratio | None
    wanted: int
    timeouts: int
    failures: int
    note: str
    gave_up: bool
    mark: str = ""
    fate: str = ""
    limit: float | None = None

    @property
    def complete(self) -> bool:
        """True if every counted run finished."""
        return len(self.values) == self.wanted


def has_given_up(records: Sequence[Record], threads: int, lock: str) -> bool:
    """Return whether a lock had GIVE_UP time-outs at this number of threads, warm-up included."""
    timeouts = sum(
        r.outcome == record.TIMEOUT for r in records if (r.threads, r.lock) == (threads, lock)
    )
    return timeouts >= GIVE_UP


def summarise(plan: Plan, records: Sequence[Record], threads: int) -> list[Summary]:
    """Return a summary per lock, the best first and those without a median last."""
    counted = [r for r in records if r.threads == threads and r.counted]
    by_lock = {
        lock: {r.round: r.value for r in counted if r.lock == lock and r.value is not None}
        for lock in plan.locks
    }
    ratios: dict[str, Ratio | None] = {}
    for lock in plan.locks:
        values_by_round, base = by_lock[lock], by_lock[plan.reference]
        paired = sorted(values_by_round.keys() & base.keys())
        ratios[lock] = paired_ratio(
            [values_by_round[n] for n in paired], [base[n] for n in paired], plan.lower_is_better
        )
    candidates = [lock for lock in plan.locks if lock != plan.reference]
    significant = with_significance([ratios[lock] for lock in candidates])
    ratios |= zip(candidates, significant, strict=True)
    summaries = []
    for lock in plan.locks:
        values = tuple(by_lock[lock][number] for number in sorted(by_lock[lock]))
        runs = [r for r in records if (r.threads, r.lock) == (threads, lock)]
        unfinished = [r for r in runs if r.outcome != record.FINISHED]
        failed = [r for r in unfinished if r.outcome != record.TIMEOUT]
        summaries.append(
            Summary(
                threads=threads,
                lock=lock,
                values=values,
                median=statistics.median(values) if values else None,
                spread=spread(values),
                ratio=ratios[lock],
                wanted=plan.runs,
                timeouts=sum(r.outcome == record.TIMEOUT for r in unfinished),
                failures=len(failed),
                note=failed[0].note if failed else "",
                gave_up=has_given_up(records, threads, lock),
            )
        )
    return marked(summaries, plan.lower_is_better)


def marked(
    summaries: list[Summary], lower_is_better: bool, best: str | None = None
) -> list[Summary]:
    """Return the summaries sorted and with marks. Only a lock that finished every counted run can
    be marked. best: the best lock, if it is not that with the best median."""

    def order(summary: Summary) -> tuple[bool, float]:
        if summary.median is None:
            return (True, 0.0)
        return (False, summary.median if lower_is_better else -summary.median)

    ranked = sorted(summaries, key=order)
    star = next((s for s in ranked if (s.lock == best if best else s.complete)), None)
    if star is None or star.median is None:
        return ranked
    return [replace(summary, mark=_mark(summary, star.lock, star.median)) for summary in ranked]


def _mark(summary: Summary, best: str, median: float) -> str:
    if summary.lock == best:
        return "*"
    is_marked = summary.complete and summary.median is not None and is_near(summary.median, median)
    return "=" if is_marked else ""
