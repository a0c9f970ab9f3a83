"""The limits of figures that are near the best one, or harmfully far from it: those of every table,
page and sentence."""

TOLERANCE = 0.05
"""The largest difference that counts as none: that of the published studies (TOCS 2019, section
4.4)."""

NEAR = 1 - TOLERANCE
"""The least share of the best figure that is near it (TOCS 2019, Table 11)."""

HARM = 0.15
"""A lock is harmful where the best one is better by more than this (TOCS 2019, Table 12)."""


def is_near(figure: float, best: float) -> bool:
    """Return whether a figure differs from the best lock's by no more than TOLERANCE, in either
    direction: the lock that is best by other criteria need not have the best figure."""
    return abs(figure - best) <= TOLERANCE * max(abs(figure), abs(best))
