"""Profiles of made-up programs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from lockwright.profile.frames import Frame
from lockwright.profile.record import (
    OBJECT,
    Distribution,
    Mutex,
    Place,
    Process,
    Profile,
    Site,
    ThreadUse,
)

SECOND = 1e9


def distribution(count: float, mean: float) -> Distribution:
    """Return durations of some length, in buckets around it."""
    buckets = ((0.5 * mean, count / 2), (1.4 * mean, count / 2)) if count and mean else ()
    return Distribution(count, count * mean, int(count), mean, mean, mean, mean, buckets)


def mutex(
    name: str,
    *,
    acquisitions: float,
    section: float,
    users: Sequence[int],
    contended: int = 0,
    wait: float = 0.0,
    **more: Any,
) -> Mutex:
    """Return a mutex held for `section` ns, and waited for `wait` ns if contended."""
    frame = Frame("/opt/program", 0x1000, name)
    return Mutex(
        name=name,
        place=Place(OBJECT, frame),
        address=0x1000,
        type="normal",
        acquisitions=acquisitions,
        contended=contended,
        waiting=distribution(contended, wait),
        holding=distribution(acquisitions, section),
        hand_over=Distribution(),
        threads=len(users),
        users=tuple(users),
        sites=(Site((frame,), acquisitions, contended, contended * wait, acquisitions * section),),
        **more,
    )


def thread(number: int, acquisitions: float, contended: int = 0, **more: Any) -> ThreadUse:
    """Return a thread that was active for a second, always on a processor."""
    usual: Mapping[str, Any] = {
        "name": "worker",
        "cond_waits": 0,
        "active": SECOND,
        "on_processor": 1.0,
    }
    return ThreadUse(number, acquisitions=acquisitions, contended=contended, **{**usual, **more})


def profile(mutexes: Sequence[Mutex], threads: Sequence[ThreadUse], **process: Any) -> Profile:
    """Return the profile of one second on two processors."""
    usual = {
        "duration": SECOND,
        "processors": 2,
        "threads_most": len(threads),
        "threads_mean": float(len(threads)),
        "cpu_user": len(threads) * SECOND,
        "runnable": 2.0,
        "wanting": 2.0,
    }
    return Profile(
        ("program", "--all"),
        1,
        "2026-01-01T00:00:00",
        "preload",
        Process(**{**usual, **process}),
        tuple(mutexes),
        threads=tuple(threads),
    )


def two_workers(**process: Any) -> Profile:
    """Return the profile of two threads with sections of 1 us of one mutex every 4 us, of which a
    tenth wait for 0.5 us."""
    one = mutex("hot", acquisitions=400_000, section=1000, users=(1, 2), contended=40_000, wait=500)
    threads = [thread(1, 200_000, 20_000), thread(2, 200_000, 20_000), thread(0, 10)]
    return profile([one], threads, **process)


def without_waiting() -> Profile:
    """Return the profile of threads that never waited."""
    one = mutex("hot", acquisitions=1000, section=100, users=(1,))
    return profile([one], [thread(1, 1000)])


def of_an_earlier_version() -> Profile:
    return dataclasses.replace(two_workers(), threads=())
