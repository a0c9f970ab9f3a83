"""A study from its file to its summary: what `lockwright study run` calls.

The same command continues a study that was interrupted.
"""

from dataclasses import dataclass
from pathlib import Path

from lockwright.base import interrupts
from lockwright.base.progress import print_line
from lockwright.run import resume

from lockwright_lab.study.campaign import session
from lockwright_lab.study.campaign.certificates import Certificates
from lockwright_lab.study.campaign.local_machine import Folders
from lockwright_lab.study.campaign.plan import Plan
from lockwright_lab.study.campaign.results import StudyFile


@dataclass(frozen=True)
class Place:
    """Where runs are made: on this machine, or by the workers of a Dask scheduler. machine: name of
    this one in the results, None for its own; scheduler: the address, None without one; patience:
    seconds to wait for workers; certificates: of TLS, None without."""

    machine: str | None
    folders: Folders
    scheduler: str | None
    patience: float
    certificates: Certificates | None


def conduct(plan: Plan, path: Path, place: Place) -> int:
    """Make the missing runs of a study, and print their number. Return the exit status: 0, 1 if
    runs are left or a run of a study of endings ended in a fault, or that of the signal that ended
    it early. path: of its file."""
    with interrupts.stop_on_signals():
        file = StudyFile(path, plan)
        try:
            if file.begin():
                print_line(f"resuming the study in {path}")
            left = _carry_out(plan, file, place)
            runs = file.runs()
            print(f"{path}: {session.summary(runs)}")
            bad = session.bad_endings(plan, runs)
            for line in bad:
                print(f"  {line}")
            if left:
                print_line(f"{left}; continue with: {resume.resume_command()}")
                return 1
            file.finish()
        except interrupts.Stopped as stopped:
            print_line(resume.interruption_message(resume.resume_command()))
            return stopped.status
        finally:
            file.close()
    return 1 if bad else 0


def _carry_out(plan: Plan, file: StudyFile, place: Place) -> str:
    """Make the missing runs; return what is left and why, or ""."""
    if place.scheduler is None:
        session.carry_out(plan, file, place.machine, place.folders)
        return ""
    from lockwright_lab.study.campaign import fleet

    return fleet.carry_out(plan, file, place.scheduler, place.patience, place.certificates)
