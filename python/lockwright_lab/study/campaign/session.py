"""A study on this machine alone, and what a study prints at its end."""

from collections.abc import Iterable
from dataclasses import replace

from lockwright.base.progress import print_line
from lockwright.doctor import examine
from lockwright.experiment import FINISHED, LEFT_OUT, Cell, Contender, Outcome, Run
from lockwright.experiment.model import Slot
from lockwright.experiment.schedule import Schedule
from lockwright.experiment.session import Session
from lockwright.machine.finding import Finding
from lockwright.machine.provenance import FINDINGS

from lockwright_lab.study.campaign.experiment import (
    CONFIGURATIONS,
    PROBE,
    configuration_of,
    declare,
    probes_of,
    runs_for,
)
from lockwright_lab.study.campaign.local_machine import Folders, LocalMachine, default_name
from lockwright_lab.study.campaign.plan import Plan
from lockwright_lab.study.campaign.results import StudyFile
from lockwright_lab.study.program.trial import SLOW


def carry_out(plan: Plan, file: StudyFile, machine: str | None, folders: Folders) -> None:
    """Make all missing runs on this machine alone, and store each at once. file: one after its
    begin(); machine: the name in the results, None for the name of the host."""
    name = machine or default_name()
    stored = file.runs()
    experiment = declare(plan)
    if Schedule(experiment, runs_for(plan, stored, name)).finished:
        return
    probes = probes_of(stored, name)
    with LocalMachine(name, plan, folders) as local:
        facts = local.facts()
        file.join(name, facts)
        if disturbances := examine.disturbances([Finding(**each) for each in facts[FINDINGS]]):
            print_line(f"'lockwright doctor' warns of {disturbances}")

        def run(cell: Cell, contender: Contender, number: int) -> Outcome:
            configuration = configuration_of(experiment, Slot(cell.name, contender.name, number))
            if cell.name not in probes:
                probe = probes[cell.name] = local.probe(configuration.setting)
                file.add(probe)
                if not probe.finished:
                    print_line(f"{cell.name} is left out: {probe.note}")
            probe = probes[cell.name]
            if not probe.finished:
                return Outcome(LEFT_OUT, note=probe.note)
            return local.run(configuration, number, probe)

        made = runs_for(plan, stored, name)
        Session(replace(experiment, run=run), file.store, file.stored, made, name).carry_out()


def bad_endings(plan: Plan, runs: Iterable[Run]) -> list[str]:
    """Return a line for each run that ended in a fault, if the plan tests endings. A polling lock
    that is slow with more threads than processors is not a fault."""
    lines = []
    experiment = declare(plan)
    for run in runs if plan.endings else ():
        # A damaged file may have others.
        is_known = run.contender != PROBE and run.cell in experiment.settings[CONFIGURATIONS]
        if run.finished or run.ended == LEFT_OUT or not is_known:
            continue
        configuration = configuration_of(experiment, run.slot)
        if not (run.ended == SLOW and plan.may_take_forever(configuration)):
            lines.append(f"{configuration}: {run.ended}, {run.note}")
    return lines


def summary(runs: Iterable[Run]) -> str:
    """Return the number of runs, and of unfinished runs by outcome, as text."""
    outcomes: dict[str, int] = {}
    for run in runs:
        if run.contender != PROBE:
            outcomes[run.ended] = outcomes.get(run.ended, 0) + 1
    total = sum(outcomes.values())
    others = [f"{count} {what}" for what, count in sorted(outcomes.items()) if what != FINISHED]
    return f"{total} runs" + (f", of which {', '.join(others)}" if others else "")
