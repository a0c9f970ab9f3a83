"""What one machine does for a study: says what it is, prepares programs, and makes runs."""

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
from lockwright.machine import calibration, pinning, provenance
from lockwright.machine.meters import FACTS, Meters
from lockwright.machine.procfs import numbers_of
from lockwright.preload import binary, counters, locks
from lockwright.preload.locks import BASELINE
from lockwright.run import record
from lockwright.run.process_runner import Ending, Process, ProcessRunner
from lockwright.study.campaign.plan import NO_PINNING, Configuration, Member, Plan
from lockwright.study.campaign.run_record import Probe, RunRecord, Slot
from lockwright.study.program import inputs, places, trial
from lockwright.study.program.entry import Program
from lockwright.study.program.places import Places
from lockwright.study.program.trial import Result, Trial

_MEMORY = Path("/dev/shm")
_ROOM = 1 << 29
"""Bytes that have to be free there; the files of no program of the catalogue are larger."""
_PREPARING = 600.0
"""Seconds that a command may take that makes an input."""


class NotHere(Exception):
    """A configuration cannot be run on this machine; the argument says why."""


@dataclass(frozen=True)
class Folders:
    """Where things are kept. cache: what is made once; work: files of runs."""

    cache: Path
    work: Path

    def runs_of(self, program: Program) -> Path:
        """Where the files of its runs are: in memory if that is best for it, and there is a place
        for that."""
        if program.memory and os.access(_MEMORY, os.W_OK):
            room = os.statvfs(_MEMORY)
            if room.f_bavail * room.f_frsize >= _ROOM:
                return _MEMORY / f"lockwright-{os.getuid()}"
        return self.work


def default_name() -> str:
    """The machine's own name."""
    return platform.node() or "machine"


class Site:
    """This machine. Used as a context, all that it has started is ended at the end."""

    def __init__(self, name: str, plan: Plan, folders: Folders) -> None:
        """name: of the machine among those of the study."""
        self.name = name
        self._plan = plan
        self._folders = folders
        self._registry = locks.registry()
        for lock in plan.locks:
            self._registry.path_of(lock)
            self._registry.check_environment(lock, {**os.environ, **plan.settings})
        self._calibrated = calibration.calibrated_variables(self._registry, plan.locks, os.environ)
        self._meters = Meters(energy=plan.energy) if plan.energy else None
        self._processes = ProcessRunner("repeat the command to resume")
        for place in {folders.runs_of(member.program) for member in plan.members}:
            trial.clear_abandoned(place)

    def __enter__(self) -> "Site":
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def close(self) -> None:
        """Ends all that runs."""
        self._processes.close()
        # Unless another study runs.
        with contextlib.suppress(OSError):
            (_MEMORY / f"lockwright-{os.getuid()}").rmdir()

    def facts(self) -> dict[str, Any]:
        """The machine, what it would disturb measurements by, and its variables."""
        facts: dict[str, Any] = provenance.machine()
        facts |= {k: v for k, v in sorted(os.environ.items()) if k.startswith("LOCKWRIGHT_")}
        facts[provenance.FINDINGS] = provenance.as_facts(examine.examine_this_machine())
        if any(self._calibrated.values()):
            facts["calibrated"] = self._calibrated
        if self._meters is not None:
            self._meters.measure_idle()
            facts[FACTS] = self._meters.as_facts()
        return facts

    def probe(self, setting: Configuration) -> Probe:
        """Runs the setting once under the counting baseline: does it work, is it worth it?"""
        member = self._plan.member(setting.program)
        version = ""
        try:
            if absent := missing(member.program):
                raise NotHere(f"{', '.join(absent)} is not installed")
            version = self._version(member.program)
            self._check_commands(member)
            with counters.counters_file() as path:
                library = self._registry.path_of(BASELINE, counting=True)
                told = {counters.VARIABLE: str(path)}
                found = self._trial(setting).run(self._places(setting, library, told))
                if found.outcome != record.FINISHED:
                    # A machine that was busy just then must not cost the program its part.
                    found = self._trial(setting).run(self._places(setting, library, told))
                counts = counters.read(path)
        except NotHere as error:
            return Probe(self.name, setting, str(error), version=version)
        problem = ""
        if found.outcome != record.FINISHED:
            problem = f"it does not work under {BASELINE}: {found.outcome}, {found.note}"
        elif not counts.took_a_lock and setting.threads != 1:
            # One thread may need none, and is what more threads are compared with.
            problem = "it takes no lock that could be put in place"
        return Probe(
            self.name, setting, problem, found.elapsed, asdict(counts), found.sums, version
        )

    def run(self, slot: Slot, probe: Probe) -> RunRecord:
        """Makes a run. probe: of its setting here."""
        started = now()
        one = slot.configuration
        try:
            trial_ = self._trial(one)
            trial_.reference = probe.sums
            trial_.meters = self._meters
            settings = self._calibrated.get(one.lock, {})
            if self._plan.endings:
                result = self._run_counted(one, trial_, settings)
            else:
                library = self._registry.path_of(one.lock)
                result = trial_.run(self._places(one, library, settings))
        except NotHere as error:
            # The probe could: its inputs have been removed meanwhile, and cannot be made again.
            result = Result(record.FAILED, str(error))
        return RunRecord(slot, self.name, started, result)

    def _run_counted(self, one: Configuration, trial_: Trial, settings: dict[str, str]) -> Result:
        """A run that has to take locks; only a single thread may need none."""
        library = self._registry.path_of(one.lock, counting=True)
        with counters.counters_file() as path:
            trial_.counters = path
            result = trial_.run(
                self._places(one, library, {**settings, counters.VARIABLE: str(path)})
            )
            taken = counters.read(path).taken
        if result.outcome == record.FINISHED and not taken and one.threads != 1:
            result = replace(result, outcome=record.FAILED, note="took no lock: it was not put in")
        return replace(result, meters={**result.meters, "acquisitions": taken})

    def _trial(self, one: Configuration) -> Trial:
        member = self._plan.member(one.program)
        work = self._folders.runs_of(member.program)
        return Trial(self._processes, work, tuple(sorted(processors_of(one) or ())))

    def _places(self, one: Configuration, library: Path, settings: dict[str, str]) -> Places:
        member = self._plan.member(one.program)
        return Places(
            member.program,
            one.threads or len(processors_of(one) or os.sched_getaffinity(0)),
            member.scale,
            self.inputs_of(member),
            Path(),
            library,
            {**self._plan.settings, **settings},
        )

    def inputs_of(self, member: Member) -> Path:
        """The directory of a member's inputs, made if they are not there. Raises NotHere."""

        def run(words: Sequence[str], folder: Path) -> None:
            filled = [word.replace("{data}", str(folder)) for word in words]
            ending, printed = self._output_of(filled, folder, _PREPARING)
            if ending.problem() is not None:
                last = printed.strip().rpartition("\n")[2][:200]
                raise NotHere(f"the command that makes an input fails: {last or filled[0]}")

        return inputs.make(places.made(member.program, member.scale), self._folders.cache, run)

    def _version(self, program: Program) -> str:
        """The first line that the command of the version prints."""
        if not program.version:
            return ""
        words = program.version
        argv = ("sh", "-ec", words) if isinstance(words, str) else words
        _, printed = self._output_of(argv, Path("/"), 20.0)
        return next((line.strip()[:200] for line in printed.splitlines() if line.strip()), "")

    def _output_of(self, words: Sequence[str], folder: Path, seconds: float) -> tuple[Ending, str]:
        """Runs a command that is no run: how it ended, and what it printed."""
        ending = self._processes.run(Process(words, places.bare(), folder), seconds)
        return ending, ending.output + ending.errors

    def _check_commands(self, member: Member) -> None:
        """Raises NotHere if a library cannot be preloaded into what is under the lock."""
        for command in member.program.locked:
            if isinstance(command, tuple):
                words = command[command.index("{lock}") + 1 :] if "{lock}" in command else command
                found = shutil.which(words[0], path=places.bare()["PATH"])
                if found is None:
                    continue
                try:
                    binary.check(Path(found), self._registry.path_of(BASELINE), list(words[1:]))
                except LockwrightError as error:
                    raise NotHere(error.what) from error


def processors_of(one: Configuration) -> set[int] | None:
    """The processors that a configuration may use here; None for all. Raises NotHere."""
    available = pinning.usable_processors()
    if one.nodes:
        nodes = sorted({each.node for each in available})
        if one.nodes > len(nodes):
            raise NotHere(f"the machine has {len(nodes)} NUMA node(s)")
        available = [each for each in available if each.node in nodes[: one.nodes]]
    here = {each.number for each in available}
    if one.pinning == NO_PINNING:
        return here if one.nodes else None
    if one.pinning[0].isdigit():
        chosen = numbers_of(one.pinning)
        if not chosen <= here:
            raise NotHere(f"the processors {one.pinning} are not all here")
        return chosen
    order = pinning.processor_lists(one.pinning, available).split(";")
    return {int(each) for each in order[: one.threads or len(order)]}


def missing(program: Program) -> list[str]:
    """What a program needs and is not here: commands, files, and variables that lead to them."""
    path = places.bare()["PATH"]
    absent = []
    for named in program.needs:
        need = os.path.expandvars(named)
        if need.startswith("$"):
            absent.append(f"the variable {need.partition('/')[0]}")
        elif need.startswith("/"):
            if not any(Path("/").glob(need.lstrip("/"))):
                absent.append(need)
        elif shutil.which(need, path=path) is None:
            absent.append(need)
    return absent
