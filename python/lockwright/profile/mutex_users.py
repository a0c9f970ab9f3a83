"""Which threads count as users of a mutex."""

import numpy as np
from numpy.typing import NDArray

from lockwright.profile.buffer import Buffer

_RARELY = 0.01
"""Of what the average thread does. A thread that opened the files, started the others and waits for
their end takes mutexes, too, but it never stands in line with them."""

_WORDS = 3
"""In which a record keeps a bit for each thread, by the remainder of its number."""


def frequent_users(buffer: Buffer) -> NDArray[np.uint64]:
    """A bit for each thread that takes mutexes, or waits for them, not much more rarely than the
    average thread."""
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
    """Of the threads that were seen at a mutex, those that `takers` has; all where that leaves less
    than the two that it takes to wait for each other."""
    few = _count(seen & taking)
    return few if few > 1 else _count(seen)


def _count(bits: NDArray[np.uint64]) -> int:
    return sum(int(word).bit_count() for word in bits)
