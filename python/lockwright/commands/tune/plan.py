"""`lockwright tune --per-mutex`: an assignment of locks to mutexes, by races of plans."""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lockwright.commands.common.comparison_options import ComparisonOptions
from lockwright.commands.common.comparison_steps import Prepared

if TYPE_CHECKING:
    from lockwright.compare.report import Report
    from lockwright.compare.store import Store
    from lockwright.profile.record import Profile
    from lockwright.tune.per_mutex import Layout


def write_plan(
    options: ComparisonOptions,
    prepared: Prepared,
    store: "Store",
    first_race: "tuple[Profile, Report]",
    file: Path,
    seconds: float,
) -> None:
    """Race plans, and write the best one to `file` if it beats the single lock.

    first_race: the profile, and the report on the race of single locks. The profile is written
    beside the plan, which names mutexes by their rank in it.
    """
    from lockwright.base import files
    from lockwright.base.progress import print_line
    from lockwright.preload.locks import BASELINE
    from lockwright.tune import per_mutex
    from lockwright.tune.preparation import FACTS, Preparation

    profile, report = first_race
    races = report.more[FACTS]["races"]
    single = (races[-1]["best"] if races else None) or BASELINE
    preparation = Preparation.from_facts(report.comparison.provenance)
    ranks = per_mutex.costly_mutexes(profile)
    if not ranks:
        print_line("no mutex stands out in the profile, so no plan is tried")
        return
    profile_file = file.with_suffix(".profile.json").absolute()
    files.write(profile_file, profile.to_json(), "--per-mutex")
    each = seconds / len(ranks)

    def attempt(layouts: "Mapping[str, Layout]") -> str | None:
        return _race(options, prepared, store, layouts, profile_file, single, each)

    rest = per_mutex.lock_of_other_mutexes(prepared.registry)
    best = per_mutex.search_layout(ranks, single, rest, preparation.locks, attempt)
    if best is None:
        print_line(f"no plan was better than {single} alone; none is written")
        return
    files.write(file, best.text(profile_file), "--per-mutex")
    print_line(f"wrote {file}, which led the races of plans: {best.summary}")


def _race(
    options: ComparisonOptions,
    prepared: Prepared,
    store: "Store",
    layouts: "Mapping[str, Layout]",
    profile: Path,
    single: str,
    seconds: float,
) -> str | None:
    """Return the plan that led at the end; None if a single lock led."""
    from lockwright.base.terminal import output
    from lockwright.commands.common import comparison_steps as steps
    from lockwright.compare.runner import Runner
    from lockwright.machine.meters import Meters
    from lockwright.preload.locks import BASELINE
    from lockwright.preload.other_libraries import OtherLibrary
    from lockwright.tune import per_mutex, report
    from lockwright.tune.candidates import NAMED, Candidate
    from lockwright.tune.preparation import FACTS, Preparation
    from lockwright.tune.session import Session
    from lockwright.tune.show import show

    mixed = prepared.registry.path_of_mixed()
    locks = tuple(dict.fromkeys((BASELINE, single)))
    plans = tuple(OtherLibrary(name, mixed) for name in layouts)
    race = prepared.with_locks(locks, threads=(max(prepared.plan.threads),), budget=seconds)
    plan = replace(race.plan, locks=(*locks, *layouts), other_libraries=plans)
    race = replace(race, plan=plan)
    with tempfile.TemporaryDirectory(prefix="lockwright-") as folder:
        settings = {
            name: per_mutex.plan_variables(
                layout, profile, prepared.program, prepared.registry, Path(folder) / "plan.toml"
            )
            for name, layout in layouts.items()
        }
    settings |= prepared.with_locks(locks).settings
    candidates = [Candidate(name, NAMED, layout.summary) for name, layout in layouts.items()]
    candidates += [
        Candidate(lock, NAMED, "the best single lock") for lock in locks if lock != BASELINE
    ]
    counts = {"mutexes": 0, "acquisitions": 0}
    facts = Preparation(tuple(candidates)).as_facts()
    comparison = steps.begin(store, race, counts, Meters(), facts)
    with Runner(plan, prepared.program, settings) as runner:
        session = Session(comparison, store, prepared.registry, runner)
        session.carry_out(seconds)
    title = options.title or "plans"
    results = report.make_report(comparison, title, session.records, session.endings)
    show(output(), results)
    sys.stdout.flush()
    store.finish(comparison)
    races = results.more[FACTS]["races"]
    best = races[0]["best"] if races else None
    return best if best in layouts else None
