"""Tests of the number of users of a mutex: threads that rarely take it do not count."""

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
    fields: Any = SimpleNamespace(threads=rows, unsampled=np.zeros(len(rows), np.int64))
    return cast(Buffer, fields)


def test_the_thread_that_started_the_others_is_not_counted() -> None:
    users = frequent_users(buffer((0, 40, 0), (1, 300_000, 2000), (2, 310_000, 2100)))
    assert list(users) == [0b110, 0, 0]
    assert user_count(EVERY, users) == 2
    assert user_count(np.array([0b011, 0, 0], np.uint64), users) == 2


def test_a_thread_with_rare_but_long_waits_is_counted() -> None:
    assert list(frequent_users(buffer((0, 40, 500), (1, 300_000, 500)))) == [0b11, 0, 0]


def test_thread_numbers_wrap() -> None:
    assert list(frequent_users(buffer((63, 5, 0), (64, 5, 0), (192, 5, 0)))) == [1 << 63 | 1, 1, 0]


def test_without_acquisitions_there_are_no_users() -> None:
    assert list(frequent_users(buffer())) == [0, 0, 0]
    assert list(frequent_users(buffer((0, 0, 0)))) == [0, 0, 0]
