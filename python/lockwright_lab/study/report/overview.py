"""The first page of a report: the contents of the data, and what they lack."""

from collections.abc import Iterable, Iterator, Sequence

from lockwright.base.numbers import percent
from lockwright.page.rows import Row, number
from lockwright.stats.near import TOLERANCE

from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.report import links
from lockwright_lab.study.report.verdicts import MetricView


def takeaway(view: MetricView) -> str:
    """Return what to remember of a machine and metric, in a sentence."""
    effect, best = view.part.effect, view.part.best
    about, sensitive = view.part.sample.title, int(effect.sensitive.sum())
    if not sensitive:
        return f"{about}: no program is shown to depend on its lock."
    matter = f"{about}: the lock matters for {sensitive} of {len(effect)} programs"
    share = best["max"].max()
    losses = view.verdicts["max"].loss.loc[effect.index[effect.sensitive]].mean()
    first, *others = losses[best["max"] == share].sort_values().index
    if share == 1:
        are = f" and {len(others)} more are" if others else " is"
        return (
            f"{matter}; {first}{are} among the best for all of them: within {percent(TOLERANCE)} of"
            " the best lock, and not shown to be worse."
        )
    return (
        f"{matter}, and no lock is among the best for all: {first} is most often, for"
        f" {percent(share)} of them."
    )


def contents(parts: Iterable[MachineMetric]) -> list[Row]:
    """Return a row for each machine and metric: programs, locks, counts and runs."""
    rows = []
    for part in parts:
        frame = part.sample.frame
        counts = sorted(frame["count"].unique())
        runs = float(frame.groupby(["application", "count", "lock"]).size().median())
        listed = (
            f"{', '.join(map(str, counts))} {part.sample.counted}" if part.sample.counted else "one"
        )
        applications, locks = len(part.cells.applications), len(part.cells.locks)
        row = [
            (part.sample.title, part.sample.title),
            number(float(applications), f"{applications:,}"),
            number(float(locks), f"{locks:,}"),
            (listed, listed),
            number(float(len(frame)), f"{len(frame):,}"),
            number(runs, f"{runs:.0f}"),
        ]
        rows.append(Row(row, link=links.where(links.STUDY, part.name)))
    return rows


def missing(data: DataSet, parts: Sequence[MachineMetric]) -> Iterator[tuple[str, str]]:
    """Yield the missing analyses of a study, and the data that they would need."""
    pairs = {
        "Energy efficiency against throughput": ("throughput", "tpp"),
        "Tail latency against throughput": ("latency", "throughput"),
    }
    for what, (first, second) in pairs.items():
        without = [m for m in data.machines if data.paired(m, first, second) is None]
        if without:
            need = "power or energy" if "tpp" in (first, second) else "latency (a high percentile)"
            yield what, f"not measured on {', '.join(without)}: the runs have no {need}"
    if len(data.machines) == 1:
        yield "Changes between machines", f"all runs are on one machine, {data.machines[0]}"
    if not data.validations():
        yield (
            "Interposed locks against those written into the program",
            "no runs with a type of manual and interposed",
        )
    for part in parts:
        if part.changes is None:
            yield (
                f"{part.sample.title}: changes with the number of threads",
                "all runs are at one count"
                if part.sensitive.applications
                else "no application is shown to be lock-sensitive",
            )
