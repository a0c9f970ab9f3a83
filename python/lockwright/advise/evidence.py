"""Constructors of evidence: a figure compared with a threshold, or one that only informs."""

from collections.abc import Callable, Iterable

from lockwright.advise import thresholds
from lockwright.advise.advice import Evidence


def at_least(
    quantity: str, value: float | None, threshold: float, unit: str, source: str
) -> Evidence:
    """Return evidence that is met from the threshold on; an unknown value does not meet it."""
    met = value is not None and value >= threshold
    return Evidence(quantity, value, threshold, unit, source, met, "at least")


def above(quantity: str, value: float, threshold: float, unit: str, source: str) -> Evidence:
    """Return evidence that is met above the threshold."""
    return Evidence(quantity, value, threshold, unit, source, value > threshold, "above")


def at_most(
    quantity: str, value: float | None, threshold: float, unit: str, source: str
) -> Evidence:
    """Return evidence that is met up to the threshold; an unknown value does not meet it."""
    met = value is not None and value <= threshold
    return Evidence(quantity, value, threshold, unit, source, met, "at most")


def informs(quantity: str, value: float | None, unit: str, source: str = "") -> Evidence:
    """Return evidence that decides nothing."""
    return Evidence(quantity, value, None, unit, source, None)


def costs_time(lost_share: float | None) -> Evidence:
    """Return evidence that is met if the time lost waiting for one lock counts."""
    name = "time lost waiting for it"
    return at_least(name, lost_share, thresholds.LOST, "share", "it counts")


def most_first(indices: Iterable[int], figure: Callable[[int], float]) -> tuple[int, ...]:
    """Return indices of mutexes sorted by a figure, the largest first."""
    return tuple(sorted(indices, key=figure, reverse=True))


def all_met(evidence: tuple[Evidence, ...]) -> bool:
    """Return whether all deciding evidence is met."""
    return all(item.met is not False for item in evidence)
