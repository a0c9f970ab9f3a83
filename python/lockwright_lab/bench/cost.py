"""The cost of a lock without contention, and its memory."""

import sys
from collections.abc import Callable, Sequence

from lockwright.base.errors import LockwrightError
from lockwright.experiment import Outcome, Summary
from lockwright.run.bench_program import Subject

from lockwright_lab.bench import runs
from lockwright_lab.bench.measurement import Given, Measurement, bound

BOUNDS = {"ttas": 1.0, "ticket": 1.0, "mcs-spin": 1.6}
"""The largest ratio to the C library's cost that Lockwright promises, by lock."""

NO_PAIR = 0.1
"""Bytes per pair of a mutex and a thread that count as none: less than one bit."""

MOST_OUTSIDE = 4 << 30
"""Most bytes of lock state of all mutexes of a run, by the stated size: a lock with large state is
measured with fewer mutexes, so that the machine does not run out of memory."""

UNCONTENDED = Measurement(
    "uncontended",
    {"bound": bound(lambda row: BOUNDS.get(row.contender))},
    run=runs.beside_libc,
)


def _stated(trait: str) -> Callable[[Summary], str]:
    return lambda row: str(getattr(row.of_contender.subject.lock, trait, "-"))


def _promise(row: Summary) -> str:
    pairs, lock = row.by_round("bytes_per_pair"), row.of_contender.subject.lock
    if not pairs:
        return "-"
    fits = lock is None or lock.bytes_per_mutex_outside == 0
    grew = fits and any(row.by_round("bytes_per_mutex").values())
    return "MISSED" if max(pairs.values()) >= NO_PAIR or grew else "holds"


def most_mutexes(subject: Subject) -> int:
    """Return the largest number of mutexes of a run."""
    size = subject.lock.bytes_per_mutex_outside if subject.lock else 0
    return MOST_OUTSIDE // size if size else sys.maxsize


def _mutexes(subject: Subject, wanted: int, warm: int) -> int:
    return max(warm + 1, min(wanted, most_mutexes(subject)))


def _run(call: runs.Call) -> Outcome:
    wanted, warm = (int(str(call.options[name])) for name in ("mutexes", "warm"))
    return call.having({"mutexes": _mutexes(call.contender.subject, wanted, warm)}).run()


def _remarks(_: Sequence[Sequence[Summary]], given: Given) -> list[str]:
    wanted, warm = given.options["mutexes"], given.options["warm"]
    return [
        f"{each.name}: {number:,} mutexes only, because of their memory."
        for each in given.common.chosen
        if (number := _mutexes(each, wanted, warm)) < wanted
    ]


def _check(given: Given) -> Given:
    options = given.options
    for smaller, larger, most, is_below in (
        ("warm", "mutexes", options["mutexes"], True),
        ("sharers", "waiters", options["threads"], False),
    ):
        least = options[smaller]
        if least > most or (is_below and least == most):
            where = "not below" if is_below else "above"
            raise LockwrightError(
                f"{smaller}={least} is {where} {larger}={most}",
                f"give a smaller {smaller} by --set",
            )
    return given


FOOTPRINT = Measurement(
    "footprint",
    {
        "in_place": _stated("bytes_in_place"),
        "stated_outside": _stated("bytes_per_mutex_outside"),
        "per_node": _stated("bytes_per_node"),
        "promise": _promise,
    },
    check=_check,
    run=_run,
    remarks=_remarks,
)
