"""Example profiles and locks."""

import dataclasses
from pathlib import Path
from typing import Any

from lockwright.preload.locks import Registry
from lockwright.profile.frames import Frame
from lockwright.profile.record import (
    OBJECT,
    Creation,
    Distribution,
    Mutex,
    Place,
    Process,
    Profile,
    Site,
)

SECOND = 1e9


def distribution(count: float, mean: float, **more: Any) -> Distribution:
    """Return the distribution of `count` durations of `mean` ns."""
    usual = {"samples": int(count), "p50": mean, "p90": mean, "p99": mean, "most": mean}
    return Distribution(count=count, total=count * mean, **(usual | more))


def frame(symbol: str = "work") -> Frame:
    return Frame("/opt/program", 0x1234, symbol)


def site(symbol: str = "work", *, held: float = 0, acquisitions: float = 1) -> Site:
    return Site((frame(symbol),), acquisitions, 0, 0, held)


def mutex(
    *,
    entries: float = 1000,
    held: float = 1000,
    contended: int = 0,
    waited: float = 0,
    hand_over: Distribution | None = None,
    **more: Any,
) -> Mutex:
    """Return a mutex held `entries` times for `held` ns, after `waited` ns of waiting in all."""
    return Mutex(
        name="hot",
        place=Place(OBJECT, frame("hot")),
        address=0x1000,
        type="normal",
        acquisitions=entries,
        contended=contended,
        waiting=distribution(contended, waited / contended if contended else 0),
        holding=distribution(entries, held),
        hand_over=hand_over or Distribution(),
        **more,
    )


def process(**more: Any) -> Process:
    """Return a process that ran for one second with two threads on two undisturbed processors."""
    usual = {
        "duration": SECOND,
        "processors": 2,
        "threads_most": 2,
        "threads_mean": 2.0,
        "lock_calls": 1000.0,
        "cpu_user": 2 * SECOND,
    }
    return Process(**(usual | more))


def profile(*mutexes: Mutex, creation: Creation | None = None, **more: Any) -> Profile:
    """Return the profile of a process with these mutexes; `more` sets fields of the process."""
    profiled = process(**more)
    if creation is not None:
        profiled = dataclasses.replace(profiled, creation=creation)
    ordered = tuple(sorted(mutexes, key=lambda each: -each.lost))
    return Profile(("program",), 1, "2026-01-01T00:00:00", "preload", profiled, ordered)


def lock(name: str, category: str = "competitive succession", **more: Any) -> dict[str, Any]:
    """Return a row of locks.json: a small light lock that spins, with the changes `more`."""
    usual = {
        "name": name,
        "header": "",
        "category": category,
        "waiting": "spin",
        "fifo": False,
        "light": True,
        "parking": False,
        "realtime": "starves",
        "numa_aware": False,
        "hardened_trylock": False,
        "trylock": "nonblocking",
        "timedlock": "handover",
        "bytes_in_place": 8,
        "bytes_per_mutex_outside": 0,
        "bytes_per_node": 0,
        "yields": False,
        "low_traffic": False,
        "survives_oversubscription": more.get("parking", False),
        "atomics": [1, 1],
        "suits": [],
        "is_default": False,
        "patents": "",
        "tunables": [],
        "reference": "",
        "summary": "",
    }
    return usual | more


def suits(**ranks: int) -> list[dict[str, Any]]:
    """Return a lock's `suits`, one entry for each case, with its rank."""
    return [
        {"case": case.replace("_", " "), "rank": rank, "why": case} for case, rank in ranks.items()
    ]


#: The fields of a Creation of many short-lived mutexes by two threads.
CREATION: dict[str, Any] = {
    "created": 5000,
    "alive_most": 10,
    "by_most": 0.5,
    "early": 0.1,
    "creators": 2,
}

PARKS: dict[str, Any] = {"waiting": "spin then park", "parking": True, "realtime": "own order"}
QUEUE: dict[str, Any] = {"light": False, "bytes_per_node": 64}
HIERARCHICAL: dict[str, Any] = {
    "category": "hierarchical",
    "light": False,
    "numa_aware": True,
    "hardened_trylock": True,
    "bytes_per_mutex_outside": 128,
}

#: A few locks of each kind, by their traits.
LOCKS = Registry(
    Path("/nowhere"),
    [
        lock("pthread", "library", waiting="park", parking=True, realtime="by priority"),
        lock(
            "futex",
            is_default=True,
            suits=suits(crowded=8, low_contention=2),
            **(PARKS | {"realtime": "by priority"}),
        ),
        lock("ttas", suits=suits(low_contention=1)),
        lock(
            "backoff",
            waiting="spin with backoff",
            low_traffic=True,
            suits=suits(memory_contention=3, low_contention=3),
        ),
        lock("ticket", "direct handoff", fifo=True, suits=suits(low_contention=4)),
        lock("mcs-spin", "direct handoff", fifo=True, suits=suits(high_contention=1), **QUEUE),
        lock("mcs-stp", "direct handoff", fifo=True, suits=suits(crowded=19), **QUEUE, **PARKS),
        lock(
            "hmcs",
            suits=suits(trylock_loop=2, extreme_contention=1, high_contention=7),
            **HIERARCHICAL,
        ),
        lock("c-bo-mcs-stp", suits=suits(crowded=15), **HIERARCHICAL, **PARKS),
        lock(
            "malth-spin",
            "load control",
            low_traffic=True,
            suits=suits(memory_contention=1, high_contention=3),
            **QUEUE,
        ),
        lock(
            "malth-stp",
            "load control",
            low_traffic=True,
            suits=suits(crowded=1, memory_contention=2),
            **QUEUE,
            **PARKS,
        ),
        lock(
            "mcs-timepub",
            "load control",
            **QUEUE,
            hardened_trylock=True,
            survives_oversubscription=True,
            suits=suits(crowded=2, trylock_loop=3, high_contention=2),
            bytes_per_mutex_outside=64,
        ),
    ],
)
