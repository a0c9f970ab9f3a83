"""A predicted study against the published runs of the same machine."""

import math
import random
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from lockwright.predict.skeletons import similar
from lockwright.predict.skeletons.files import Skeletons
from lockwright.predict.skeletons.fitting import generic_name
from lockwright.predict.skeletons.generic import family
from lockwright.predict.skeletons.published import means

from lockwright_lab.bench.validation import rank_agreement as ranks
from lockwright_lab.study.dataset import Sample

GOAL = 0.7

OTHER_NAMES = {"memcached": ("memcached-new",), "memcached-new": ("memcached",)}
"""Applications that are called otherwise in the data of another machine."""

SETS = 20
"""Other sets of known locks."""

_USUAL = 0.9
"""Least share of the applications that were run under each lock of another set."""

_PROFILE = "from a profile"


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


def other_sets(published: Sample, seed: int = 1) -> list[float]:
    """Return the median tau-b of the estimates of similar.py for each of SETS other sets of four
    known locks, in the locks that are not in the set."""
    tables = means(published)
    counts = Counter(lock for table in tables.values() for lock in table.dropna(axis=1).columns)
    usual = sorted(str(lock) for lock, number in counts.items() if number >= _USUAL * len(tables))
    draw = random.Random(seed)
    found = []
    for _ in range(SETS):
        four = draw.sample(usual, 4)
        taus = []
        for name, part in ranks.at_most_nodes(published.frame).items():
            throughputs, table = ranks.means(part), tables[name]
            has_all = set(four) <= set(table.dropna(axis=1).columns)
            if has_all and ranks.is_sensitive(throughputs):
                estimates = similar.estimate(name, tables, four)
                locks = [lock for lock in throughputs if lock not in four]
                taus.append(ranks.tau_b(estimates, throughputs, locks))
        if (middle := median(taus)) is not None:
            found.append(middle)
    return found


def families(skeletons: Skeletons) -> dict[str, str]:
    """Return the family of the generic program of each application's first skeleton, _PROFILE for
    the model of a profile."""
    return {
        name: _PROFILE if "profile" in models[0].source else family(generic_name(models[0]))
        for name, models in skeletons.items()
    }


def locks_of_fit(skeletons: Skeletons) -> dict[str, tuple[str, ...]]:
    """Return the locks to which the skeletons of each application were fitted."""
    return {
        name: tuple(dict.fromkeys(lock for model in models for lock in model.fitted_locks))
        for name, models in skeletons.items()
    }
