"""The run of a program with experiments."""

import os
from dataclasses import dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError, warn
from lockwright.preload import binary, locks
from lockwright.profile import buffer as buffers
from lockwright.profile.buffer import Buffers
from lockwright.run import foreground
from lockwright.speedup.choice import Subject, Wanted
from lockwright.speedup.experimenter import Experimenter, checked
from lockwright.speedup.windows import Gain, Room, Round, delayed_share, gains, overhead
from lockwright.stats.inference import Ratio

LIBRARY = "probe/liblockwright-probe-experiments.so"


@dataclass(frozen=True)
class Curve:
    """The experiments on one lock. rounds: of windows of one run, or of whole runs."""

    subject: Subject
    rounds: tuple[Round, ...]

    @property
    def gains(self) -> list[Gain]:
        """The gain of each share."""
        room = Room(len(os.sched_getaffinity(0)), self.subject.held)
        crowded = room if self.subject.is_crowded else None
        return gains(self.rounds, crowded, self.subject.section)


@dataclass(frozen=True)
class Measured:
    """The result of experiments, one curve at least. status: the wait status of the run; plain: how
    many times as fast runs without the library are as controls, None if there were none; is_whole:
    the rounds are of whole runs; rested: ns without experiments between the rounds; problems: a
    line for each mutex without a result."""

    command: tuple[str, ...]
    curves: tuple[Curve, ...]
    status: int = 0
    plain: Ratio | None = None
    is_whole: bool = False
    rested: float = 0
    problems: tuple[str, ...] = ()

    @property
    def rounds(self) -> list[Round]:
        """The rounds of all mutexes."""
        return [each for curve in self.curves for each in curve.rounds]

    @property
    def delayed(self) -> float:
        """The share of the windows' time by which each thread was delayed."""
        return delayed_share(self.rounds)

    @property
    def overhead(self) -> float:
        """By how much longer the delays made the run, or runs, 0.1 for 10 %."""
        return overhead(self.rounds, self.rested)


@dataclass(frozen=True)
class Prepared:
    """A command that can be run with experiments. program: the path of its first word."""

    command: tuple[str, ...]
    program: Path
    library: Path

    def environment(self, buffer: Path) -> dict[str, str]:
        """Return its environment. buffer: path of that of the run."""
        environment = locks.preload(self.library, dict(os.environ), self.program)
        return environment | {buffers.VARIABLE: str(buffer)}


def prepare(command: list[str]) -> Prepared:
    """Check a command. Raises LockwrightError if it cannot be run with experiments."""
    program = binary.find(command[0])
    library = locks.directory() / LIBRARY
    if not library.is_file():
        raise LockwrightError(f"{library} is missing", "build or install Lockwright again")
    locks.check_preloadable(library)
    if (doubt := binary.check(program, library, command[1:])) is not None:
        warn(doubt)
    return Prepared(tuple(command), program, library)


def measure(command: list[str], wanted: Wanted) -> Measured:
    """Run a command in the foreground to its end with experiments. Raises LockwrightError if it
    cannot be run so, or if they gave no result."""
    prepared = prepare(command)
    with buffers.new() as path:
        run_buffers = Buffers(path)
        experimenter = Experimenter(run_buffers, str(prepared.program), wanted)
        environment = prepared.environment(path)
        try:
            ending = foreground.run(prepared.program, command, environment, experimenter.start)
        except OSError as error:
            raise LockwrightError(
                f"cannot run '{prepared.program}': {error.strerror}",
                "check the program and its arguments",
            ) from error
        run_buffers.first.check()
        experimenter.stop()
        curves, problems = _curves(experimenter, wanted)
        return Measured(
            prepared.command,
            curves,
            ending.status,
            rested=experimenter.rested,
            problems=problems,
        )


def _curves(
    experimenter: Experimenter, wanted: Wanted
) -> tuple[tuple[Curve, ...], tuple[str, ...]]:
    """Return the curves, and a line for each lock without one. Raises LockwrightError if there is
    no curve."""
    curves, errors = [], []
    for subject, trial in zip(experimenter.subjects(), experimenter.trials, strict=True):
        try:
            windows = len(subject.shares(wanted.shares))
            curves.append(Curve(subject, checked(subject, trial.rounds, windows)))
        except LockwrightError as error:
            errors.append((subject.mutex, error))
    if not curves:
        raise errors[0][1]
    return tuple(curves), tuple(f"No result for {name}: {error.what}." for name, error in errors)
