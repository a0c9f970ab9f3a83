"""What a study would do: its runs by program, and how long they take."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from lockwright.base import numbers
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import duration
from lockwright.experiment import Run
from lockwright.experiment.model import Slot
from lockwright.experiment.schedule import Schedule
from lockwright.experiment.session import seconds_left

from lockwright_lab.study.campaign.experiment import (
    configuration_of,
    declare,
    left_out_everywhere,
    probes_of,
    runs_for,
)
from lockwright_lab.study.campaign.local_machine import default_name, missing
from lockwright_lab.study.campaign.plan import EACH, Configuration, Member, Plan
from lockwright_lab.study.campaign.results import StudyFile
from lockwright_lab.study.program.packages import how_to_get


def refuse_missing(plan: Plan) -> None:
    """Raise LockwrightError if a program is not installed, with the commands that install all of
    them."""
    absent = [each.program for each in plan.members if missing(each.program)]
    if absent:
        names = ", ".join(f"{each.name} ({', '.join(missing(each))})" for each in absent)
        todo = f"{how_to_get(absent)}; or add --skip-missing"
        raise LockwrightError(f"not installed for {names}", todo)


def preview(plan: Plan, path: Path, machine: str | None) -> list[str]:
    """Return lines on the runs that are left to make. path: of the file of the study, which may be
    missing; machine: as of `carry_out`."""
    stored = _stored(plan, path)
    name = machine or default_name()
    made = runs_for(plan, stored, name)
    experiment = declare(plan)
    slots = list(Schedule(experiment, made).remaining())
    to_do = [(slot, configuration_of(experiment, slot)) for slot in slots]
    cells = {slot.cell for slot in slots} - probes_of(stored, name).keys()
    more = "" if plan.machines != EACH else " on each machine"
    return [
        *(_of_program(member, [each for _, each in to_do]) for member in plan.members),
        f"{len(to_do)} runs{more} of {len(plan.configurations())} configurations, "
        f"{len(cells)} probe runs, and up to {plan.most_runs} runs "
        f"of those that differ by more than {numbers.percent(plan.spread)}",
        _time(plan, list(made), to_do),
    ]


def _stored(plan: Plan, path: Path) -> list[Run]:
    if not path.exists():
        return left_out_everywhere(plan)
    file = StudyFile(path, plan)
    try:
        return file.runs()
    finally:
        file.close()


def _of_program(member: Member, to_do: Iterable[Configuration]) -> str:
    """Return a line with the runs of a program."""
    own = [each for each in to_do if each.program == member.program.name]
    counts = sorted({each.threads for each in own} - {0})
    where = f", threads {', '.join(map(str, counts))}" if counts else ""
    absent = missing(member.program)
    note = f" (not installed: {', '.join(absent)})" if absent else ""
    return f"{member.program.name}: {len(own)} runs{where}{note}"


def _time(plan: Plan, made: Sequence[Run], to_do: Sequence[tuple[Slot, Configuration]]) -> str:
    """Return a line with the time of the runs, by those made or as the catalogue says."""
    options = {str(each.setting): each.program for each in plan.configurations()}
    known = {options[run.cell] for run in made if run.wall and run.cell in options}
    typical = {m.program.name: m.program.seconds * m.scale for m in plan.members}
    unknown = [name for name in typical if name not in known and not typical[name]]
    seconds = seconds_left(made, [slot for slot, each in to_do if each.program in known]) or 0.0
    seconds += sum(typical[each.program] for _, each in to_do if each.program not in known)
    end = f"; unknown for {', '.join(unknown)}" if unknown else ""
    return f"about {duration(seconds)}{end}"
