"""The figures on two metrics of a machine, and on interposed locks against those in the source."""

from collections.abc import Iterator

import pandas as pd

from lockwright_lab.study import energy, latency
from lockwright_lab.study.cells import POINTS
from lockwright_lab.study.dataset import COUNT, DataSet
from lockwright_lab.study.report import plots
from lockwright_lab.study.report.links import LOCK, PROGRAM
from lockwright_lab.study.report.metric_figures import WORDS
from lockwright_lab.study.report.plots import Cloud, Figure
from lockwright_lab.study.schema import HIGHER, INTERPOSED, MANUAL


def energy_figures(data: DataSet, machine: str) -> Iterator[Figure]:
    """Yield the figures of energy efficiency against throughput (Fig. 4 and 5, Table 16)."""
    paired = data.paired(machine, "throughput", "tpp")
    if paired is None:
        return
    means = paired.groupby(["application", COUNT, "lock"])[["throughput", "tpp"]].mean()
    relative = means / means.groupby(level=0).transform("max")
    correlation = float(relative.throughput.corr(relative.tpp))
    yield Figure(
        f"{machine}.energy",
        "Energy efficiency against throughput",
        "A dot for each application, lock and count: operations per joule and operations per"
        " second, each as a share of the highest of the application. On the line, both follow each"
        " other.",
        f"Over all {len(relative)} dots, Pearson's correlation is {correlation:.2f}.",
        plots.points(
            _clouds(relative, "throughput", "tpp"),
            "throughput, % of the highest",
            "operations per joule, % of the highest",
            diagonal=True,
        ),
    )
    known = energy.correlation(paired).pcc.dropna().sort_values()
    if known.empty:
        return
    yield Figure(
        f"{machine}.correlation",
        "Correlation of energy efficiency and throughput",
        "Pearson's r of operations per joule and operations per second of each application, over"
        " all its locks and counts; 1: one determines the other.",
        f"Least for {known.index[0]}: {known.iloc[0]:.2f}.",
        plots.dots({"r": known}, "Pearson's r", of_rows=PROGRAM),
        f"{machine}.pcc",
    )


def latency_figures(data: DataSet, machine: str, baseline: str) -> Iterator[Figure]:
    """Yield the figures of tail latency against throughput (Fig. 6, 28-30)."""
    paired = data.paired(machine, "latency", "throughput")
    if paired is None:
        return
    several = paired[COUNT].nunique() > 1
    for point in POINTS if several else ("max",):
        table = latency.against_throughput(paired, point, baseline)
        if table.empty:
            continue
        table = table.set_index(["application", "lock"])
        r = float(table.latency.rank().corr(table.time.rank()))
        yield Figure(
            f"{machine}.latency-{point}",
            f"Tail latency against execution time, at {WORDS[point]}",
            f"A dot for each application and lock, as multiples of {baseline}'s: its latency, and"
            " its time per operation (1 / throughput). Lower is better for both; on the line both"
            f" follow each other. Where {baseline} was not run there is no dot.",
            f"Spearman's rank correlation of both is {r:.2f}: 1 would mean that the lock with the"
            " higher throughput always has the lower latency.",
            plots.points(
                _clouds(table, "time", "latency", 1.0),
                f"time per operation / {baseline}'s",
                f"latency / {baseline}'s",
                logarithmic=True,
                diagonal=True,
            ),
            f"{machine}.latency-{point}",
        )


def latency_of_program(
    data: DataSet, machine: str, baseline: str, application: str
) -> Figure | None:
    """Return the figure of one application's latency and time, locks sorted by latency (Fig. 6)."""
    paired = data.paired(machine, "latency", "throughput")
    if paired is None:
        return None
    paired = paired[paired.application == application]
    point = "opt" if paired[COUNT].nunique() > 1 else "max"
    table = latency.against_throughput(paired, point, baseline)
    if table.empty:
        return None
    best = table.iloc[0]
    fast = table.loc[table.time.idxmin()]
    return Figure(
        f"{machine}.latency.{application}",
        f"{machine}: tail latency and execution time, at {WORDS[point]}",
        f"Multiples of {baseline}'s on a logarithmic scale; left is better for both. Time is"
        " 1 / throughput.",
        f"{best['lock']} has the least latency ({best.latency:.2g} times {baseline}'s),"
        f" {fast['lock']} the least time ({fast.time:.2g} times).",
        plots.dots(
            dict(table.set_index("lock")[["latency", "time"]].items()),
            f"multiples of {baseline}'s",
            logarithmic=True,
            line=1.0,
            of_rows=LOCK,
        ),
    )


def validation_figures(data: DataSet, frame: pd.DataFrame) -> Iterator[Figure]:
    """Yield the figures of interposed locks against those in the source (TOCS 2019, Fig. 2)."""
    metric = next((m for m in data.metrics if m in frame and frame[m].notna().all()), None)
    if metric is None:
        return
    machine = str(frame.machine.iloc[0])
    value = frame[metric] if data.direction(metric) == HIGHER else 1 / frame[metric]
    means = frame.assign(value=value).groupby(["application", "lock", "variant"]).value.mean()
    both = means.unstack("variant").dropna()
    if both.empty:
        return
    relative = both.div(both.max(axis=1).groupby(level=0).transform("max"), axis=0)
    gap = (both[INTERPOSED] / both[MANUAL] - 1).abs().median()
    yield Figure(
        f"{machine}.validation",
        "Interposed locks against those written into the program",
        f"A dot for each application and lock: mean {metric} with the lock interposed by a library,"
        " and with the lock in its source, each as a share of the highest of the"
        " application. On the line both are equal.",
        f"Half of the {len(both)} pairs differ by {100 * gap:.1f} % or less.",
        plots.points(
            _clouds(relative, MANUAL, INTERPOSED),
            "in the source, % of the highest",
            "interposed, % of the highest",
            diagonal=True,
        ),
        f"{machine}.validation",
    )
    spread = (both[INTERPOSED] / both[MANUAL]).groupby(level=0).agg(["median", "min", "max"])
    spread = spread.sort_values("median")
    yield Figure(
        f"{machine}.validation-cost",
        "Cost of interposition",
        "Interposed / in the source: median over the locks of each application, and the range over"
        " them; below 1 the interposed lock is slower.",
        f"The medians lie between {spread['median'].min():.2f} and {spread['median'].max():.2f}.",
        plots.dots(
            {"median over the locks": spread["median"]},
            "interposed / in the source",
            line=1.0,
            ends={"median over the locks": (spread["min"], spread["max"])},
        ),
        f"{machine}.validation",
    )


def _clouds(frame: pd.DataFrame, x: str, y: str, times: float = 100.0) -> list[Cloud]:
    """Return a cloud for each application; its points are named by the other index levels."""
    clouds = []
    for application, part in frame.groupby(level=0):
        keys = [key[1:] for key in part.index]
        names = [f"{key[-1]} at {key[0]}" if len(key) > 1 else str(key[0]) for key in keys]
        xs, ys = ([float(f"{times * v:.4g}") for v in part[c]] for c in (x, y))
        clouds.append((str(application), xs, ys, names))
    return clouds
