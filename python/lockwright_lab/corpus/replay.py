"""The runs of a case: of both versions, and of the older one under the profiler."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from lockwright.base import files, invocation
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.calibrate.machines import HERE, load_machine
from lockwright.experiment import Outcome
from lockwright.profile import record
from lockwright.profile.record import Mutex, RwLock
from lockwright.profile.waiting import WaitObject
from lockwright.run.process_runner import ProcessRunner

from lockwright_lab.bench.advice.advised import ask
from lockwright_lab.bench.program_runs import ProgramRuns
from lockwright_lab.bench.speedup.real_programs import figure_words
from lockwright_lab.bench.speedup.subjects import found_in
from lockwright_lab.corpus import drd
from lockwright_lab.corpus.case import Case
from lockwright_lab.corpus.install import install
from lockwright_lab.corpus.score import Judged, experimental, judged

_CALIBRATION = 30.0
"""Limit of a run of the calibration in seconds."""

_SLOWER = 20.0
"""How many times as long as the others a run under a command may take: one of several runs."""


_DRD = 120.0
"""Limit of a run under DRD in seconds."""


@dataclass(frozen=True)
class Replay:
    """Where cases are installed and run. cache: of installations and inputs; folder: of profiles
    and advice; asks_drd: whether the older versions run under DRD, too."""

    processes: ProcessRunner
    cache: Path
    folder: Path
    asks_drd: bool = False

    def run(self, case: Case, side: int, around: Sequence[str] = (), most: float = 1e9) -> Outcome:
        """Run the program before (0) or after (1) the fix. around: words of a command that starts
        it; most: seconds that this may take. Raises LockwrightError if it cannot be installed."""
        program = case.programs[side]
        if around:
            limit = min(most, _SLOWER * program.timeout)
            program = msgspec.structs.replace(program, timeout=limit)
        own = {
            "folder": install(case, case.sides[side], self.cache),
            "case": case.path.parent,
            "python": Path(sys.executable),
        }
        runs = ProgramRuns(self.processes, self.cache)
        return runs.run(program, case.threads, folders=own, around=around)

    def prepare(self, cases: Sequence[Case]) -> dict[str, Any]:
        """Install all cases, profile the older versions where there is no profile yet, and ask for
        advice. Return what Judged has, by the name of the case. Raises LockwrightError if none can
        be run."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LockwrightError(
                f"cannot make {self.folder}: {error.strerror}", "name another --output-dir"
            ) from error
        faults: dict[str, LockwrightError] = {}
        found: dict[str, Judged] = {}
        for step in (self._install, self._judge):
            for case in cases:
                if case.name in faults:
                    continue
                try:
                    found[case.name] = step(case)
                except LockwrightError as error:
                    faults[case.name] = error
                    found[case.name] = Judged(problem=error.what)
            if len(faults) == len(cases):
                raise faults[cases[0].name]
        return {name: asdict(each) for name, each in found.items()}

    def _install(self, case: Case) -> Judged:
        for side in case.sides:
            install(case, side, self.cache)
        return Judged()

    def _judge(self, case: Case) -> Judged:
        load_machine(HERE, _CALIBRATION)
        profile = self._profile(case)
        advice = ask(profile)
        files.write(self._file(case, "advice"), json.dumps(advice, indent=1) + "\n", "-o")
        found = record.read(profile)
        said = judged(case, found, advice)
        if self.asks_drd and not case.is_control:
            said = replace(said, drd=self._drd(case))
        lock = experimental(case, found)
        return said if lock is None else self._with_gain(case, lock, said)

    def _drd(self, case: Case) -> str:
        """Return what DRD says of the older version."""
        print_line(f"DRD on {case.name}")
        pattern = f"{case.name}.drd."
        for old in self.folder.glob(f"{pattern}*"):
            old.unlink()
        around = drd.words(self.folder.absolute() / f"{pattern}%p")
        outcome = self.run(case, 0, around, most=_DRD)
        logs = sorted(self.folder.glob(f"{pattern}*"))
        return drd.said(case, logs, has_ended=outcome.finished)

    def _with_gain(self, case: Case, lock: Mutex | RwLock | WaitObject, said: Judged) -> Judged:
        """Return what was said with the gain of no waits for a lock, if experiments find one."""
        print_line(f"experiments on {case.name}")
        path = self._file(case, "experiments")
        path.unlink(missing_ok=True)
        # The name of another library's lock is that of the place that waits most, which changes.
        word = (lock.waiter or lock.name) if isinstance(lock, WaitObject) else lock.name
        words = ["what-if", "--measure", "--no-waiting", "--mutex", word]
        words += ["--json", str(path.absolute())]
        # By the rate of a mutex, in one run, unless that is too short.
        for progress in ([], figure_words(case.program)):
            if not path.exists() and (progress or isinstance(lock, Mutex)):
                around = [*invocation.command_words(), *words, *progress, "--"]
                self.run(case, 0, around)
        if not path.exists():
            return said
        (found,) = found_in(path)
        return replace(said, gain=found.gain, gain_low=found.gain_low, gain_high=found.gain_high)

    def _file(self, case: Case, kind: str) -> Path:
        return self.folder / f"{case.name}.{kind}.json"

    def _profile(self, case: Case) -> Path:
        """Return the file of the profile, made unless it is younger than the case."""
        path = self._file(case, "profile")
        if path.exists() and path.stat().st_mtime > case.path.stat().st_mtime:
            return path
        path.unlink(missing_ok=True)
        print_line(f"profile of {case.name}")
        around = [*invocation.command_words(), "profile", "-o", str(path.absolute()), "--"]
        outcome = self.run(case, 0, around)
        if not path.exists():
            why = outcome.note or outcome.ended
            raise LockwrightError(f"{case.name}: no profile was written: {why}", "run it alone")
        return path


def judged_in(known: Mapping[str, Any], case: str) -> Judged:
    """Return what was said of a case, as `Experiment.first` has stored it."""
    stored = known.get(case)
    return Judged(problem="it was not profiled") if stored is None else Judged(**stored)
