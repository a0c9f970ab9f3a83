"""The answers of a study to the questions of the papers, in sentences."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from lockwright.stats.near import TOLERANCE, is_near

from lockwright_lab.study.machine_metric import MachineMetric

CLOSE = 0.9
"""The least correlation at which one quantity counts as following the other."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question. about: machine and metric."""

    about: str
    question: str
    text: str


def answers(part: MachineMetric) -> Iterator[Answer]:
    """Yield the answers of one machine and metric on the effect of locks, on locks that are always
    best, better than others or harmful, and on the stability of their order."""
    about, shown = part.sample.title, part.rule.intervals
    yield Answer(about, "How much do locks matter?", _how_much(part.effect))
    if not part.effect.sensitive.any():
        return
    yield Answer(about, "Is one lock always best?", _always_best(part.best, shown))
    if part.effect.sensitive.sum() > 1:
        better = part.matrices["max"].drop(columns="average")
        yield Answer(about, "Is there a hierarchy of locks?", _hierarchy(better, shown))
    harmful = _harm_sentence(part.harmful, shown) + _unfinished(part.unfinished)
    yield Answer(about, "Is every lock harmful?", harmful)
    if part.changes is not None and part.changes.iloc[:, -2].notna().any():
        text = _stability(part.changes, part.sample.counted)
        yield Answer(about, "Is the order of the locks stable?", text)


def energy_answers(machine: str, correlation: pd.Series) -> Iterator[Answer]:
    """Yield the answer on energy efficiency and throughput, by the correlations of applications."""
    known = correlation.dropna()
    if known.empty:
        return
    low, close = known.idxmin(), int((known >= CLOSE).sum())
    begin = "Yes" if close == len(known) else "Mostly" if 2 * close > len(known) else "No"
    text = (
        f"{begin}: for {close} of {len(known)} applications their correlation is {CLOSE:g} or more;"
        f" it is {known[low]:.2f} ({low}) to {known.max():.2f}, and {known.median():.2f} for the"
        " one in the middle."
    )
    yield Answer(machine, "Does energy efficiency follow throughput?", text)


def latency_answers(machine: str, growth: pd.DataFrame, at_max: pd.DataFrame) -> Iterator[Answer]:
    """Yield the answer on tail latency and throughput. growth, at_max: tables of the module
    latency; at_max may be empty."""
    sentences = []
    if not at_max.empty:
        both = [_best_in_both(part) for _, part in at_max.groupby(level=0)]
        begin = "Yes" if all(both) else "Mostly" if 2 * sum(both) > len(both) else "No"
        sentences.append(
            f"{begin}: for {sum(both)} of {len(both)} applications the lock with the most"
            " throughput at the largest count is within 5 % of the least latency."
        )
    line = growth.loc["one to max"]
    if line.notna().all():
        sentences.append(
            f"From the smallest to the largest count, execution times grow {line.time:.1f} times"
            f" and tail latencies {line.latency:.1f} times, on average over applications and locks."
        )
    if sentences:
        yield Answer(machine, "Does tail latency follow throughput?", " ".join(sentences))


def _best_in_both(part: pd.DataFrame) -> bool:
    """Return whether the lock with the least time also has nearly the least latency."""
    fastest = part.latency.to_numpy()[part.time.to_numpy().argmin()]
    return is_near(fastest, part.latency.min())


def _how_much(effect: pd.DataFrame) -> str:
    sensitive = effect[effect.sensitive]
    undecided = int(effect.undecided.sum())
    undecided_text = f", and of {undecided} more the runs cannot tell" if undecided else ""
    text = f"{len(sensitive)} of {len(effect)} applications are lock-sensitive{undecided_text}."
    if sensitive.empty:
        return text
    gains = sensitive.gain_max
    return (
        f"{text} There, at the largest count, the best lock is {_percent(gains.min())}"
        f" ({gains.idxmin()}) to {_percent(gains.max())} ({gains.idxmax()}) better than the worst."
    )


def _always_best(best: pd.DataFrame, shown: bool) -> str:
    at_max, at_opt = best["max"], best["opt"]
    lock = at_max.idxmax()
    if at_max[lock] == 1:
        always = at_max.index[at_max == 1]
        if shown:
            begin = _reserved("Yes", shown) if len(always) == 1 else "The runs do not tell"
            return (
                f"{begin}: at the largest count, {len(always)} of {len(at_max)} locks are within"
                f" {_percent(TOLERANCE)} of the best one for every lock-sensitive application, and"
                f" not shown to be worse: {', '.join(always)}."
            )
        return (
            "Yes: at the largest count, for every lock-sensitive application these are among the"
            f" best: {', '.join(always)}."
        )
    often, other = _percent(at_max[lock]), at_opt.idxmax()
    return (
        f"No: at the largest count, {lock} is among the best most often, for {often} of the"
        f" lock-sensitive applications, and with each lock at its best count {other} is, for"
        f" {_percent(at_opt[other])}."
    )


def _hierarchy(better: pd.DataFrame, shown: bool) -> str:
    """Return whether some locks always beat others, by the share of applications where the lock of
    the row beats that of the column."""
    shares = better.to_numpy()
    pairs = np.triu_indices(len(shares), 1)
    first, second = shares[pairs], shares.T[pairs]
    both = int(((first > 0) & (second > 0)).sum())
    either = int(((first > 0) ^ (second > 0)).sum())
    if not both:
        return (
            f"{_reserved('Yes', shown)}: at the largest count, no lock is better than another for"
            " one application and worse for another."
        )
    begin = "No" if both > either else "In part"
    return (
        f"{begin}: at the largest count, of {both + either} pairs of locks that differ at all,"
        f" {both} ({_percent(both / (both + either))}) do so in one direction for one application"
        " and in the other for another."
    )


def _harm_sentence(harmful: pd.DataFrame, shown: bool) -> str:
    at_max = harmful["max"]
    lock = at_max.idxmin()
    if at_max[lock] > 0:
        return (
            f"Yes: even {lock} is more than 15 % behind the best lock for {_percent(at_max[lock])}"
            f" of the lock-sensitive applications at the largest count, and {at_max.idxmax()} for"
            f" {_percent(at_max.max())}."
        )
    harmless = ", ".join(at_max.index[at_max == 0])
    return (
        f"{_reserved('No', shown)}: at the largest count these harm no lock-sensitive application:"
        f" {harmless}."
    )


def _unfinished(unfinished: pd.DataFrame) -> str:
    if unfinished.empty:
        return ""
    by_lock = unfinished.groupby("lock").application.agg(
        lambda names: ", ".join(dict.fromkeys(names))
    )
    listed = "; ".join(f"{lock} ({names})" for lock, names in by_lock.items())
    return f" Runs of these came to no figure: {listed}."


def _reserved(answer: str, shown: bool) -> str:
    """Return an answer, with a reservation where the rule uses intervals."""
    return f"{answer}, as far as the runs show" if shown else answer


def _stability(changes: pd.DataFrame, counted: str) -> str:
    counts = changes.columns[-2]
    return (
        f"Between {counts.replace('/', ', ')} {counted}, {_percent(changes[counts].mean())} of the"
        f" pairs of locks change their relation, on average over the applications, and"
        f" {_percent(changes.reversed.mean())} are reversed."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
