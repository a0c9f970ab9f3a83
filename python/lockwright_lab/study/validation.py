"""The comparison of interposed locks with those in the program's source (TOCS 2019, 4.4)."""

import math

import numpy as np
import pandas as pd
from lockwright.stats.inference import CONFIDENCE
from lockwright.stats.moderated import Vector
from lockwright.stats.near import TOLERANCE

from lockwright_lab.study import cells
from lockwright_lab.study.dataset import COUNT, Sample
from lockwright_lab.study.rules import Flags, Rule
from lockwright_lab.study.schema import INTERPOSED, MANUAL


def validation(frame: pd.DataFrame, metric: str, higher: bool, rule: Rule) -> pd.DataFrame:
    """Return a row per application, over the locks that ran in both variants (Tables 4-6).

    manual_better, interposed_better: number of locks with the higher mean in that variant; _gain
    and _sd: the mean and sample standard deviation of their ratios less 1. kept_better, kept_equal,
    kept_worse: share of the pairs of locks in that relation in the manual variant that are in it
    in the interposed one, too; the relation is that of the first lock by name to the other.
    cost: mean of (interposed - manual), divided by the largest mean of the application.
    slope: factor by which a lock's difference from another one changes, on logarithms (1 if
    interposition costs all locks the same), with _low and _high of its 95 % interval.
    equivalent: p of the hypothesis that the locks' mean difference is 5 % or more in either
    direction: two one-sided paired t tests on logarithms (Schuirmann, 1987), the larger p. The
    papers' test, of the mean difference against itself, cannot fail and is left out.
    """
    value = frame[metric] if higher else 1 / frame[metric]
    runs = frame[["application", "lock", "variant"]].assign(value=value)
    parts = {}
    for variant in (MANUAL, INTERPOSED):
        of_variant = runs[runs.variant == variant].assign(**{COUNT: 0})
        parts[variant] = cells.condense(Sample("", metric, "", of_variant)).at("one")
    manual, interposed = parts[MANUAL], parts[INTERPOSED]
    lines = {}
    for application in manual.applications:
        if application in interposed.applications:
            locks = [lock for lock in manual.locks if lock in interposed.locks]
            first, second = (part.of_locks(locks).row(application) for part in (manual, interposed))
            lines[application] = _figures_of(first, second, rule)
    return pd.DataFrame(lines).T


def _figures_of(manual: cells.Row, interposed: cells.Row, rule: Rule) -> dict[str, float]:
    ran = ~np.isnan(manual.mean) & ~np.isnan(interposed.mean)
    ratio = (manual.mean / interposed.mean)[ran]
    line = {"locks": float(ran.sum())}
    for name, ratios in ((MANUAL, ratio), (INTERPOSED, 1 / ratio)):
        above = ratios[ratios > 1] - 1
        line[f"{name}_better"] = float(len(above))
        line[f"{name}_gain"] = float(above.mean()) if len(above) else math.nan
        line[f"{name}_sd"] = float(above.std(ddof=1)) if len(above) > 1 else math.nan
    line |= _equal_relations(manual, interposed, ran, rule)
    difference = (interposed.mean - manual.mean)[ran]
    line["cost"] = float(
        difference.mean() / max(manual.mean[ran].max(), interposed.mean[ran].max())
    )
    logs = np.log(manual.mean[ran]), np.log(interposed.mean[ran])
    return line | _slope(*logs) | {"equivalent": _equivalence(logs[1] - logs[0])}


def _equal_relations(
    manual: cells.Row, interposed: cells.Row, ran: Flags, rule: Rule
) -> dict[str, float]:
    first, second = rule.better(manual), rule.better(interposed)
    pairs = np.triu(ran[:, None] & ran[None, :], 1)
    kinds = {
        "better": (first, second),
        "equal": (~first & ~first.T, ~second & ~second.T),
        "worse": (first.T, second.T),
    }
    shares = {}
    for name, (before, after) in kinds.items():
        chosen = before & pairs
        shares[f"kept_{name}"] = float(after[chosen].mean()) if chosen.any() else math.nan
    return shares


def _slope(manual: Vector, interposed: Vector) -> dict[str, float]:
    """Return the least-squares slope of the interposed logarithms on the manual ones."""
    from scipy.stats import linregress, t

    if len(manual) < 3 or np.ptp(manual) == 0:
        return dict.fromkeys(("slope", "slope_low", "slope_high"), math.nan)
    fit = linregress(manual, interposed)
    half = fit.stderr * t.ppf(0.5 + CONFIDENCE / 2, len(manual) - 2)
    return {"slope": fit.slope, "slope_low": fit.slope - half, "slope_high": fit.slope + half}


def _equivalence(difference: Vector) -> float:
    from scipy.stats import ttest_1samp

    if len(difference) < 2:
        return math.nan
    limit = math.log1p(TOLERANCE)
    above = ttest_1samp(difference, -limit, alternative="greater").pvalue
    below = ttest_1samp(difference, limit, alternative="less").pvalue
    return float(max(above, below))
