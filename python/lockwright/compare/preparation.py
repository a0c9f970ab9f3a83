"""The checks before the first run of a comparison or a tuning, and its facts."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError, warn
from lockwright.base.progress import print_line
from lockwright.base.results import explain_damage
from lockwright.compare import plan as plans
from lockwright.compare.arms import lock_of
from lockwright.compare.experiment import COMPARISON, TUNING
from lockwright.compare.plan import Plan
from lockwright.compare.report import PROBE
from lockwright.compare.request import Request
from lockwright.doctor import examine
from lockwright.experiment.conduct import facts_of_meters, idle_of
from lockwright.experiment.session import check_same, find_interrupted
from lockwright.experiment.store import Store, Stored
from lockwright.machine import calibration, provenance
from lockwright.machine.meters import Meters
from lockwright.preload import binary, other_libraries
from lockwright.preload.locks import BASELINE, RWLOCK, Registry, set_replacements
from lockwright.preload.rwlocks import parts_of


@dataclass(frozen=True)
class Prepared:
    """A comparison whose options have been checked as far as possible without a run. facts: those
    of the machine and the program; disturbances: a summary of those on this machine."""

    plan: Plan
    program: Path
    registry: Registry
    facts: dict[str, Any]
    disturbances: str

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """The calibrated variables of each lock, and the one that selects its reader-writer
        lock, if the plan compares these."""
        own = {
            name: parts_of(lock_of(name))
            for name in self.plan.locks
            if self.plan.other_library(name) is None
        }
        by_lock = calibration.calibrated_variables(
            self.registry, dict.fromkeys(lock for lock, _ in own.values()), os.environ
        )
        selects = bool(self.plan.rwlocks)
        return {
            name: by_lock[lock] | ({RWLOCK: rwlock} if selects else {})
            for name, (lock, rwlock) in own.items()
        }

    def with_locks(self, locks: tuple[str, ...], **changes: Any) -> "Prepared":
        """Return a copy with other locks, the same libraries, and other changes of the plan."""
        _check_locks(self.registry, locks)
        names = (*locks, *(each.name for each in self.plan.other_libraries))
        return replace(self, plan=replace(self.plan, locks=names, **changes))

    def facts_of_run(self) -> dict[str, Any]:
        """Return the facts, and the calibrated parameters of the plan's locks."""
        facts = dict(self.facts)
        for variables in self.settings.values():
            facts |= {
                name: f"{value} (calibrated)" for name, value in variables.items() if name != RWLOCK
            }
        return facts

    def begin(
        self,
        store: Store,
        counts: Mapping[str, int],
        meters: Meters,
        more: Mapping[str, Any] | None = None,
    ) -> Stored:
        """Add the comparison to the results file. counts: those of its probe run; more: further
        facts. The idle machine is measured first, if the meters need it."""
        measured = facts_of_meters(meters)
        facts = self.facts_of_run() | {PROBE: dict(counts)} | dict(more or {}) | measured
        return store.begin(_kind(self.plan), self.plan.stored(), facts)

    def interrupted(
        self, store: Store, fits: Callable[[Plan], bool] | None = None
    ) -> tuple[Stored, Plan]:
        """Return the latest interrupted comparison with this plan, or with one that `fits`. Raises
        LockwrightError if there is none."""

        def is_same(document: Mapping[str, Any]) -> bool:
            with explain_damage(store.path):
                other = Plan.from_stored(document)
            return fits(other) if fits is not None else other == self.plan

        own = self.plan.stored()
        found = find_interrupted(store, _kind(self.plan), own, is_same, "command", plans.OPTIONS)
        return found, Plan.from_stored(found.plan)

    def adopt(self, store: Store, stored: Stored, meters: Meters) -> None:
        """Resume a comparison: make this process its owner. Raises LockwrightError if it was made
        on another machine, with another build or other settings."""
        check_same(stored, self.facts_of_run())
        store.adopt(stored)
        meters.idle = idle_of(stored.facts)

    def print_notes(self) -> None:
        """Print the remarks on the comparison before the first run."""
        for each in other_libraries.remarks(self.plan.other_libraries):
            print_line(each)
        if self.disturbances:
            print_line(f"'lockwright doctor' warns of {self.disturbances}")


def _kind(plan: Plan) -> str:
    return COMPARISON if plan.budget is None else TUNING


def _check_locks(known: Registry, names: tuple[str, ...]) -> None:
    for lock in dict.fromkeys(parts_of(lock_of(name))[0] for name in names):
        known.path_of(lock)
        known.check_environment(lock, os.environ)


def prepare(request: Request, known: Registry, locks: tuple[str, ...], **about: Any) -> Prepared:
    """Check the options, and return the prepared comparison. Raises LockwrightError. about: further
    fields of the plan."""
    if request.metric is None and (request.unit is not None or request.lower_is_better):
        option = "--unit" if request.unit is not None else "--lower-is-better"
        raise LockwrightError(f"{option} is given without --metric", "add --metric REGEX")
    wanted = Plan(
        command=request.arguments,
        locks=locks,
        threads=plans.choose_threads(request.threads),
        metric=request.metric,
        unit=request.unit or ("s" if request.metric is None else "value"),
        lower_is_better=request.lower_is_better or request.metric is None,
        timeout=request.timeout,
        prepare=request.prepare,
        energy=request.energy,
        counters=request.counters,
        **about,
    )
    plans.check(wanted)
    argv = wanted.argv(min(wanted.threads))
    program = binary.find(argv[0])
    _check_locks(known, locks)
    if doubt := binary.check(program, known.path_of(BASELINE), argv[1:]):
        warn(doubt)
    others = other_libraries.choose(request.preload, program)
    names = (*locks, *(each.name for each in others))
    findings = examine.examine_this_machine()
    facts = provenance.gather(program, known.directory)
    facts[provenance.FINDINGS] = provenance.as_facts(findings)
    wanted = replace(wanted, locks=names, other_libraries=others)
    return Prepared(wanted, program, known, facts, examine.disturbances(findings))


def set_other_locks(request: Request) -> None:
    """Set the environment variables of --rwlock and --spin, for all runs and the report."""
    environment = dict(os.environ)
    set_replacements(environment, {"rwlock": request.rwlock, "spin": request.spin})
    os.environ.update(environment)
