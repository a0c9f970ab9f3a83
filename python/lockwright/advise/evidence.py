"""Ways to make a piece of evidence: a figure held against a threshold, or one that informs."""

from collections.abc import Callable, Iterable

from lockwright.advise.advice import Evidence


def at_least(
    quantity: str, value: float | None, threshold: float, unit: str, source: str
) -> Evidence:
    """Met from the threshold on; not met where the value is not known."""
    met = value is not None and value >= threshold
    return Evidence(quantity, value, threshold, unit, source, met, "at least")


def above(quantity: str, value: float, threshold: float, unit: str, source: str) -> Evidence:
    """Met beyond the threshold."""
    return Evidence(quantity, value, threshold, unit, source, value > threshold, "above")


def at_most(
    quantity: str, value: float | None, threshold: float, unit: str, source: str
) -> Evidence:
    """Met up to the threshold; not met where the value is not known."""
    met = value is not None and value <= threshold
    return Evidence(quantity, value, threshold, unit, source, met, "at most")


def informs(quantity: str, value: float | None, unit: str, source: str = "") -> Evidence:
    """Decides nothing."""
    return Evidence(quantity, value, None, unit, source, None)


def most_first(indices: Iterable[int], figure: Callable[[int], float]) -> tuple[int, ...]:
    """Mutexes in the order of a figure."""
    return tuple(sorted(indices, key=figure, reverse=True))


def all_met(evidence: tuple[Evidence, ...]) -> bool:
    """Whether everything that decides is met."""
    return all(each.met is not False for each in evidence)
