"""Threads that pass items on: those that wait poll where it pays, and starve no others."""

import os
from pathlib import Path

import pytest
from support import locate
from support.harness import RunUnder

FIFO = {"LOCKWRIGHT_COND_APPEND": "1"}
LOCKS = ["adaptive", "ticket"]


def passed(run_under: RunUnder, lock: str, *words: int, env: dict[str, str]) -> tuple[int, int]:
    """Return how many numbers the threads took, and how often they slept."""
    program: list[str | Path] = [locate.program("posix", "passing"), *map(str, words)]
    taken, sleeps = run_under(lock, program, env=env).clean().stdout.split()
    return int(taken), int(sleeps)


@pytest.mark.parametrize("env", [{}, FIFO], ids=["adaptive", "fifo"])
@pytest.mark.parametrize("lock", LOCKS)
def test_each_thread_has_its_turns(run_under: RunUnder, lock: str, env: dict[str, str]) -> None:
    """Threads that poll take most numbers, but the program ends when each has taken its share."""
    taken, _ = passed(run_under, lock, 5, 20, env=env)
    assert taken >= 5 * 20


@pytest.mark.alone("threads that poll need a processor each")
def test_they_sleep_seldom(run_under: RunUnder) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads need two processors to poll")
    for lock, env in (("adaptive", {}), ("pthread", {"LOCKWRIGHT_COND_APPEND": "adaptive"})):
        taken, sleeps = passed(run_under, lock, 1, 100_000, env=env)
        assert sleeps < taken / 10
    for lock, env in (("adaptive", FIFO), ("pthread", {})):
        taken, sleeps = passed(run_under, lock, 1, 3_000, env=env)
        assert sleeps > taken / 2
