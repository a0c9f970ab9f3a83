"""The conversion of a buffer to a profile."""

import os
import signal
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lockwright.preload import loads
from lockwright.profile import all_threads, working_set
from lockwright.profile import buffer as buffers
from lockwright.profile.accounts import program_name
from lockwright.profile.buffer import Buffer, Rows
from lockwright.profile.chains import ChainNames, chains_of
from lockwright.profile.distributions import weight_below
from lockwright.profile.mutex_lines import taken_at
from lockwright.profile.mutexes import Mutexes
from lockwright.profile.open_intervals import deadlock_cycle
from lockwright.profile.profiled_run import ProfiledRun
from lockwright.profile.record import Creation, Mutex, Process, Profile, Span
from lockwright.profile.sampled_waits import known_from_samples
from lockwright.profile.symbols import Mapping, Symbols
from lockwright.profile.thread_uses import thread_uses

_MOST_SPANS = 20_000
"""Limit on the spans of the timeline, of which the longest are retained."""


def to_profile(buffer: Buffer, run: ProfiledRun) -> Profile:
    """Return the profile of a finished run."""
    from lockwright.machine import provenance

    nanoseconds = buffer.nanoseconds
    symbols = symbols_of(buffer, run.program, ask_servers=True)
    duration = _duration(buffer, run)
    mutexes = Mutexes(buffer, symbols, run.samples, nanoseconds, duration)
    all_mutexes, all_rwlocks = tuple(mutexes.all_mutexes()), tuple(mutexes.all_rwlocks())
    names = {number: name for number, name in run.samples.names.items() if name}
    timeline = _timeline(buffer, mutexes, nanoseconds)
    all_waits = all_threads.of_processes(
        [(buffer, symbols, run.samples)]
        + [(each, symbols_of(each, run.program), samples) for each, samples in run.beside],
        run.sampled,
    )
    return Profile(
        command=run.command,
        pid=_number(buffer),
        started=run.started,
        mechanism="preload",
        process=_process(buffer, run, duration, nanoseconds),
        mutexes=all_mutexes,
        rwlocks=all_rwlocks,
        waits=all_waits.waits,
        account=all_waits.account,
        processes=all_waits.processes,
        chains=chains_of(
            run.samples,
            ChainNames(
                buffer=buffer,
                symbols=symbols,
                program=program_name(buffer, run.samples),
                locks=mutexes.names(all_mutexes, all_rwlocks),
                objects=all_waits.objects,
                lock_site=lambda record, caller: _lock_site(
                    mutexes, all_mutexes, symbols, record, caller
                ),
            ),
        ),
        timeline=timeline,
        thread_names={
            str(number): names.get(number) or f"thread {number}"
            for number in sorted({span.thread for span in timeline})
        },
        partial=_partial(buffer, run, mutexes),
        deadlock=tuple(
            index
            for index in map(mutexes.index_of, deadlock_cycle(mutexes.unfinished))
            if index is not None
        ),
        is_unseen=not run.was_loaded or bool(run.became) or run.unseen is not None,
        exit_status=os.WEXITSTATUS(run.status) if os.WIFEXITED(run.status) else None,
        provenance=provenance.machine(),
        threads=thread_uses(buffer, run.samples, nanoseconds),
    )


def _lock_site(
    mutexes: Mutexes, listed: Sequence[Mutex], symbols: Symbols, record: int, caller: int
) -> str:
    """Return the label of a caller that locked the mutex of a record."""
    index = mutexes.index_of(record)
    if index is not None:
        label = listed[index].taken_at(mutexes.site_of(record, caller), True)
        if label:
            return label
    return taken_at(symbols, caller).label


def symbols_of(buffer: Buffer, program: str, *, ask_servers: bool = False) -> Symbols:
    """Return the symbols for the addresses in a buffer. program: path of the started program;
    ask_servers: as in debug_file."""
    mappings = [
        Mapping(
            os.fsdecode(buffer.path_of(module)),
            int(module["start"]),
            int(module["end"]),
            int(module["base"]),
        )
        for module in buffer.modules
    ]
    path = os.fsdecode(loads.bytes_of(buffer["program"])) or program
    return Symbols(mappings, path, ask_servers=ask_servers)


def _number(buffer: Buffer) -> int:
    """Return the number of the process, that in its own PID namespace if no other is known; 0 if
    there is none."""
    return buffer.pid or int(buffer["process"]["pid"])


def _duration(buffer: Buffer, run: ProfiledRun) -> float:
    """Return the nanoseconds from the first acquisition to the end."""
    if not buffer.is_claimed:
        return 0.0
    begin = int(buffer["begin_ns"])
    if buffer.pid == run.child:
        return max(float(run.ended_ns - begin), 1.0)
    # Another process than the started one may have ended long before it.
    last_event = buffer.last_ticks * buffer.nanoseconds
    last = max(run.samples.last_ns - begin, last_event, 1.0)
    return min(last, max(float(run.ended_ns - begin), 1.0))


def _process(buffer: Buffer, run: ProfiledRun, duration: float, nanoseconds: float) -> Process:
    threads, samples = buffer.threads, run.samples
    calls = int(threads["acquisitions"].sum()) + int(buffer.unsampled.sum())
    usage = _own_use(buffer, run)
    return Process(
        duration=duration,
        processors=_processors(samples.processors),
        threads_most=max(samples.threads_most, min(len(threads), 2)),
        threads_mean=samples.threads / samples.count
        if samples.count
        else float(min(len(threads), 2)),
        threads_seen=int(buffer["threads_used"]) - int((~_took_any(threads)).sum()),
        lock_calls=float(calls),
        rwlock_calls=int(threads["rwlock_calls"].sum()),
        spin_calls=int(threads["spin_calls"].sum()),
        unprofiled_calls=int(threads["unprofiled"].sum()),
        cond_waits=int(threads["cond_waits"].sum()),
        cpu_user=usage["cpu_user"],
        cpu_system=usage["cpu_system"],
        voluntary=run.usage.ru_nvcsw,
        involuntary=run.usage.ru_nivcsw,
        migrations=float(threads["migrations"].sum()),
        minor_faults=round(usage["minor_faults"]),
        major_faults=round(usage["major_faults"]),
        mmap_calls=int(threads["mmap_calls"].sum()),
        touched=samples.touched,
        last_cache=working_set.last_level_cache_size(),
        runnable=samples.runnable / samples.count if samples.count else None,
        wanting=samples.wanting / samples.count if samples.count else None,
        realtime=samples.realtime if samples.count else None,
        creation=_creation(buffer, run, duration / nanoseconds),
    )


def _took_any(threads: Rows) -> NDArray[np.bool_]:
    """Return, for each thread, whether it took any lock, rather than only waiting for others."""
    names = ("samples", "contended", "failed_trylocks", "created", "unprofiled", "rwlock_calls")
    counts = [threads[name] for name in (*names, "spin_calls")]
    counts += [threads[name]["samples"] for name in ("reads", "writes")]
    took: NDArray[np.bool_] = np.any(np.array(counts) != 0, axis=0)
    return took


def _processors(samples: Counter[int]) -> int:
    """Return the number of processors that the threads could use in most of the samples; without
    samples, the number that this process may use."""
    (most,) = samples.most_common(1) or [(0, 0)]
    return most[0] or len(os.sched_getaffinity(0))


def _own_use(buffer: Buffer, run: ProfiledRun) -> dict[str, float]:
    """Return the resources that the process used without its children: the sums over all are known
    at the end, those of each process at its last sample."""
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


def _timeline(buffer: Buffer, mutexes: Mutexes, nanoseconds: float) -> tuple[Span, ...]:
    spans = buffer.spans
    # The clock of the processor that a thread moved to may be behind by a few hundred ns.
    spans = spans[spans["end"] >= spans["begin"]]
    if len(spans) > _MOST_SPANS:
        lengths = spans["end"] - spans["begin"]
        spans = spans[np.argsort(lengths)[-_MOST_SPANS:]]
    start = int(buffer["begin_ticks"])
    wait = buffers.constant("span::wait")
    timeline = []
    for row in np.sort(spans, order="begin"):
        index = mutexes.index_of(int(row["record"]))
        if index is None:
            continue
        timeline.append(
            Span(
                thread=int(row["thread"]),
                mutex=index,
                kind=buffers.WAIT if row["kind"] == wait else buffers.HOLD,
                begin=(int(row["begin"]) - start) * nanoseconds,
                end=(int(row["end"]) - start) * nanoseconds,
                site=mutexes.site_of(int(row["record"]), int(row["caller"])),
            )
        )
    for interval in mutexes.unfinished:
        index = mutexes.index_of(interval.record)
        if index is not None:
            begin, end = ((tick - start) * nanoseconds for tick in (interval.begin, interval.end))
            site = mutexes.site_of(interval.record, interval.caller)
            timeline.append(Span(interval.thread, index, interval.kind, begin, end, site))
    return tuple(sorted(timeline, key=lambda span: span.begin))


def _partial(buffer: Buffer, run: ProfiledRun, mutexes: Mutexes) -> str:
    reasons: list[str] = []
    if os.WIFSIGNALED(run.status):
        reasons.append(f"the program was ended by {signal.Signals(os.WTERMSIG(run.status)).name}")
    waiters = {wait.thread for wait in mutexes.unfinished if wait.kind == buffers.WAIT}
    if waiters:
        reasons.append(
            "one thread waited for a mutex to the end"
            if len(waiters) == 1
            else f"{len(waiters)} threads waited for mutexes to the end"
        )
    if buffer.is_claimed and buffer.pid != run.child:
        program = os.fsdecode(loads.bytes_of(buffer["program"]))
        reasons.append(
            f"it describes process {_number(buffer)} ({program}), which spent most time on mutexes"
        )
    recorded = {each.pid for each in (buffer, *(each for each, _ in run.beside))}
    sampled = Counter(each.name for each in known_from_samples(run.sampled, recorded))
    if sampled:
        names = ", ".join(
            f"'{name}'" + (f" ({count} processes)" if count > 1 else "")
            for name, count in sorted(sampled.items())
        )
        reasons.append(f"known from samples from outside only: {names}")
    if run.is_preloaded:
        reasons += _not_loaded(run)
    reasons += run.others.descriptions
    if sharing := int(buffer["threads_sharing"]):
        most = buffers.table_size("threads")
        reasons.append(
            f"more than {most:,} threads ran at once: counts of {sharing:,} of them may be too low"
        )
    if int(buffer["images"]) > 1:
        reasons.append("the process executed another program; the one before is not included")
    return "; ".join(reasons)


def _not_loaded(run: ProfiledRun) -> list[str]:
    """Return why a program could not report what it did, in a sentence, or nothing."""
    if not run.was_loaded:
        return [f"the profiler's library was never loaded; {loads.ADVICE}"]
    if run.became and not (run.unseen is not None and run.unseen.has_library):
        return [
            f"the program became '{run.became}', which did not load the profiler's library or could"
            f" not open the file for the profile; {loads.ADVICE}"
        ]
    return [f"{run.unseen.fault}; {run.unseen.advice}"] if run.unseen is not None else []
