"""A tuning from its first run to its verdict: what `lockwright tune` does."""

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base import files, interrupts
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.compare import plan as plans
from lockwright.compare.arms import number_of_settings
from lockwright.compare.plan import Plan
from lockwright.compare.preparation import Prepared, prepare, set_other_locks
from lockwright.compare.probe import FIXED_TIME, probe, runs_for_fixed_time
from lockwright.compare.report import has_fixed_time
from lockwright.compare.request import Request
from lockwright.compare.runner import Runner
from lockwright.experiment import Runs
from lockwright.experiment.conduct import present, print_interrupted
from lockwright.experiment.report import Report
from lockwright.experiment.store import Store, Stored, default_path
from lockwright.machine.meters import Meters
from lockwright.preload import allocators, binary
from lockwright.preload.locks import BASELINE, check_plan_replacements, preload, registry
from lockwright.profile import record
from lockwright.profile.record import Profile
from lockwright.tune import budget as budgets
from lockwright.tune import choices, first_run, per_mutex_race, preparation, priors, show
from lockwright.tune.preparation import Preparation
from lockwright.tune.priors import Values
from lockwright.tune.run import RaceRun, own_locks
from lockwright.tune.search import Search

MOST_ROUNDS = 100
"""Rounds after which a race ends in any case."""


@dataclass(frozen=True)
class Tuning:
    """What `tune` is asked for. budget: in seconds, None for the default; margin: the smallest
    difference that matters; locks, rwlocks: lists with commas, or "all", None for those of the
    advice; profile_file: of the program; plan_file: for the best plan of a lock for each mutex;
    dimensions: of settings of the program to try too, a list with commas; prior_files: tables of
    how locks behaved in other programs, a list with commas, None for the published one."""

    request: Request
    budget: float | None = None
    margin: float = 0.05
    locks: str | None = None
    rwlocks: str | None = None
    profile_file: Path | None = None
    plan_file: Path | None = None
    dimensions: str | None = None
    prior_files: str | None = None


@dataclass
class _Course:
    """A tuning that is carried out. seconds: the budget, if it was given; named: the locks that
    the user named, None for those of the advice; values: of locks in other programs;
    profile: of the first run."""

    wanted: Tuning
    prepared: Prepared
    seconds: float | None
    named: Preparation | None
    values: list[Values]
    meters: Meters
    began: float
    profile: Profile | None = None
    race: RaceRun | None = None

    def begin(self, store: Store) -> None:
        """Make the first run and add the race to the results file, or resume it."""
        if self.wanted.request.output.resume:
            stored, plan = self._resume(store)
            self.began -= sum(run.wall for run in store.runs(stored))
        else:
            stored, plan = self._first_run(store)
        self.prepared.print_notes()
        runs = Runs(store.runs(stored))
        expected = Preparation.from_facts(stored.facts).expected
        search = Search.among(expected, self.values) if expected else None
        self.race = RaceRun(self.prepared, store, stored, plan, runs, self.reading, search=search)

    @property
    def reading(self) -> Meters | None:
        """The meters, if any are to be read."""
        return self.meters if self.meters.wanted else None

    def _resume(self, store: Store) -> tuple[Stored, Plan]:
        """Return the interrupted race of this command with the budget of the option, if given."""
        named = self.named

        def fits(other: Plan) -> bool:
            own_names = {lock for lock in own_locks(other) if not number_of_settings(lock)}
            if named and own_names - {*named.locks, *named.reserves, BASELINE}:
                return False
            own = replace(self.prepared.plan, locks=other.locks, reserves=other.reserves)
            return replace(other, budget=own.budget) == own

        stored, plan = self.prepared.interrupted(store, fits)
        self.prepared.with_locks(own_locks(plan)).adopt(store, stored, self.meters)
        return stored, plan if self.seconds is None else replace(plan, budget=self.seconds)

    def _first_run(self, store: Store) -> tuple[Stored, Plan]:
        prepared, counts = self.prepared, None
        if self.wanted.profile_file is not None:
            self.profile = record.read(self.wanted.profile_file)
        with Runner(prepared.plan, prepared.program) as runner:
            if self.profile is None and self.named is None:
                self.profile = first_run.profile_first_run(prepared.plan, runner)
                if self.profile is not None:
                    is_fixed = runs_for_fixed_time(
                        prepared.plan,
                        prepared.registry,
                        runner,
                        max(prepared.plan.threads),
                        self.profile.process.duration / 1e9,
                    )
                    counts = first_run.lock_counts(self.profile) | {FIXED_TIME: is_fixed}
            if counts is None:
                counts = probe(prepared.plan, prepared.registry, runner)
        chosen = self._choose()
        if not counts.get(FIXED_TIME):
            first = [lock for lock in chosen.locks if lock not in chosen.expected]
            if chosen.expected:
                first.append(f"the best of {len(chosen.expected) - 1} locks")
            print_line(f"trying {', '.join((BASELINE, *first))}")
        race = prepared.with_locks(
            (BASELINE, *chosen.locks, *chosen.reserves),
            budget=self.seconds or budgets.default(chosen.sensitive),
            reserves=chosen.waiting,
        )
        return race.begin(store, counts, self.meters, chosen.as_facts()), race.plan

    def _choose(self) -> Preparation:
        """Return the locks to try, and print why."""
        if self.named is not None:
            chosen = self.named
        elif self.profile is not None:
            chosen = preparation.from_profile(self.profile, self.prepared.registry, self.values)
        else:
            print_line("no profile could be made, so all locks are searched")
            chosen = preparation.without_profile(self.prepared.registry, self.values)
        if chosen.sentence:
            print_line(chosen.sentence)
        return self._with_settings(chosen)

    def _with_settings(self, chosen: Preparation) -> Preparation:
        """Return the preparation with the settings to try, if some are asked for."""
        plan = self.prepared.plan
        if not plan.dimensions:
            return chosen
        threads = max(plan.threads)
        executed = binary.executed(self.prepared.program, plan.argv(threads)[1:])
        found = choices.find_choices(plan.dimensions, executed, os.environ, threads)
        first = self.prepared.registry.path_of(BASELINE)
        for name in found.values.get("allocator", ()):
            allocator = allocators.find(name)
            environment = allocators.with_allocator(allocator, False, os.environ)
            loaded = preload(first, environment, self.prepared.program)
            allocators.check_order(allocator, self.prepared.program, loaded, first)
        for line in found.left_out:
            print_line(f"not tried: {line}")
        return preparation.with_settings(replace(chosen, sensitive=True), found.values)

    def run(self) -> None:
        """Carry out the race in the time that is left of the budget."""
        assert self.race is not None
        if not has_fixed_time(self.race.stored.facts):
            # The other half is for the plans.
            share = 1 if self.wanted.plan_file is None else 0.5
            self.race.carry_out(share * self.seconds_left)

    @property
    def seconds_left(self) -> float:
        """The seconds of the budget that are left."""
        assert self.race is not None
        assert self.race.plan.budget is not None
        return self.began + self.race.plan.budget - time.monotonic()

    def present(self) -> Report:
        """Print the report, and write the files."""
        assert self.race is not None
        output = self.wanted.request.output
        made = self.race.report(f"Tuning {self.wanted.request.program}")
        present(made, output, before=show.preface, after=show.alternatives)
        return made

    def write_plan(self, store: Store, made: Report) -> None:
        """Search for a lock for each costly mutex, if that is asked for."""
        file = self.wanted.plan_file
        if file is None:
            return
        if self.profile is None:
            print_line(f"without a profile there is no plan to try: {file} is not written")
        elif self.race is not None and has_fixed_time(self.race.stored.facts):
            print_line(f"no plan can be tried by wall time: {file} is not written")
        else:
            title = "plans"
            search = per_mutex_race.Search(self.prepared, store, self.profile, title)
            search.write_plan(made, file, self.seconds_left)


def conduct(wanted: Tuning) -> int:
    """Carry out a tuning, print its report, and write its files. Return the exit status: 0, or that
    of the signal that interrupted it. Raises LockwrightError."""
    course, output = _prepare(wanted), wanted.request.output
    with interrupts.stop_on_signals():
        store = Store(output.db or default_path())
        course.began = time.monotonic()
        try:
            course.begin(store)
            course.run()
            made = course.present()
            assert course.race is not None
            store.finish(course.race.stored)
            course.write_plan(store, made)
        except interrupts.Stopped as stopped:
            if course.race is None or not course.race.runs.all:
                print_line("interrupted before the first run ended; nothing is saved: start again")
            else:
                course.present()
                print_interrupted(output.resume)
            return stopped.status
        finally:
            store.close()
    return 0


def _prepare(wanted: Tuning) -> _Course:
    """Check everything that can be checked without a run."""
    seconds = wanted.budget
    set_other_locks(wanted.request)
    prepared = prepare(
        wanted.request,
        registry(),
        (BASELINE,),
        runs=MOST_ROUNDS,
        warmup=1,
        budget=seconds or budgets.DEFAULT,
        margin=wanted.margin,
        dimensions=() if wanted.dimensions is None else choices.dimensions_of(wanted.dimensions),
    )
    if wanted.rwlocks is not None and wanted.request.rwlock is not None:
        raise LockwrightError(
            "--rwlock and --rwlocks exclude each other", "give those to try with --rwlocks"
        )
    named = _named(wanted, prepared)
    if wanted.plan_file is not None and wanted.dimensions is not None:
        raise LockwrightError("--with and --per-mutex exclude each other", "leave out one")
    if wanted.plan_file is not None:
        _check_plan(wanted, prepared, named, wanted.plan_file)
    values = _values(wanted, named)
    meters = Meters(energy=wanted.request.energy, counters=wanted.request.counters)
    return _Course(wanted, prepared, seconds, named, values, meters, time.monotonic())


def _values(wanted: Tuning, named: Preparation | None) -> list[Values]:
    """Return the values of locks in other programs."""
    if wanted.prior_files is None:
        return priors.read(priors.PUBLISHED)
    if named is not None:
        option = "--locks" if wanted.locks is not None else "--rwlocks"
        raise LockwrightError(
            f"{option} and --prior-table exclude each other", "leave out one of them"
        )
    return [row for name in wanted.prior_files.split(",") for row in priors.read(Path(name))]


def _named(wanted: Tuning, prepared: Prepared) -> Preparation | None:
    """Return the locks that the user named; None for those of the advice."""
    if wanted.locks is None and wanted.rwlocks is None:
        return None
    names: tuple[str, ...] = ()
    if wanted.locks is not None:
        names = plans.choose_locks(wanted.locks, prepared.registry)[0]
    prepared.with_locks(names)
    rwlocks = () if wanted.rwlocks is None else plans.choose_rwlocks(wanted.rwlocks)
    named = preparation.named(names, rwlocks)
    if wanted.profile_file is not None:
        option = "--locks" if wanted.locks is not None else "--rwlocks"
        raise LockwrightError(f"{option} and --profile exclude each other", "leave out one of them")
    return named


def _check_plan(wanted: Tuning, prepared: Prepared, named: Preparation | None, file: Path) -> None:
    if named is not None or wanted.request.output.resume:
        other = "--locks" if named is not None else "--resume"
        raise LockwrightError(
            f"--per-mutex needs a profile, which is not made with {other}", f"leave out {other}"
        )
    check_plan_replacements(os.environ, "find one lock for all without --per-mutex")
    prepared.registry.path_of_mixed()
    files.check_writable(file, "--per-mutex")
