"""An invalid value of an environment variable is reported in one line and not used."""

import pytest
from support import locate
from support.harness import RunUnder


@pytest.mark.parametrize(
    ("lock", "variable", "value"),
    [
        ("hmcs", "LOCKWRIGHT_TOPOLOGY", "zero;one"),
        ("hmcs", "LOCKWRIGHT_TOPOLOGY", "0;;1"),
        ("partitioned", "LOCKWRIGHT_TOPOLOGY", "0-"),
        ("mcs-stp", "LOCKWRIGHT_SPIN_NS", "soon"),
        ("clh-stp", "LOCKWRIGHT_SPIN_NS", "-1"),
        ("clh-stp", "LOCKWRIGHT_SPIN_NS", "99999999999999999999"),
        ("clh-stp", "LOCKWRIGHT_CLH_STP_SPIN_NS", "1e3"),
        ("hmcs", "LOCKWRIGHT_HMCS_BATCH", "0"),
    ],
)
def test_an_invalid_value(run_under: RunUnder, lock: str, variable: str, value: str) -> None:
    outcome = run_under(
        lock, [locate.program("posix", "counted"), "contended", "3"], env={variable: value}
    ).succeeded()
    assert outcome.stdout == ""
    lines = outcome.stderr.splitlines()
    assert len(lines) == 1, outcome.describe()
    assert lines[0].startswith(f"lockwright: {variable}='{value}' is not ")


@pytest.mark.parametrize(
    ("lock", "variable", "value"),
    [
        ("hmcs", "LOCKWRIGHT_TOPOLOGY", "0;1"),
        ("hmcs", "LOCKWRIGHT_TOPOLOGY", ""),
        ("mcs-stp", "LOCKWRIGHT_SPIN_NS", "0"),
        ("mcs-stp", "LOCKWRIGHT_SPIN_NS", "50000"),
        ("mcs-stp", "LOCKWRIGHT_SPIN_NS", ""),
        ("mcs-stp", "LOCKWRIGHT_MCS_STP_SPIN_NS", "50000"),
        ("mcs-stp", "LOCKWRIGHT_CLH_STP_SPIN_NS", "nonsense"),
        ("hmcs", "LOCKWRIGHT_HMCS_BATCH", "1"),
        ("hmcs", "LOCKWRIGHT_BATCH", "7"),
    ],
)
def test_a_valid_or_unused_value(run_under: RunUnder, lock: str, variable: str, value: str) -> None:
    outcome = run_under(
        lock, [locate.program("posix", "counted"), "contended", "3"], env={variable: value}
    )
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", ""), outcome.describe()
