"""Reasons to trust a comparison less, each as one sentence, in the manner of hyperfine."""

from collections.abc import Iterable, Mapping, Sequence

from lockwright.compare import stats
from lockwright.compare.plan import AS_IT_IS, Plan
from lockwright.compare.record import Record

WIDE_SPREAD = 0.05
"""Relative standard deviation above which 5 % between locks cannot be told in a few runs."""

FAR = 10.0
"""Robust standard deviations from the median that make an outlier; hyperfine's threshold."""

SMALL = 0.05
"""Share of the median below which no deviation is called an outlier, however steady the rest."""

BUSY = 0.10
"""Share of the machine taken by other processes that is worth a warning."""

SHORT = 0.1
"""Seconds below which starting the program is much of what is measured."""


def at(threads: int) -> str:
    """` at N threads`, or nothing where the command names no number of threads."""
    if threads == AS_IT_IS:
        return ""
    return f" at {threads} thread{'' if threads == 1 else 's'}"


def collect(plan: Plan, records: Sequence[Record]) -> list[str]:
    """All warnings, in the order of thread counts."""
    found: list[str] = []
    for threads in plan.threads:
        found += _at_threads(plan, [r for r in records if r.threads == threads], at(threads))
    return found


def _at_threads(plan: Plan, records: Sequence[Record], where: str) -> Iterable[str]:
    counted = [r for r in records if r.counted]
    values: dict[str, list[float]] = {}
    for run in counted:
        if run.value is not None:
            values.setdefault(run.lock, []).append(run.value)

    wide = {
        lock: share
        for lock, mine in values.items()
        if (share := stats.spread(mine)) is not None and share > WIDE_SPREAD
    }
    if wide:
        yield (
            f"the spread of runs{where} is above {WIDE_SPREAD:.0%}: "
            f"{_listed(wide, '{:.0%}')}; more --runs narrow the intervals"
        )
    outliers = {lock: _outliers(mine) for lock, mine in values.items()}
    first = [lock for lock, places in outliers.items() if 0 in places]
    if first and plan.warmup == 0:
        yield (
            f"the first run{where} stood out for {', '.join(first)}; "
            "caches may have been cold: use --warmup"
        )
        outliers = {lock: places - {0} for lock, places in outliers.items()}
    odd = {lock: len(places) for lock, places in outliers.items() if places}
    if odd:
        yield (
            f"there are outliers{where}: {_listed(odd, '{}')}; "
            "something else may have disturbed those runs: repeat on a quiet machine"
        )
    known = [r for r in counted if r.others is not None]
    disturbed = [r for r in known if (r.others or 0) > BUSY]
    if disturbed:
        most = max(r.others or 0 for r in disturbed)
        yield (
            f"other processes took more than {BUSY:.0%} of the machine during {len(disturbed)} of "
            f"{len(known)} runs{where}, at most {most:.0%}; repeat on a quiet machine"
        )
    short = sorted({r.lock for r in counted if r.value is not None and r.wall < SHORT})
    if short:
        yield (
            f"runs{where} took less than {SHORT * 1000:.0f} ms for {', '.join(short)}; "
            "give the program more work"
        )


def _outliers(values: Sequence[float]) -> set[int]:
    """Places of the outliers among values in order of rounds."""
    if len(values) < 3:
        return set()
    middle = sorted(values)[len(values) // 2]
    return {
        place
        for place, score in enumerate(stats.deviations(values))
        if abs(score) > FAR and abs(values[place] - middle) > SMALL * abs(middle)
    }


def _listed(values: Mapping[str, float], form: str) -> str:
    ordered = sorted(values.items(), key=lambda item: -item[1])
    return ", ".join(f"{lock} ({form.format(value)})" for lock, value in ordered)
