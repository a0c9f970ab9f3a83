"""The six questions of the guidelines (TOCS 2019, figure 7): each leaves fewer locks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lockwright.advise import thresholds, traits
from lockwright.advise.advice import Diagnosis, Step
from lockwright.advise.bottlenecks import contention
from lockwright.advise.profile_figures import ProfileFigures
from lockwright.base import numbers
from lockwright.base.numbers import with_unit
from lockwright.preload.locks import Lock
from lockwright.profile.record import Process

Condition = Callable[[Lock], bool]


@dataclass(frozen=True)
class _Question:
    text: str
    answer: str
    reason: str
    rule: str
    accepts: Condition | None


def ask_questions(
    figures: ProfileFigures, diagnoses: Iterable[Diagnosis], locks: list[Lock], nodes: int | None
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """Return the steps with the locks that each leaves, and the conflicts. A step that would leave
    no lock is set aside, so earlier questions take precedence: the papers advise locks that park
    for a program with extreme contention and more threads than processors (TOCS 2019, table 17)."""
    fired = {diagnosis.key: diagnosis for diagnosis in diagnoses if diagnosis.fired}
    measurable = {diagnosis.key: diagnosis.measurable for diagnosis in diagnoses}
    left = list(locks)
    steps: list[Step] = []
    conflicts: list[str] = []
    for number, question in enumerate(_questions(figures, fired, measurable, nodes), start=1):
        if question.accepts is None:
            steps.append(_step(number, question, left, left))
            continue
        accepted = [lock for lock in left if question.accepts(lock)]
        if accepted:
            steps.append(_step(number, question, accepted, left))
            left = accepted
            continue
        conflicts.append(_conflict(figures, locks, steps, number, question))
        steps.append(_step(number, question, left, left, conflicts[-1]))
    return tuple(steps), tuple(conflicts)


def _conflict(
    figures: ProfileFigures, locks: list[Lock], steps: list[Step], number: int, question: _Question
) -> str:
    if not any(question.accepts(lock) for lock in locks if question.accepts):
        which = "that serve by priority" if figures.realtime_threads else "built here"
        return f"none of the locks {which} satisfies step {number} ({question.rule})"
    opposed = next(
        step
        for step in steps
        if not any(question.accepts(lock) for lock in _remaining(locks, step) if question.accepts)
    )
    return (
        f"no lock satisfies both step {opposed.number} ({opposed.rule}) and step {number}"
        f" ({question.rule}); step {number} is set aside, because an earlier one counts for more"
    )


def _remaining(locks: Iterable[Lock], step: Step) -> list[Lock]:
    return [lock for lock in locks if lock.name in step.remaining]


def _step(
    number: int, question: _Question, remaining: list[Lock], before: list[Lock], set_aside: str = ""
) -> Step:
    names = [lock.name for lock in remaining]
    return Step(
        number=number,
        question=question.text,
        answer=question.answer,
        reason=question.reason,
        rule=question.rule,
        remaining=tuple(names),
        excluded=tuple(lock.name for lock in before if lock.name not in names),
        set_aside=set_aside,
    )


def _questions(
    figures: ProfileFigures,
    fired: dict[str, Diagnosis],
    measurable: dict[str, bool],
    nodes: int | None,
) -> Iterable[_Question]:
    crowded = figures.crowded
    yield _Question(
        "Do more threads want to run than there are processors?",
        "yes" if crowded else "no",
        _competition(figures),
        "locks that park, or that skip waiters that do not run" if crowded else "locks that spin",
        (lambda lock: lock.survives_oversubscription) if crowded else traits.spins,
    )
    unknown = "" if figures.is_preloaded else "not measurable here"
    blocking = figures.blocking_rate >= thresholds.BLOCKING or "handover" in fired
    yield _Question(
        "Do threads often block for other reasons (condition variables, input and output)?",
        unknown or ("yes" if blocking else "no"),
        "blocking calls for each processor: "
        f"{with_unit(None if unknown else figures.blocking_rate, '1/s')};"
        f" {thresholds.BLOCKING:,} are many",
        "no lock that hands over to a thread that spins" if blocking else "",
        (lambda lock: not traits.hands_over_to_spinning(lock)) if blocking else None,
    )
    instances = figures.instances >= thresholds.INSTANCES
    yield _Question(
        "Are there many mutexes?",
        unknown or ("yes" if instances else "no"),
        f"{f'{figures.instances:,} at least' if unknown else f'{figures.instances:,}'} at one time;"
        f" {thresholds.INSTANCES:,} are many",
        "no lock that needs memory outside the mutex" if instances else "",
        traits.small if instances else None,
    )
    trylock_loop = "trylock" in fired
    yield _Question(
        "Do threads call trylock in a loop?",
        unknown or ("yes" if trylock_loop else "no"),
        _failures(figures),
        "locks with a hardened trylock" if trylock_loop else "",
        (lambda lock: lock.hardened_trylock) if trylock_loop else None,
    )
    memory = "memory contention" in fired
    yield _Question(
        "Do threads contend for memory?",
        ("yes" if memory else "no") if measurable["memory contention"] else "not measurable here",
        _memory(figures),
        "locks with low memory traffic" if memory else "",
        (lambda lock: lock.low_traffic) if memory else None,
    )
    yield _contention(figures, crowded, nodes)


def _competition(figures: ProfileFigures) -> str:
    process = figures.process
    threads = with_unit(figures.threads, "threads")
    return (
        f"{threads}, of which {with_unit(figures.polling_threads, '')} would want to run if waiters"
        f" polled; {process.processors} processors{lacking_text(process)}"
    )


def lacking_text(process: Process) -> str:
    """Return the processors that the threads had, if they lacked many, as the end of a sentence."""
    if process.pressure == 1:
        return ""
    return (
        f", of which the threads had {numbers.ratio(process.had)} together: other programs, a quota"
        " or a host took the rest"
    )


def _failures(figures: ProfileFigures) -> str:
    failed = figures.per_cpu_second(sum(mutex.failed_trylocks for mutex in figures.mutexes))
    return f"failed trylocks: {with_unit(failed if figures.is_preloaded else None, '1/cpu s')}"


def _memory(figures: ProfileFigures) -> str:
    process = figures.process
    if process.touched is None:
        return "the memory touched is not known"
    return f"memory touched: {with_unit(process.touched, 'bytes/cpu s')}"


def _contention(figures: ProfileFigures, crowded: bool, nodes: int | None) -> _Question:
    level = contention.level(figures)
    reason = "next to no time is lost by waiting"
    if figures.most_contended is not None:
        mutex = figures.mutexes[figures.most_contended]
        share = with_unit(figures.waiting_share(mutex), "share")
        reason = f"{share} of the threads wait for {mutex.name}"
    accepts: Condition
    if level == "low":
        rule, accepts = "light locks", lambda lock: lock.light
    elif level == "extreme" and nodes != 1:
        rule, accepts = "hierarchical locks", lambda lock: lock.numa_aware
    elif crowded:
        # Step 1 asked for locks that park.
        rule, accepts = "no light lock", lambda lock: not lock.light
    else:
        rule = "no light lock, and none that parks"
        accepts = lambda lock: not lock.light and not lock.parking  # noqa: E731
    if level == "extreme" and nodes == 1:
        rule += " (on one NUMA node a hierarchical lock gains nothing)"
    return _Question("How contended is the most contended mutex?", level, reason, rule, accepts)
