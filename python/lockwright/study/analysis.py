"""All tables of a data set, in the order in which they are read."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from lockwright.errors import LockwrightError
from lockwright.locks import BASELINE
from lockwright.study import (
    best_count,
    cells,
    changes,
    coverage,
    effect,
    energy,
    latency,
    pairwise,
    ratio,
    validation,
    variability,
)
from lockwright.study.cells import PLACES, Cells
from lockwright.study.dataset import DataSet, Sample
from lockwright.study.rules import Margin, Rule, Shown
from lockwright.study.schema import HIGHER, METRICS
from lockwright.study.table import CHANCE, CORRELATION, NUMBER, RATIO, TEXT, Table

USUAL_METRICS = ("throughput", "tpp")
"""Of the known metrics, those with tables of their own if no metric is chosen."""


@dataclass(frozen=True)
class Choices:
    """metrics: which; empty for the usual ones. rule: None for the one that fits the data. counts:
    columns of the tables of changes; empty for those that most applications have."""

    metrics: tuple[str, ...] = ()
    rule: Rule | None = None
    counts: tuple[int, ...] = ()
    baseline: str = BASELINE


@dataclass(frozen=True)
class Analysis:
    """What a study comes to. notes: what a reader has to know about the data. rules: what `better`
    means in the tables of each machine and metric."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    rules: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Part:
    """One machine in one metric. sensitive: the cells of its lock-sensitive applications only."""

    sample: Sample
    rule: Rule
    whole: Cells
    effect: pd.DataFrame

    @property
    def sensitive(self) -> Cells:
        return self.whole.only(effect.sensitive(self.effect))

    @property
    def name(self) -> str:
        return f"{self.sample.machine}.{self.sample.metric}"


def analyse(data: DataSet, choices: Choices | None = None) -> Analysis:
    """Every definition of spec 4 that the data allow. Raises LockwrightError for a bad choice."""
    choices = choices or Choices()
    notes = list(data.notes)
    parts = list(_parts(data, choices, notes))
    _check(data, parts, choices)
    found = [table for part in parts for table in _of_part(part, choices)]
    for machine in data.machines:
        found += _of_energy(data, machine, [p for p in parts if p.sample.machine == machine])
        found += _of_latency(data, machine, choices.baseline, notes)
    found += _across(parts)
    for number, frame in enumerate(data.validations()):
        found += _of_validation(data, frame, number, choices.rule or Margin())
    if not found:
        raise LockwrightError("the data hold nothing to compare", "give runs of several locks")
    rules = tuple((part.sample.title, part.rule.meaning) for part in parts)
    return Analysis(tuple(found), tuple(dict.fromkeys(notes)), rules)


def _check(data: DataSet, parts: Sequence[_Part], choices: Choices) -> None:
    """Raises LockwrightError for counts or a baseline that were nowhere run."""
    counts = {count for part in parts for count in part.whole.mean.index.get_level_values(1)}
    for count in choices.counts:
        if count not in counts:
            known = ", ".join(map(str, sorted(counts)))
            raise LockwrightError(f"there are no runs at {count}", f"choose from {known}")
    locks = {lock for source in data.sources for lock in source.frame.lock}
    if choices.baseline != BASELINE and choices.baseline not in locks:
        raise LockwrightError(
            f"no run is with the lock '{choices.baseline}'",
            f"choose from {', '.join(sorted(locks))}",
        )


def _parts(data: DataSet, choices: Choices, notes: list[str]) -> Iterator[_Part]:
    usual = [m for m in data.metrics if m in USUAL_METRICS or m not in METRICS]
    # Where nothing but a time or a latency is there, that is what the study is about.
    wanted = choices.metrics or usual or data.metrics
    for metric in wanted:
        if metric not in data.metrics:
            raise LockwrightError(
                f"the data have no metric '{metric}'", f"choose from {', '.join(data.metrics)}"
            )
    for machine in data.machines:
        for metric in wanted:
            sample = data.sample(machine, metric)
            if sample is None:
                continue
            whole = cells.of(sample)
            if len(whole.locks) < 2:
                notes.append(f"{sample.title}: a single lock, nothing to compare")
                continue
            rule = _rule(sample, whole, choices.rule, notes)
            part = _Part(sample, rule, whole, effect.effect(whole, rule))
            if not part.effect.sensitive.any():
                notes.append(f"{sample.title}: no application is lock-sensitive")
            yield part


def _rule(sample: Sample, whole: Cells, chosen: Rule | None, notes: list[str]) -> Rule:
    """The chosen rule, or what the repetitions of the data allow."""
    ran = whole.mean.notna()
    repeated = (whole.degrees.notna() & ran).sum().sum() / ran.sum().sum()
    if isinstance(chosen, Margin):
        return chosen
    if repeated < 0.5:
        what = f"{sample.title}: {1 - repeated:.0%} of the configurations have a single figure"
        if chosen is not None:
            raise LockwrightError(
                f"{what}, which shows no spread", "use --tolerance 5%, or give every run"
            )
        notes.append(f"{what}, so the 5 % rule is used")
        return Margin()
    if repeated < 1:
        notes.append(
            f"{sample.title}: {1 - repeated:.0%} of the configurations have a single run, of which"
            " nothing can be shown"
        )
    return chosen or Shown()


def _of_part(part: _Part, choices: Choices) -> Iterator[Table]:
    name, title, rule = part.name, part.sample.title, part.rule
    yield Table(
        f"{name}.effect",
        f"{title}: what the lock changes",
        part.effect.assign(sensitive=_marks(part.effect)).drop(columns="undecided"),
        "gain: best lock / worst lock - 1; rdev: standard deviation / mean over the locks; both in"
        " %, at the smallest and the largest count and at each lock's best. Lock-sensitive: rdev at"
        " the largest count above 10 %",
        "application",
        formats={"sensitive": TEXT},
        wide=rule.intervals,
    )
    yield _variability(part)
    chosen = part.sensitive
    if not chosen.applications:
        return
    best, harm = coverage.best_share(chosen, rule), coverage.harmful_share(chosen, rule)
    matrices = {place: pairwise.pairwise(chosen, rule, place) for place in PLACES}
    of = f"of the {len(chosen.applications)} lock-sensitive applications"
    ranking = pd.DataFrame(
        {f"best_{place}": best[place] for place in PLACES}
        | {f"harmful_{place}": harm[place] for place in harm}
        | {f"beats_{place}": matrices[place].average for place in PLACES}
    )
    yield Table(
        f"{name}.locks",
        f"{title}: the locks, {of}",
        ranking.sort_values("beats_max", ascending=False),
        "best: among the best; harmful: the best lock is more than 15 % better; beats: of the other"
        " locks, on average; each in % of the applications that the lock was run on",
        "lock",
    )
    yield Table(f"{name}.best", f"{title}: among the best", best, f"in % {of}", "lock")
    yield Table(
        f"{name}.coverage",
        f"{title}: coverage",
        coverage.spread(best).T,
        "smallest, largest, mean and standard deviation over the locks of the share of applications"
        " where a lock is among the best, in %",
        "at",
    )
    yield Table(f"{name}.harmful", f"{title}: harmful locks", harm, f"in % {of}", "lock")
    for place, matrix in matrices.items():
        yield Table(
            f"{name}.pairwise-{place}",
            f"{title}: line better than column, at {place}",
            matrix,
            f"in % {of}",
            "row_beats_col",
            wide=True,
        )
    yield from _of_counts(part, chosen, choices)
    for place in ("max", "opt"):
        yield Table(
            f"{name}.loss-{place}",
            f"{title}: what a lock loses against the best, at {place}",
            best_count.loss(chosen, place),
            "best / lock - 1 in %",
            "application",
            wide=True,
        )


def _of_counts(part: _Part, chosen: Cells, choices: Choices) -> Iterator[Table]:
    name, title, counted = part.name, part.sample.title, part.sample.counted
    ran = set(chosen.mean.index.get_level_values(1))
    if len(ran) < 2:
        return
    counts = [count for count in choices.counts if count in ran] or changes.usual_counts(chosen)
    yield Table(
        f"{name}.best-count",
        f"{title}: {counted} at which locks are at their best",
        best_count.breakdown(chosen),
        "in % of all pairs of a lock-sensitive application and a lock",
        counted,
    )
    gains, where = best_count.opt_gain(chosen), chosen.counts("opt")
    joined = gains.copy().astype(object)
    for lock in gains.columns:
        joined[lock] = [
            None if math.isnan(gain) else f"{100 * gain:.0f}@{count:.0f}"
            for gain, count in zip(gains[lock], where[lock], strict=True)
        ]
    yield Table(
        f"{name}.opt-gain",
        f"{title}: what a lock gains at its best count",
        joined,
        f"best count / largest count - 1 in %, and after @ the best number of {counted}",
        "application",
        usual=TEXT,
        wide=True,
    )
    yield Table(
        f"{name}.changes",
        f"{title}: pairs of locks whose order changes with the {counted}",
        changes.changes(chosen, part.rule, counts),
        "in % of the pairs: better, equal or worse at the one and not the same at the other;"
        " reversed: now the one is better and now the other",
        "application",
    )
    yield Table(
        f"{name}.best-lock-ratio",
        f"{title}: best_lock ratio",
        ratio.best_lock_ratio(part.whole, mixed=ratio.EXPECTED),
        "average of the lock over all counts / average of the best lock at each",
        "application",
        usual=RATIO,
        wide=True,
    )


def _variability(part: _Part) -> Table:
    return Table(
        f"{part.name}.variability",
        f"{part.sample.title}: variability",
        variability.variability(part.sample),
        "configurations whose relative standard deviation is above the limit, in %",
        "lock",
    )


def _marks(table: pd.DataFrame) -> list[str]:
    return [
        "yes" if sure else "undecided" if open_ else "no"
        for sure, open_ in zip(table.sensitive, table.undecided, strict=True)
    ]


def _of_energy(data: DataSet, machine: str, parts: Sequence[_Part]) -> Iterator[Table]:
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


def _of_latency(data: DataSet, machine: str, baseline: str, notes: list[str]) -> Iterator[Table]:
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
                wide=True,
            )


def _across(parts: Sequence[_Part]) -> Iterator[Table]:
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


def _of_validation(data: DataSet, frame: pd.DataFrame, number: int, rule: Rule) -> Iterator[Table]:
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
        wide=True,
    )
