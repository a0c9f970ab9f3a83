"""A test of whether two methods of measurement agree, by the signed ranks of their differences.

Ranks are robust against disturbed runs, which may be off by a factor, and means are not. They
require differences that are symmetric about their centre, as those of pairs whose order alternates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIMIT = math.log1p(0.05)
"""Largest difference of logarithms that counts as none: 5 %, the tolerance of the published
studies (TOCS 2019, section 4.4)."""

ERROR = 0.05
"""Chance of either one-sided test to reject a true hypothesis."""

INSIDE, OUTSIDE, OPEN = "yes", "no", "open"


@dataclass(frozen=True)
class Equivalence:
    """The result of the test on n differences.

    centre: the median of the means of any two of them, a difference and itself included (Hodges and
    Lehmann, 1963). low, high: its 90 % interval (Tukey; Hollander and Wolfe, Nonparametric
    Statistical Methods, 3.3), None where there are fewer than five differences, which have none.
    p_value: of the hypothesis that the centre is at either limit or beyond: two one-sided tests
    (Schuirmann, 1987), of Wilcoxon's signed ranks, exact; the larger p.
    """

    centre: float
    low: float | None
    high: float | None
    p_value: float
    limit: float
    number: int

    @property
    def verdict(self) -> str:
        """INSIDE if shown to be within the limit, OUTSIDE if shown to be beyond, otherwise OPEN."""
        if self.low is None or self.high is None:
            return OPEN
        if self.p_value <= ERROR:
            return INSIDE
        return OUTSIDE if self.low > self.limit or self.high < -self.limit else OPEN


def equivalence(differences: Sequence[float], limit: float = LIMIT) -> Equivalence | None:
    """Return the test on differences of logarithms, one for each pair; None if there are none."""
    import numpy as np

    number = len(differences)
    if number == 0:
        return None
    values = np.asarray(differences, dtype=float)
    first, second = np.triu_indices(number)
    means = np.sort((values[first] + values[second]) / 2)
    below = _at_most(number)
    # The sum of the ranks of the positive differences is the number of means above 0. A mean on
    # the limit counts against equivalence.
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
    """Return the chances that the sum of a subset of the ranks 1 to `number` is at most 0, 1, ...
    All 2 ** number subsets are equally likely if the centre is 0."""
    import numpy as np

    chances = np.zeros(number * (number + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, number + 1):
        with_rank = np.zeros_like(chances)
        with_rank[rank:] = chances[:-rank]
        chances = (chances + with_rank) / 2
    return np.cumsum(chances)
