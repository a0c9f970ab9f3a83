"""Tables that compare two metrics, two machines, or interposed locks with those in the source."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import pandas as pd

from lockwright_lab.study import changes, effect, energy, latency, validation
from lockwright_lab.study.cells import POINTS
from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.result_table import CHANCE, CORRELATION, NUMBER, RATIO, TEXT, Table
from lockwright_lab.study.rules import Margin, Rule
from lockwright_lab.study.schema import HIGHER


def energy_tables(data: DataSet, machine: str, parts: Sequence[MachineMetric]) -> Iterator[Table]:
    """Yield tables of energy efficiency against throughput on one machine, from its parts."""
    paired = data.paired(machine, "throughput", "tpp")
    if paired is None:
        return
    yield Table(
        f"{machine}.pcc",
        f"{machine}: does energy efficiency follow throughput",
        energy.correlation(paired),
        "Pearson's correlation of throughput and operations per joule, over all locks and counts",
        "application",
        usual=CORRELATION,
        aside=True,
    )
    by_metric = {part.sample.metric: part for part in parts}
    if not {"throughput", "tpp"} <= by_metric.keys():
        return
    sensitive = effect.sensitive(by_metric["throughput"].effect)
    if not sensitive:
        return
    tpp, throughput = (by_metric[metric].cells for metric in ("tpp", "throughput"))
    common = [name for name in sensitive if name in tpp.applications]
    frames = {
        "gain": energy.gain_difference(tpp.only(common), throughput.only(common)).share,
        "best_count": energy.shift(tpp.only(common), throughput.only(common)).share,
    }
    yield Table(
        f"{machine}.energy-shift",
        f"{machine}: best count for energy efficiency against that for throughput",
        pd.DataFrame(frames),
        "in % of all pairs of a lock-sensitive application and a lock; gain of the best over the"
        " largest count, the same within 5 points; best count, the same within 5 %",
        "for_energy",
    )


def latency_tables(data: DataSet, machine: str, baseline: str, notes: list[str]) -> Iterator[Table]:
    """Yield tables of tail latency against throughput on one machine."""
    paired = data.paired(machine, "latency", "throughput")
    if paired is None:
        return
    if baseline not in set(paired.lock):
        notes.append(f"{machine}: without runs of {baseline}, latencies have no ratios to it")
    yield Table(
        f"{machine}.latency-growth",
        f"{machine}: growth of latency and execution time with the count",
        latency.growth(paired),
        "mean over applications and locks of the figure at the largest count / that at the start",
        "from",
        usual=RATIO,
    )
    for point in POINTS:
        table = latency.against_throughput(paired, point, baseline)
        if not table.empty:
            yield Table(
                f"{machine}.latency-{point}",
                f"{machine}: tail latency against execution time, at {point}",
                table.set_index("application"),
                f"multiples of {baseline}'s; lower is better; least latency first",
                "application",
                usual=RATIO,
                formats={"count": NUMBER, "lock": TEXT},
                aside=True,
            )


def order_changes(parts: Sequence[MachineMetric]) -> Iterator[Table]:
    """Yield the table of changes between two machines in one metric, or two metrics of one."""
    lines = {}
    for first, second in combinations(parts, 2):
        same_machine = first.sample.machine == second.sample.machine
        if same_machine or first.sample.metric == second.sample.metric:
            # If the rules of the two parts differ, the one that needs less data is used.
            rule = first.rule if first.rule == second.rule else Margin()
            lines[f"{first.sample.title} / {second.sample.title}"] = {
                point: changes.between(first.sensitive, second.sensitive, rule, point)
                for point in ("max", "opt")
                if first.sensitive.applications and second.sensitive.applications
            }
    if lines:
        yield Table(
            "machines",
            "Pairs of locks whose order differs between machines or metrics",
            pd.DataFrame(lines).T,
            "in % of the pairs, on average over the applications that are lock-sensitive in both",
            "between",
        )


def validation_table(
    data: DataSet, frame: pd.DataFrame, number: int, rule: Rule
) -> Iterator[Table]:
    """Yield the table of interposed locks against those in the program's source. number: index of
    the frame in the data."""
    machine = str(frame.machine.iloc[0])
    metric = next((m for m in data.metrics if m in frame and frame[m].notna().all()), None)
    if metric is None:
        return
    higher = data.direction(metric) == HIGHER
    integers = {"locks", "manual_better", "interposed_better"}
    formats = {"slope": RATIO, "slope_low": RATIO, "slope_high": RATIO, "equivalent": CHANCE}
    yield Table(
        f"{machine}.validation" + (f"-{number + 1}" if number else ""),
        f"{machine}: locks written into the program against interposed ones, {metric}",
        validation.validation(frame, metric, higher, rule),
        "_better: number of locks that are better manually or interposed, _gain: by how much on"
        " average (%); kept_: pairs of locks whose relation is the same (%); cost: interposed -"
        " manual, in % of the best; slope: 1 if the cost is the same for all locks; equivalent: p"
        " of a mean difference of 5 % or more",
        "application",
        formats=dict.fromkeys(integers, NUMBER) | formats,
        aside=True,
    )
