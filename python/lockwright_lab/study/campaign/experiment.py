"""A study as an experiment: its cells are the configurations without their locks.

The locks are the contenders. The first run of a cell on a machine is a run of the contender PROBE.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import msgspec
from lockwright.base.results import now
from lockwright.experiment import LEFT_OUT, Cell, Contender, Experiment, Figure, Outcome, Run, Runs
from lockwright.experiment import session as sessions
from lockwright.experiment.model import Slot
from lockwright.experiment.rules import Rounds

from lockwright_lab.study.campaign.plan import ANY, Configuration, Plan
from lockwright_lab.study.program.trial import LATENCY, UNENDED, VALUE

KIND = "study"
PROBE = "probe"
"""The contender of the run under the counting baseline that a machine makes before the others of a
cell, in round 0. It is left out if the cell cannot be run there; its details are the `counts` of
the program's lock operations, some of them lists, the `sums` of the outputs that must be the same
under every lock, and the `version` of the program."""
CONFIGURATIONS = "configurations"
"""The part of the stored plan that has the configuration of each cell, without the lock."""


def _no_run(cell: Cell, contender: Contender, number: int) -> Outcome:
    raise NotImplementedError(f"{cell.name}, {contender.name}, round {number}")


def declare(plan: Plan) -> Experiment:
    """Return the experiment of a plan, without the function that makes its runs."""
    settings = {each.setting: None for each in plan.configurations()}
    of_cell = {str(each): each for each in settings}
    options = {name: _options(each) for name, each in of_cell.items()}

    def order(slot: Slot) -> tuple[bool, float]:
        configuration = Configuration(lock=slot.contender, **options[slot.cell])
        number = random.Random(f"{plan.seed} {' '.join(map(str, slot))}").random()
        return plan.may_take_forever(configuration), number

    return Experiment(
        KIND,
        [Cell(name, each) for name, each in options.items()],
        [Contender(lock, plan.settings_of(lock)) for lock in plan.locks],
        [Figure(VALUE, ""), Figure(LATENCY, "")],
        _no_run,
        rounds=plan.runs,
        warmup=plan.warmup,
        settings={**msgspec.to_builtins(plan), CONFIGURATIONS: options},
        rule=Rounds(VALUE, plan.runs, plan.most_runs, plan.spread),
        give_up_on=frozenset(UNENDED),
        postponed=order,
    )


def _options(setting: Configuration) -> dict[str, Any]:
    return {name: value for name, value in asdict(setting).items() if name != "lock"}


def configuration_of(experiment: Experiment, slot: Slot) -> Configuration:
    """Return the configuration of a run; without a lock for that of a probe."""
    lock = "" if slot.contender == PROBE else slot.contender
    return Configuration(lock=lock, **experiment.settings[CONFIGURATIONS][slot.cell])


def slot_of(configuration: Configuration, number: int) -> Slot:
    """Return the run of a configuration in a round; the probe for one without a lock."""
    return Slot(str(configuration.setting), configuration.lock or PROBE, number)


def run_of(slot: Slot, machine: str, started: str, made: Outcome, **details: object) -> Run:
    """Return a run with its outcome. details: further ones."""
    figures = {name: each for name, each in made.figures.items() if math.isfinite(each)}
    known = {**made.details, **details}
    return Run(made.ended, made.wall, figures, made.note, known, slot, started, machine)


def left_out(slot: Slot, machine: str, why: str) -> Run:
    """Return the record of a run that is not made. machine: '' if the reason applies to all."""
    return Run(LEFT_OUT, note=why, slot=slot, started=now(), machine=machine)


def left_out_everywhere(plan: Plan) -> list[Run]:
    """Return a record for each configuration that no machine runs."""
    reasons = ((each, plan.left_out(each)) for each in plan.configurations())
    return [left_out(slot_of(each, 1), "", why) for each, why in reasons if why]


def runs_for(plan: Plan, runs: Iterable[Run], machine: str) -> Runs:
    """Return the runs that a machine need not make: its own, or all if the machines share them."""
    return Runs(
        run
        for run in runs
        if run.contender != PROBE and (plan.machines == ANY or run.machine in ("", machine))
    )


def probes_of(runs: Iterable[Run], machine: str) -> dict[str, Run]:
    """Return the probes of a machine by cell."""
    return {run.cell: run for run in runs if run.contender == PROBE and run.machine == machine}


def difference(plan: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the first part in which the stored plans of two studies differ; for a program, with
    its name."""
    part = sessions.difference(plan, other)
    if part != "members":
        return part
    members = {member["program"]["name"]: member for member in other.get(part, ())}
    for member in plan[part]:
        name = member["program"]["name"]
        if member != members.get(name):
            return f"the program {name}"
    return "programs"
