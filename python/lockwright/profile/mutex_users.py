"""Which threads count as users of a mutex."""

import numpy as np
from numpy.typing import NDArray

from lockwright.profile.buffer import Buffer

_RARELY = 0.01
"""Share of the average thread's acquisitions. A thread that only starts the others and waits for
their end takes mutexes too, but does not compete for them."""

_WORDS = 3
"""Words in which a record keeps a bit for each thread, by the remainder of its number."""


def frequent_users(buffer: Buffer) -> NDArray[np.uint64]:
    """Return a bit for each thread that takes mutexes, or waits for them, not much more rarely than
    the average thread."""
    threads = buffer.threads
    taken = threads["acquisitions"].astype(np.float64) + buffer.passed_over
    waited = threads["contended"].astype(np.float64)
    takes = (taken > 0) & (taken >= _RARELY * taken.sum() / max(1, len(taken)))
    waits = (waited > 0) & (waited >= _RARELY * waited.sum() / max(1, len(waited)))
    found = np.zeros(_WORDS, np.uint64)
    for number in threads["number"][takes | waits].astype(np.int64) % (64 * _WORDS):
        found[number // 64] |= np.uint64(1) << np.uint64(number % 64)
    return found


def user_count(seen: NDArray[np.uint64], taking: NDArray[np.uint64]) -> int:
    """Return how many of the threads that were seen at a mutex are frequent users; all of them
    where fewer than two are."""
    few = _count(seen & taking)
    return few if few > 1 else _count(seen)


def _count(bits: NDArray[np.uint64]) -> int:
    return sum(int(word).bit_count() for word in bits)
