"""One machine of a study: its facts, the inputs of programs, probes and runs."""

import contextlib
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.results import now
from lockwright.doctor import examine
from lockwright.experiment import LEFT_OUT, Outcome, Run
from lockwright.machine import calibration, pinning, provenance
from lockwright.machine.meters import FACTS, Meters
from lockwright.machine.procfs import numbers_of
from lockwright.preload import binary, counters, locks
from lockwright.preload.counters import Counts
from lockwright.preload.locks import BASELINE
from lockwright.preload.other_libraries import LIBC
from lockwright.run import record
from lockwright.run.process_runner import Ending, Process, ProcessRunner

from lockwright_lab.study.campaign.experiment import left_out, run_of, slot_of
from lockwright_lab.study.campaign.plan import NO_PINNING, Configuration, Member, Plan
from lockwright_lab.study.program import inputs, placeholders, trial
from lockwright_lab.study.program.entry import Program
from lockwright_lab.study.program.placeholders import Placeholders
from lockwright_lab.study.program.trial import Trial

_MEMORY = Path("/dev/shm")
_ROOM = 1 << 29
"""Bytes that have to be free there; no program of the catalogue has larger files."""
_PREPARING = 600.0
"""Time limit in seconds of a command that makes an input."""


class NotRunnable(Exception):
    """Raised when a configuration cannot run here, with the reason."""


@dataclass(frozen=True)
class Folders:
    """The directories of a study. cache: inputs, which are made once; work: files of runs."""

    cache: Path
    work: Path

    def runs_of(self, program: Program) -> Path:
        """Return the directory for a program's runs: in memory if the program asks for that and
        there is room."""
        if program.memory and os.access(_MEMORY, os.W_OK):
            room = os.statvfs(_MEMORY)
            if room.f_bavail * room.f_frsize >= _ROOM:
                return _MEMORY / f"lockwright-{os.getuid()}"
        return self.work


def default_name() -> str:
    """Return the machine's own name."""
    return platform.node() or "machine"


class LocalMachine:
    """This machine. Exiting the context kills every process that it started."""

    def __init__(self, name: str, plan: Plan, folders: Folders) -> None:
        """Check the locks and remove abandoned files. name: of the machine in the study."""
        self.name = name
        self._plan = plan
        self._folders = folders
        self._registry = locks.registry()
        for lock in plan.mutexes:
            self._registry.path_of(lock)
            self._registry.check_environment(lock, {**os.environ, **plan.settings})
        self._calibrated = calibration.calibrated_variables(
            self._registry, plan.mutexes, os.environ
        )
        self._meters = Meters(energy=plan.energy) if plan.energy else None
        self._processes = ProcessRunner("repeat the command to resume")
        for folder in {folders.runs_of(member.program) for member in plan.members}:
            trial.clear_abandoned(folder)

    def __enter__(self) -> "LocalMachine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._processes.close()
        # Fails while another study has files there.
        with contextlib.suppress(OSError):
            (_MEMORY / f"lockwright-{os.getuid()}").rmdir()

    def facts(self) -> dict[str, Any]:
        """Return the facts of the machine, its sources of disturbance, and its variables."""
        facts: dict[str, Any] = provenance.machine()
        facts |= {k: v for k, v in sorted(os.environ.items()) if k.startswith("LOCKWRIGHT_")}
        facts[provenance.FINDINGS] = provenance.as_facts(examine.examine_this_machine())
        if any(self._calibrated.values()):
            facts["calibrated"] = self._calibrated
        if self._meters is not None:
            self._meters.measure_idle()
            facts[FACTS] = self._meters.as_facts()
        return facts

    def probe(self, setting: Configuration) -> Run:
        """Run the setting once under the counting baseline; test that it works and takes locks. The
        C library's reader-writer locks are not counted, so those of a plan that compares them are
        replaced by its first one."""
        member, started, slot = self._plan.member(setting.program), now(), slot_of(setting, 0)
        version = ""
        try:
            if absent := missing(member.program):
                raise NotRunnable(f"{', '.join(absent)} is not installed")
            version = self._version(member.program)
            self._check_commands(member)
            with counters.counters_file() as path:
                library = self._registry.path_of(BASELINE, counting=True)
                variables = {counters.VARIABLE: str(path)}
                variables |= self._plan.settings_of(self._plan.probed)
                # Twice, as a short disturbance of the machine must not exclude the program.
                for _ in range(2):
                    values = self._placeholders(setting, library, variables)
                    made = self._trial(setting).run(values)
                    if made.finished:
                        break
                counts = counters.read(path)
        except NotRunnable as error:
            run = left_out(slot, self.name, str(error))
            return replace(run, details={"version": version})
        problem = ""
        if not made.finished:
            problem = f"it does not work under {BASELINE}: {made.ended}, {made.note}"
        elif not self._taken(counts) and setting.threads != 1:
            # A single thread may need no lock; more threads are compared with it.
            kind = "reader-writer lock" if self._plan.rwlocks else "lock"
            problem = f"it takes no {kind} that can be interposed"
        if problem:
            made = replace(made, ended=LEFT_OUT, note=problem)
        details = {"counts": asdict(counts), "version": version}
        return run_of(slot, self.name, started, made, **details)

    def run(self, configuration: Configuration, number: int, probe: Run) -> Run:
        """Make the run of a configuration in a round. probe: of its setting on this machine."""
        started = now()
        try:
            run_trial = self._trial(configuration)
            run_trial.reference = probe.details.get("sums", {})
            run_trial.meters = self._meters
            settings = self._plan.settings_of(configuration.lock)
            settings |= self._calibrated.get(self._plan.mutex_of(configuration.lock), {})
            lock = self._plan.mutex_of(configuration.lock)
            if self._plan.endings and lock != LIBC:
                made = self._run_counted(configuration, run_trial, settings)
            else:
                library = None if lock == LIBC else self._registry.path_of(lock)
                made = run_trial.run(self._placeholders(configuration, library, settings))
        except NotRunnable as error:
            # The probe succeeded, but its inputs have been removed and cannot be made again.
            made = Outcome(record.FAILED, note=str(error))
        return run_of(slot_of(configuration, number), self.name, started, made)

    def _run_counted(
        self, configuration: Configuration, run_trial: Trial, settings: dict[str, str]
    ) -> Outcome:
        """Make a run that has to take locks, unless it has a single thread or the C library's
        reader-writer locks, which are not counted."""
        library = self._registry.path_of(self._plan.mutex_of(configuration.lock), counting=True)
        with counters.counters_file() as path:
            run_trial.counters = path
            variables = {**settings, counters.VARIABLE: str(path)}
            made = run_trial.run(self._placeholders(configuration, library, variables))
            taken = self._taken(counters.read(path))
        uncounted = configuration.threads == 1 or (
            self._plan.probed != BASELINE and configuration.lock == BASELINE
        )
        if made.finished and not taken and not uncounted:
            made = replace(made, ended=record.FAILED, note="took no lock: it was not interposed")
        meters = {**(made.details.get("meters") or {}), "acquisitions": taken}
        return replace(made, details={**made.details, "meters": meters})

    def _taken(self, counts: Counts) -> int:
        """Return the acquisitions of the locks that the plan compares."""
        return counts.reads + counts.writes if self._plan.rwlocks else counts.taken

    def _trial(self, configuration: Configuration) -> Trial:
        member = self._plan.member(configuration.program)
        work = self._folders.runs_of(member.program)
        return Trial(self._processes, work, tuple(sorted(processors_of(configuration) or ())))

    def _placeholders(
        self, configuration: Configuration, library: Path | None, settings: dict[str, str]
    ) -> Placeholders:
        member = self._plan.member(configuration.program)
        return Placeholders(
            member.program,
            configuration.threads or len(processors_of(configuration) or os.sched_getaffinity(0)),
            member.scale,
            self.inputs_of(member),
            Path(),
            library,
            settings,
        )

    def inputs_of(self, member: Member) -> Path:
        """Return the directory of a member's inputs, made if missing. Raises NotRunnable."""

        def run(words: Sequence[str], folder: Path) -> None:
            filled = [word.replace("{data}", str(folder)) for word in words]
            ending, printed = self._output_of(filled, folder, _PREPARING)
            if ending.problem() is not None:
                last = printed.strip().rpartition("\n")[2][:200]
                raise NotRunnable(f"the command that makes an input fails: {last or filled[0]}")

        return inputs.make(
            placeholders.made(member.program, member.scale), self._folders.cache, run
        )

    def _version(self, program: Program) -> str:
        """Return the first line that the program's version command prints."""
        if not program.version:
            return ""
        words = program.version
        argv = ("sh", "-ec", words) if isinstance(words, str) else words
        _, printed = self._output_of(argv, Path("/"), 20.0)
        return next((line.strip()[:200] for line in printed.splitlines() if line.strip()), "")

    def _output_of(self, words: Sequence[str], folder: Path, seconds: float) -> tuple[Ending, str]:
        """Run an auxiliary command; return how it ended and what it printed."""
        ending = self._processes.run(Process(words, placeholders.bare(), folder), seconds)
        return ending, ending.output + ending.errors

    def _check_commands(self, member: Member) -> None:
        """Check the commands under the lock. Raises NotRunnable if one cannot preload a library."""
        for command in member.program.locked:
            if isinstance(command, tuple):
                words = command[command.index("{lock}") + 1 :] if "{lock}" in command else command
                program = shutil.which(words[0], path=placeholders.bare()["PATH"])
                if program is None:
                    continue
                try:
                    binary.check(Path(program), self._registry.path_of(BASELINE), list(words[1:]))
                except LockwrightError as error:
                    raise NotRunnable(error.what) from error


def processors_of(configuration: Configuration) -> set[int] | None:
    """Return the processors that a configuration may use; None for all. Raises NotRunnable."""
    available = pinning.usable_processors()
    if configuration.nodes:
        nodes = sorted({processor.node for processor in available})
        if configuration.nodes > len(nodes):
            raise NotRunnable(f"the machine has {len(nodes)} NUMA node(s)")
        used = nodes[: configuration.nodes]
        available = [processor for processor in available if processor.node in used]
    numbers = {processor.number for processor in available}
    if configuration.pinning == NO_PINNING:
        return numbers if configuration.nodes else None
    if configuration.pinning[0].isdigit():
        chosen = numbers_of(configuration.pinning)
        if not chosen <= numbers:
            raise NotRunnable(f"the processors {configuration.pinning} are not all here")
        return chosen
    order = pinning.processor_lists(configuration.pinning, available).split(";")
    return {int(number) for number in order[: configuration.threads or len(order)]}


def missing(program: Program) -> list[str]:
    """Return the missing requirements of a program: commands, files, and variables with paths."""
    path = placeholders.bare()["PATH"]
    absent = []
    for pattern in program.needs:
        need = os.path.expandvars(pattern)
        if need.startswith("$"):
            absent.append(f"the variable {need.partition('/')[0]}")
        elif need.startswith("/"):
            if not any(Path("/").glob(need.lstrip("/"))):
                absent.append(need)
        elif shutil.which(need, path=path) is None:
            absent.append(need)
    return absent
