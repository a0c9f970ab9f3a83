"""The thread that makes experiments on a running program."""

import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockwright.base import clock
from lockwright.base.errors import LockwrightError
from lockwright.profile.buffer import Buffer, Buffers
from lockwright.profile.live import user_time
from lockwright.speedup.block import Block, State
from lockwright.speedup.choice import WARM_UP, Chosen, Subject, Wanted, choose, threads_alike
from lockwright.speedup.windows import Round, Window, moving, needed_rest

_AGAIN = 0.1
"""Seconds to the first attempt to choose mutexes; each further one follows after 1.5 times as
long."""

_LEAD = 0.25
"""Time before a window with its share already, by its length: threads pay what they owe from the
window before, and begin to owe for this one."""

_FIRST = 5
"""Rounds before the first rest: their cost is not known well enough yet."""

_FEW, _MOST_SECONDS = 5, 8.0
"""If a window had fewer acquisitions of progress, the next ones are twice as long, up to this."""


@dataclass
class Trial:
    """The experiments on one mutex. rounds: of complete windows; seconds: of the next ones."""

    chosen: Chosen
    rounds: list[Round] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seconds = self.chosen.subject.seconds

    def add(self, made: Round) -> None:
        """Add a round. If too little happened in one of its windows, the next ones are longer."""
        self.rounds.append(made)
        if min(window.progress for window in made.values()) < _FEW:
            self.seconds = min(2 * self.seconds, _MOST_SECONDS)


class Experimenter:
    """Chooses mutexes of a running program, and makes experiments until the program ends. trials:
    none until they are chosen; began: ns of the monotonic clock at the first round, 0 if there was
    none; rested: ns without experiments between rounds; delayed: ns by which each thread was in
    all."""

    def __init__(self, buffers: Buffers, program: str, wanted: Wanted) -> None:
        """Prepare the thread. program: path of the started program."""
        self.trials: list[Trial] = []
        self.began = 0
        self.rested = self.delayed = 0.0
        self._buffers, self._program, self._wanted = buffers, program, wanted
        self._problem = LockwrightError(
            "no mutex was taken", "'lockwright profile' says what it can see of the program"
        )
        self._random = random.Random(wanted.seed)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._experiment, daemon=True)

    def start(self, _pid: int = 0) -> None:
        """Start the thread; the caller has blocked the signals that it must not receive."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the program."""
        self._ended.set()
        self._thread.join()

    def subjects(self) -> list[Subject]:
        """Return what was chosen. Raises LockwrightError if nothing was."""
        if not self.trials:
            raise self._problem
        return [each.chosen.subject for each in self.trials]

    def _experiment(self) -> None:
        pause = _AGAIN
        while not self._ended.wait(pause):
            buffer = self._buffers.busiest()
            if not (buffer.took_any or buffer["objects"]["waits"].any()):
                continue
            if clock.monotonic_ns() < int(buffer["begin_ns"]) + 1e9 * self._wanted.warm_up:
                self._problem = LockwrightError(
                    "the program ended within a second of its first mutex", "let it run longer"
                )
                continue
            pause *= 1.5
            try:
                block = Block(buffer.path)
                self.trials = [Trial(each) for each in choose(buffer, self._program, self._wanted)]
            except LockwrightError as error:
                self._problem = error
                continue
            if self.trials[0].chosen.subject.is_crowded:
                block.note_crowded()
            self.began = clock.monotonic_ns()
            self._all_rounds(buffer, block)
            block.end()
            self.delayed = block.state().owed * buffer.nanoseconds
            return

    def _all_rounds(self, buffer: Buffer, block: Block) -> None:
        """Make rounds until the program ends: one with each mutex, the first one first, then again
        at random."""
        order = self.trials
        while True:
            for trial in order:
                made = self._round(trial, buffer, block)
                block.end()
                if made is None:
                    return
                trial.add(made)
                rounds = [each for one in self.trials for each in one.rounds]
                # Without controls, a run is one window, which has no rests.
                rests = len(rounds) >= _FIRST and 0 in self._wanted.shares
                pause = needed_rest(rounds, self.rested) if rests else 0.0
                self.rested += pause
                if self._ended.wait(pause / 1e9):
                    return
            order = self._random.sample(self.trials, len(self.trials))

    def _round(self, trial: Trial, buffer: Buffer, block: Block) -> Round | None:
        """Make the windows of a lock in random order; return None if the program ended."""
        unit, process = buffer.nanoseconds, Path(f"/proc/{buffer.pid}")
        chosen, seconds = trial.chosen, trial.seconds
        shares = chosen.subject.shares(self._wanted.shares)
        records = block.alike(chosen.records) if chosen.is_group else chosen.records
        metered = records if chosen.metered == chosen.records else chosen.metered
        block.choose(records, metered, chosen.objects, chosen.readers)
        made: dict[int, Window] = {}
        for share in self._random.sample(shares, len(shares)):
            block.begin(max(share, 0), 4e9 * seconds / unit)
            block.park(*self._parked(buffer, -share, 2 * seconds))
            is_over = self._ended.wait(_LEAD * seconds)
            begin, used = block.state(), user_time(process)
            if is_over or self._ended.wait(seconds):
                return None
            window, now = _window(share, begin, block.state(), unit), user_time(process)
            if used is not None and now is not None:
                window = replace(window, cpu=now - used)
            made[share] = window
        return made

    def _parked(self, buffer: Buffer, threads: int, seconds: float) -> tuple[list[int], int]:
        """Return all but so many slots of the threads that do the same, by chance, and the end of
        the time in ticks; none for a number below 1."""
        if threads < 1:
            return [], 0
        alike = threads_alike(buffer)
        parked = self._random.sample(alike, max(0, len(alike) - threads))
        return parked, buffer.ticks_at(clock.monotonic_ns() + int(1e9 * seconds))


def _window(share: int, begin: State, end: State, unit: float) -> Window:
    return Window(
        share, end.ns - begin.ns, (end.owed - begin.owed) * unit, end.progress - begin.progress
    )


def checked(subject: Subject, rounds: Sequence[Round], shares: int) -> tuple[Round, ...]:
    """Return the rounds with progress in each window: a program may pause, or end with one thread.
    Raise LockwrightError if they give no result: too few from the first one with progress on.
    shares: windows of a round."""
    if len(rounds) < 2:
        least = 2 * shares * subject.seconds * (1 + _LEAD) + WARM_UP
        raise LockwrightError(
            "the program ended before each experiment was made twice",
            f"let it run for {least:.0f} seconds at least, or measure fewer shares by --section",
        )
    good = moving(rounds)
    since = len(rounds) - (rounds.index(good[0]) if good else 0)
    if len(good) < max(2, since / 2):
        longest = max(window.ns for each in rounds for window in each.values()) / 1e9
        raise LockwrightError(
            f"no progress was measured: {subject.progress} was not taken in every window of up to"
            f" {longest:.2g} s",
            "name a mutex that is taken more often by --progress",
        )
    return tuple(good)
