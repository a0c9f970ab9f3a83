"""`lockwright torture`: try to break a lock."""

import os
import secrets
import sys
from dataclasses import replace
from pathlib import Path

import click
from lockwright.commands.common import complete, grammar


@click.command("torture")
@click.argument("name", metavar="LOCK|RWLOCK|all|rwlocks", shell_complete=complete.tortured)
@grammar.real_number(
    "--minutes",
    None,
    "Test all locks together for M minutes.  [default: 1 for each lock]",
    metavar="M",
    min=0,
    min_open=True,
)
@grammar.seed()
@grammar.real_number(
    "--patience",
    10.0,
    "Report a thread that makes no progress for S seconds.",
    metavar="S",
    min=0.1,
)
@grammar.integer("--phase", None, "Repeat only this phase of the plan.", least=0)
@click.option("--only", metavar="A,B,...", help="Run only these kinds of phases.")
@click.option("--without", metavar="A,B,...", help="Leave out these kinds or disturbances.")
@grammar.json_file("all findings")
def command(
    name: str,
    minutes: float | None,
    seed: int | None,
    patience: float,
    phase: int | None,
    only: str | None,
    without: str | None,
    json_file: Path | None,
) -> int:
    """Try to break a lock or a reader-writer lock.

    'all' stands for every lock, 'rwlocks' for every reader-writer lock.

    Threads use mutexes and condition variables in every legal way, under disturbances:
    pauses, signals, cancellations, forks, stops of the process, migrations. The checks:
    mutual exclusion, progress of every thread, the order of admission where the lock promises one,
    deadlines, and memory that does not grow.

    The plan is divided into phases. Their kinds: crowd, churn, rings, herd, producers, forks,
    order, reuse, memory; disturbances: stutter, shuffle, stops, signals. The same seed gives the
    same plan, not the same run. Reader-writer locks have one kind, readers.

    The exit status is 0 if every lock passed, 1 if one failed.
    """
    from lockwright.base import interrupts
    from lockwright.base.progress import duration
    from lockwright.machine import calibration
    from lockwright.preload.locks import BASELINE, registry

    from lockwright_lab.torture import plan, report
    from lockwright_lab.torture.run import READERS, Finding, Options, torture

    known = registry()
    is_mutex = name == "all" or name in known.names
    chosen_rwlocks = [] if is_mutex else plan.chosen_rwlocks(name)
    # Every library has the reader-writer locks.
    beside = BASELINE if BASELINE in known.names else known.names[0]
    chosen = [known.find(beside)] if chosen_rwlocks else plan.chosen_locks(name, known)
    for lock in chosen:
        known.path_of(lock.name)
        known.check_environment(lock.name, os.environ)
    kinds = (READERS,) if chosen_rwlocks else plan.KINDS
    options = Options(
        seed=secrets.randbits(32) if seed is None else seed,
        patience=patience,
        phase=phase,
        only=plan.parse_words(only, "--only", kinds),
        without=plan.parse_words(without, "--without", (*kinds, *plan.DISTURBANCES)),
    )
    seconds = 60.0 * (minutes if minutes is not None else len(chosen_rwlocks or chosen))
    if chosen_rwlocks:
        options = replace(options, only=(READERS,))
        planned = plan.planned_rwlock_runs(chosen_rwlocks, chosen[0], seconds)
    else:
        plan.check(options, chosen)
        planned = plan.planned_runs(chosen, seconds)
    calibrated = calibration.calibrated_variables(known, [lock.name for lock in chosen], os.environ)
    inherited = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subject = {
        "all": f"{len(chosen)} locks",
        plan.RWLOCKS: f"{len(chosen_rwlocks)} reader-writer locks",
    }.get(name, name)
    click.echo(f"Torture of {subject}, {duration(seconds)}, seed {options.seed}.")
    for line in [] if chosen_rwlocks else plan.remarks(chosen):
        click.echo(line)
    sys.stdout.flush()

    results: list[tuple[plan.Run, Finding]] = []
    stopped: interrupts.Stopped | None = None
    try:
        with interrupts.stop_on_signals(), report.display(planned) as display:
            for run in planned:
                display.begin(run)
                environment = inherited | calibrated[run.lock.name] | run.variables
                finding = torture(
                    known.path_of(run.lock.name),
                    environment,
                    options,
                    run.seconds,
                    parks=run.parks,
                    fifo=run.rwlock is None and plan.is_fifo(run.lock),
                    handovers_aside=plan.most_handovers_aside(run.lock, environment),
                    on_phase=display.phase,
                )
                results.append((run, finding))
                display.end(finding)
                if finding.failure is not None:
                    report.show_failure(run, finding, options)
    except interrupts.Stopped as signalled:
        stopped = signalled
    report.show_table(results)
    failed = [(run, finding) for run, finding in results if finding.failure is not None]
    for run, finding in failed:
        click.echo(f"Again: {report.repeat_command(run, finding, options)}")
    if json_file is not None:
        report.write(json_file, sys.argv[1:], options, results, stopped is None)
        click.echo(f"Written: {json_file}")
    if stopped is not None:
        click.echo(f"Stopped after {len(results)} of {len(planned)} runs.")
        return stopped.status
    click.echo("Clean." if not failed else f"{len(failed)} of {len(planned)} runs failed.")
    return 1 if failed else 0
