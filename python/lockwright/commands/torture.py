"""`lockwright torture`: try to break a lock."""

import os
import secrets
import sys
from pathlib import Path

import click


@click.command("torture")
@click.argument("name", metavar="LOCK|all")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="For how long; all locks share it.  [default: 1 for each lock]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=2**64 - 1),
    help="What the plan follows from.  [default: drawn]",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds that a thread may make no progress.",
)
@click.option(
    "--phase", type=click.IntRange(min=0), help="Only this phase of the plan, again and again."
)
@click.option("--only", metavar="A,B,...", help="Only these kinds of phases.")
@click.option("--without", metavar="A,B,...", help="Leave out these kinds or disturbances.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write all findings to this file.",
)
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
    """Try to break a lock, or each of them.

    Threads do to mutexes and condition variables all that programs do, and things happen to them:
    pauses, signals, cancellations, forks, stops of the whole process, other processors. Meanwhile
    it is checked that one thread is inside at a time, that every thread gets on, in order where
    that is promised, that deadlines are kept and that memory does not grow.

    The plan is divided into phases. Their kinds: crowd, births, rings, herd, market, forks, order,
    reuse, memory; disturbances: stutter, shuffle, stops, signals. The same seed gives the same
    plan, not the same run: threads are as fast as they are.

    The status is 0 if every lock stood it, 1 if one failed.
    """
    from lockwright.base import files, interrupts
    from lockwright.base.progress import duration
    from lockwright.machine import calibration
    from lockwright.preload.locks import registry
    from lockwright.torture import plan, report
    from lockwright.torture.run import Finding, Orders, torture

    known = registry()
    chosen = plan.choose(name, known)
    for lock in chosen:
        known.path_of(lock.name)
        known.check_environment(lock.name, os.environ)
    orders = Orders(
        seed=secrets.randbits(32) if seed is None else seed,
        patience=patience,
        phase=phase,
        only=plan.parts(only, "--only", plan.KINDS),
        without=plan.parts(without, "--without", (*plan.KINDS, *plan.DISTURBANCES)),
    )
    plan.check(orders, chosen)
    if json_file is not None:
        files.try_out_all({"--json": json_file})
    seconds = 60.0 * (minutes if minutes is not None else len(chosen))
    planned = plan.runs(chosen, seconds)
    calibrated = calibration.all_in_force(known, [lock.name for lock in chosen], os.environ)
    inherited = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    what = name if name != "all" else f"{len(chosen)} locks"
    click.echo(f"Torture of {what}, {duration(seconds)}, seed {orders.seed}.")
    for line in plan.remarks(chosen):
        click.echo(line)
    sys.stdout.flush()

    results: list[tuple[plan.Run, Finding]] = []
    stopped: interrupts.Stopped | None = None
    try:
        with interrupts.heeded(), report.display(planned) as shown:
            for run in planned:
                shown.begin(run)
                environment = inherited | calibrated[run.lock.name] | run.variables
                finding = torture(
                    known.path_of(run.lock.name),
                    environment,
                    orders,
                    run.seconds,
                    parks=run.lock.parking,
                    fifo=plan.keeps_order(run.lock),
                    turns=plan.turns(run.lock, environment),
                    on_phase=shown.phase,
                )
                results.append((run, finding))
                shown.end(finding)
                if finding.failure is not None:
                    report.show_failure(run, finding, orders)
    except interrupts.Stopped as signalled:
        stopped = signalled
    report.show_table(results)
    failed = [(run, finding) for run, finding in results if finding.failure is not None]
    for run, finding in failed:
        click.echo(f"Again: {report.again(run, finding, orders)}")
    if json_file is not None:
        report.write(json_file, sys.argv[1:], orders, results, stopped is None)
        click.echo(f"Written: {json_file}")
    if stopped is not None:
        click.echo(f"Stopped after {len(results)} of {len(planned)} runs.")
        return stopped.status
    click.echo("Clean." if not failed else f"{len(failed)} of {len(planned)} runs failed.")
    return 1 if failed else 0
