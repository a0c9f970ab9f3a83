"""A program of the catalogue as one command, with its files and inputs."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.compare.plan import UNSPECIFIED, Plan

from lockwright_lab.study.campaign.local_machine import (
    Folders,
    LocalMachine,
    NotRunnable,
    default_name,
    missing,
)
from lockwright_lab.study.campaign.plan import one_program
from lockwright_lab.study.program.entry import LOWER, OUTPUT, Program
from lockwright_lab.study.program.placeholders import Placeholders


@dataclass(frozen=True)
class RealProgram:
    """A program in the form for `lockwright compare` and `lockwright tune`.

    metric: an expression, or None for wall time; prepare: a shell command to run before each run,
    or None; folder: a directory for files of its runs.
    """

    words: tuple[str, ...]
    metric: str | None
    unit: str
    lower_is_better: bool
    prepare: str | None
    environment: dict[str, str]
    folder: Path

    @property
    def options(self) -> list[str]:
        """The options of the two commands."""
        words = ["--prepare", self.prepare] if self.prepare is not None else []
        if self.metric is not None:
            words += ["--metric", self.metric, "--unit", self.unit]
            words += ["--lower-is-better"] if self.lower_is_better else []
        return words

    @property
    def file(self) -> Path:
        """The executable."""
        return Path(shutil.which(self.words[0], path=self.environment.get("PATH")) or self.words[0])

    def plan(self, locks: tuple[str, ...], runs: int, timeout: float) -> Plan:
        """Return a comparison of some locks. timeout: seconds of a run."""
        return Plan(
            self.words,
            locks,
            (UNSPECIFIED,),
            runs,
            0,
            self.metric,
            self.unit,
            self.lower_is_better,
            timeout,
            self.prepare,
        )


@contextmanager
def real_program(
    program: Program, threads: int, scale: float, folders: Folders
) -> Iterator[RealProgram]:
    """Yield the program with its files and inputs, which are removed at the end of the block.

    Raises LockwrightError if it is not installed or needs more than one command.
    """
    if absent := missing(program):
        raise LockwrightError(
            f"{program.name} needs {', '.join(absent)}",
            f"lockwright study catalogue --install {program.name}",
        )
    if program.server or program.after or program.warmup or isinstance(program.command, str):
        raise LockwrightError(
            f"{program.name} is more than one command", "choose programs without a server"
        )
    metric = program.metric
    if metric.reader not in ("wall", "regex") or metric.source != OUTPUT or metric.skip:
        raise LockwrightError(
            f"--metric cannot read the figure of {program.name}", "choose another program"
        )
    plan = one_program(program, threads, scale)
    (member,), (threads,) = plan.members, plan.threads
    base = folders.runs_of(program)
    base.mkdir(parents=True, exist_ok=True)
    with (
        LocalMachine(default_name(), plan, folders) as local,
        tempfile.TemporaryDirectory(dir=base) as folder,
    ):
        try:
            data = local.inputs_of(member)
        except NotRunnable as error:
            raise LockwrightError(f"{program.name}: {error}", "choose another program") from error
        work = Path(folder) / "work"
        filled = Placeholders(program, threads, scale, data, work, Path())
        _write_files(work, program, filled)
        environment = dict(os.environ)
        environment |= {name: filled.fill(value) for name, value in program.environment.items()}
        if program.preload:
            environment["LD_PRELOAD"] = ":".join(program.preload)
        yield RealProgram(
            words=tuple(filled.words(program.command)),
            metric=metric.pattern if metric.reader == "regex" else None,
            unit=metric.unit,
            lower_is_better=metric.better == LOWER,
            prepare=_prepare(work, program, filled),
            environment=environment,
            folder=Path(folder),
        )


def _write_files(work: Path, program: Program, filled: Placeholders) -> None:
    work.mkdir()
    for name, text in program.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(filled.fill(text))


def _prepare(work: Path, program: Program, filled: Placeholders) -> str | None:
    """Return the command that restores the directory of a run; None for a program without a command
    before each run."""
    if not program.before:
        return None
    copy = work.with_name("files")
    shutil.copytree(work, copy)
    target = shlex.quote(str(work))
    restore = f"rm -rf {target} && cp -a {shlex.quote(str(copy))} {target}"
    return f"{restore} && {shlex.join(filled.words(program.before))}"
