"""Puts the advice together."""

from lockwright.advise import ranking, thresholds, traits
from lockwright.advise.advice import Advice, Diagnosis, Evidence
from lockwright.advise.bottlenecks import contention, diagnose
from lockwright.advise.changes import changes
from lockwright.advise.evidence import all_met, at_least, at_most, informs
from lockwright.advise.seen import Seen
from lockwright.advise.steps import walk
from lockwright.advise.tail_latency import tail_latency
from lockwright.base.numbers import with_unit
from lockwright.preload import locks
from lockwright.profile.record import Profile

SHORTLIST = 5
"""Locks on the shortlist, unless more or fewer are wanted."""


def advise(
    profile: Profile, *, registry: locks.Registry | None = None, size: int = SHORTLIST
) -> Advice:
    """What a profile says. registry: the locks to choose from, those of the build unless given;
    size: of the shortlist. Raises LockwrightError where there is no registry."""
    known = list(registry or locks.registry())
    seen = Seen(profile)
    diagnoses = diagnose(seen)
    fired = [each for each in diagnoses if each.fired]
    choice = [lock for lock in known if not seen.realtime or traits.serves_by_priority(lock)]
    steps, conflicts = walk(seen, diagnoses, choice, seen.nodes)
    left = [lock for lock in choice if lock.name in steps[-1].kept]
    sensitivity = _sensitivity(seen)
    is_costly = all_met(sensitivity)
    can_gain = is_costly or _can_be_relieved(seen, fired)
    keys = [each.key for each in fired]
    candidates = (
        ranking.shortlist(seen, left, keys, contention.level(seen), seen.nodes, size)
        if can_gain
        else ()
    )
    return Advice(
        sentence=_sentence(seen, fired, can_gain, [each.lock for each in candidates]),
        sensitive=is_costly or bool(fired),
        sensitivity=sensitivity,
        diagnoses=diagnoses,
        steps=steps,
        shortlist=candidates,
        conflicts=conflicts,
        changes=changes(seen, fired),
        tail_latency=tail_latency(seen),
        remarks=_remarks(seen, diagnoses, known),
    )


COSTS_WITHOUT_WAITING = frozenset({"trylock", "uncontended"})
"""Bottlenecks whose cost is that of the calls, which another lock can lower though nobody waits.
The others cost time only as somebody waits, or tell which locks would make it worse."""


def _can_be_relieved(seen: Seen, fired: list[Diagnosis]) -> bool:
    """Whether another lock can win back a share of the time that counts."""
    if any(each.key in COSTS_WITHOUT_WAITING for each in fired):
        return True
    return bool(fired) and seen.lost_share >= thresholds.LOST


def _sensitivity(seen: Seen) -> tuple[Evidence, ...]:
    lost = at_least(
        "time lost waiting for mutexes, of the time in which threads ran or waited",
        seen.lost_share,
        thresholds.LOST,
        "share",
        "without it the program would gain as much, and up to 5 % two locks count as equal",
    )
    if seen.busy is None:
        return (lost,)
    if seen.busy <= thresholds.BUSY:
        return (
            lost,
            at_most(
                "processors that had a thread to run",
                seen.busy,
                thresholds.BUSY,
                "share",
                "else a thread that waits leaves its processor to another",
            ),
        )
    return (
        lost,
        informs("processors that had a thread to run", seen.busy, "share"),
        at_least(
            "acquisitions that had to wait",
            seen.per_cpu_second(sum(mutex.contended for mutex in seen.mutexes)),
            thresholds.SLEEPS,
            "1/cpu s",
            "others use the processors meanwhile; to fall asleep and to be woken takes 5 % of them",
        ),
    )


def _sentence(seen: Seen, fired: list[Diagnosis], can_gain: bool, names: list[str]) -> str:
    if seen.profile.deadlock:
        those = " and ".join(seen.mutexes[index].name for index in seen.profile.deadlock)
        return f"It ended in a deadlock over {those}; no lock prevents that."
    said = _of_mutexes(seen, fired, can_gain, names)
    calls = seen.process.rwlock_calls
    if (seen.per_cpu_second(calls) or 0) < thresholds.RWLOCK_CALLS:
        return said
    return (
        f"{said} But it took reader-writer locks {calls:,} times, which were not looked into:"
        " 'lockwright profile --rwlock mutex' does."
    )


def _of_mutexes(seen: Seen, fired: list[Diagnosis], can_gain: bool, names: list[str]) -> str:
    lost = with_unit(seen.lost_share, "share")
    titles = " and ".join(each.title for each in fired)
    if not can_gain and fired:
        return (
            f"No lock will change much: threads lost {lost} of their time waiting for mutexes."
            f" There is {titles}, which the wrong lock would make worse: stay with the C library's."
        )
    if not can_gain and seen.lost_share >= thresholds.LOST:
        return (
            f"No lock will change much: threads waited {lost} of their time for mutexes, but others"
            " used the processors meanwhile, and none of the nine bottlenecks is there."
        )
    if not can_gain:
        return (
            f"No lock will change much: threads lost {lost} of their time waiting for mutexes,"
            " and none of the nine bottlenecks is there."
        )
    locks_to_try = f"try {', '.join(names[:2])}" if names else "no lock is left to try"
    if not fired:
        return f"Threads lost {lost} of their time waiting for mutexes; {locks_to_try}."
    where = ""
    concerned = next((each.mutexes for each in fired if each.mutexes), ())
    if concerned:
        where = f" at {seen.mutexes[concerned[0]].name}"
    if _parking_suffices(seen, fired):
        return (
            f"It is {titles}{where}: locks that spin would lose by it. The C library's mutex parks,"
            " and others used the processors meanwhile, so another that parks will not gain much."
        )
    return f"It is {titles}{where}; {locks_to_try}."


def _parking_suffices(seen: Seen, fired: list[Diagnosis]) -> bool:
    """Whether holders lose their processor to threads that go on with it, and threads wait so
    rarely that to put them to sleep and to wake them costs next to nothing."""
    if [each.key for each in fired] != ["holder preemption"]:
        return False
    waits = seen.per_cpu_second(sum(mutex.contended for mutex in seen.mutexes))
    is_busy = seen.busy is not None and seen.busy > thresholds.BUSY
    return is_busy and waits is not None and waits < thresholds.RARE_WAITS


def _remarks(
    seen: Seen, diagnoses: tuple[Diagnosis, ...], known: list[locks.Lock]
) -> tuple[str, ...]:
    profile, process = seen.profile, seen.process
    remarks = [f"{each.title} is not measurable here" for each in diagnoses if not each.measurable]
    if seen.realtime:
        starving = sum(lock.realtime == locks.STARVES for lock in known)
        ordering = sum(lock.realtime == locks.OWN_ORDER for lock in known)
        remarks.append(
            f"{seen.realtime:,} threads had real-time priorities (SCHED_FIFO, SCHED_RR), so only"
            f" locks that serve by priority come into question: under {starving} others a waiter"
            " keeps a holder of lower priority off the processor, and"
            f" {ordering} serve waiters in an order of their own"
        )
    if profile.partial:
        remarks.append(f"the profile is less than a whole run: {profile.partial}")
    if process.unprofiled_calls:
        remarks.append(
            f"{process.unprofiled_calls:,} calls were of mutexes that are shared, robust or have a"
            " protocol: these stay with the C library under any lock"
        )
    if process.rwlock_calls:
        remarks.append(
            f"{process.rwlock_calls:,} calls were of reader-writer locks, which were not looked"
            " into: 'lockwright profile --rwlock mutex' has them as mutexes"
        )
    return tuple(remarks)
