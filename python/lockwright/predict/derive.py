"""The model of a program from its profile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from lockwright.base import numbers
from lockwright.base.errors import LockwrightError
from lockwright.predict.profiled_machine import kernel_time
from lockwright.predict.roles import ThreadGroup, acquisitions_by_role, groups
from lockwright.profile import long_holds
from lockwright.profile.function_names import brief
from lockwright.profile.record import Distribution, Mutex, Profile
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import (
    Buckets,
    Model,
    ModelMutex,
    Role,
    exactly,
    gamma,
    mean,
    scaled,
)

VARIATION = 1.0
"""Coefficient of variation of gaps as long as nothing is known of it."""

_MOST_MUTEXES = 64

_LEAST_SHARE = 0.001
"""A mutex with a smaller share of the acquisitions, the holding and the waiting is left out."""

_TELLING = 0.02
"""Least share of the acquisitions or the waiting of a mutex that tells roles apart."""

_CROWDED = 1.1
"""Runnable threads for each processor above which threads wait for processors."""

_BLOCKED = 0.05
"""Least share of a role's time off the processor that counts as blocking; below, it is within the
resolution of the kernel's processor times."""

_SLICE = 4e6
"""ns without a processor after an involuntary context switch: a time slice of another thread, as
`lockwright calibrate` measures it on Linux 6."""

_FOLLOWING = 0.5
"""Least share of a role's time in sleeps outside mutexes at which it waits for other threads."""

_SLEEPING = 0.1
"""Least share of sections without a processor that counts as sleep."""

_MOST_SLEEPS = 8.0
"""Sleeps for each contended acquisition at most; the others are elsewhere."""

_RARELY = 0.01
"""Share of the most acquisitions of a thread below which a thread does not take mutexes often."""

_FAILED_TRY = 30.0
"""ns of a trylock that fails, with its record in the profile."""

_SLEEP = 1e6
"""ns of a sleep outside mutexes if their number is unknown."""

_LONGEST_NAME = 40

_WIDTH = 1.125
"""Ratio of a bucket's bounds at most, in src/probe/histogram.hpp."""


@dataclass(frozen=True)
class Variant:
    """One of the models that agree with a profile. label: what it assumes. data_lines: cache lines
    that each section changes."""

    label: str
    model: Model
    data_lines: int


@dataclass(frozen=True)
class Derived:
    """The models that agree with a profile; the first is the usual one. indices: of the model's
    mutexes in the profile. rate: acquisitions of the model's mutexes in the profile, per second
    in which its threads had processors; contended: the share that found it held. owner_changes:
    by mutex, the share of acquisitions whose last holder was another thread. sections: acquisitions
    of the model's mutexes in the run. lost_share: of the time in which threads ran or waited, that
    lost waiting. outside_ns: the part of the run in which no thread was between its first and its
    last acquisition. kernel_ns: kernel time that mutexes took, for each acquisition; 0 if it is not
    known."""

    variants: tuple[Variant, ...]
    indices: tuple[int, ...]
    rate: float
    contended: float
    owner_changes: tuple[float, ...] = ()
    sections: float = 0.0
    lost_share: float = 0.0
    outside_ns: float = 0.0
    kernel_ns: float = 0.0

    @property
    def model(self) -> Model:
        return self.variants[0].model

    def runs_per_second(self, rate: float) -> float:
        """Return the inverse of the time of a whole run in which the threads' part, whose sections
        are as many as in the profile, has `rate` sections per second."""
        return 1 / (self.outside_ns / 1e9 + self.sections / rate) if rate else 0.0


def derive(profile: Profile, machine: Machine | None, *, needs_waiting: bool = True) -> Derived:
    """Return the models of a profiled program. machine: the one that it was profiled on, if it is
    described. needs_waiting: refuse a program in which no thread waited. Raises LockwrightError for
    a profile that does not suffice."""
    check(profile, needs_waiting=needs_waiting)
    kept = _kept(profile)
    mutexes = [profile.mutexes[index] for index in kept]
    telling = _telling(mutexes)
    roles, are_mixed = groups(profile.threads, [mutexes[index] for index in telling])
    for role in roles:
        # A mutex that does not tell roles apart may be taken by all.
        role.mutexes = {telling[index] for index in role.mutexes} | (
            set(range(len(mutexes))) - set(telling)
        )
    table = acquisitions_by_role(roles, mutexes)
    mutexes = _consistent(profile, roles, table, mutexes)
    asleep = _asleep(profile, roles, table, mutexes)
    times = [
        _times(profile, role, row, mutexes, asleep) for role, row in zip(roles, table, strict=True)
    ]
    modelled = tuple(
        ModelMutex(
            _short(mutex.name),
            _section(mutex.holding),
            mutex.instances,
            polls=_polls(mutex),
            asleep=asleep,
        )
        for mutex in mutexes
    )
    made = [
        _role(profile, role, row, of_role, machine)
        for role, row, of_role in zip(roles, table, times, strict=True)
        if sum(row) >= 1
    ]
    if not made:
        raise LockwrightError(
            "no thread of the profile takes its mutexes more than now and then",
            "profile the program under its usual load",
        )
    if any(role.threads > 1 for role in made):
        made = [structs.replace(role, scales=role.threads > 1) for role in made]
    unknown = _unknown(profile, made, are_mixed)
    model = Model(
        title=" ".join(profile.command)[:80],
        mutexes=modelled,
        roles=tuple(made),
        source=f"profile of {profile.started}, {sum(role.threads for role in made)} threads on "
        f"{profile.process.processors} processors, under the C library's mutex",
        unknown=tuple(unknown),
    )
    taken = sum(mutex.acquisitions for mutex in mutexes)
    active = max((thread.active for role in roles for thread in role.threads), default=0.0)
    all_active = sum(role.active for role in roles)
    disturbed = sum(of_role.disturbed for of_role in times)
    undisturbed = active * (1 - min(0.9, disturbed / max(1.0, all_active)))
    return Derived(
        (Variant(label_of(VARIATION), model, 0),),
        tuple(kept),
        taken / max(1.0, undisturbed) * 1e9,
        sum(mutex.contended for mutex in mutexes) / max(1.0, taken),
        tuple(mutex.owner_changes for mutex in mutexes),
        taken,
        profile.lost_share,
        max(0.0, profile.process.duration - active),
        kernel_time(profile, machine) / max(1.0, taken) if machine is not None else 0.0,
    )


def label_of(variation: float) -> str:
    """Return the assumption that gaps have a coefficient of variation."""
    return (
        "equal gaps" if not variation else f"gaps with a coefficient of variation of {variation:g}"
    )


def check(profile: Profile, *, needs_waiting: bool = True) -> None:
    """Raise LockwrightError for a profile that does not suffice. needs_waiting: as in derive()."""
    if not profile.is_preloaded:
        raise LockwrightError(
            "the profile was taken from outside (--pid), so it has no sections",
            "start the program with 'lockwright profile -o FILE -- PROGRAM'",
        )
    if not any(mutex.acquisitions for mutex in profile.mutexes):
        raise LockwrightError(
            "the profile has no mutex that was taken", "profile a program that uses mutexes"
        )
    if not profile.threads:
        raise LockwrightError(
            "the profile is of an earlier version of Lockwright, without its threads",
            "profile the program again",
        )
    if needs_waiting and not any(mutex.contended for mutex in profile.mutexes):
        raise LockwrightError(
            "no thread of the profile waited for a mutex, so there is nothing to predict",
            "profile the program under load, with at least two threads",
        )


def _kept(profile: Profile) -> list[int]:
    """Return the indices of the mutexes in the model, in the order of the profile."""
    shares = _shares(profile.mutexes)
    order = sorted(range(len(shares)), key=lambda index: -shares[index])[:_MOST_MUTEXES]
    return sorted(
        index
        for index in order
        if shares[index] >= _LEAST_SHARE and profile.mutexes[index].acquisitions
    )


def _shares(mutexes: Sequence[Mutex], with_held: bool = True) -> list[float]:
    """Return the largest share of each mutex in the acquisitions, the waiting and the holding."""
    parts = [
        [mutex.acquisitions for mutex in mutexes],
        [mutex.lost for mutex in mutexes],
        [mutex.holding.total if with_held else 0.0 for mutex in mutexes],
    ]
    totals = [sum(part) or 1.0 for part in parts]
    return [
        max(part[index] / total for part, total in zip(parts, totals, strict=True))
        for index in range(len(mutexes))
    ]


def _telling(mutexes: Sequence[Mutex]) -> list[int]:
    shares = _shares(mutexes, with_held=False)
    return [index for index, share in enumerate(shares) if share >= _TELLING]


def _short(name: str) -> str:
    """Return a name that fits into a line of a table."""
    shorter = brief(name).rstrip()  # without the space before the callers in parentheses
    return shorter if len(shorter) <= _LONGEST_NAME else f"{shorter[: _LONGEST_NAME - 1]}…"


def _is_crowded(profile: Profile) -> bool:
    runnable = profile.process.runnable
    return runnable is not None and runnable >= _CROWDED * profile.process.processors


def _section(holding: Distribution) -> Buckets:
    """Return the lengths of sections, with the exact mean of the profile."""
    if not holding.buckets:
        return exactly(holding.mean)
    lows = [low for low, _ in holding.buckets]
    buckets = []
    for index, (low, weight) in enumerate(holding.buckets):
        high = low * _WIDTH if low else 1.0
        if index + 1 < len(lows):
            high = min(high, lows[index + 1])
        buckets.append((low, high, weight))
    found = mean(tuple(buckets))
    return scaled(tuple(buckets), holding.mean / found) if found else ()


@dataclass(frozen=True)
class _Times:
    """The times of a role's threads in ns, summed: in gaps on a processor, blocked outside mutexes,
    and without a processor because others had it."""

    gap: float
    blocked: float
    disturbed: float


def _polls(mutex: Mutex) -> bool:
    """Return whether threads wait for a mutex by trying it."""
    return mutex.failed_trylocks >= mutex.acquisitions > 0


def _consistent(
    profile: Profile,
    roles: Sequence[ThreadGroup],
    table: Sequence[Sequence[float]],
    mutexes: Sequence[Mutex],
) -> list[Mutex]:
    """Return the mutexes with sections that fit into the time of the threads: their lengths are
    from samples, of which the longest few may count too much."""
    held = sum(_held(row, mutexes) for row in table)
    active = sum(role.active for role in roles)
    share = max(0.0, active - profile.lost) / held if held else 1.0
    if share >= 1:
        return list(mutexes)
    return [
        replace(mutex, holding=replace(mutex.holding, total=share * mutex.holding.total))
        for mutex in mutexes
    ]


def _asleep(
    profile: Profile,
    roles: Sequence[ThreadGroup],
    table: Sequence[Sequence[float]],
    mutexes: Sequence[Mutex],
) -> float:
    """Return the share of all sections in which holders have to sleep, since the threads were on a
    processor for less time than they held mutexes, and others did not take it away from them. That
    they sleep for more is not known."""
    if _is_crowded(profile):
        return 0.0
    held, cpu = 0.0, _without_processor(profile)
    for role, row in zip(roles, table, strict=True):
        on_processor = _on_processor(profile, role)
        if on_processor is None:
            return 0.0
        held += _held(row, mutexes)
        cpu += on_processor * role.active
    share = 1 - cpu / held if held else 0.0
    return share if share >= _SLEEPING else 0.0


def _held(row: Sequence[float], mutexes: Sequence[Mutex]) -> float:
    return sum(count * mutex.holding.mean for count, mutex in zip(row, mutexes, strict=True))


def _times(
    profile: Profile,
    role: ThreadGroup,
    row: Sequence[float],
    mutexes: Sequence[Mutex],
    asleep: float,
) -> _Times:
    held = _held(row, mutexes)
    contended = sum(thread.contended for thread in profile.threads)
    waited = profile.lost * role.contended / contended if contended else 0.0
    tried = sum(
        mutex.failed_trylocks * count / mutex.acquisitions * _FAILED_TRY
        for count, mutex in zip(row, mutexes, strict=True)
        if _polls(mutex)
    )
    between = max(0.0, role.active - held - waited - tried)
    on_processor = _on_processor(profile, role)
    if on_processor is None:
        return _Times(between, 0.0, 0.0)
    off = max(0.0, role.active * (1 - on_processor) - waited - asleep * held)
    disturbed = min(off, _without_processor(profile) * _share(profile, role))
    if _is_crowded(profile):
        # Threads wait for processors within sections and between them alike.
        blocked = min(between, off - disturbed)
        running = role.active - waited - blocked
        share = min(1.0, on_processor * role.active / running) if running > 0 else 1.0
        left = between - blocked
        return _Times(left * share, blocked, left * (1 - share))
    off = min(between, off)
    disturbed = min(off, disturbed)
    blocked = off - disturbed
    if blocked < _BLOCKED * role.active:
        return _Times(between - off, 0.0, off)
    return _Times(between - off, blocked, disturbed)


def _without_processor(profile: Profile) -> float:
    """Return the ns for which threads were runnable and had no processor, as others had it: an
    involuntary context switch takes a time slice at most, and less where the preempting thread
    sleeps at once."""
    process = profile.process
    most = process.involuntary * _SLICE
    if process.runnable is None:
        return most
    # Others in the queue of the processor have their slices first.
    turns = max(1.0, process.runnable / max(1, process.processors))
    return min(turns * most, max(0.0, process.runnable * process.duration - process.cpu))


def _role(
    profile: Profile,
    role: ThreadGroup,
    row: Sequence[float],
    times: _Times,
    machine: Machine | None,
) -> Role:
    steps = sum(row)
    calls = _cost_of_calls(profile, machine, role)
    sleeps = min(steps, _sleeps(profile, role, times.blocked)) if times.blocked else 0.0
    return Role(
        name=role.name,
        threads=len(role.threads),
        gap=gamma(max(0.0, times.gap / steps - calls), VARIATION),
        takes=tuple((index, count / steps) for index, count in enumerate(row) if count > 0),
        block_share=sleeps / steps,
        block_ns=times.blocked / sleeps if sleeps else 0.0,
        sections=steps,
        follows=times.blocked > _FOLLOWING * role.active,
    )


def _share(profile: Profile, role: ThreadGroup) -> float:
    """Return the share of a role in the acquisitions of all threads."""
    total = sum(thread.acquisitions for thread in profile.threads)
    return role.acquisitions / max(1.0, total)


def _on_processor(profile: Profile, role: ThreadGroup) -> float | None:
    """Return the share of their time that the threads of a role spent on a processor. Where too few
    samples saw them, as in a short run, that of all threads that take mutexes often."""
    known = [thread for thread in role.threads if thread.on_processor is not None]
    active = sum(thread.active for thread in known)
    if active:
        return sum((thread.on_processor or 0.0) * thread.active for thread in known) / active
    most = max((thread.acquisitions for thread in profile.threads), default=0.0)
    active = sum(
        thread.active for thread in profile.threads if thread.acquisitions >= _RARELY * most
    )
    return min(1.0, profile.process.cpu / active) if active and profile.process.cpu else None


def _sleeps(profile: Profile, role: ThreadGroup, blocked: float) -> float:
    """Return how often the threads of a role blocked elsewhere, for `blocked` ns: by the voluntary
    context switches beyond the contended acquisitions; by the waits on condition variables; or
    else, as some contended acquisitions do not sleep, for a millisecond each time."""
    contended = sum(mutex.contended for mutex in profile.mutexes)
    elsewhere = max(profile.process.voluntary - contended, profile.process.cond_waits)
    if elsewhere <= 0:
        return max(1.0, blocked / _SLEEP)
    return max(1.0, elsewhere * _share(profile, role))


def _cost_of_calls(profile: Profile, machine: Machine | None, role: ThreadGroup) -> float:
    """Return the ns of a lock and an unlock outside section and waiting, which the simulator adds
    itself: two calls with a read-modify-write each; after a contended acquisition a wake call,
    which finds no sleeper or wakes one. A waiter may sleep several times until it has the mutex."""
    if machine is None:
        return 0.0
    figures = machine.figures
    change = figures["hit.rmw_cycles"] / figures["clock.ghz"]
    pair = 2 * max(change, figures["call.least_ns"])
    contended = role.contended / max(1.0, role.acquisitions)
    of_all = sum(mutex.contended for mutex in profile.mutexes)
    if kernel := kernel_time(profile, machine):
        return pair + kernel / of_all * contended
    slept = max(0.0, profile.process.voluntary - profile.process.cond_waits)
    wakes = contended * min(_MOST_SLEEPS, slept / max(1.0, of_all))
    failed = figures["kernel.miss_ns"] + figures["kernel.bucket_ns"]
    wake = figures["kernel.wake_ns"] + figures["kernel.interrupt_ns"]
    return pair + min(1.0, contended) * failed + min(1.0, wakes) * wake


def _unknown(profile: Profile, roles: Sequence[Role], are_mixed: bool) -> list[str]:
    process = profile.process
    lines = [
        "the distribution of the time between sections: only its mean is known",
        "which data a section touches, and how often it would miss a cache elsewhere",
        "sections inside other sections: taken as one after the other",
    ]
    if process.cond_waits:
        lines.append(
            f"who wakes whom on condition variables: {numbers.count(process.cond_waits)} waits are "
            "sleeps that last as long as in the profile, whatever the others do"
        )
    elif any(role.block_share for role in roles):
        lines.append(
            "what threads wait for outside mutexes: sleeps that last as long as in the profile"
        )
    for index, mutex in enumerate(profile.mutexes):
        if long_holds.reason(profile, index) is not None:
            lines.append(
                f"why {mutex.name} is held while its holders sleep, or as a gate: sections that"
                " last as long as in the profile, under any lock"
            )
    failed = sum(mutex.failed_trylocks for mutex in profile.mutexes if not _polls(mutex))
    if failed:
        lines.append(f"{numbers.count(failed)} failed trylocks: not in the model")
    others = process.rwlock_calls + process.spin_calls + process.unprofiled_calls
    others += round(sum(each.acquisitions for each in profile.rwlocks))
    if others:
        lines.append(
            f"{numbers.count(others)} calls of reader-writer locks, spin locks and other mutexes: "
            "not in the model"
        )
    if _is_crowded(profile):
        lines.append(
            "sections without preemption: more threads than processors were runnable, so sections "
            "and gaps contain waits for a processor; profile with fewer threads"
        )
    if are_mixed:
        lines.append("the roles of the threads: they differ too much, and are taken as one")
    if profile.partial:
        lines.append(f"the whole run: {profile.partial}")
    return lines
