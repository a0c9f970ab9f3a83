"""Runs of a program as studies describe it, with its inputs, server and checks."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.experiment import Figure, Outcome
from lockwright.run.process_runner import ProcessRunner

from lockwright_lab.study.program import inputs
from lockwright_lab.study.program.entry import HIGHER, Program
from lockwright_lab.study.program.placeholders import Placeholders, made
from lockwright_lab.study.program.trial import VALUE, Trial

SPEED = Figure("speed", "1/s", definition="the program's figure, or the inverse of a time.")


@dataclass(frozen=True)
class ProgramRuns:
    """Where programs run. cache: of their inputs and files."""

    processes: ProcessRunner
    cache: Path

    def run(
        self,
        program: Program,
        threads: int,
        *,
        folders: Mapping[str, Path] | None = None,
        around: Sequence[str] = (),
        scale: float = 1.0,
    ) -> Outcome:
        """Run a program, and return its speed. folders: further placeholders; around: words of a
        command that starts it; scale: of its work. Raises LockwrightError if an input cannot be
        made."""
        data = inputs.make(made(program, 1.0), self.cache, _make_input)
        values = Placeholders(
            program, threads, scale, data, Path(), None, folders=folders or {}, around=around
        )
        outcome = Trial(self.processes, self.cache / "work").run(values)
        if not (value := outcome.figures.get(VALUE)):
            return outcome
        speed = value if program.metric.better == HIGHER else 1 / value
        return replace(outcome, figures={SPEED.name: speed})


def _make_input(words: Sequence[str], folder: Path) -> None:
    """Run the command that makes an input. Raises LockwrightError if it fails."""
    filled = [word.replace("{data}", str(folder)) for word in words]
    if subprocess.run(filled, cwd=folder, stdout=subprocess.DEVNULL, check=False).returncode:
        raise LockwrightError(f"the input's command failed: {filled[-1][:60]}", "run it alone")
