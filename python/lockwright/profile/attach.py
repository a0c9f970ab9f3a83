"""The profile of a running process, sampled from outside for some seconds."""

import contextlib
import os
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from lockwright.base.results import now
from lockwright.profile.all_threads import merged_waits
from lockwright.profile.attached import PERIOD, Attached, Samples, Wait, place_of
from lockwright.profile.frames import Frame
from lockwright.profile.mutex_lines import name_of, taken_at
from lockwright.profile.record import TYPES, Distribution, Mutex, Process, Profile, Site, Span
from lockwright.profile.sampled_waits import account_of, waits_of
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import ProcessUse
from lockwright.profile.watch import resource_use

MECHANISM = "attached: 100 samples a second of /proc"

_LIMITS = (
    "it was sampled from outside: acquisitions that did not sleep and the length of critical"
    " sections are not known"
)


def profile_process(pid: int, seconds: float) -> Profile:
    """Sample a process for `seconds`, or until it ends. Raises LockwrightError if permission is
    denied or there is no such process."""
    with Attached(pid) as target:
        return _profile(target, seconds)


def _profile(target: Attached, seconds: float) -> Profile:
    started, before = now(), resource_use(target.process)[0]
    partial = "; ".join(filter(None, (_LIMITS, target.remark)))
    after = before
    try:
        while target.elapsed < 1e9 * seconds:
            if not target.sample():
                partial += "; the process ended meanwhile"
                break
            with contextlib.suppress(OSError):
                after = resource_use(target.process)[0]
            time.sleep(PERIOD)
    except KeyboardInterrupt:
        pass
    duration, samples, sampled = target.elapsed, target.samples, target.outside
    samples.waits += target.asleep.items()
    symbols = target.symbols()
    mutexes, timeline = _mutexes(samples, symbols, duration)
    waits = waits_of(sampled, symbols, {mutex.address for mutex in mutexes})
    account, listed = account_of(sampled, symbols, waits)
    return Profile(
        command=target.command,
        pid=int(target.process.name),
        started=started,
        mechanism=MECHANISM,
        process=Process(
            duration=duration,
            processors=len(samples.processors) or len(os.sched_getaffinity(0)),
            threads_most=samples.threads_most,
            threads_seen=target.threads_seen,
            threads_mean=samples.threads / max(samples.count, 1),
            **{name: value - before.get(name, 0) for name, value in after.items()},  # type: ignore[arg-type]
        ),
        mutexes=mutexes,
        timeline=timeline,
        thread_names={str(tid): name for tid, name in samples.names.items()},
        waits=merged_waits(listed),
        account=account,
        processes=(
            ProcessUse(
                sampled.pid,
                Path(sampled.program).name,
                sum(mutex.lost for mutex in mutexes),
                account.all,
                is_sampled=True,
            ),
        ),
        partial=partial,
    )


def _mutexes(
    samples: Samples, symbols: Symbols, duration: float
) -> tuple[tuple[Mutex, ...], tuple[Span, ...]]:
    by_address: defaultdict[int, list[tuple[int, Wait]]] = defaultdict(list)
    for tid, wait in samples.waits:
        # Waiters for the locks of malloc, Go and Rust sleep likewise, but only a mutex records a
        # thread of the process as its owner while it is held.
        if wait.address in samples.owned:
            by_address[wait.address].append((tid, wait))
    order = sorted(by_address, key=lambda a: -sum(w.end - w.begin for _, w in by_address[a]))
    mutexes, spans = [], []
    for index, address in enumerate(order):
        waits = by_address[address]
        lengths = sorted(wait.end - wait.begin for _, wait in waits)
        callers: defaultdict[int, list[float]] = defaultdict(list)
        for _, wait in waits:
            callers[wait.caller].append(wait.end - wait.begin)
        listed = sorted(callers, key=lambda caller: -sum(callers[caller]))
        place = place_of(address, listed[0], symbols)
        mutexes.append(
            Mutex(
                name=name_of(place, True),
                place=place,
                address=address,
                type=TYPES[samples.kinds[address] & 3],
                acquisitions=0.0,
                contended=len(waits),
                waiting=Distribution(
                    count=len(waits),
                    total=sum(lengths),
                    samples=len(waits),
                    p50=lengths[len(lengths) // 2],
                    p90=lengths[len(lengths) * 9 // 10],
                    p99=lengths[len(lengths) * 99 // 100],
                    most=lengths[-1],
                ),
                holding=Distribution(),
                hand_over=Distribution(),
                waiters_mean=samples.waiters[address] / max(samples.waited[address], 1),
                waiters_most=samples.most[address],
                sampled_times=samples.count,
                threads=len({tid for tid, _ in waits}),
                holders=samples.holders_of(address),
                sites=tuple(
                    replace(
                        taken_at(symbols, caller)
                        if caller
                        else Site((Frame("", 0),), 0.0, 0, 0.0, 0.0),
                        contended=len(callers[caller]),
                        waited=sum(callers[caller]),
                    )
                    for caller in listed
                ),
            )
        )
        spans += [
            Span(tid, index, "wait", w.begin, min(w.end, duration), listed.index(w.caller))
            for tid, w in waits
        ]
    return tuple(mutexes), tuple(sorted(spans, key=lambda span: span.begin))
