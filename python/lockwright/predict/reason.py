"""What decides a prediction, in one sentence."""

from collections.abc import Sequence

from lockwright.base import numbers
from lockwright.predict.progress import steps_by_role
from lockwright.predict.ranking import TIE, Prediction
from lockwright.simulate.figures import BASELINE, integer, integers
from lockwright.simulate.machine import Machine
from lockwright.simulate.model import Model, mean
from lockwright.simulate.run import Line

_FULL = 0.9
"""Share of the time from which a mutex is held, or a processor busy, "nearly always"."""

_SLEEPS = 0.05
"""Sleeps for each acquisition from which they are a cost."""


def reason(model: Model, machine: Machine, ranked: Sequence[Prediction]) -> str:
    """Return the sentence for the locks with one number of threads, the best first."""
    best, worst = ranked[0], ranked[-1]
    threads = best.threads
    name, held = _most_held(model.with_threads(threads), best.line)
    of_time = numbers.share(min(1.0, held))
    if threads == 1:
        return "One thread never waits: only the instructions of a lock's fast path differ."
    if best.rate.value <= (1 + TIE) * worst.rate.value:
        if held >= _FULL:
            return f"No lock matters: {name} is held for {of_time} of the time under any of them."
        return (
            f"No lock matters: the most used mutex, {name}, is held for {of_time} of the time, and "
            "the threads mostly do something else."
        )
    limit = ""
    if held >= _FULL:
        limit = f"; no lock can do more, since {name} is then held for {of_time} of the time"
    contrast = f"{best.lock} is ahead of {worst.lock}"
    if threads > machine.processors and _per_acquisition(worst.line, "sleeps") < _SLEEPS:
        return (
            f"There are {threads} threads on {machine.processors} processors: {contrast} because "
            f"waiters of {worst.lock} keep processors from the holder{limit}."
        )
    base = next((each for each in ranked if each.lock == BASELINE), worst)
    sleeps = {each.lock: _per_acquisition(each.line, "sleeps") for each in (best, worst, base)}
    if sleeps[worst.lock] - sleeps[best.lock] >= _SLEEPS:
        return (
            f"Sleeping and waking decide: {sleeps[worst.lock]:.2f} sleeps for each acquisition "
            f"under {worst.lock}, {sleeps[best.lock]:.2f} under {best.lock}{limit}."
        )
    moves = {each.lock: _transfers(each.line) for each in (best, worst)}
    if moves[worst.lock] > 1.2 * moves[best.lock]:
        return (
            f"The cache lines that a lock moves decide: {moves[worst.lock]:.1f} for each "
            f"acquisition under {worst.lock}, {moves[best.lock]:.1f} under {best.lock}{limit}."
        )
    return f"The length of the handover decides: {contrast}{limit}."


def _most_held(model: Model, line: Line) -> tuple[str, float]:
    """Return the mutex that is held most in a simulation, and for which share of the time."""
    counts = [0.0] * len(model.mutexes)
    for role, steps in zip(model.roles, steps_by_role(model, line), strict=True):
        total = sum(share for _, share in role.takes)
        for index, share in role.takes:
            counts[index] += steps * share / total
    nanoseconds = integer(line, "picoseconds") / 1000
    held = [
        count * mean(mutex.section) / nanoseconds / mutex.instances
        for count, mutex in zip(counts, model.mutexes, strict=True)
    ]
    most = max(range(len(held)), key=lambda index: held[index])
    return model.mutexes[most].name, held[most]


def _per_acquisition(line: Line, name: str) -> float:
    return integer(line, name) / max(1, integer(line, "acquisitions"))


def _transfers(line: Line) -> float:
    return sum(integers(line, "transfers")) / max(1, integer(line, "acquisitions"))
