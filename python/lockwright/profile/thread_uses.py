"""The threads of a profile, from a buffer and the samples of the process."""

import numpy as np

from lockwright.profile.buffer import Buffer
from lockwright.profile.record import ThreadUse
from lockwright.profile.watch import Samples, TaskTimes

_MOST = 1024
"""Limit on the threads: those with most acquisitions."""

_SHORTEST = 0.2e9
"""Least ns between the first and the last sample of a thread: the kernel's processor times have a
resolution of 10 ms."""


def thread_uses(buffer: Buffer, samples: Samples, nanoseconds: float) -> tuple[ThreadUse, ...]:
    """Return the threads that took mutexes, those with most acquisitions first. nanoseconds: of a
    tick."""
    threads = buffer.threads
    acquisitions = threads["acquisitions"].astype(np.float64) + buffer.unsampled
    contended = threads["contended"]
    order = np.argsort(-acquisitions, kind="stable")[:_MOST]
    uses = []
    for index in order:
        if not acquisitions[index] and not contended[index]:
            continue
        row = threads[index]
        number = int(row["number"])
        last = max(int(row["last_sample"]), int(row["last_wait"]))
        uses.append(
            ThreadUse(
                number=number,
                name=samples.names.get(int(index), ""),
                acquisitions=float(acquisitions[index]),
                contended=int(contended[index]),
                cond_waits=int(row["cond_waits"]),
                active=max(0, last - int(row["began"])) * nanoseconds,
                on_processor=_on_processor(samples.tasks.get(int(row["tid"]))),
            )
        )
    return tuple(uses)


def _on_processor(times: TaskTimes | None) -> float | None:
    if times is None or times.last_ns - times.first_ns < _SHORTEST:
        return None
    share = (times.last_cpu - times.first_cpu) / (times.last_ns - times.first_ns)
    return min(1.0, share)
