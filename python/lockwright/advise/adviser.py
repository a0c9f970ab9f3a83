"""The advice on a profile, assembled from its parts."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from lockwright.advise import thresholds, traits
from lockwright.advise.advice import NAMED, Advice, Candidate, Change, Diagnosis, Evidence
from lockwright.advise.bottlenecks import diagnose
from lockwright.advise.changes import changes
from lockwright.advise.evidence import all_met, at_least, at_most, informs
from lockwright.advise.other_locks import advise_on_other_locks
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.advise.reader_writer import advise_on_rwlocks
from lockwright.advise.steps import ask_questions, lacking_text
from lockwright.advise.tail_latency import tail_latency
from lockwright.base import wording
from lockwright.base.numbers import with_unit
from lockwright.preload import locks
from lockwright.preload.rwlocks import KEEP, RwLock
from lockwright.profile import long_holds
from lockwright.profile.record import Profile
from lockwright.profile.time_lost import OF_WHICH_TIME

UNSIMULATED = "'lockwright calibrate --machine-file here' describes this machine for that"
"""Why no lock was simulated, unless a reason is known."""


def advise(
    profile: Profile,
    *,
    registry: locks.Registry | None = None,
    rwlocks: Mapping[str, RwLock] | None = None,
    size: int | None = None,
    chosen: Sequence[Candidate] | None = None,
    refusal: str = "",
    unsimulated: str = UNSIMULATED,
) -> Advice:
    """Return the advice on a profile. registry, rwlocks: the locks to choose from, by default those
    of the build. chosen: the locks that gain in simulations, the best first; by default the default
    lock, if threads lose much. refusal: why simulations name none, if not because none gains;
    unsimulated: why nothing was simulated, without `chosen`. size: of the shortlist; the sentence
    names the first NAMED by default. Raises LockwrightError without a registry."""
    registered = list(registry or locks.registry())
    figures = ProfileFigures(profile)
    diagnoses = diagnose(figures)
    fired = [diagnosis for diagnosis in diagnoses if diagnosis.fired]
    usable = [
        lock
        for lock in registered
        if not figures.realtime_threads or traits.serves_by_priority(lock)
    ]
    steps, conflicts = ask_questions(figures, diagnoses, usable, figures.nodes)
    sensitivity = _sensitivity(figures)
    is_costly = all_met(sensitivity)
    can_gain = is_costly or (
        _can_be_relieved(figures, fired) and not _parking_suffices(figures, fired)
    )
    named = _safe(figures, usable) if chosen is None else tuple(chosen)
    has_default = _is_default_possible(profile, usable)
    if has_default:
        named = tuple(map(_by_default, named))
    candidates = named[:size] if can_gain else ()
    on_rwlocks = advise_on_rwlocks(figures, rwlocks, names_default=has_default)
    names = [lock.lock for lock in candidates[: size or NAMED]]
    rwlocks_first = bool(on_rwlocks.shortlist) and not can_gain and not profile.deadlock
    no_lock = "No lock for the mutexes" if rwlocks_first else "No lock"
    outcome = _unsimulated(names, unsimulated) if chosen is None else refusal or _simulated(names)
    sentences = [_sentence(figures, fired, can_gain, outcome, no_lock), on_rwlocks.sentence]
    if rwlocks_first:
        sentences.reverse()
    others = advise_on_other_locks(figures)
    sentences.insert(0 if not can_gain else len(sentences), others.sentence)
    return Advice(
        sentence=" ".join(filter(None, sentences)),
        sensitive=is_costly or bool(fired),
        sensitivity=(*sensitivity, *on_rwlocks.sensitivity),
        diagnoses=diagnoses,
        steps=steps,
        shortlist=candidates,
        conflicts=conflicts,
        changes=_most_lost_first(
            (profile.rwlocks_lost, on_rwlocks.changes),
            (others.waited, others.changes),
            (profile.lost, changes(figures, fired, can_gain)),
        ),
        rwlocks=on_rwlocks.shortlist,
        lock_may_gain=can_gain,
        lost=profile.lost,
        lost_share=profile.lost_share,
        tail_latency=tail_latency(figures),
        remarks=_remarks(figures, diagnoses, registered),
    )


def _most_lost_first(*parts: tuple[float, Sequence[Change]]) -> tuple[Change, ...]:
    """Return the changes for several kinds of locks, in the order of the time waited for them.
    parts: that time in ns, and the changes."""
    ordered = sorted(parts, key=lambda part: -part[0])
    return tuple(change for _, of_kind in ordered for change in of_kind)


def _is_default_possible(profile: Profile, usable: Sequence[locks.Lock]) -> bool:
    """Return whether DEFAULT can be named: its lock for mutexes can, and nothing else chooses the
    reader-writer locks."""
    if profile.rwlock not in ("", KEEP) or os.environ.get(locks.RWLOCK):
        return False
    return any(lock.is_default and lock.name == locks.DEFAULT_LOCK for lock in usable)


def _by_default(candidate: Candidate) -> Candidate:
    """Return a candidate under the name DEFAULT, whose mutexes it is, if it is that lock."""
    if candidate.lock != locks.DEFAULT_LOCK:
        return candidate
    return replace(candidate, lock=locks.DEFAULT, reason=f"its mutexes: {candidate.reason}")


def _safe(figures: ProfileFigures, usable: Sequence[locks.Lock]) -> tuple[Candidate, ...]:
    """Return the lock to name where nothing was simulated: the default one, if threads lose as much
    as it may cost."""
    if figures.lost_share < thresholds.LOST:
        return ()
    return tuple(
        Candidate(lock.name, f"safe, not simulated: {lock.summary}", lock.survives_oversubscription)
        for lock in usable
        if lock.is_default
    )


def _simulated(names: Sequence[str]) -> str:
    """Return what follows for the locks from simulations, as the end of a sentence."""
    if names:
        return f"try {wording.either(list(names))}"
    return "no lock gains 5 % in simulations: keep the C library's mutex"


def _unsimulated(names: Sequence[str], why: str) -> str:
    """Return the same without simulations."""
    if names:
        return f"try {wording.either(list(names))}, which is safe but was not simulated ({why})"
    return f"no lock is named, since nothing was simulated ({why})"


COSTS_WITHOUT_WAITING = frozenset({"trylock", "uncontended"})
"""Bottlenecks whose cost is in the calls, which another lock can lower although no thread waits;
others cost time only while threads wait."""


def _can_be_relieved(figures: ProfileFigures, fired: list[Diagnosis]) -> bool:
    """Return whether another lock can save a relevant share of the time."""
    if any(diagnosis.key in COSTS_WITHOUT_WAITING for diagnosis in fired):
        return True
    return bool(fired) and figures.lost_share >= thresholds.LOST


def _sensitivity(figures: ProfileFigures) -> tuple[Evidence, ...]:
    lost = at_least(
        f"time lost waiting for {_mutexes(figures)}, {OF_WHICH_TIME}",
        figures.lost_share,
        thresholds.LOST,
        "share",
        "without it the program would gain as much, and up to 5 % two locks count as equal",
    )
    if figures.busy_share is None:
        return (lost,)
    if figures.busy_share <= thresholds.BUSY:
        return (
            lost,
            at_most(
                "processors that had a thread to run",
                figures.busy_share,
                thresholds.BUSY,
                "share",
                "above, a waiting thread leaves its processor to another",
            ),
        )
    return (
        lost,
        informs("processors that had a thread to run", figures.busy_share, "share"),
        at_least(
            "acquisitions that had to wait",
            figures.per_cpu_second(figures.contended),
            thresholds.SLEEPS,
            "1/cpu s",
            "others use the processors meanwhile; parking and unparking takes 5 % of them",
        ),
    )


def _sentence(
    figures: ProfileFigures,
    fired: list[Diagnosis],
    can_gain: bool,
    outcome: str,
    no_lock: str,
) -> str:
    if figures.profile.deadlock:
        mutexes = " and ".join(figures.mutexes[index].name for index in figures.profile.deadlock)
        return f"It ended in a deadlock over {mutexes}; no lock prevents that."
    sentence = _sentence_on_mutexes(figures, fired, can_gain, outcome, no_lock)
    calls = figures.process.rwlock_calls
    if (figures.per_cpu_second(calls) or 0) < thresholds.RWLOCK_CALLS:
        return sentence
    return (
        f"{sentence} But it acquired process-shared reader-writer locks {calls:,} times, which are"
        " not profiled."
    )


def _sentence_on_mutexes(
    figures: ProfileFigures,
    fired: list[Diagnosis],
    can_gain: bool,
    outcome: str,
    no_lock: str,
) -> str:
    unhelped = " ".join(
        long_holds.sentence(figures.profile, index)
        for index in figures.unhelped
        if figures.lost_share_of(figures.mutexes[index].lost) >= thresholds.LOST
    )
    if unhelped and not fired and figures.lost_share < thresholds.LOST:
        return unhelped
    rest = _sentence_on_helped(figures, fired, can_gain, outcome, no_lock)
    return f"{unhelped} {rest}".strip()


def _mutexes(figures: ProfileFigures) -> str:
    return "other mutexes" if figures.unhelped else "mutexes"


def _sentence_on_helped(
    figures: ProfileFigures,
    fired: list[Diagnosis],
    can_gain: bool,
    outcome: str,
    no_lock: str,
) -> str:
    share = with_unit(figures.lost_share, "share")
    lost = f"threads lost {share} of the time in which they ran or waited for {_mutexes(figures)}"
    titles = " and ".join(diagnosis.title for diagnosis in fired)
    located = _located(figures, fired)
    if not can_gain and figures.lost_share >= thresholds.LOST and _parking_suffices(figures, fired):
        return (
            f"{located}: locks that spin would be slower. The C library's mutex parks, and"
            " other threads used the processors meanwhile, so another that parks will gain little."
        )
    if not can_gain and fired:
        return (
            f"{no_lock} will change much: {lost}. There is {titles}, which the wrong"
            " lock would worsen: keep the C library's mutex."
        )
    if not can_gain and figures.lost_share >= thresholds.LOST:
        return (
            f"{no_lock} will change much: {lost}, but other threads used the processors"
            " meanwhile, and none of the nine bottlenecks was found."
        )
    if not can_gain:
        return f"{no_lock} will change much: {lost}, and none of the nine bottlenecks was found."
    if not fired:
        return f"{lost[:1].upper()}{lost[1:]}; {outcome}."
    return f"{located}; {outcome}."


def _located(figures: ProfileFigures, fired: list[Diagnosis]) -> str:
    """Return the bottlenecks, each with its most affected mutex, as the beginning of a sentence; a
    mutex that they share is named once."""
    titles_by_place: dict[str, list[str]] = {}
    for diagnosis in fired:
        place = ""
        if diagnosis.mutexes:
            name = figures.mutexes[diagnosis.mutexes[0]].name
            # Some names describe the mutex.
            place = f" at the {name}" if name.startswith(("lock ", "locks ")) else f" at {name}"
        titles_by_place.setdefault(place, []).append(diagnosis.title)
    subject = "The bottleneck is" if len(fired) == 1 else "The bottlenecks are"
    places = (f"{' and '.join(titles)}{place}" for place, titles in titles_by_place.items())
    return f"{subject} {', '.join(places)}"


def _parking_suffices(figures: ProfileFigures, fired: list[Diagnosis]) -> bool:
    """Return whether preempted holders lose their processor to useful work, and threads wait so
    rarely that parking and unparking them costs hardly any time."""
    if [diagnosis.key for diagnosis in fired] != ["holder preemption"]:
        return False
    waits = figures.per_cpu_second(figures.contended)
    is_busy = figures.busy_share is not None and figures.busy_share > thresholds.BUSY
    return is_busy and waits is not None and waits < thresholds.RARE_WAITS


def _remarks(
    figures: ProfileFigures, diagnoses: tuple[Diagnosis, ...], known: list[locks.Lock]
) -> tuple[str, ...]:
    profile, process = figures.profile, figures.process
    remarks = [
        f"{diagnosis.title} is not measurable here"
        for diagnosis in diagnoses
        if not diagnosis.measurable
    ]
    if figures.realtime_threads:
        starving = sum(lock.realtime == locks.STARVES for lock in known)
        ordering = sum(lock.realtime == locks.OWN_ORDER for lock in known)
        remarks.append(
            f"{figures.realtime_threads:,} threads had real-time priorities (SCHED_FIFO,"
            " SCHED_RR), so only locks that serve by priority are considered: under"
            f" {starving} others a waiter keeps a holder of lower priority off the processor, and"
            f" {ordering} serve waiters in an order of their own"
        )
    if lacking := lacking_text(process):
        remarks.append(f"it ran on {process.processors} processors{lacking}")
    if profile.partial:
        remarks.append(f"the profile is less than a whole run: {profile.partial}")
    if process.unprofiled_calls:
        remarks.append(
            f"{process.unprofiled_calls:,} calls were on mutexes that are shared, robust or have a"
            " protocol: these remain the C library's under any lock"
        )
    if process.rwlock_calls:
        remarks.append(
            f"{process.rwlock_calls:,} calls were on process-shared reader-writer locks, which stay"
            " the C library's and are not profiled"
        )
    return tuple(remarks)
