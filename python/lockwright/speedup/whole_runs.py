"""Experiments of whole runs, whose figure is known at their end: each run has one share."""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lockwright.base import clock
from lockwright.base.errors import LockwrightError
from lockwright.base.numbers import number
from lockwright.profile import buffer as buffers
from lockwright.profile.buffer import Buffers
from lockwright.run.process_runner import Ending, Process, ProcessRunner
from lockwright.speedup.choice import Subject, Wanted
from lockwright.speedup.experimenter import Experimenter
from lockwright.speedup.measure import Curve, Measured, Prepared, prepare
from lockwright.speedup.windows import Window
from lockwright.stats.inference import paired_ratio

_KNOWN = 0.05
"""Seconds from the first mutex to the choice of one that is known by its name."""


@dataclass(frozen=True)
class Figure:
    """What a run is judged by. pattern: of a number in the output, as for ProcessRunner.run; None
    for the wall time. rounds: runs of each share; timeout: seconds of a run."""

    pattern: str | None
    lower_is_better: bool
    rounds: int
    timeout: float

    def window(self, share: int, ending: Ending, delayed: float, before: float = 0.0) -> Window:
        """Return a run as a window: the program measures with the real clock, the delays included.
        delayed, before: ns. Raises LockwrightError if the run failed or has no figure."""
        if (problem := ending.problem()) is not None:
            raise LockwrightError(
                f"a run of the program failed ({problem})", "make the command work by itself first"
            )
        value = ending.wall if self.pattern is None else number(ending.metric)
        if value is None or value <= 0:
            raise LockwrightError(
                f"no progress was measured: --metric matched {ending.metric or 'nothing'!r} in the"
                " output",
                "correct --metric, with ( ) around a number above 0, as in 'rate: ([0-9.]+)'",
            )
        is_time = self.pattern is None or self.lower_is_better
        ns = 1e9 * ending.wall
        cpu = 1e9 * ending.user
        progress = ns / value if is_time else ns * value
        return Window(share, ns, delayed, progress, cpu, before)


def measure(command: list[str], wanted: Wanted, figure: Figure) -> Measured:
    """Run a command several times to its end, with each mutex and share, as it is and without the
    library in each round; a first run chooses the mutexes. Raises LockwrightError if there is no
    result."""
    prepared = prepare(command)
    draw = random.Random(wanted.seed)
    are_named = bool(wanted.mutexes) and not any(map(str.isdecimal, wanted.mutexes))
    first_one = replace(wanted, shares=(0,), warm_up=_KNOWN if are_named else wanted.warm_up)
    with ProcessRunner("measure again") as processes:
        first, subjects = _run(processes, prepared, first_one, figure)
        # A name can differ from run to run; what was given finds the mutex each time.
        words = dict(zip((each.mutex for each in subjects), wanted.mutexes, strict=False))
        forms = [(each.mutex, s) for each in subjects for s in each.shares(wanted.shares) if s]
        control = (subjects[0].mutex, 0)
        rounds: list[dict[tuple[str, int], Window]] = []
        plain: list[float] = []
        for _ in range(figure.rounds):
            made: dict[tuple[str, int], Window] = {}
            for form in draw.sample([None, control, *forms], len(forms) + 2):
                if form is None:
                    plain.append(_plain_run(processes, prepared, figure).rate)
                    continue
                mutex, share = form
                word = words.get(mutex, mutex)
                only = replace(wanted, mutexes=(word,), shares=(share,), warm_up=_KNOWN)
                made[form], _ = _run(processes, prepared, only, figure)
            rounds.append(made)
    return Measured(
        prepared.command,
        tuple(
            Curve(
                replace(each, progress="", seconds=first.ns / 1e9),
                tuple(_round(made, each.mutex, control) for made in rounds),
            )
            for each in subjects
        ),
        plain=paired_ratio(plain, [made[control].rate for made in rounds], False),
        is_whole=True,
    )


def _round(
    made: Mapping[tuple[str, int], Window], mutex: str, control: tuple[str, int]
) -> dict[int, Window]:
    """Return the runs with experiments on a mutex and the control, by their shares."""
    own = {share: window for (name, share), window in made.items() if name == mutex}
    return {0: made[control]} | own


def _run(
    processes: ProcessRunner, prepared: Prepared, wanted: Wanted, figure: Figure
) -> tuple[Window, list[Subject]]:
    with buffers.new() as path:
        run_buffers = Buffers(path)
        experimenter = Experimenter(run_buffers, str(prepared.program), wanted)
        experimenter.start()
        begin = clock.monotonic_ns()
        try:
            ending = _ended(processes, prepared, prepared.environment(path), figure)
        finally:
            experimenter.stop()
        share = wanted.shares[0]
        before = max(0.0, float(experimenter.began - begin)) if share else 0.0
        window = figure.window(share, ending, experimenter.delayed, before)
        return window, experimenter.subjects()


def _plain_run(processes: ProcessRunner, prepared: Prepared, figure: Figure) -> Window:
    return figure.window(0, _ended(processes, prepared, dict(os.environ), figure), 0)


def _ended(
    processes: ProcessRunner, prepared: Prepared, environment: dict[str, str], figure: Figure
) -> Ending:
    process = Process(
        prepared.command,
        environment,
        out="nowhere" if figure.pattern is None else "memory",
        program=prepared.program,
    )
    return processes.run(process, figure.timeout, metric=figure.pattern)
