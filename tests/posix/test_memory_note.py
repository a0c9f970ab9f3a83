"""One line reports that mutexes take much memory outside themselves."""

import pytest
from support import locate
from support.harness import Outcome, RunUnder


def hoard(run_under: RunUnder, lock: str, mutexes: int) -> Outcome:
    if lock not in locate.lock_names():
        pytest.skip(f"{lock} is not built")
    return run_under(
        lock, [locate.program("posix", "counted"), "locks", str(mutexes), "1"]
    ).succeeded()


def test_it_is_reported_once(run_under: RunUnder) -> None:
    """36 KiB for each of 5,000 mutexes are 2.5 times the limit of 64 MiB."""
    lines = hoard(run_under, "alock-ls", 5_000).stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("lockwright: mutexes take 64 MiB of memory outside themselves")


@pytest.mark.parametrize(("lock", "mutexes"), [("alock-ls", 1_000), ("hmcs", 50_000)])
def test_less_memory_is_not_reported(run_under: RunUnder, lock: str, mutexes: int) -> None:
    assert hoard(run_under, lock, mutexes).stderr == ""
