"""The six questions of the guidelines (TOCS 2019, figure 7): each narrows down what is left."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lockwright.advise import thresholds, traits
from lockwright.advise.advice import Diagnosis, Step
from lockwright.advise.bottlenecks import contention
from lockwright.advise.seen import Seen
from lockwright.base.numbers import with_unit
from lockwright.preload.locks import Lock

Keeps = Callable[[Lock], bool]


@dataclass(frozen=True)
class _Question:
    text: str
    answer: str
    reason: str
    rule: str
    keeps: Keeps | None


def walk(
    seen: Seen, diagnoses: Iterable[Diagnosis], locks: list[Lock], nodes: int | None
) -> tuple[tuple[Step, ...], tuple[str, ...]]:
    """The steps with what each keeps, and the conflicts.

    A step that would leave no lock is set aside, so an earlier question counts for more: that is
    how the papers come to advise locks that park for a program with extreme contention and more
    threads than processors (TOCS 2019, table 17).
    """
    fired = {each.key: each for each in diagnoses if each.fired}
    measurable = {each.key: each.measurable for each in diagnoses}
    left = list(locks)
    steps: list[Step] = []
    conflicts: list[str] = []
    for number, question in enumerate(_questions(seen, fired, measurable, nodes), start=1):
        if question.keeps is None:
            steps.append(_step(number, question, left, left))
            continue
        kept = [lock for lock in left if question.keeps(lock)]
        if kept:
            steps.append(_step(number, question, kept, left))
            left = kept
            continue
        conflicts.append(_conflict(seen, locks, steps, number, question))
        steps.append(_step(number, question, left, left, conflicts[-1]))
    return tuple(steps), tuple(conflicts)


def _conflict(
    seen: Seen, locks: list[Lock], steps: list[Step], number: int, question: _Question
) -> str:
    if not any(question.keeps(lock) for lock in locks if question.keeps):
        which = "that serve by priority" if seen.realtime else "built here"
        return f"none of the locks {which} satisfies step {number} ({question.rule})"
    blame = next(
        step
        for step in steps
        if not any(question.keeps(lock) for lock in _named(locks, step) if question.keeps)
    )
    return (
        f"no lock satisfies both step {blame.number} ({blame.rule}) and step {number}"
        f" ({question.rule}); step {number} is set aside, because an earlier one counts for more"
    )


def _named(locks: Iterable[Lock], step: Step) -> list[Lock]:
    return [lock for lock in locks if lock.name in step.kept]


def _step(
    number: int, question: _Question, kept: list[Lock], before: list[Lock], set_aside: str = ""
) -> Step:
    names = [lock.name for lock in kept]
    return Step(
        number=number,
        question=question.text,
        answer=question.answer,
        reason=question.reason,
        rule=question.rule,
        kept=tuple(names),
        dropped=tuple(lock.name for lock in before if lock.name not in names),
        set_aside=set_aside,
    )


def _questions(
    seen: Seen, fired: dict[str, Diagnosis], measurable: dict[str, bool], nodes: int | None
) -> Iterable[_Question]:
    many = seen.crowded
    yield _Question(
        "Do more threads want to run than there are processors?",
        "yes" if many else "no",
        _competition(seen),
        "locks that park, or that pass over threads that do not run" if many else "locks that spin",
        traits.bears_many_threads if many else traits.spins,
    )
    unknown = "" if seen.from_within else "not measurable here"
    blocking = seen.blocking >= thresholds.BLOCKING or "handover" in fired
    yield _Question(
        "Do threads often block for other reasons (condition variables, input and output)?",
        unknown or ("yes" if blocking else "no"),
        "blocking calls for each processor: "
        f"{with_unit(None if unknown else seen.blocking, '1/s')};"
        f" {thresholds.BLOCKING:,} are many",
        "no lock that hands over to a thread that spins" if blocking else "",
        (lambda lock: not traits.hands_over_to_spinning(lock)) if blocking else None,
    )
    instances = seen.instances >= thresholds.INSTANCES
    yield _Question(
        "Are there many mutexes?",
        unknown or ("yes" if instances else "no"),
        f"{f'{seen.instances:,} at least' if unknown else f'{seen.instances:,}'} at one time;"
        f" {thresholds.INSTANCES:,} are many",
        "no lock that needs memory outside the mutex" if instances else "",
        traits.small if instances else None,
    )
    tries = "trylock" in fired
    yield _Question(
        "Do threads call trylock in a loop?",
        unknown or ("yes" if tries else "no"),
        _failures(seen),
        "locks with a hardened trylock" if tries else "",
        traits.has_hardened_trylock if tries else None,
    )
    memory = "memory contention" in fired
    yield _Question(
        "Do threads contend for memory?",
        ("yes" if memory else "no") if measurable["memory contention"] else "not measurable here",
        _memory(seen),
        "locks with low memory traffic" if memory else "",
        traits.low_traffic if memory else None,
    )
    yield _contention(seen, many, nodes)


def _competition(seen: Seen) -> str:
    process = seen.process
    threads = with_unit(seen.threads, "threads")
    return (
        f"{threads}, of which {with_unit(seen.polling, '')} run, are ready to or wait for a mutex,"
        f" where they would run if they polled; {process.processors} processors"
    )


def _failures(seen: Seen) -> str:
    failed = seen.per_cpu_second(sum(mutex.failed_trylocks for mutex in seen.mutexes))
    return f"failed trylocks: {with_unit(failed if seen.from_within else None, '1/cpu s')}"


def _memory(seen: Seen) -> str:
    process = seen.process
    if process.touched is None:
        return "the memory touched is not known"
    return f"memory touched: {with_unit(process.touched, 'bytes/cpu s')}"


def _contention(seen: Seen, many: bool, nodes: int | None) -> _Question:
    level = contention.level(seen)
    reason = "nothing is lost by waiting that counts"
    if seen.hottest is not None:
        mutex = seen.mutexes[seen.hottest]
        reason = f"{with_unit(seen.in_line(mutex), 'share')} of the threads in line at {mutex.name}"
    keeps: Keeps
    if level == "low":
        rule, keeps = "light locks", traits.light
    elif level == "extreme" and nodes != 1:
        rule, keeps = "hierarchical locks", traits.hierarchical
    elif many:
        # Step 1 asked for locks that park.
        rule, keeps = "no light lock", lambda lock: not lock.light
    else:
        rule = "no light lock, and none that parks"
        keeps = lambda lock: not lock.light and not lock.parking  # noqa: E731
    if level == "extreme" and nodes == 1:
        rule += " (on one NUMA node a hierarchical lock has nothing to keep to)"
    return _Question("How contended is the hottest mutex?", level, reason, rule, keeps)
