"""Runs of the measuring program as outcomes of an experiment.

Their details have the lines that the program printed: `lines` of the run itself, `beside` of the C
library's run next to it; and `counting`, the details of a run under the counting library, with its
`counts`.
"""

import dataclasses
import os
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import CodeType
from typing import Any

from lockwright.experiment import (
    FAILED,
    FINISHED,
    TIMEOUT,
    Contender,
    Outcome,
)
from lockwright.machine import pinning
from lockwright.run import bench_program
from lockwright.run.bench_program import LIBC, Subject, calls_served_by_others, number, run
from lockwright.run.tools import Line

_OPERATIONS = ("operations", "acquisitions", "pairs", "sections", "trips")
"""Fields with the number of operations of a workload; the first that exists is used."""

Value = Callable[[Outcome], float | None]

BEFORE_AND_AFTER = 20.0
"""Seconds in addition to its warm-up and measurement after which a run is killed."""

LIBC_SUBJECT = Subject(LIBC)
"""The C library's mutex, without a library."""


@dataclass(frozen=True)
class Common:
    """The options that all measurements share: subjects, number of runs, seconds of a run."""

    chosen: Sequence[Subject]
    runs: int
    timeout: float


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


def operations(lines: Sequence[Line], measured: bool = False) -> float | None:
    """Return the number of operations of a run, from its last line that has one; None if unknown.

    measured: only those of its measurement.
    """
    for name in _OPERATIONS:
        counts = [
            line[name]
            for line in lines
            if isinstance(line.get(name), int | float)
            and (not measured or line.get("kind") == "measured")
        ]
        if counts:
            return float(counts[-1])
    return None


def contenders(chosen: Sequence[Subject]) -> list[Contender]:
    """Return the subjects as contenders."""
    return [Contender(each.name, subject=each) for each in chosen]


def outcome(subject: Subject, made: bench_program.Outcome) -> Outcome:
    """Return the outcome of one run of the program."""
    ended = TIMEOUT if made.timed_out else FAILED if made.failure else FINISHED
    details: dict[str, Any] = {
        "others": made.others,
        "meters": dict(made.meters),
        "lines": list(made.lines),
        "operations": operations(made.lines),
        "measured_operations": operations(made.lines, measured=True),
        "problems": exclusion(made.lines),
        "remarks": calls_served_by_others(subject, made.lines),
    }
    if made.counts is not None:
        details["counts"] = asdict(made.counts)
    return Outcome(ended, made.seconds, {}, made.failure, details)


def exclusion(lines: Sequence[Line]) -> list[str]:
    """Return a line if a run had not as many sections as acquisitions."""
    final = next((each for each in lines if each.get("kind") == "final"), None)
    if final is None or "guarded" not in final:
        return []
    same = number(final, "guarded") == number(final, "acquisitions")
    return [] if same else ["two threads were inside the section at once"]


def measure(
    contender: Contender,
    workload: str,
    options: Mapping[str, object],
    timeout: float,
    *,
    prefix: tuple[str, ...] = (),
) -> Outcome:
    """Make one run under a contender."""
    subject, variables = contender.subject, contender.environment
    made = run(subject, workload, options, timeout=timeout, environment=variables, prefix=prefix)
    return outcome(subject, made)


@dataclass(frozen=True)
class Call:
    """A run of the measuring program to make. round: of the experiment; options: of the program;
    timeout: limit in seconds; own: options of the measurement."""

    contender: Contender
    round: int
    workload: str
    options: Mapping[str, object]
    timeout: float
    own: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def under(self, contender: Contender) -> "Call":
        """Return the same run under another contender."""
        return replace(self, contender=contender)

    def having(self, options: Mapping[str, object]) -> "Call":
        """Return the same run with further options."""
        return replace(self, options={**self.options, **options})

    def run(self) -> Outcome:
        """Make the run."""
        return measure(self.contender, self.workload, self.options, self.timeout)


def beside_libc(call: Call) -> Outcome:
    """Run a contender and libc one after the other; return the outcome of the contender's run.

    The order alternates from round to round, so that a drift affects both equally. libc is also run
    against itself, which shows the effect of noise on a ratio.
    """
    pair = [call, call.under(Contender(LIBC, subject=LIBC_SUBJECT))]
    made = {index: pair[index].run() for index in ((0, 1) if call.round % 2 else (1, 0))}
    own, libc = made[0], made[1]
    return _with(own, libc, "libc", beside=libc.details["lines"] if libc.finished else [])


def also_counted(own: Outcome, call: Call) -> Outcome:
    """Return the outcome of a run with `counting`, that of another one under the counting library;
    without it if there is no such library, or the run was killed."""
    subject: Subject = call.contender.subject
    if subject.counting is None or own.ended == TIMEOUT:
        return own
    made = outcome(
        subject,
        run(subject, call.workload, call.options, timeout=call.timeout, counting=True),
    )
    if subject.lock is not None and subject.lock.category == "library":
        for name in ("futex_waits", "futex_wakes"):
            made.details["counts"].pop(name)
    counting = made.details if made.finished else {}
    return _with(own, made, "counting run", counting=counting)


def _with(own: Outcome, other: Outcome, name: str, **details: object) -> Outcome:
    """Return an outcome with further details, and the problems of another run."""
    problems = [*own.details["problems"], *other.details["problems"]]
    if other.ended == FAILED:
        problems.append(f"{name}: {other.note}")
    wall = own.wall + other.wall
    return replace(own, wall=wall, details={**own.details, **details, "problems": problems})


def in_pair(round_number: int, makes: Mapping[str, Callable[[], Outcome]]) -> Outcome:
    """Make two runs one after the other, and return their outcome, whose details have those of each
    by its name. The order alternates from round to round, so that a drift affects both equally. The
    pair has only finished if both have."""
    names = list(makes) if round_number % 2 else list(makes)[::-1]
    made = {name: makes[name]() for name in names}
    details: dict[str, Any] = {name: made[name].details for name in makes}
    known = [each.details["others"] for each in made.values() if each.details.get("others")]
    details["others"] = max(known, default=None)
    for name in ("problems", "remarks"):
        details[name] = [text for each in made.values() for text in each.details.get(name, ())]
    ended, note = FINISHED, ""
    for name, each in made.items():
        details[name] = {**each.details, "outcome": each.ended, "note": each.note}
        if not each.finished and ended in (FINISHED, TIMEOUT):
            ended, note = each.ended, f"{name}: {each.note}"
    return Outcome(ended, sum(each.wall for each in made.values()), {}, note, details)


def of(form: str, figure: Value) -> Value:
    """Return a figure of one run of a pair that has finished."""

    def value(made: Outcome) -> float | None:
        details = made.details.get(form) if made.finished else None
        return None if details is None else figure(replace(made, details=details))

    return value


def quotient(above: Value, below: Value) -> Value:
    """Return the quotient of two figures of a run, if both are above 0."""

    def value(made: Outcome) -> float | None:
        first, second = above(made), below(made)
        return first / second if first and second and min(first, second) > 0 else None

    return value


def pinned() -> dict[str, Any]:
    """Return the options that pin each thread to a core and set the speed of the busy work. A
    placement by the scheduler varies more than the compared libraries."""
    processor_lists = pinning.processor_lists("core", pinning.usable_processors())
    return {**calibration(), "pin": processor_lists}


def calibration() -> dict[str, float]:
    """Return the option for the speed of the busy work, which is measured once for all runs."""
    return {"loops-per-us": bench_program.loops_per_us()}


def line(made: Outcome, kind: str, of: str = "lines") -> Line | None:
    """Return the first line of a kind, None if there is none. of: the detail with the lines."""
    return next((each for each in made.details.get(of, ()) if each.get("kind") == kind), None)


def field(text: str) -> Value:
    """Return a figure: the median of an expression over all lines of a kind; None if no line has
    it. text: such as `measured: acquisitions / seconds`. The kind `latency` is followed by that of
    the times; `counting` are the counts of the counting run and its last line."""
    kind, _, expression = text.partition(": ")
    code = compile(expression, text, "eval")

    def value(made: Outcome) -> float | None:
        values = [_evaluated(code, fields) for fields in _fields(made, kind)]
        known = [each for each in values if each is not None]
        return statistics.median(known) if known else None

    return value


def _fields(made: Outcome, kind: str) -> Iterator[Line]:
    if kind == "counting":
        counting = Outcome(details=made.details.get("counting", {}))
        yield {**(line(counting, "final") or {}), **(counting.details.get("counts") or {})}
    kind, _, what = kind.partition(" ")
    for each in made.details.get("lines", ()):
        if each.get("kind") == kind and (not what or each.get("what") == what):
            yield {name.replace(".", "_"): known for name, known in each.items()}


def _evaluated(code: CodeType, fields: Line) -> float | None:
    try:
        return float(eval(code, {"__builtins__": {}}, fields))
    except (NameError, TypeError, ZeroDivisionError):
        return None


def to_libc(figure: Value) -> Value:
    """Return the ratio of a figure to that of the C library's run beside it."""

    def value(made: Outcome) -> float | None:
        beside = figure(replace(made, details={"lines": made.details.get("beside", ())}))
        own = figure(made)
        return own / beside if own is not None and beside else None

    return value
