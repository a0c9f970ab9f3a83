"""The threads that count as users of a mutex."""

import numpy as np
from numpy.typing import NDArray

from lockwright.profile.buffer import Buffer

_RARELY = 0.01
"""Share of the average thread's acquisitions below which a thread does not count: one that only
starts the others and joins them takes mutexes too, but does not compete for them."""

_WORDS = 3
"""Words of a record's bit set of threads, indexed by the thread's number modulo its size."""


def frequent_users(buffer: Buffer) -> NDArray[np.uint64]:
    """Return a bit set of the threads that take mutexes, or wait for them, not much more rarely
    than the average thread."""
    threads = buffer.threads
    taken = threads["acquisitions"].astype(np.float64) + buffer.unsampled
    waited = threads["contended"].astype(np.float64)
    takes = (taken > 0) & (taken >= _RARELY * taken.sum() / max(1, len(taken)))
    waits = (waited > 0) & (waited >= _RARELY * waited.sum() / max(1, len(waited)))
    frequent = np.zeros(_WORDS, np.uint64)
    for number in threads["number"][takes | waits].astype(np.int64) % (64 * _WORDS):
        frequent[number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return frequent


def user_count(users: NDArray[np.uint64], taking: NDArray[np.uint64]) -> int:
    """Return how many users of a mutex are frequent users; all users if fewer than two are."""
    few = _count(users & taking)
    return few if few > 1 else _count(users)


def numbers_of(users: NDArray[np.uint64]) -> tuple[int, ...]:
    """Return the numbers in a bit set."""
    return tuple(
        64 * index + bit
        for index, word in enumerate(users)
        for bit in range(64)
        if int(word) >> bit & 1
    )


def _count(bits: NDArray[np.uint64]) -> int:
    return sum(int(word).bit_count() for word in bits)
