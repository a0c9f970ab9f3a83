"""Tables that compare two metrics, two machines, or two ways to put a lock into a program."""

from collections.abc import Iterator, Sequence

import pandas as pd

from lockwright.study import changes, effect, energy, latency, validation
from lockwright.study.cells import PLACES
from lockwright.study.dataset import DataSet
from lockwright.study.machine_metric import MachineMetric
from lockwright.study.result_table import CHANCE, CORRELATION, NUMBER, RATIO, TEXT, Table
from lockwright.study.rules import Margin, Rule
from lockwright.study.schema import HIGHER


def of_energy(data: DataSet, machine: str, parts: Sequence[MachineMetric]) -> Iterator[Table]:
    """Energy efficiency against throughput on one machine, whose parts these are."""
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
    chosen = effect.sensitive(by_metric["throughput"].effect)
    if not chosen:
        return
    tpp, throughput = (by_metric[metric].whole for metric in ("tpp", "throughput"))
    common = [name for name in chosen if name in tpp.applications]
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


def of_latency(data: DataSet, machine: str, baseline: str, notes: list[str]) -> Iterator[Table]:
    """Tail latency against throughput on one machine."""
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
    for place in PLACES:
        table = latency.against_throughput(paired, place, baseline)
        if not table.empty:
            yield Table(
                f"{machine}.latency-{place}",
                f"{machine}: tail latency against execution time, at {place}",
                table.set_index("application"),
                f"multiples of {baseline}'s; lower is better; least latency first",
                "application",
                usual=RATIO,
                formats={"count": NUMBER, "lock": TEXT},
                aside=True,
            )


def across(parts: Sequence[MachineMetric]) -> Iterator[Table]:
    """Between any two machines in one metric, and two metrics of one machine."""
    lines = {}
    for place, first in enumerate(parts):
        for second in parts[place + 1 :]:
            alike = (
                first.sample.machine == second.sample.machine,
                first.sample.metric == second.sample.metric,
            )
            # The rules of two halves may differ; then the one that asks for less is used.
            rule = first.rule if first.rule == second.rule else Margin()
            if any(alike):
                lines[f"{first.sample.title} / {second.sample.title}"] = {
                    place: changes.between(first.sensitive, second.sensitive, rule, place)
                    for place in ("max", "opt")
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


def of_validation(data: DataSet, frame: pd.DataFrame, number: int, rule: Rule) -> Iterator[Table]:
    """Locks in the program's source against interposed ones; number: of the frame in the data."""
    machine = str(frame.machine.iloc[0])
    metric = next((m for m in data.metrics if m in frame and frame[m].notna().all()), None)
    if metric is None:
        return
    higher = data.direction(metric) == HIGHER
    whole = {"locks", "manual_better", "interposed_better"}
    ways = {"slope": RATIO, "slope_low": RATIO, "slope_high": RATIO, "equivalent": CHANCE}
    yield Table(
        f"{machine}.validation" + (f"-{number + 1}" if number else ""),
        f"{machine}: locks written into the program against interposed ones, {metric}",
        validation.validation(frame, metric, higher, rule),
        "so many locks are better by hand or interposed, by so much on average (%); kept_: pairs of"
        " locks that keep their relation (%); cost: interposed - manual, in % of the best;"
        " slope: 1 where all locks pay alike; equivalent: p of a mean difference of 5 % or more",
        "application",
        formats=dict.fromkeys(whole, NUMBER) | ways,
        aside=True,
    )
