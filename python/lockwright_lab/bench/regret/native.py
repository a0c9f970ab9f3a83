"""The runs of a grid on this machine, by the measuring program."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from lockwright.base.errors import LockwrightError
from lockwright.experiment import Contender, Outcome
from lockwright.machine import quota
from lockwright.run.bench_program import number

from lockwright_lab.bench import runs
from lockwright_lab.bench.regret.grid import QUOTA, Load

WINDOW_US = 5000
"""Distance between two samples of a run whose regime changes once."""

_MARGIN = 0.01
"""Seconds by which a run whose regime changes once ends before its second period does."""

_TO_END = 10.0
"""Seconds in addition to its measurement after which a run is killed."""


@dataclass(frozen=True)
class Native:
    """This machine. seconds, warm_up: of a run; timeout: None for a limit by the length. first:
    options that were measured before the first run. prefix: words that start a command in the group
    with a quota, once it is there."""

    seconds: float
    warm_up: float
    timeout: float | None = None
    first: Mapping[str, object] = field(default_factory=dict)
    prefix: list[str] = field(default_factory=list)

    @contextmanager
    def prepared(self, loads: Sequence[Load]) -> Iterator[None]:
        """Create the group with a quota if a load needs it, and remove it at the end."""
        if not any(load.quota for load in loads):
            yield
            return
        with quota.limited_group(QUOTA * runs.processors()) as group:
            self.prefix[:] = quota.start_words(group)
            yield

    def run(self, load: Load, contender: Contender, _: int) -> Outcome:
        """Make a run. Raises LockwrightError if two threads were inside at once."""
        made = runs.measure(
            contender,
            "rwlock" if load.of_rwlocks else "regimes",
            self.arguments(load),
            self.timeout or self.seconds * load.length + self.warm_up + _TO_END,
            prefix=tuple(self.prefix) if load.quota else (),
        )
        return outcome(made, load.name, contender.name, self.change(load))

    def change(self, load: Load) -> float:
        """Return the seconds after which the regime changes; 0 if it does not."""
        return self.seconds * load.length / 2 if load.changes_once else 0.0

    def arguments(self, load: Load) -> dict[str, object]:
        """Return all options of the measuring program."""
        seconds = self.seconds * load.length
        options: dict[str, object] = {
            "threads": load.threads,
            "seconds": seconds,
            "warm-up": self.warm_up,
            **self.first,
        }
        if load.changes_once:
            # After two periods the first regime would come again.
            options |= {"seconds": seconds - min(_MARGIN, seconds / 4), "sample-us": WINDOW_US}
            options["period-us"] = 1e6 * self.change(load)
        return options | {name: f"{value:g}" for name, value in load.options}


def outcome(made: Outcome, load: str, contender: str, change: float = 0.0) -> Outcome:
    """Return the outcome of a run with its figures, whose regime changes after `change` seconds.

    Raises LockwrightError if two threads were inside at once.
    """
    if made.details["problems"]:
        raise LockwrightError(
            f"{contender}, {load}: {made.details['problems'][0]}",
            "the lock is broken: leave it out, or check it with 'lockwright check'",
            1,
        )
    line = runs.line(made, "measured")
    details: dict[str, object] = {"others": made.details["others"]}
    if line is None or not made.finished:
        return replace(made, details=details)
    seconds = number(line, "seconds")
    # A thread alone never waits, and its waits are not measured.
    waits = ("longest_wait_ns", "longest_read_wait_ns", "longest_write_wait_ns")
    samples = [
        (ns / 1e9 - change, float(count))
        for ns, count in zip(
            line.get("sample_ns", ()), line.get("sample_acquisitions", ()), strict=True
        )
    ]
    figures = {
        "rate": number(line, "operations") / seconds,
        "longest": max(number({each: 0, **line}, each) for each in waits) / 1e9,
        "processors": number(line, "processor_seconds") / seconds,
    }
    if samples:
        details["samples"] = samples
    return replace(made, figures=figures, details=details)


def possible(loads: Sequence[Load]) -> tuple[list[Load], list[str]]:
    """Return the loads that can be measured here, and a remark if some cannot."""
    without_quota = [load for load in loads if not load.quota]
    left_out = len(loads) - len(without_quota)
    if left_out == 0 or not (reason := quota.obstacle()):
        return list(loads), []
    return without_quota, [f"Left out, {left_out} cells with a processor quota: {reason}."]
