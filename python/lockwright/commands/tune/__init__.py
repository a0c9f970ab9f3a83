"""`lockwright tune`: find the lock under which a program runs best, and confirm it."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.common import complete, grammar
from lockwright.commands.common.comparison_options import ComparisonOptions, comparison_options
from lockwright.commands.common.comparison_steps import Prepared

if TYPE_CHECKING:
    from lockwright.compare.report import Report
    from lockwright.compare.store import Comparison
    from lockwright.machine.meters import Meters
    from lockwright.tune.preparation import Preparation
    from lockwright.tune.session import Session


@click.command("tune", context_settings={"allow_interspersed_args": False})
@click.option(
    "--budget",
    metavar="TIME",
    help="Time for everything, as in 90s, 5m or 1h.  [default: 5m, or 45s for a program"
    " whose mutexes cost little]",
)
@click.option(
    "--margin",
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="Ignore a smaller difference between locks.",
)
@grammar.locks("those of the advice", beside=" to try")
@click.option(
    "--rwlocks",
    metavar="A,B,...",
    shell_complete=complete.rwlocks,
    help="Reader-writer locks to try too, separated by commas, or 'all'; the best of them is also"
    " tried together with the best lock.  [default: those of the advice]",
)
@click.option(
    "--profile",
    "profile_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take the advice from this profile, which 'lockwright profile -o' wrote; the program is"
    " not profiled again.",
)
@click.option(
    "--per-mutex",
    "plan_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also try a separate lock for each costly mutex, in half of the time, and write"
    " the best plan to this file, for 'lockwright run --plan'.",
)
@comparison_options
def command(
    budget: str | None,
    margin: float,
    locks: str | None,
    rwlocks: str | None,
    profile_file: Path | None,
    plan_file: Path | None,
    options: ComparisonOptions,
) -> int:
    """Find the lock under which a program runs best, and confirm it.

    A first run is profiled, as by 'lockwright profile', and the advice on the profile, as by
    'lockwright advise', names the locks to try, with a few others in case it is wrong. Then it
    runs the program in rounds, under each of some locks and the C library's mutex once per round.
    A lock that is shown to be worse than another drops out, and a run is killed once it has taken
    three times as long as the best lock's. It ends when one lock is left, when no other can be
    better than the best by more than --margin, or when the budget is used up; and prints the gain
    of the best lock with a confidence interval, or that there is none.

    The time starts with the first run. Placeholders, --metric, --prepare and the files are those of
    'lockwright compare'. Each run is saved when it ends: repeat the command with --resume if it was
    interrupted.

    Example: lockwright tune --threads 8 -- kccachetest wicked -th {threads} 20000
    """
    from lockwright.base import interrupts
    from lockwright.base.progress import print_line
    from lockwright.commands.common import comparison_steps as steps
    from lockwright.commands.tune import lock_race
    from lockwright.compare.runner import Runner
    from lockwright.compare.store import Store
    from lockwright.machine.meters import Meters
    from lockwright.preload.locks import BASELINE, registry
    from lockwright.tune import budget as budgets
    from lockwright.tune.session import Session

    seconds = None if budget is None else budgets.parse_seconds(budget)

    def budget_of(sensitive: bool) -> float:
        return seconds or (budgets.DEFAULT if sensitive else budgets.INSENSITIVE)

    steps.set_other_locks(options)
    known = registry()
    prepared = steps.prepare(
        options,
        known,
        (BASELINE,),
        runs=lock_race.MOST_ROUNDS,
        warmup=1,
        budget=seconds or budgets.DEFAULT,
        margin=margin,
    )
    lock_race.check_rwlocks(rwlocks, options)
    named = lock_race.named_locks(locks, rwlocks, profile_file, prepared, known)
    if plan_file is not None:
        _check_plan(options, prepared, named, plan_file)
    with interrupts.stop_on_signals():
        store = Store(prepared.results)
        session = None
        began = time.monotonic()
        try:
            meters = Meters(energy=options.energy, counters=options.counters)
            if options.resume:
                comparison, profile = lock_race.resume_race(store, prepared, seconds, named), None
                meters.idle = steps.idle_of(comparison)
                began -= sum(record.wall for record in store.records(comparison))
            else:
                comparison, profile = lock_race.begin_race(
                    store, prepared, budget_of, named, profile_file, meters
                )
            steps.print_notes(prepared)
            reading = meters if meters.wanted else None
            settings = prepared.with_locks(lock_race.own_locks(comparison.plan)).settings
            with Runner(comparison.plan, prepared.program, settings, reading) as runner:
                session = Session(comparison, store, known, runner)
                assert comparison.plan.budget is not None
                end = began + comparison.plan.budget
                # The other half is for the plans.
                share = 1 if plan_file is None else 0.5
                if not comparison.has_fixed_time:
                    session.carry_out(share * (end - time.monotonic()))
            report = _print_report(options, session, comparison, reading)
            store.finish(comparison)
            if plan_file is not None and comparison.has_fixed_time:
                print_line(f"no plan can be tried by wall time: {plan_file} is not written")
            elif plan_file is not None and profile is not None:
                from lockwright.commands.tune.plan import write_plan

                seconds_left = end - time.monotonic()
                write_plan(options, prepared, store, (profile, report), plan_file, seconds_left)
            elif plan_file is not None:
                print_line(f"without a profile there is no plan to try: {plan_file} is not written")
        except interrupts.Stopped as stopped:
            if session is None or not session.records:
                print_line("interrupted before the first run ended; nothing is saved: start again")
            else:
                _print_report(options, session, session.comparison, reading)
                steps.print_interrupted(options)
            return stopped.status
        finally:
            store.close()
    return 0


def _check_plan(
    options: ComparisonOptions, prepared: Prepared, named: "Preparation | None", file: Path
) -> None:
    from lockwright.base import files
    from lockwright.base.errors import LockwrightError
    from lockwright.preload.locks import check_plan_replacements

    if named is not None or options.resume:
        other = "--locks" if named is not None else "--resume"
        raise LockwrightError(
            f"--per-mutex needs a profile, which is not made with {other}", f"leave out {other}"
        )
    check_plan_replacements(os.environ, "find one lock for all without --per-mutex")
    prepared.registry.path_of_mixed()
    files.check_writable(file, "--per-mutex")


def _print_report(
    options: ComparisonOptions,
    session: "Session",
    comparison: "Comparison",
    reading: "Meters | None",
) -> "Report":
    """Print and return the report, and write the files."""
    from lockwright.base.terminal import output
    from lockwright.commands.common import comparison_steps as steps
    from lockwright.tune import report
    from lockwright.tune.show import print_verdict, show

    title = options.title or f"Tuning {Path(options.arguments[0]).name}"
    results = report.make_report(comparison, title, session.records, session.endings, reading)
    screen = output()
    show(screen, results)
    sys.stdout.flush()
    try:
        steps.write_files(options, results)
    finally:
        print_verdict(screen, results, steps.runnable_line(results.verdict.command))
        sys.stdout.flush()
    return results
