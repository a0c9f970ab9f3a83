"""The single runs of a comparison, and their records."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base.numbers import number
from lockwright.compare.arms import settings_of
from lockwright.compare.plan import Plan
from lockwright.experiment.model import FAILED, FINISHED, NO_METRIC, TIMEOUT, Outcome
from lockwright.machine.meters import Meters
from lockwright.preload.counters import VARIABLE
from lockwright.preload.locks import preload
from lockwright.run.process_runner import Ending, Process, ProcessRunner, Sink
from lockwright.run.settings import BATCH, NONE, SMALL, Settings

VALUE = "value"
"""Name of the figure of a comparison."""

_DETAILS = ("user", "system", "voluntary", "involuntary", "others", "status", "meters")
"""What is stored of the ending of a run besides its wall time: seconds of processor time over the
process tree, context switches, the share of all CPUs that other processes used, a wait status, and
the values of the meters."""


@dataclass(frozen=True)
class Answer:
    """The end of a run or, if the --prepare command failed, of that command."""

    ending: Ending
    in_preparation: bool = False

    @property
    def problem(self) -> str | None:
        """The reason why the run cannot count; None if it ended with status 0."""
        problem = self.ending.problem()
        return f"the --prepare command: {problem}" if self.in_preparation and problem else problem


class Runner:
    """A starter of runs, one at a time. Exiting the context kills a run in progress."""

    def __init__(
        self,
        plan: Plan,
        program: Path,
        settings: Mapping[str, dict[str, str]] | None = None,
        meters: Meters | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """Prepare the environment. program: path of the command's program; settings: variables to
        set for a lock; meters: read around each measured run; environment: of the command."""
        self._plan = plan
        self._program = program
        self._settings = settings or {}
        self._meters = meters
        self._environment = {k: v for k, v in environment.items() if k != VARIABLE}
        self._processes = ProcessRunner("repeat with --resume")

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill a program that still runs, and wait for it."""
        self._processes.close()

    def run(
        self,
        threads: int,
        library: Path,
        extra: dict[str, str] | None = None,
        meters: Meters | None = None,
        timeout: float | None = None,
        beside: Settings = NONE,
        pause: tuple[float, float] | None = None,
    ) -> Answer:
        """Make one run with `library` preloaded and `extra` added to the environment. meters: read
        around it. timeout: limit in seconds; None for the plan's. beside: further settings. pause:
        as of `ProcessRunner.run`."""
        environment = beside.environment(self._environment)
        environment = preload(library, environment, self._program) | (extra or {})
        process = replace(
            self._process(self._plan.argv(threads), environment, self._program),
            processors=beside.processors,
            batch=beside.scheduler == BATCH,
            small_pages=beside.pages == SMALL,
        )
        return self._run(threads, process, meters, timeout, pause)

    def run_through(self, threads: int, words: Sequence[str]) -> Answer:
        """Make one run of the command by a wrapper that `words` start, to which it is appended."""
        argv = [*words, *self._plan.argv(threads)]
        return self._run(threads, self._process(argv, self._environment))

    def _process(
        self, argv: Sequence[str], environment: Mapping[str, str], program: Path | None = None
    ) -> Process:
        sink: Sink = "nowhere" if self._plan.metric is None else "memory"
        return Process(argv, environment, out=sink, program=program)

    def _run(
        self,
        threads: int,
        process: Process,
        meters: Meters | None = None,
        timeout: float | None = None,
        pause: tuple[float, float] | None = None,
    ) -> Answer:
        if preparation := self._plan.preparation(threads):
            shell = Process(["/bin/sh", "-c", preparation], self._environment, out="nowhere")
            # Processes that it leaves running belong to the run.
            prepared = self._processes.run(shell, self._plan.timeout, clear=False)
            if prepared.problem() is not None:
                left = self._processes.clear()
                return Answer(replace(prepared, left=prepared.left + left), in_preparation=True)
        limit = self._plan.timeout if timeout is None else timeout
        ending = self._processes.run(
            process,
            limit + (pause[1] if pause else 0.0),
            metric=self._plan.metric,
            meters=meters,
            every=math.inf,
            pause=pause,
        )
        return Answer(ending)

    def measure(
        self, threads: int, lock: str, library: Path, timeout: float | None = None
    ) -> Outcome:
        """Make a run that counts. timeout: limit in seconds; None for the plan's."""
        extra = self._settings.get(lock)
        beside = NONE if self._plan.other_library(lock) else settings_of(lock)
        answer = self.run(threads, library, extra, self._meters, timeout, beside)
        ending = answer.ending
        note = answer.problem or ""
        value = None
        if ending.outcome == "timeout" and not answer.in_preparation:
            ended = TIMEOUT
        elif note:
            ended = FAILED
        elif self._plan.metric is None:
            ended, value = FINISHED, ending.wall
        else:
            value = number(ending.metric)
            ended = NO_METRIC if value is None else FINISHED
            if value is None:
                note = why_no_number(ending.metric)
        details = {name: getattr(ending, name) for name in _DETAILS}
        return Outcome(ended, ending.wall, {} if value is None else {VALUE: value}, note, details)


def why_no_number(text: str | None) -> str:
    """Return why the output has no value of --metric."""
    if text is None:
        return "its output has no match of --metric"
    return f"--metric matched '{text[:60]}', which is not a number"
