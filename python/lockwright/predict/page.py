"""The pages of predictions: plots, the table, the model and the machine."""

from collections.abc import Mapping, Sequence
from typing import Any

from lockwright.page import templates
from lockwright.predict.estimate import Estimate, ranged
from lockwright.predict.header import Header
from lockwright.predict.ranking import Prediction
from lockwright.predict.show import count_of_threads, effects_grid, ranking_grid, tied
from lockwright.predict.what_if import Effect
from lockwright.simulate.figures import BASELINE
from lockwright.simulate.sources import sources


def ranking_page(
    header: Header,
    ranked: Sequence[Prediction],
    reasons: Mapping[int, str],
    failures: Sequence[str],
) -> str:
    """Return the page of rankings. ranked: by threads, then the best first; reasons: by number of
    threads."""
    counts = sorted({each.threads for each in ranked})
    at_most = [each for each in ranked if each.threads == counts[-1]] if counts else []
    locks = list(dict.fromkeys(each.lock for each in [*at_most, *ranked]))
    found = {(each.lock, each.threads): each for each in ranked}
    rates = {
        lock: [
            _triple(found[lock, count].rate) if (lock, count) in found else None for count in counts
        ]
        for lock in locks
    }
    return _page(
        header,
        {
            "locks": locks,
            "baseline": BASELINE,
            "ratios": {each.lock: _triple(each.ratio) for each in at_most if each.ratio},
            "ratioTitle": f"throughput over that of {BASELINE}, predicted",
            "counts": counts,
            "rates": rates,
        },
        heading=f"Ratio to {BASELINE} with {counts[-1] if counts else 0} threads",
        verdict=_best(at_most),
        has_rates=len(counts) > 1,
        table=ranking_grid("", ranked),
        reasons={f"{threads} threads": text for threads, text in reasons.items()},
        failures=failures,
    )


def effects_page(header: Header, effects: Sequence[Effect], lock: str, threads: int) -> str:
    """Return the page of changes. lock, threads: those of the program without the change."""
    changes = {each.change.text: each.throughput for each in effects if each.throughput}
    return _page(
        header,
        {
            "locks": list(changes),
            "baseline": "",
            "ratios": {text: _triple(found) for text, found in changes.items()},
            "ratioTitle": "throughput after / before, predicted",
        },
        heading=f"Change from {threads} threads under {lock}",
        verdict=_largest(effects),
        has_rates=False,
        table=effects_grid("", effects),
        reasons={},
        failures=[f"{each.change.text}: {each.failure}" for each in effects if each.failure],
    )


def _page(header: Header, data: Mapping[str, object], **values: Any) -> str:
    return templates.fill(
        "predict/page/page.html",
        data,
        title=header.title,
        notes=header.notes,
        assumptions=[variant.label for variant in header.derived.variants],
        sources=sources(header.machine),
        **values,
    )


def _best(ranked: Sequence[Prediction]) -> str:
    """Return which lock is predicted to be best, and which others may be."""
    if not ranked:
        return "No lock has a result."
    best = ranked[0]
    text = f"With {count_of_threads(best.threads)}, "
    if best.lock != BASELINE and any(each.lock == BASELINE and each.first == 1 for each in ranked):
        text += f"no lock is predicted to be better than {BASELINE} for certain"
    else:
        text += f"{best.lock} is predicted to be best"
        if best.lock != BASELINE and best.ratio is not None:
            text += f": {ranged(best.ratio)} times the throughput of {BASELINE}"
    return f"{text}. {tied(ranked)}"


def _largest(effects: Sequence[Effect]) -> str:
    """Return which change is predicted to gain most."""
    known = [(each.throughput, each.change.text) for each in effects if each.throughput]
    if not known:
        return "No change has a result."
    gain, text = max(known, key=lambda pair: pair[0].value)
    if gain.low > 1:
        return f"Predicted to gain most: {text}, {ranged(gain)} times the throughput."
    return f"No change is predicted to gain for certain; the most, {text}: {ranged(gain)} times."


def _triple(found: Estimate) -> list[float]:
    return [found.value, found.low, found.high]
