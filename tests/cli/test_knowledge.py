"""The knowledge gradient and the posterior of `tune`, against closed forms and brute force."""

from pathlib import Path

import numpy as np
import pytest
from lockwright.base.errors import LockwrightError
from lockwright.tune import knowledge, priors
from lockwright.tune.knowledge import Prior
from lockwright.tune.priors import Values


def test_posterior_of_one_lock_is_the_weighted_mean() -> None:
    """Of the only lock that ran, the value is observed as 0: that of the best so far."""
    prior = Prior(np.array([-0.2]), np.array([[0.09]]))
    mean, covariance = knowledge.posterior(prior, np.array([4.0]), np.array([7.0]), np.array(0.04))
    precision = 1 / 0.09 + 4 / 0.04
    assert covariance[0, 0] == pytest.approx(1 / precision)
    assert mean[0] == pytest.approx((-0.2 / 0.09 + 0 * 4 / 0.04) / precision)


def test_a_run_tells_of_locks_that_behave_alike() -> None:
    prior = Prior(np.array([-0.1, -0.3, -0.3]), np.array([[1, 0, 0], [0, 1, 0.9], [0, 0.9, 1]]))
    counts, means = np.array([9.0, 9.0, 0.0]), np.array([0.0, 0.5, 0.0])
    mean, _ = knowledge.posterior(prior, counts, means, np.array(0.01))
    assert mean[1] == pytest.approx(0, abs=0.01)
    assert mean[2] == pytest.approx(-0.3 + 0.9 * 0.3, abs=0.01)
    assert mean[0] == pytest.approx(-0.5, abs=0.01)


def test_gradients_agree_with_brute_force() -> None:
    """The expected largest posterior mean after a run, from many drawn runs that are conditioned on
    one by one."""
    random = np.random.default_rng(3)
    mean = np.array([0.0, -0.05, -0.2])
    factor = random.normal(size=(3, 3)) * 0.2
    covariance = factor @ factor.T + 0.01 * np.eye(3)
    variance = 0.02
    gradients = knowledge.knowledge_gradients(mean, covariance, np.array(variance))
    for lock in range(3):
        spread = covariance[lock, lock] + variance
        runs = mean[lock] + random.normal(size=200_000) * np.sqrt(spread)
        after = mean[:, None] + np.outer(covariance[:, lock] / spread, runs - mean[lock])
        expected = after.max(axis=0).mean() - mean.max()
        assert gradients[lock] == pytest.approx(expected, rel=0.06, abs=2e-4)  # by 15 points


def test_searches_beside_each_other_do_not_mix() -> None:
    prior = Prior(np.array([0.0, -0.1]), np.array([[0.1, 0.02], [0.02, 0.1]]))
    counts = np.array([[1.0, 2.0], [3.0, 0.0]])
    means = np.array([[0.1, 0.4], [0.3, 0.0]])
    variance = np.array([0.01, 0.02])
    both = knowledge.posterior(prior, counts, means, variance)
    for i in range(2):
        alone = knowledge.posterior(prior, counts[i], means[i], variance[i])
        assert both[0][i] == pytest.approx(alone[0])
        assert both[1][i] == pytest.approx(alone[1])
    assert knowledge.recommended(both[0], counts).tolist()[1] == 0


def test_a_lock_without_data_is_the_most_uncertain() -> None:
    values = np.array([[0.0, -0.1, np.nan], [-0.5, 0.0, np.nan], [-0.1, 0.0, np.nan]])
    prior = knowledge.prior_of(values)
    diagonal = np.diag(prior.covariance)
    assert diagonal[2] == diagonal.max()
    assert prior.mean[2] == pytest.approx(np.nanmean(values))
    with pytest.raises(ValueError, match="two programs"):
        knowledge.prior_of(values[:1])


def test_bad_locks_are_alike() -> None:
    """How far a lock is behind the others does not matter beyond WORST."""
    values = np.array([[0.0, -5.0], [-1.0, 0.0]])
    same = np.array([[0.0, knowledge.WORST], [knowledge.WORST, 0.0]])
    assert knowledge.prior_of(values).mean == pytest.approx(knowledge.prior_of(same).mean)


def test_the_published_table() -> None:
    rows = priors.read(priors.PUBLISHED)
    assert {row.machine for row in rows} == {"A-64", "I-48"}
    assert all(max(row.values.values()) == 0 for row in rows)
    assert {"pthread", "mcs-stp", "hmcs", "ttas"} <= set(rows[0].values)


def test_a_table_is_read_as_written(tmp_path: Path) -> None:
    rows = [
        Values("m", "a", 4, {"ttas": 0.0, "hmcs": -0.25}),
        Values("m", "b", 8, {"ttas": -0.5, "mcs-spin": 0.0}),
    ]
    path = tmp_path / "prior.csv"
    path.write_text(priors.as_text(rows, ["of two programs"]))
    assert priors.read(path) == rows


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "less than two programs"),
        ("machine,program,count,ttas\nm,a,1,0\n", "less than two programs"),
        ("machine,program,count,ttas\nm,a,one,0\n", "row 2"),
        ("machine,program,count,ttas\nm,a,1,fast\n", "row 2"),
        ("machine,program,count,ttas\nm,a,1,nan\n", "row 2"),
        ("program,ttas\na,0\n", "row 2"),
    ],
)
def test_other_files_are_refused(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "prior.csv"
    path.write_text(text)
    with pytest.raises(LockwrightError, match=fault):
        priors.read(path)
