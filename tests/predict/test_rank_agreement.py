"""The statistic of the comparison with published ranks."""

import pandas as pd
import pytest
from lockwright_lab.bench.validation import rank_agreement as ranks

LOCKS = ["a", "b", "c", "d"]


def throughputs(*values: float) -> dict[str, float]:
    return dict(zip(LOCKS, values, strict=True))


def test_tau_b_of_equal_and_of_reversed_ranks() -> None:
    up, down = throughputs(1, 2, 3, 4), throughputs(40, 30, 20, 10)
    assert ranks.tau_b(up, up, LOCKS) == 1
    assert ranks.tau_b(up, down, LOCKS) == -1


def test_tau_b_with_ties_of_5_percent() -> None:
    """As of scipy.stats.kendalltau with equal ranks for ties: 5 of 6 pairs differ in the first, all
    in the second, and 5 agree."""
    tied = throughputs(1, 1.04, 2, 3)
    assert ranks.tau_b(tied, throughputs(1, 2, 3, 4), LOCKS) == pytest.approx(5 / 30**0.5)
    assert ranks.tau_b(throughputs(1, 1, 1, 1), tied, LOCKS) == 0
    assert ranks.tau_b(tied, throughputs(1, 1, 1, 1), LOCKS) is None


def test_tau_b_needs_three_locks_that_both_have() -> None:
    assert ranks.tau_b({"a": 1.0, "b": 2.0}, throughputs(1, 2, 3, 4), LOCKS) is None
    assert ranks.tau_b(throughputs(1, 2, 3, 4), throughputs(1, 2, 3, 4), ["a", "b"]) is None


def test_lock_sensitive_applications() -> None:
    assert ranks.is_sensitive(throughputs(1, 1.1, 1.2, 1.3))
    assert not ranks.is_sensitive(throughputs(1, 1.1, 1.2, 1.29))


def test_runs_without_noise_agree_with_themselves() -> None:
    rows = [(lock, float(n)) for n, lock in enumerate(LOCKS, 1) for _ in range(4)]
    runs = pd.DataFrame(rows, columns=["lock", "value"])
    assert ranks.with_itself(runs, LOCKS) == 1
    noisy = runs.assign(value=[1.0, 9.0] * 8)
    found = ranks.with_itself(noisy, LOCKS)
    assert found is None or found < 0.5


def test_mean_ranks_leave_the_application_out() -> None:
    applications = {
        "one": throughputs(1, 2, 3, 4),
        "two": throughputs(1, 2, 3, 4),
        "three": throughputs(4, 3, 2, 1),
    }
    assert ranks.mean_ranks(applications, "three", LOCKS) == pytest.approx(
        throughputs(0, 1 / 3, 2 / 3, 1)
    )
