"""The thread that makes experiments on a running program."""

import math
import os
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lockwright.base import clock
from lockwright.base.errors import LockwrightError
from lockwright.predict.changes import find_mutex
from lockwright.profile import damage
from lockwright.profile.buffer import Buffer, Buffers
from lockwright.profile.convert import symbols_of
from lockwright.profile.mutexes import Mutexes
from lockwright.profile.record import Mutex
from lockwright.profile.watch import no_samples
from lockwright.speedup.block import CHOSEN, METERED, Block, State
from lockwright.speedup.windows import Round, Window, moving, needed_rest

WARM_UP = 1.0
"""Seconds from the program's first mutex to the choice of one."""

_AGAIN = 0.1
"""Seconds to the first attempt to choose one; each further one follows after 1.5 times as long."""

_SHORTEST, _LONGEST = 0.06, 2.0
"""Seconds of a window."""

_EVENTS = 40
"""Sections, and acquisitions of progress, that a window should contain."""

_LEAD = 0.25
"""Time before a window with its share already, by its length: threads pay what they owe from the
window before, and begin to owe for this one."""


_FIRST = 5
"""Rounds before the first rest: their cost is not known well enough yet."""


@dataclass(frozen=True)
class Wanted:
    """What to measure. mutex, progress: rank, or a part of a name or site; None for the mutex with
    most time lost, and for `mutex`. shares: per cent, 0 for controls; warm_up: seconds from the
    first mutex to the choice."""

    mutex: str | None
    progress: str | None
    shares: Sequence[int]
    seed: int
    warm_up: float = WARM_UP


@dataclass(frozen=True)
class Subject:
    """The mutex of the experiments, that of the progress, and seconds of a window. section: ns of
    its sections, on average; is_crowded: its threads outnumber the processors."""

    mutex: str
    progress: str
    seconds: float
    section: float = math.inf
    is_crowded: bool = False


class Experimenter:
    """Chooses a mutex of a running program, and makes experiments until the program ends. subject:
    None until it is chosen; rounds: of complete windows; rested: ns without experiments between
    them; delayed: ns by which each thread was in all."""

    def __init__(self, buffers: Buffers, program: str, wanted: Wanted) -> None:
        """Prepare the thread. program: path of the started program."""
        self.subject: Subject | None = None
        self.rounds: list[Round] = []
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

    def chosen(self) -> Subject:
        """Return what was chosen. Raises LockwrightError if nothing was."""
        if self.subject is None:
            raise self._problem
        return self.subject

    def _experiment(self) -> None:
        pause = _AGAIN
        while not self._ended.wait(pause):
            buffer = self._buffers.busiest()
            if not buffer.took_any:
                continue
            if clock.monotonic_ns() < int(buffer["begin_ns"]) + 1e9 * self._wanted.warm_up:
                self._problem = LockwrightError(
                    "the program ended within a second of its first mutex", "let it run longer"
                )
                continue
            pause *= 1.5
            try:
                block = Block(buffer.path)
                self.subject = self._choose(buffer, block)
            except LockwrightError as error:
                self._problem = error
                continue
            self._windows(buffer, block, self.subject.seconds)
            block.end()
            self.delayed = block.state().owed * buffer.nanoseconds
            return

    def _choose(self, buffer: Buffer, block: Block) -> Subject:
        """Choose the mutexes. Raises LockwrightError if that is not possible yet."""
        damage.check(buffer)
        copy = buffer.copy()
        threads = np.count_nonzero(copy.threads["has_ended"] == 0)
        if len(copy.threads) < 2:
            raise LockwrightError(
                "the program has one thread that takes mutexes: no other one can be delayed",
                "measure it with several threads",
            )
        samples = no_samples(copy)
        samples.last_ns = clock.monotonic_ns()
        duration = float(samples.last_ns - int(copy["begin_ns"]))
        all_mutexes = Mutexes(
            copy, symbols_of(copy, self._program), samples, copy.nanoseconds, duration
        )
        listed = all_mutexes.all_mutexes()
        _check_no_rwlock(all_mutexes, self._wanted.mutex)
        chosen = self._number(listed, self._wanted.mutex)
        metered = (
            chosen if self._wanted.progress is None else self._number(listed, self._wanted.progress)
        )
        block.flag(all_mutexes.records_of(chosen), CHOSEN)
        block.flag(all_mutexes.records_of(metered), METERED)
        mutex, progress = listed[chosen], listed[metered]
        between = max(duration / max(each.acquisitions, 1) for each in (mutex, progress))
        seconds = _EVENTS * between / 1e9
        # The main thread mostly waits for the others.
        if is_crowded := threads - 1 > len(os.sched_getaffinity(0)):
            block.note_crowded()
        return Subject(
            mutex.name,
            progress.name,
            min(max(seconds, _SHORTEST), _LONGEST),
            mutex.holding.mean or math.inf,
            bool(is_crowded),
        )

    @staticmethod
    def _number(listed: Sequence[Mutex], word: str | None) -> int:
        if word is not None:
            return find_mutex(listed, range(len(listed)), word)
        if not listed or not listed[0].waiting.total:
            raise LockwrightError(
                "no thread waited for a mutex, so shorter sections gain nothing by it",
                "name the mutex to experiment with by --mutex",
            )
        return 0

    def _windows(self, buffer: Buffer, block: Block, seconds: float) -> None:
        """Make rounds until the program ends."""
        unit = buffer.nanoseconds
        shares = self._wanted.shares
        while True:
            made: dict[int, Window] = {}
            for share in self._random.sample(shares, len(shares)):
                block.begin(share, 4e9 * seconds / unit)
                is_over = self._ended.wait(_LEAD * seconds)
                begin = block.state()
                if is_over or self._ended.wait(seconds):
                    return
                made[share] = _window(share, begin, block.state(), unit)
            self.rounds.append(made)
            block.end()
            few = len(self.rounds) < _FIRST
            pause = 0.0 if few else needed_rest(self.rounds, self.rested)
            self.rested += pause
            if self._ended.wait(pause / 1e9):
                return


def _window(share: int, begin: State, end: State, unit: float) -> Window:
    return Window(
        share, end.ns - begin.ns, (end.owed - begin.owed) * unit, end.progress - begin.progress
    )


def _check_no_rwlock(found: Mutexes, word: str | None) -> None:
    for rwlock in found.all_rwlocks():
        if word is not None and not word.isdecimal() and word in rwlock.name:
            raise LockwrightError(
                f"{rwlock.name} is a reader-writer lock, whose sections cannot be shortened",
                "name a mutex by --mutex",
            )


def checked(subject: Subject, rounds: Sequence[Round], shares: int) -> tuple[Round, ...]:
    """Return the rounds with progress in each window: a program may pause, or end with one thread.
    Raise LockwrightError if they give no result. shares: windows of a round."""
    if len(rounds) < 2:
        least = 2 * shares * subject.seconds * (1 + _LEAD) + WARM_UP
        raise LockwrightError(
            "the program ended before each experiment was made twice",
            f"let it run for {least:.0f} seconds at least, or measure fewer shares by --section",
        )
    good = moving(rounds)
    if len(good) < max(2, len(rounds) / 2):
        raise LockwrightError(
            f"no progress was measured: {subject.progress} was not taken in every window of"
            f" {subject.seconds:.2g} s",
            "name a mutex that is taken more often by --progress",
        )
    return tuple(good)
