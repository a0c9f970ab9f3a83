"""The tables of one machine in one metric."""

import math
from collections.abc import Iterator

import pandas as pd

from lockwright_lab.study import best_lock_ratio, descriptive, noise_limits, ratios
from lockwright_lab.study.cells import POINTS, Cells
from lockwright_lab.study.dataset import COUNT
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.result_table import MISSING, NUMBER, RATIO, TEXT, Table


def tables_of_part(part: MachineMetric) -> Iterator[Table]:
    """Yield all tables of one machine and metric."""
    name, title = part.name, part.sample.title
    yield _applications(part)
    yield Table(
        f"{name}.effect",
        f"{title}: effect of the lock",
        part.effect.assign(sensitive=marks(part.effect)).drop(columns="undecided"),
        "gain: best lock / worst lock - 1; rdev: standard deviation / mean over the locks; both in"
        " %, at the smallest and the largest count and at each lock's best. Lock-sensitive: rdev at"
        " the largest count above 10 %",
        "application",
        formats={"sensitive": TEXT},
        aside=True,
    )
    yield _variability(part)
    if not part.unfinished.empty:
        lost = part.unfinished.set_index("application")
        yield Table(
            f"{name}.unfinished",
            f"{title}: runs that came to no figure",
            lost.rename(columns={COUNT: part.sample.counted or COUNT}),
            "unfinished: of so many runs of that lock",
            "application",
            usual=NUMBER,
            formats={"lock": TEXT, "outcome": TEXT},
        )
    sensitive = part.sensitive
    if not sensitive.applications:
        return
    best, harm = part.best, part.harmful
    matrices = part.matrices
    subset = f"of the {len(sensitive.applications)} lock-sensitive applications"
    ranking = pd.DataFrame(
        {f"best_{point}": best[point] for point in POINTS}
        | {f"harmful_{point}": harm[point] for point in harm}
        | {f"beats_{point}": matrices[point].average for point in POINTS}
    )
    yield Table(
        f"{name}.locks",
        f"{title}: the locks, {subset}",
        ranking.sort_values("beats_max", ascending=False),
        "best: among the best; harmful: the best lock is more than 15 % better; beats: of the other"
        " locks, on average; each in % of the applications that the lock was run on",
        "lock",
    )
    yield Table(
        f"{name}.best", f"{title}: among the best", best, f"in % {subset}", "lock", aside=True
    )
    yield Table(
        f"{name}.coverage",
        f"{title}: coverage",
        descriptive.spread(best).T,
        "smallest, largest, mean and standard deviation over the locks of the share of applications"
        " where a lock is among the best, in %",
        "at",
    )
    yield Table(
        f"{name}.harmful", f"{title}: harmful locks", harm, f"in % {subset}", "lock", aside=True
    )
    for point, matrix in matrices.items():
        yield Table(
            f"{name}.pairwise-{point}",
            f"{title}: line better than column, at {point}",
            matrix,
            f"in % {subset}",
            "row_beats_col",
            aside=True,
        )
    yield from _count_tables(part, sensitive)
    for point in ("max", "opt"):
        yield Table(
            f"{name}.loss-{point}",
            f"{title}: loss of a lock against the best, at {point}",
            descriptive.loss_to_best(sensitive, point),
            "best / lock - 1 in %",
            "application",
            aside=True,
        )


def ratio_tables(part: MachineMetric, baseline: str) -> Iterator[Table]:
    """Yield the table of the ratios to the baseline, if it was run."""
    found = ratios.ratios(part.cells, baseline)
    if found.empty:
        return
    yield Table(
        f"{part.name}.ratios",
        f"{part.sample.title}: ratios to {baseline}",
        found.rename(columns={COUNT: part.sample.counted or COUNT}),
        f"mean of a lock / mean of {baseline}, geometric, above 1 if better; 95 % interval of each"
        " lock alone",
        "application",
        usual=RATIO,
        formats={part.sample.counted or COUNT: NUMBER, "lock": TEXT},
        aside=True,
    )


def _applications(part: MachineMetric) -> Table:
    """Return the main figures of each application, the most lock-sensitive first."""
    effect = part.effect
    frame = effect[["gain_one", "gain_max", "gain_opt", "rdev_max"]].copy()
    noise = ""
    formats = {"sensitive": TEXT, "best_at_max": TEXT}
    if part.rule.intervals:
        ends = effect[[f"rdev_max_{end}" for end in noise_limits.ENDS]].itertuples(index=False)
        frame["rdev_less_noise"] = [
            MISSING
            if math.isnan(low)
            else f"{100 * quiet:.0f} ({100 * low:.0f} to {100 * high:.0f})"
            for quiet, low, high in ends
        ]
        formats["rdev_less_noise"] = TEXT
        noise = (
            "; less noise: rdev without the noise of the runs, and its 95 % interval, which decides"
            " sensitive"
        )
    frame["sensitive"] = marks(effect)
    means = part.cells.at("max").mean
    frame["best_at_max"] = descriptive.best_locks(part.among_best("max"), means)
    return Table(
        f"{part.name}.applications",
        f"{part.sample.title}: the applications",
        frame.sort_values("rdev_max", ascending=False),
        "gain: best lock / worst lock - 1, rdev: standard deviation / mean over the locks, in %;"
        " sensitive: rdev at max above 10 %; best: those among the best, with their number if more"
        + noise,
        "application",
        formats=formats,
    )


def _count_tables(part: MachineMetric, sensitive: Cells) -> Iterator[Table]:
    name, title, counted = part.name, part.sample.title, part.sample.counted
    if part.changes is None:
        return
    yield Table(
        f"{name}.best-count",
        f"{title}: {counted} at which locks are at their best",
        descriptive.best_counts(sensitive),
        "in % of all pairs of a lock-sensitive application and a lock",
        counted,
    )
    gains, where = descriptive.opt_gain(sensitive), sensitive.counts("opt")
    joined = gains.copy().astype(object)
    for lock in gains.columns:
        joined[lock] = [
            None if math.isnan(gain) else f"{100 * gain:.0f}@{count:.0f}"
            for gain, count in zip(gains[lock], where[lock], strict=True)
        ]
    yield Table(
        f"{name}.opt-gain",
        f"{title}: gain of a lock at its best count",
        joined,
        f"best count / largest count - 1 in %, and after @ the best number of {counted}",
        "application",
        usual=TEXT,
        aside=True,
    )
    yield Table(
        f"{name}.changes",
        f"{title}: pairs of locks whose order changes with the {counted}",
        part.changes,
        "in % of the pairs: better, equal or worse at one count and not the same at the other;"
        " reversed: each lock of the pair is better at some count",
        "application",
    )
    yield Table(
        f"{name}.best-lock-ratio",
        f"{title}: best_lock ratio",
        best_lock_ratio.best_lock_ratio(part.cells, part.counts or None, best_lock_ratio.EXPECTED),
        "average of the lock over the counts / average of the best lock at each",
        "application",
        usual=RATIO,
        aside=True,
    )


def _variability(part: MachineMetric) -> Table:
    return Table(
        f"{part.name}.variability",
        f"{part.sample.title}: variability",
        descriptive.variability(part.sample),
        "configurations whose relative standard deviation is above the limit, in %",
        "lock",
        aside=True,
    )


def marks(table: pd.DataFrame) -> list[str]:
    """Return for each application whether it is lock-sensitive."""
    return [
        "yes" if sure else "undecided" if open_ else "no"
        for sure, open_ in zip(table.sensitive, table.undecided, strict=True)
    ]
