"""Reasons to trust a comparison less, each as one sentence, in the manner of hyperfine."""

from collections.abc import Iterable, Mapping, Sequence

from lockwright.base import numbers
from lockwright.compare.plan import AS_IT_IS, Plan
from lockwright.machine.load import BUSY
from lockwright.run.record import Record
from lockwright.stats import inference

WIDE_SPREAD = 0.05
"""Relative standard deviation above which 5 % between locks cannot be told in a few runs."""

FAR = 10.0
"""Robust standard deviations from the median that make an outlier; hyperfine's threshold."""

SMALL = 0.05
"""Share of the median below which no deviation is called an outlier, however steady the rest."""

SHORT = 0.1
"""Seconds below which starting the program is much of what is measured."""

_Cell = tuple[int, str]
"""Threads and lock: one row of the tables."""


def at(threads: int) -> str:
    """Return ` at N threads`, or nothing where the command names no number of threads."""
    if threads == AS_IT_IS:
        return ""
    return f" at {threads} thread{'' if threads == 1 else 's'}"


def collect(plan: Plan, records: Sequence[Record]) -> list[str]:
    """Return all warnings, at most one of each kind, with how much it concerns and the worst of
    it."""
    cells: dict[_Cell, list[Record]] = {}
    for run in records:
        if run.counted and run.value is not None:
            cells.setdefault((run.threads, run.lock), []).append(run)
    values = {cell: [run.value or 0.0 for run in runs] for cell, runs in cells.items()}
    found = [
        _spread(plan, values),
        *_outstanding(plan, values),
        _disturbed([run for run in records if run.counted and run.others is not None]),
        _short(cells),
    ]
    return [text for text in found if text is not None]


def _spread(plan: Plan, values: Mapping[_Cell, Sequence[float]]) -> str | None:
    wide = {
        cell: share
        for cell, mine in values.items()
        if (share := inference.spread(mine)) is not None and share > WIDE_SPREAD
    }
    if not wide:
        return None
    worst = max(wide, key=wide.__getitem__)
    return (
        f"{_of(len(wide), len(values))} rel. sd is above {numbers.percent(WIDE_SPREAD)}, highest "
        f"with {_named(worst)} ({numbers.percent(wide[worst])}); "
        f"{plan.more} can make the ratios surer"
    )


def _outstanding(plan: Plan, values: Mapping[_Cell, Sequence[float]]) -> Iterable[str]:
    outliers = {cell: _outliers(mine) for cell, mine in values.items()}
    first = [cell for cell, places in outliers.items() if 0 in places]
    if first and plan.warmup == 0:
        yield (
            f"{_of(len(first), len(values))} the first run stands out, as with {_named(first[0])}; "
            "caches may have been cold: use --warmup"
        )
        outliers = {cell: places - {0} for cell, places in outliers.items()}
    odd = {cell: len(places) for cell, places in outliers.items() if places}
    if odd:
        yield (
            f"{_of(len(odd), len(values))} there are outliers, {sum(odd.values())} in all, "
            f"as with {_named(max(odd, key=odd.__getitem__))}; something else may have "
            "disturbed them: repeat on a quiet machine"
        )


def _disturbed(known: Sequence[Record]) -> str | None:
    shares = [run.others or 0.0 for run in known]
    disturbed = [share for share in shares if share > BUSY]
    if not disturbed:
        return None
    return (
        f"other processes took more than {numbers.percent(BUSY)} of the machine during "
        f"{len(disturbed)} of {len(known)} runs, "
        f"at most {numbers.percent(max(disturbed))}; repeat on a quiet machine"
    )


def _short(cells: Mapping[_Cell, Sequence[Record]]) -> str | None:
    shortest = {cell: min(run.wall for run in runs) for cell, runs in cells.items()}
    short = {cell: wall for cell, wall in shortest.items() if wall < SHORT}
    if not short:
        return None
    worst = min(short, key=short.__getitem__)
    return (
        f"{_of(len(short), len(cells))} runs took less than {SHORT * 1000:.0f} ms, the shortest "
        f"{short[worst] * 1000:.2g} ms with {_named(worst)}; give the program more work"
    )


def _of(some: int, all_: int) -> str:
    """Return how much a warning concerns: its first words."""
    return f"in {some} of {all_} rows,"


def _named(cell: _Cell) -> str:
    threads, lock = cell
    return f"{lock}{at(threads)}"


def _outliers(values: Sequence[float]) -> set[int]:
    """Places of the outliers among values in order of rounds."""
    if len(values) < 3:
        return set()
    middle = sorted(values)[len(values) // 2]
    return {
        place
        for place, score in enumerate(inference.modified_z_scores(values))
        if abs(score) > FAR and abs(values[place] - middle) > SMALL * abs(middle)
    }
