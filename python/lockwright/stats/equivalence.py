"""Whether two ways of measuring the same give the same, by the signed ranks of their differences.

A run that something disturbed may be off by a factor. Ranks bear that where a mean does not; all
they ask is that differences lie symmetrically about their centre, as those of pairs do whose
members change places from pair to pair.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIMIT = math.log1p(0.05)
"""Differences of logarithms below this are of no account: 5 %, the tolerance of the published
studies (TOCS 2019, section 4.4)."""

ERROR = 0.05
"""Chance of either one-sided test to reject what is true."""

INSIDE, OUTSIDE, OPEN = "yes", "no", "open"


@dataclass(frozen=True)
class Equivalence:
    """What n differences say of their centre.

    centre: the median of the means of any two of them, a difference and itself included (Hodges and
    Lehmann, 1963). low, high: its 90 % interval (Tukey; Hollander and Wolfe, Nonparametric
    Statistical Methods, 3.3), None where there are fewer than five differences, which have none.
    chance: p of the hypothesis that the centre is at the limit or beyond it, either way: two
    one-sided tests (Schuirmann, 1987), of Wilcoxon's signed ranks, exact; the larger p.
    """

    centre: float
    low: float | None
    high: float | None
    chance: float
    limit: float
    number: int

    @property
    def verdict(self) -> str:
        """INSIDE: shown to be within the limit; OUTSIDE: shown to be beyond; OPEN: neither."""
        if self.low is None or self.high is None:
            return OPEN
        if self.chance <= ERROR:
            return INSIDE
        return OUTSIDE if self.low > self.limit or self.high < -self.limit else OPEN


def equivalence(differences: Sequence[float], limit: float = LIMIT) -> Equivalence | None:
    """The test on differences of logarithms, one for each pair; None if there are none."""
    import numpy as np

    number = len(differences)
    if number == 0:
        return None
    values = np.asarray(differences, dtype=float)
    first, second = np.triu_indices(number)
    means = np.sort((values[first] + values[second]) / 2)
    below = _at_most(number)
    # The sum of the ranks of the positive ones is the number of means above 0. What lies on the
    # limit counts against equivalence.
    above = below[np.count_nonzero(means >= limit)]
    under = below[np.count_nonzero(means <= -limit)]
    outer = int(np.searchsorted(below, ERROR, side="right")) - 1
    return Equivalence(
        float(np.median(means)),
        float(means[outer]) if outer >= 0 else None,
        float(means[-1 - outer]) if outer >= 0 else None,
        float(max(above, under)),
        limit,
        number,
    )


def _at_most(number: int) -> "NDArray[np.float64]":
    """The chance that a sum of ranks from 1 to `number`, each taken or not, is 0, 1, ... or less.

    Each of the 2 ** number choices is as likely if the centre is 0.
    """
    import numpy as np

    ways = np.zeros(number * (number + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, number + 1):
        taken = np.zeros_like(ways)
        taken[rank:] = ways[:-rank]
        ways = (ways + taken) / 2
    return np.cumsum(ways)
