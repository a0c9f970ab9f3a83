"""Runs of one real program after the other, each with its files and inputs while it is needed."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from lockwright.compare.plan import UNSPECIFIED
from lockwright.compare.runner import VALUE, Runner
from lockwright.experiment import FINISHED, TIMEOUT, Figure, Outcome
from lockwright.preload.locks import BASELINE, registry

from lockwright_lab.bench.real_program import RealProgram, real_program
from lockwright_lab.study.campaign.local_machine import Folders
from lockwright_lab.study.program.entry import Program

RATE = Figure("rate", "1/s", definition="the throughput, or the inverse of the time.")


@dataclass
class Installed:
    """The program of the cell that is under way, with its files and inputs, which are removed at
    the next one. timeout: of a run in seconds."""

    places: Folders
    timeout: float
    cell: str = ""
    stack: ExitStack = field(default_factory=ExitStack)
    program: RealProgram | None = None
    runner: Runner | None = None

    @contextmanager
    def closed_at_end(self) -> Iterator[None]:
        """Remove the files of the last program at the end."""
        try:
            yield
        finally:
            self.stack.close()

    def run(self, cell: str, lock: str, program: Program, threads: int, scale: float) -> Outcome:
        """Make a run of a program in a cell. scale: of its work. One ended at its limit has
        no figure."""
        if self.cell != cell:
            self.stack.close()
            self.stack, self.cell = ExitStack(), cell
            self.program = self.stack.enter_context(
                real_program(program, threads, scale, self.places)
            )
            plan = self.program.plan((BASELINE,), 1, self.timeout)
            self.runner = self.stack.enter_context(
                Runner(plan, self.program.file, environment=self.program.environment)
            )
        assert self.program is not None
        assert self.runner is not None
        made = self.runner.measure(UNSPECIFIED, lock, registry().path_of(lock))
        value = made.figures.get(VALUE)
        if made.ended == TIMEOUT:
            return replace(made, wall=self.timeout, figures={})
        if not value:
            ended = "failed" if made.ended == FINISHED else made.ended
            return replace(made, ended=ended, figures={}, note=made.note or "no figure")
        is_time = self.program.lower_is_better or self.program.metric is None
        return replace(made, figures={RATE.name: 1 / value if is_time else value})
