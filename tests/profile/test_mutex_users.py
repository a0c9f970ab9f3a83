"""Threads that hardly ever take a mutex do not count as standing in line with those that do."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from lockwright.profile.buffer import Buffer
from lockwright.profile.mutex_users import frequent_users, user_count

EVERY = np.full(3, ~np.uint64(0))


def buffer(*threads: tuple[int, int, int]) -> Buffer:
    """Return a buffer of threads, each with a number, acquisitions and waits."""
    names = ("number", "acquisitions", "contended")
    rows = np.array(list(threads), dtype=[(name, np.uint64) for name in names])
    known: Any = SimpleNamespace(threads=rows, unsampled=np.zeros(len(rows), np.int64))
    return cast(Buffer, known)


def test_the_thread_that_started_the_others_is_not_counted() -> None:
    taking = frequent_users(buffer((0, 40, 0), (1, 300_000, 2000), (2, 310_000, 2100)))
    assert list(taking) == [0b110, 0, 0]
    assert user_count(EVERY, taking) == 2
    assert user_count(np.array([0b011, 0, 0], np.uint64), taking) == 2


def test_one_that_takes_them_rarely_and_waits_for_long_is() -> None:
    assert list(frequent_users(buffer((0, 40, 500), (1, 300_000, 500)))) == [0b11, 0, 0]


def test_numbers_come_round() -> None:
    assert list(frequent_users(buffer((63, 5, 0), (64, 5, 0), (192, 5, 0)))) == [1 << 63 | 1, 1, 0]


def test_nobody_takes_any() -> None:
    assert list(frequent_users(buffer())) == [0, 0, 0]
    assert list(frequent_users(buffer((0, 0, 0)))) == [0, 0, 0]
