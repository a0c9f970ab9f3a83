"""A predicted study against the published runs of the same machine."""

import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lockwright.bench.validation import rank_agreement as ranks
from lockwright.predict.skeletons import fitting
from lockwright.predict.skeletons.files import Skeletons
from lockwright.predict.skeletons.generic import family
from lockwright.predict.skeletons.published import means
from lockwright.study.dataset import Sample

GOAL = 0.7

OTHER_NAMES = {"memcached": ("memcached-new",), "memcached-new": ("memcached",)}
"""Applications that are called otherwise in the data of another machine."""

SETS = 20
"""Other sets of locks of a fit."""


@dataclass(frozen=True)
class Agreement:
    """The values of tau-b of an application, None where one is not defined. nodes: the largest
    number of nodes. locks: the number of those that are compared. family: of its first skeleton's
    generic program."""

    application: str
    family: str
    nodes: int
    locks: int
    spread: float
    predicted: float | None
    itself: float | None
    other: float | None
    mean_rank: float | None

    def values(self) -> dict[str, float | None]:
        return {
            "predicted": self.predicted,
            "itself": self.itself,
            "other machine": self.other,
            "mean rank": self.mean_rank,
        }


def named(application: str, known: Mapping[str, object]) -> str | None:
    """Return the name of an application in other data, or None."""
    names = (application, *OTHER_NAMES.get(application, ()))
    return next((name for name in names if name in known), None)


def wanted(published: Sample, skeletons: Skeletons) -> Skeletons:
    """Return the skeletons of the lock-sensitive applications."""
    names = [
        named(name, skeletons)
        for name, runs in ranks.at_most_nodes(published.frame).items()
        if ranks.is_sensitive(ranks.means(runs))
    ]
    return {name: skeletons[name] for name in names if name is not None}


def predicted_throughputs(frame: pd.DataFrame, nodes: int) -> dict[str, dict[str, float]]:
    """Return the predicted throughput of each application and lock at the number of nodes nearest
    to `nodes`: the geometric mean over runs, 0 if none had an operation.

    frame: the lines of a predicted study.
    """
    known = sorted(frame.nodes.unique())
    nearest = min(known, key=lambda each: abs(math.log(each / nodes)))
    part = frame[frame.nodes == nearest]
    found: dict[str, dict[str, float]] = {}
    for (name, lock), runs in part.groupby(["application", "lock"]):
        rates = [float(rate) for rate in runs.throughput if rate > 0]
        value = math.exp(statistics.fmean(map(math.log, rates))) if rates else 0.0
        found.setdefault(str(name), {})[str(lock)] = value
    return found


def compare(
    published: pd.DataFrame,
    predicted: pd.DataFrame,
    skeletons: Skeletons,
    other: pd.DataFrame | None,
) -> list[Agreement]:
    """Return the agreement for each lock-sensitive application with a prediction.

    published, other: runs with the columns application, count, lock and value. predicted: the lines
    of a predicted study of the skeletons; the locks of their fits are left out. Compared with the
    other machine are applications that are lock-sensitive there, too.
    """
    family_of, fitted = families(skeletons), locks_of_fit(skeletons)
    runs = ranks.at_most_nodes(published)
    real = {name: ranks.means(part) for name, part in runs.items()}
    sensitive = {name: each for name, each in real.items() if ranks.is_sensitive(each)}
    elsewhere = {}
    if other is not None:
        elsewhere = {n: ranks.means(part) for n, part in ranks.at_most_nodes(other).items()}
        elsewhere = {n: each for n, each in elsewhere.items() if ranks.is_sensitive(each)}
    found = []
    for name, throughputs in sensitive.items():
        skeleton = named(name, skeletons)
        if skeleton is None:
            continue
        nodes = int(runs[name]["count"].max())
        rates = predicted_throughputs(predicted, nodes)[skeleton]
        locks = [each for each in sorted(throughputs) if each not in fitted[skeleton]]
        locks = [lock for lock in locks if lock in rates]
        twin = named(name, elsewhere)
        found.append(
            Agreement(
                name,
                family_of[skeleton],
                nodes,
                len(locks),
                max(throughputs.values()) / min(throughputs.values()),
                ranks.tau_b(rates, throughputs, locks),
                ranks.with_itself(runs[name], locks),
                None if twin is None else ranks.tau_b(elsewhere[twin], throughputs, locks),
                ranks.tau_b(ranks.mean_ranks(sensitive, name, locks), throughputs, locks),
            )
        )
    return found


def median(values: Sequence[float | None]) -> float | None:
    """Return the median of the values that are defined."""
    defined = [value for value in values if value is not None]
    return statistics.median(defined) if defined else None


def other_sets(
    published: Sample, predicted: pd.DataFrame, skeletons: Skeletons, seed: int = 1
) -> list[float]:
    """Return the median tau-b on the machine of the fit for each of SETS other sets of four locks,
    in the locks that are not in the set. Each application is fitted to them again at its largest
    number of nodes, choosing among the generic programs of the skeletons. predicted: the lines of a
    study of the skeletons on the largest number of nodes."""
    names = {
        (application, number): fitting.generic_name(model)
        for application, models in skeletons.items()
        for number, model in enumerate(models, 1)
    }
    keys = zip(predicted.application, predicted.run, strict=True)
    lines = predicted.assign(application=[names.get(key, "") for key in keys])
    lines = lines[lines.application != ""]
    library = fitting.Library(lines.drop_duplicates(["application", "nodes", "lock"]))
    tables = means(published)
    draw = random.Random(seed)
    found = []
    for _ in range(SETS):
        four = draw.sample(library.locks_of_all, 4)
        taus = []
        for name, part in ranks.at_most_nodes(published.frame).items():
            throughputs, table = ranks.means(part), tables[name]
            is_complete = set(four) <= set(table.columns) and table[four].tail(1).notna().all(
                axis=None
            )
            if is_complete and ranks.is_sensitive(throughputs):
                rates = _rates(fitting.fit(name, table.tail(1), library, four), library)
                locks = [lock for lock in throughputs if lock not in four]
                taus.append(ranks.tau_b(rates, throughputs, locks))
        if (middle := median(taus)) is not None:
            found.append(middle)
    return found


def _rates(fitted: fitting.Fit, library: fitting.Library) -> dict[str, float]:
    """Return the predicted throughputs at the largest number of nodes."""
    locks, nodes = library.locks_of_all, fitted.nodes[0]
    times = library.times(fitted.choice.name, [nodes], locks)
    if times is None:
        return {}
    processors = library.processors[nodes]
    return {
        lock: fitted.choice.operation.rate(1 / float(seconds), processors)
        for lock, seconds in zip(locks, times[0], strict=True)
    }


def families(skeletons: Skeletons) -> dict[str, str]:
    """Return the family of the generic program of each application's first skeleton."""
    return {name: family(fitting.generic_name(models[0])) for name, models in skeletons.items()}


def locks_of_fit(skeletons: Skeletons) -> dict[str, tuple[str, ...]]:
    """Return the locks to which the skeletons of each application were fitted."""
    return {
        name: tuple(dict.fromkeys(lock for model in models for lock in model.fitted_locks))
        for name, models in skeletons.items()
    }
