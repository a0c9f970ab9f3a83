"""`lockwright tune --with`: the lock together with an allocator, processors, policy and pages."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lockwright.base import files, interrupts
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.base.terminal import output
from lockwright.commands.common import comparison_steps as steps
from lockwright.commands.common.comparison_options import ComparisonOptions
from lockwright.commands.common.comparison_steps import Prepared
from lockwright.commands.tune import lock_race
from lockwright.compare.plan import Plan
from lockwright.compare.probe import FIXED_TIME_ADVICE, FIXED_TIME_TEXT
from lockwright.compare.runner import Runner
from lockwright.compare.store import Comparison, Store
from lockwright.machine.meters import Meters
from lockwright.preload import allocators, binary
from lockwright.preload.locks import BASELINE, preload, registry
from lockwright.preload.other_libraries import OtherLibrary
from lockwright.preload.rwlocks import parts_of
from lockwright.tune import outcome, race
from lockwright.tune.budget import INSENSITIVE
from lockwright.tune.joint import page, report, show
from lockwright.tune.joint.arm import Arm
from lockwright.tune.joint.choices import Choices, dimensions_of, find_choices
from lockwright.tune.joint.search import LOCKS, SHARES, LockRace, Result, Search, Stage
from lockwright.tune.preparation import Preparation
from lockwright.tune.race import RaceRuns
from lockwright.tune.session import Session

_BUDGET = 600.0
"""Seconds that a search may take by default."""

_FACTS = "joint"
"""Key of the race's place in the search among a comparison's facts."""


def tune(
    options: ComparisonOptions,
    dimensions: str,
    seconds: float | None,
    margin: float,
    locks: tuple[str | None, str | None],
    profile_file: Path | None,
) -> int:
    """Search for the best combination, print the report, and return the exit status. locks: the
    values of --locks and --rwlocks."""
    names = dimensions_of(dimensions)
    _check(options)
    steps.set_other_locks(options)
    known = registry()
    total = seconds or _BUDGET
    prepared = steps.prepare(
        options,
        known,
        (BASELINE,),
        runs=lock_race.MOST_ROUNDS,
        warmup=1,
        budget=total,
        margin=margin,
        dimensions=names,
    )
    threads = prepared.plan.threads[0]
    executed = binary.executed(prepared.program, prepared.plan.argv(threads)[1:])
    choices = find_choices(names, executed, os.environ, threads)
    _check_order(choices, prepared)
    lock_race.check_rwlocks(locks[1], options)
    named = lock_race.named_locks(*locks, profile_file, prepared, known)
    with interrupts.stop_on_signals():
        store = Store(prepared.results)
        races = _Races(prepared, store, total, choices)
        try:
            if options.resume:
                races.resume()
            for line in choices.left_out:
                print_line(f"not tried: {line}")
            steps.print_notes(prepared)
            search = races.race_of_locks(named, profile_file)
            search.carry_out(races.attempt)
            _print_report(options, races, search, is_complete=True)
            races.finish()
        except interrupts.Stopped as stopped:
            if not races.has_runs:
                print_line("interrupted before the first run ended; nothing is saved: start again")
            else:
                _print_report(options, races, races.search, is_complete=False)
                steps.print_interrupted(options)
            return stopped.status
        finally:
            store.close()
    return 0


def _check(options: ComparisonOptions) -> None:
    """Raise LockwrightError for options that a joint search does not have."""
    for option, value in (
        ("--preload", options.preload),
        ("--energy", options.energy),
        ("--counters", options.counters),
    ):
        if value:
            raise LockwrightError(f"--with and {option} exclude each other", "leave out one")
    if options.threads is not None and "," in options.threads:
        raise LockwrightError(
            f"--with searches at one number of threads, not at {options.threads}",
            "give the number that matters most",
        )


def _check_order(choices: Choices, prepared: Prepared) -> None:
    """Raise LockwrightError if the dynamic linker would not load an allocator in its place."""
    first = prepared.registry.path_of(BASELINE)
    for name in choices.values.get("allocator", ()):
        allocator = allocators.find(name)
        environment = allocators.with_allocator(allocator, False, os.environ)
        loaded = preload(first, environment, prepared.program)
        allocators.check_order(allocator, prepared.program, loaded, first)


@dataclass
class _Races:
    """The races of a search, each a comparison in the results file. total: the budget in seconds;
    stored: the comparisons of an interrupted search; done: those carried out or under way."""

    prepared: Prepared
    store: Store
    total: float
    choices: Choices
    stored: list[Comparison] = field(default_factory=list)
    done: list[report.Race] = field(default_factory=list)
    search: Search | None = None
    _began: float = field(default_factory=time.monotonic)
    _session: Session | None = None
    _stage: Stage | None = None

    @property
    def has_runs(self) -> bool:
        """Whether any run of a race has ended."""
        return bool(self.done) or bool(self._session and self._session.records)

    def resume(self) -> None:
        """Find the interrupted search of this command."""
        own = self.prepared.plan

        def fits(other: Plan) -> bool:
            return (
                replace(
                    own,
                    locks=other.locks,
                    reserves=other.reserves,
                    other_libraries=other.other_libraries,
                    reference=other.reference,
                    kept=other.kept,
                    budget=other.budget,
                )
                == other
            )

        last = steps.find_interrupted(self.store, own, fits)
        earlier = [self.store.comparison(each) for each in last.provenance[_FACTS]["earlier"]]
        self.stored = [*earlier, last]
        self.store.adopt(last)
        spent = sum(r.wall for each in self.stored for r in self.store.records(each))
        self._began -= spent

    def race_of_locks(self, named: Preparation | None, profile_file: Path | None) -> Search:
        """Carry out the race of locks alone, and return the search that follows."""
        share = SHARES[LOCKS] * self.total
        if self.stored:
            comparison = self._checked(self.stored[0], tuple(map(Arm, self.stored[0].plan.locks)))
        else:
            comparison, _ = lock_race.begin_race(
                self.store,
                self.prepared,
                lambda sensitive: share if sensitive else min(share, INSENSITIVE),
                named,
                profile_file,
                Meters(),
                self._facts(LOCKS),
            )
        if comparison.has_fixed_time:
            raise LockwrightError(FIXED_TIME_TEXT, FIXED_TIME_ADVICE)
        arms = tuple(Arm(lock) for lock in comparison.plan.locks)
        result = self._carry_out(Stage(LOCKS, arms, Arm()), comparison)
        best = result.outcome.best
        leader = best.lock if best is not None else BASELINE
        chosen = leader if outcome.gained(result.outcome) else BASELINE
        # A lock that is worse alone may be the best one beside another allocator.
        dropped = result.outcome.standing.dropped
        rivals = tuple(
            row.lock
            for row in result.outcome.rows
            if row.values
            and row.lock != leader
            and (row.lock not in dropped or dropped[row.lock].how not in (race.FAILED, race.SLOW))
        )
        self.search = Search(self.choices.values, LockRace(chosen, leader, rivals))
        return self.search

    def attempt(self, stage: Stage) -> Result:
        """Carry out a race after that of locks."""
        index = len(self.done)
        if index < len(self.stored):
            return self._carry_out(stage, self._checked(self.stored[index], stage.arms))
        shares = list(SHARES)[list(SHARES).index(stage.name) :]
        left = max(1.0, self._began + self.total - time.monotonic())
        seconds = left * SHARES[stage.name] / sum(SHARES[name] for name in shares)
        before = self.done[-1].comparison
        plan = self._plan(stage, round(seconds, 3))
        locks = tuple(dict.fromkeys(arm.lock for arm in stage.arms))
        facts = self.prepared.with_locks(locks).facts_of_run() | self._facts(stage.name)
        comparison = self.store.begin(plan, facts, before.probe)
        self.store.finish(before)
        return self._carry_out(stage, comparison)

    def finish(self) -> None:
        """Mark the last race as complete: the report is written."""
        self.store.finish(self.done[-1].comparison)

    def _facts(self, name: str) -> dict[str, Any]:
        return {_FACTS: {"race": name, "earlier": [each.comparison.id for each in self.done]}}

    def _plan(self, stage: Stage, seconds: float) -> Plan:
        path_of = self.prepared.registry.path_of
        return replace(
            self.prepared.plan,
            locks=tuple(arm.name for arm in stage.arms),
            other_libraries=tuple(
                OtherLibrary(arm.name, path_of(parts_of(arm.lock)[0]))
                for arm in stage.arms
                if arm.settings
            ),
            budget=seconds,
            reference=stage.reference.name,
            kept=tuple(arm.name for arm in stage.kept),
        )

    def _checked(self, comparison: Comparison, arms: Sequence[Arm]) -> Comparison:
        """Return a stored race. Raises LockwrightError if the search would take another course
        now."""
        locks = tuple(dict.fromkeys(arm.lock for arm in arms))
        steps.check_same(comparison, self.prepared.with_locks(locks).facts_of_run())
        if comparison.plan.locks != tuple(arm.name for arm in arms):
            raise LockwrightError(
                "the interrupted search tried other combinations than are possible now",
                "leave out --resume to start another",
            )
        return comparison

    def _carry_out(self, stage: Stage, comparison: Comparison) -> Result:
        """Make the missing runs of a race, and return its result."""
        plan = comparison.plan
        locks = tuple(dict.fromkeys(arm.lock for arm in stage.arms))
        by_lock = self.prepared.with_locks(locks).settings
        variables = {arm.name: by_lock[arm.lock] for arm in stage.arms}
        beside = {arm.name: arm.settings for arm in stage.arms}
        with Runner(plan, self.prepared.program, variables, beside=beside) as runner:
            session = Session(comparison, self.store, self.prepared.registry, runner)
            self._session, self._stage = session, stage
            if comparison.finished is None:
                if stage.name != LOCKS:
                    combinations = len(stage.arms) - 1
                    print_line(
                        f"{stage.name}: {combinations} beside {stage.reference.name}, at most"
                        f" {plan.budget:.0f} s"
                    )
                assert plan.budget is not None
                session.carry_out(plan.budget - sum(r.wall for r in session.records))
        done = self._race(stage, session)
        self.done.append(done)
        self._session = self._stage = None
        if sentence := outcome.interim_sentence(plan, done.result.outcome):
            print_line(f"{stage.name}: {sentence}")
        return done.result

    def _race(self, stage: Stage, session: Session) -> report.Race:
        comparison = session.comparison
        threads = comparison.plan.threads[0]
        runs = RaceRuns(comparison.plan, threads, session.records)
        ended = runs.ended(runs.standing())
        ending = session.endings.get(threads, race.TIME_UP if ended is None else ended)
        table = outcome.outcome(comparison.plan, session.records, threads, ending)
        return report.Race(comparison, session.records, Result(stage, runs, table), ending)

    def begun(self) -> Sequence[report.Race]:
        """Return the races with runs, the one under way too."""
        if self._session is None or self._stage is None or not self._session.records:
            return self.done
        return [*self.done, self._race(self._stage, self._session)]


def _print_report(
    options: ComparisonOptions, races: _Races, search: Search | None, is_complete: bool
) -> None:
    title = options.title or f"Tuning {Path(options.arguments[0]).name} with its settings"
    begun = races.begun()
    if search is not None:
        search.results = [each.result for each in begun[1:]]
    made = report.make(title, begun, search, races.choices.left_out, is_complete)
    screen = output()
    show.show(screen, made)
    sys.stdout.flush()
    try:
        writers = {"--html": page.render, "--json": report.to_json, "--csv": report.to_csv}
        for option, file in options.outputs:
            if file is not None:
                files.write(file, writers[option](made), option, steps.SAVED_ADVICE)
                print_line(f"wrote {file}")
    finally:
        show.print_verdict(screen, made, steps.runnable_line(made.verdict.command))
        sys.stdout.flush()
