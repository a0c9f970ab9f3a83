"""The race of locks: its candidates, its first run, and how it is resumed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lockwright.commands.common.comparison_options import ComparisonOptions
from lockwright.commands.common.comparison_steps import Prepared

if TYPE_CHECKING:
    from lockwright.compare.plan import Plan
    from lockwright.compare.store import Comparison, Store
    from lockwright.machine.meters import Meters
    from lockwright.preload.locks import Registry
    from lockwright.profile.record import Profile
    from lockwright.tune.preparation import Preparation


MOST_ROUNDS = 100
"""Rounds after which a race ends in any case."""


def check_rwlocks(rwlocks: str | None, options: ComparisonOptions) -> None:
    """Raise LockwrightError if one reader-writer lock is chosen, and others are to be tried."""
    from lockwright.base.errors import LockwrightError

    if rwlocks is not None and options.rwlock is not None:
        raise LockwrightError(
            "--rwlock and --rwlocks exclude each other", "give those to try with --rwlocks"
        )


def named_locks(
    locks: str | None,
    rwlocks: str | None,
    profile_file: Path | None,
    prepared: Prepared,
    known: "Registry",
) -> "Preparation | None":
    """Return the locks of --locks and --rwlocks; None without these options. Raises LockwrightError
    if --profile is given, too."""
    from lockwright.base.errors import LockwrightError
    from lockwright.compare import plan
    from lockwright.tune import preparation

    if locks is None and rwlocks is None:
        return None
    names = () if locks is None else plan.choose_locks(locks, known)[0]
    prepared.with_locks(names)
    named = preparation.named(names, () if rwlocks is None else plan.choose_rwlocks(rwlocks))
    if profile_file is not None:
        option = "--locks" if locks is not None else "--rwlocks"
        raise LockwrightError(f"{option} and --profile exclude each other", "leave out one of them")
    return named


def own_locks(plan: "Plan") -> tuple[str, ...]:
    """Return the locks of a plan without other libraries."""
    return tuple(lock for lock in plan.locks if plan.other_library(lock) is None)


def begin_race(
    store: "Store",
    prepared: Prepared,
    budget_of: "Callable[[bool], float]",
    named: "Preparation | None",
    profile_file: Path | None,
    meters: "Meters",
) -> "tuple[Comparison, Profile | None]":
    """Make the first run, and add the race to the results file; return it and the profile.

    budget_of: returns the seconds of the race, by whether the program is lock-sensitive.
    """
    from lockwright.base.progress import print_line
    from lockwright.commands.common import comparison_steps as steps
    from lockwright.compare.probe import FIXED_TIME, probe, runs_for_fixed_time
    from lockwright.compare.runner import Runner
    from lockwright.preload.locks import BASELINE
    from lockwright.profile import record
    from lockwright.tune import first_run, preparation

    profile = None if profile_file is None else record.read(profile_file)
    counts = None
    with Runner(prepared.plan, prepared.program) as runner:
        if profile is None and named is None:
            profile = first_run.profile_first_run(prepared.plan, runner)
            if profile is not None:
                duration, threads = profile.process.duration / 1e9, max(prepared.plan.threads)
                is_fixed = runs_for_fixed_time(
                    prepared.plan, prepared.registry, runner, threads, duration
                )
                counts = first_run.lock_counts(profile) | {FIXED_TIME: is_fixed}
        if counts is None:
            counts = probe(prepared.plan, prepared.registry, runner)
    if named is not None:
        chosen = named
    elif profile is not None:
        chosen = preparation.from_profile(profile, prepared.registry)
    else:
        print_line("no profile could be made, so one lock of each family is tried")
        chosen = preparation.without_profile(prepared.registry)
    if chosen.sentence:
        print_line(chosen.sentence)
    if not counts.get(FIXED_TIME):
        print_line(f"trying {', '.join((BASELINE, *chosen.locks))}")
    locks = (BASELINE, *chosen.locks, *chosen.reserves)
    race = prepared.with_locks(locks, budget=budget_of(chosen.sensitive), reserves=chosen.reserves)
    return steps.begin(store, race, counts, meters, chosen.as_facts()), profile


def resume_race(
    store: "Store", prepared: Prepared, seconds: float | None, named: "Preparation | None"
) -> "Comparison":
    """Return the interrupted race of this command with the budget of the option, if given."""
    from lockwright.commands.common import comparison_steps as steps
    from lockwright.preload.locks import BASELINE

    def fits(other: "Plan") -> bool:
        if other.budget is None or (
            named and set(own_locks(other)) - {*named.locks, *named.reserves, BASELINE}
        ):
            return False
        own = replace(prepared.plan, locks=other.locks, reserves=other.reserves)
        return replace(other, budget=own.budget) == own

    comparison = steps.find_interrupted(store, prepared.plan, fits)
    steps.check_same(comparison, prepared.with_locks(own_locks(comparison.plan)).facts_of_run())
    store.adopt(comparison)
    if seconds is None:
        return comparison
    return replace(comparison, plan=replace(comparison.plan, budget=seconds))
