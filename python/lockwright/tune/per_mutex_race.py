"""`tune --per-mutex`: a lock for each mutex, found by racing candidate plans."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base import files, terminal
from lockwright.base.progress import print_line
from lockwright.compare.arms import lock_of
from lockwright.compare.preparation import Prepared
from lockwright.experiment import Runs
from lockwright.experiment import terminal as texts
from lockwright.experiment.report import Report
from lockwright.experiment.store import Store
from lockwright.machine.meters import Meters
from lockwright.preload.locks import BASELINE
from lockwright.preload.other_libraries import OtherLibrary
from lockwright.preload.rwlocks import parts_of
from lockwright.profile.record import Profile
from lockwright.tune import per_mutex, show
from lockwright.tune.candidates import NAMED, Candidate
from lockwright.tune.per_mutex import Layout
from lockwright.tune.preparation import FACTS, Preparation
from lockwright.tune.run import RaceRun


@dataclass(frozen=True)
class Search:
    """The search for a plan after the race of single locks. profile: that the race began with."""

    prepared: Prepared
    store: Store
    profile: Profile
    title: str

    def write_plan(self, first: Report, file: Path, seconds: float) -> None:
        """Race plans, and write the best one to `file` if it beats the single lock.

        first: the report on the race of single locks. The profile is written beside the plan, which
        names mutexes by their rank in it.
        """
        races = first.more[FACTS]["races"]
        single = (races[-1]["best"] if races else None) or BASELINE
        preparation = Preparation.from_facts(first.facts)
        ranks = per_mutex.costly_mutexes(self.profile)
        if not ranks:
            print_line("no mutex stands out in the profile, so no plan is tried")
            return
        profile_file = file.with_suffix(".profile.json").absolute()
        files.write(profile_file, self.profile.to_json(), "--per-mutex")

        def attempt(layouts: Mapping[str, Layout]) -> str | None:
            return self._race(layouts, profile_file, single, seconds / len(ranks))

        rest = per_mutex.lock_of_other_mutexes(self.prepared.registry)
        # A plan has locks for mutexes only.
        own, *others = (parts_of(lock_of(name))[0] for name in (single, *preparation.locks))
        best = per_mutex.search_layout(ranks, own, rest, others, attempt)
        if best is None:
            print_line(f"no plan was better than {single} alone; none is written")
            return
        files.write(file, best.text(profile_file), "--per-mutex")
        print_line(f"wrote {file}, which led the races of plans: {best.summary}")

    def _race(
        self, layouts: Mapping[str, Layout], profile: Path, single: str, seconds: float
    ) -> str | None:
        """Return the plan that led at the end; None if a single lock led."""
        prepared = self.prepared
        locks = tuple(dict.fromkeys((BASELINE, single)))
        mixed = prepared.registry.path_of_mixed()
        race = prepared.with_locks(locks, threads=(max(prepared.plan.threads),), budget=seconds)
        plan = replace(
            race.plan,
            locks=(*locks, *layouts),
            other_libraries=tuple(OtherLibrary(name, mixed) for name in layouts),
        )
        facts = _preparation(layouts, locks).as_facts()
        counts = {"mutexes": 0, "acquisitions": 0}
        race = replace(race, plan=plan)
        stored = race.begin(self.store, counts, Meters(), facts)
        variables = self._variables(layouts, profile)
        run = RaceRun(prepared, self.store, stored, plan, Runs(), variables=variables)
        run.carry_out(seconds)
        made, console = run.report(self.title), terminal.output()
        show.preface(console, made)
        texts.show(console, made)
        console.file.flush()
        self.store.finish(stored)
        races = made.more[FACTS]["races"]
        best = races[0]["best"] if races else None
        return best if best in layouts else None

    def _variables(self, layouts: Mapping[str, Layout], profile: Path) -> dict[str, dict[str, str]]:
        """Return the variables that give the mixed library each layout."""
        known, program = self.prepared.registry, self.prepared.program
        with tempfile.TemporaryDirectory(prefix="lockwright-") as folder:
            file = Path(folder) / "plan.toml"
            return {
                name: per_mutex.plan_variables(layout, profile, program, known, file)
                for name, layout in layouts.items()
            }


def _preparation(layouts: Mapping[str, Layout], locks: tuple[str, ...]) -> Preparation:
    candidates = [Candidate(name, NAMED, layout.summary) for name, layout in layouts.items()]
    candidates += [
        Candidate(lock, NAMED, "the best single lock") for lock in locks if lock != BASELINE
    ]
    return Preparation(tuple(candidates))
