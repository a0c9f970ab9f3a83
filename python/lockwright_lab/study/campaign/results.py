"""The file of a study: one experiment, which the machines of the study add their runs to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockwright.base import results
from lockwright.base.errors import LockwrightError
from lockwright.experiment import Run
from lockwright.experiment.store import Store, Stored
from lockwright.run import resume

from lockwright_lab.study.campaign.experiment import KIND, declare, difference, left_out_everywhere
from lockwright_lab.study.campaign.plan import Plan


class StudyFile:
    """An open file of a study. Methods raise LockwrightError if access to the file fails."""

    def __init__(self, path: Path, plan: Plan) -> None:
        """Open the file. Raises LockwrightError if it has the runs of another plan."""
        self.path = path
        self._plan = plan
        self.store = Store(path, one_file=True)
        self._stored = next(iter(self.store.all_of(KIND)), None)
        if self._stored is not None:
            self._check_plan(self._stored)

    def _check_plan(self, stored: Stored) -> None:
        with results.explain_damage(self.path):
            other = difference(declare(self._plan).plan(), stored.plan)
        if other:
            raise LockwrightError(
                f"{self.path} has the runs of a plan that differs in {other}",
                "undo the change to resume it, or name another file with --db",
            )

    @property
    def stored(self) -> Stored:
        """The experiment, which has begun."""
        assert self._stored is not None
        return self._stored

    def close(self) -> None:
        self.store.close()

    def begin(self) -> bool:
        """Make this process the one that carries out the study; return whether it is resumed.
        Raises LockwrightError if another one does."""
        is_resumed = self._stored is not None
        if self._stored is None:
            self.store.begin(KIND, declare(self._plan).plan(), {})
            # Another process may have begun one meanwhile.
            self._stored = self.store.all_of(KIND)[0]
            self._check_plan(self._stored)
        self.store.adopt(self._stored)
        known = {run.slot for run in self.runs() if not run.machine}
        for run in left_out_everywhere(self._plan):
            if run.slot not in known:
                self.add(run)
        return is_resumed

    def runs(self) -> list[Run]:
        """Return all runs, with the probes, in the order in which they were stored; those that no
        machine makes if the study has not begun."""
        if self._stored is None:
            return left_out_everywhere(self._plan)
        return self.store.runs(self._stored)

    def add(self, run: Run) -> None:
        """Store a run or a probe."""
        self.store.add(self.stored, run)

    def machines(self) -> list[str]:
        """Return the machines that have taken part, each once."""
        return list(dict.fromkeys(each.machine for each in self.store.sessions(self.stored)))

    def join(self, machine: str, facts: Mapping[str, Any]) -> None:
        """Begin a session of a machine. Raises LockwrightError if its facts are not those of its
        first one, so that another machine of that name took part."""
        self.check_machine(machine, facts)
        self.store.add_session(self.stored, machine, facts)

    def check_machine(self, machine: str, facts: Mapping[str, Any]) -> None:
        """Raise LockwrightError if another machine of that name took part before."""
        sessions = self.store.sessions(self.stored)
        before = next((each.facts for each in sessions if each.machine == machine), None)
        if before is not None:
            todo = "resume on that, or give another --machine-name or --db"
            resume.check_facts(before, facts, f"the study on {machine}", todo)

    def finish(self) -> None:
        """Mark the study as complete."""
        self.store.finish(self.stored)
