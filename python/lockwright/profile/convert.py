"""Converts a buffer to a profile."""

import os
import signal
from collections import Counter
from typing import Any

import numpy as np

from lockwright.preload import loads
from lockwright.profile import buffer as buffers
from lockwright.profile import working_set
from lockwright.profile.buffer import Buffer
from lockwright.profile.distributions import weight_below
from lockwright.profile.mutexes import Mutexes
from lockwright.profile.open_intervals import deadlock_cycle
from lockwright.profile.profiled_run import ProfiledRun
from lockwright.profile.record import Creation, Moment, Process, Profile
from lockwright.profile.symbols import Mapping, Symbols

_MOST_MOMENTS = 20_000
"""Limit on the moments of the timeline, of which the longest are retained: more than fit on a
screen."""


def to_profile(buffer: Buffer, run: ProfiledRun) -> Profile:
    """Return the profile of a finished run."""
    nanoseconds = buffer.nanoseconds
    symbols = symbols_of(buffer, run.program)
    duration = _duration(buffer, run)
    mutexes = Mutexes(buffer, symbols, run.samples, nanoseconds, duration)
    made = mutexes.all_mutexes()
    names = {number: name for number, name in run.samples.names.items() if name}
    timeline = _timeline(buffer, mutexes, nanoseconds)
    return Profile(
        command=run.command,
        pid=buffer.pid,
        started=run.started,
        mechanism="preload",
        process=_process(buffer, run, duration, nanoseconds),
        mutexes=tuple(made),
        timeline=timeline,
        thread_names={
            str(number): names.get(number) or f"thread {number}"
            for number in sorted({each.thread for each in timeline})
        },
        partial=_partial(buffer, run, mutexes),
        deadlock=tuple(
            where
            for where in map(mutexes.index_of, deadlock_cycle(mutexes.unfinished))
            if where is not None
        ),
        exit_status=os.WEXITSTATUS(run.status) if os.WIFEXITED(run.status) else None,
        provenance=_provenance(),
    )


def symbols_of(buffer: Buffer, program: str) -> Symbols:
    """Return the symbols for the addresses in a buffer. program: path of the started program."""
    mappings = [
        Mapping(
            os.fsdecode(bytes(each["path"])),
            int(each["start"]),
            int(each["end"]),
            int(each["base"]),
        )
        for each in buffer.modules
    ]
    return Symbols(mappings, os.fsdecode(bytes(buffer["program"])) or program)


def _duration(buffer: Buffer, run: ProfiledRun) -> float:
    """Return the nanoseconds from the first acquisition to the end."""
    if not buffer.pid:
        return 0.0
    begin = int(buffer["begin_ns"])
    if buffer.pid == run.child:
        return max(float(run.ended_ns - begin), 1.0)
    # Another process than the started one may have ended long before it.
    noted = buffer.last_ticks * buffer.nanoseconds
    return min(max(run.samples.last_ns - begin, noted, 1.0), max(float(run.ended_ns - begin), 1.0))


def _process(buffer: Buffer, run: ProfiledRun, duration: float, nanoseconds: float) -> Process:
    threads, samples = buffer.threads, run.samples
    calls = int(threads["acquisitions"].sum()) + int(buffer.unsampled.sum())
    own = _own_use(buffer, run)
    return Process(
        duration=duration,
        processors=_processors(samples.processors),
        threads_most=max(samples.threads_most, min(len(threads), 2)),
        threads_mean=samples.threads / samples.count
        if samples.count
        else float(min(len(threads), 2)),
        lock_calls=float(calls),
        rwlock_calls=int(threads["rwlock_calls"].sum()),
        spin_calls=int(threads["spin_calls"].sum()),
        unprofiled_calls=int(threads["unprofiled"].sum()),
        cond_waits=int(threads["cond_waits"].sum()),
        cpu_user=own["cpu_user"],
        cpu_system=own["cpu_system"],
        voluntary=run.usage.ru_nvcsw,
        involuntary=run.usage.ru_nivcsw,
        migrations=float(threads["migrations"].sum()),
        minor_faults=round(own["minor_faults"]),
        major_faults=round(own["major_faults"]),
        mmap_calls=int(threads["mmap_calls"].sum()),
        touched=samples.touched,
        last_cache=working_set.last_level_cache_size(),
        runnable=samples.runnable / samples.count if samples.count else None,
        wanting=samples.wanting / samples.count if samples.count else None,
        realtime=samples.realtime if samples.count else None,
        creation=_creation(buffer, run, duration / nanoseconds),
    )


def _processors(samples: Counter[int]) -> int:
    """Return the number of processors that the threads could use in most of the samples; without
    samples, the number that this process may use."""
    (most,) = samples.most_common(1) or [(0, 0)]
    return most[0] or len(os.sched_getaffinity(0))


def _own_use(buffer: Buffer, run: ProfiledRun) -> dict[str, float]:
    """Return the resources that the process has used without its children: the sums over all are
    known at their end, those of each process at the last sample."""
    usage, samples = run.usage, run.samples
    totals = {
        "cpu_user": usage.ru_utime * 1e9,
        "cpu_system": usage.ru_stime * 1e9,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
    }
    if not samples.own:
        return totals
    if buffer.pid != run.child:
        return samples.own
    return {name: max(samples.own[name], totals[name] - samples.of_others[name]) for name in totals}


def _creation(buffer: Buffer, run: ProfiledRun, ticks: float) -> Creation:
    threads = buffer.threads
    created = threads["created"].astype(np.int64)
    total = int(created.sum())
    destroyed = int(threads["destroyed"].sum())
    return Creation(
        created=total,
        destroyed=destroyed,
        creators=int((created > 0).sum()),
        by_most=float(created.max()) / total if total else 0.0,
        early=weight_below(buffer.creations, ticks / 10) / total if total else 0.0,
        alive_most=max(run.samples.alive_most, total - destroyed),
    )


def _timeline(buffer: Buffer, mutexes: Mutexes, nanoseconds: float) -> tuple[Moment, ...]:
    moments = buffer.moments
    if len(moments) > _MOST_MOMENTS:
        lengths = moments["end"] - moments["begin"]
        moments = moments[np.argsort(lengths)[-_MOST_MOMENTS:]]
    start = int(buffer["begin_ticks"])
    wait = buffers.constant("moment::wait")
    timeline = []
    for each in np.sort(moments, order="begin"):
        where = mutexes.index_of(int(each["record"]))
        if where is None:
            continue
        timeline.append(
            Moment(
                thread=int(each["thread"]),
                mutex=where,
                kind=buffers.WAIT if each["kind"] == wait else buffers.HOLD,
                begin=(int(each["begin"]) - start) * nanoseconds,
                end=(int(each["end"]) - start) * nanoseconds,
                site=mutexes.site_of(int(each["record"]), int(each["caller"])),
            )
        )
    for interval in mutexes.unfinished:
        where = mutexes.index_of(interval.record)
        if where is not None:
            begin, end = ((tick - start) * nanoseconds for tick in (interval.begin, interval.end))
            site = mutexes.site_of(interval.record, interval.caller)
            timeline.append(Moment(interval.thread, where, interval.kind, begin, end, site))
    return tuple(sorted(timeline, key=lambda moment: moment.begin))


def _partial(buffer: Buffer, run: ProfiledRun, mutexes: Mutexes) -> str:
    reasons: list[str] = []
    if os.WIFSIGNALED(run.status):
        reasons.append(f"the program was ended by {signal.Signals(os.WTERMSIG(run.status)).name}")
    if waiting := len({each.thread for each in mutexes.unfinished if each.kind == buffers.WAIT}):
        reasons.append(
            "one thread waited for a mutex to the end"
            if waiting == 1
            else f"{waiting} threads waited for mutexes to the end"
        )
    if buffer.pid not in (0, run.child):
        program = os.fsdecode(bytes(buffer["program"]))
        reasons.append(
            f"it describes process {buffer.pid} ({program}), which spent most time on mutexes"
        )
    if not run.was_loaded:
        reasons.append(f"the profiler's library was never loaded; {loads.ADVICE}")
    elif run.became:
        reasons.append(
            f"the program became '{run.became}', which did not load the profiler's library or could"
            f" not open the file for the profile; {loads.ADVICE}"
        )
    reasons += run.others.descriptions
    if int(buffer["images"]) > 1:
        reasons.append("the process executed another program; the one before is not included")
    return "; ".join(reasons)


def _provenance() -> dict[str, Any]:
    from lockwright.machine import provenance

    return provenance.machine()
