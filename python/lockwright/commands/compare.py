"""`lockwright compare`: run a program under several locks and show which is best."""

import sys
from pathlib import Path

import click

from lockwright.commands.common.comparison import Asked, of_comparisons


@click.command("compare", context_settings={"allow_interspersed_args": False})
@click.option("--locks", default="all", metavar="A,B,...", help="The locks, or all (the default).")
@click.option("--runs", default=5, show_default=True, help="Counted runs of each lock.")
@click.option("--warmup", default=1, show_default=True, help="Runs before, not counted.")
@of_comparisons
def command(locks: str, runs: int, warmup: int, asked: Asked) -> int:
    """Run a program under several locks and show which is best.

    In CMD and --prepare, {threads} stands for each number of --threads, and {=EXPRESSION} for
    arithmetic with it: {=3200000//t} keeps the total work the same. Allowed are whole numbers,
    t, + - * // ( ) min max.

    Rounds are interleaved: each runs every lock once, in an order shuffled per round. A run that
    takes longer than --timeout is killed with all its children; after two, that lock is not run
    further at that number of threads. Standard input is empty, and what --prepare leaves running
    lives until its run has ended.

    Results are kept as they come: repeat the command with --resume if it was interrupted.

    Example: lockwright compare --threads 1,2,16 -- kccachetest wicked -th {threads} 20000
    """
    from lockwright.base import interrupts
    from lockwright.base.progress import say
    from lockwright.base.terminal import output
    from lockwright.commands.common import comparison as comparing
    from lockwright.compare import plan, report, table
    from lockwright.compare.probe import probe
    from lockwright.compare.runner import Runner
    from lockwright.compare.session import carry_out
    from lockwright.compare.store import Store
    from lockwright.machine.meters import Meters
    from lockwright.preload.locks import BASELINE, registry

    comparing.choose_ways(asked)
    known = registry()
    names, added = plan.choose_locks(locks, known)
    ready = comparing.make_ready(asked, known, names, runs=runs, warmup=warmup)
    with interrupts.heeded():
        store = Store(ready.results)
        comparison = None
        try:
            meters = Meters(energy=asked.energy, counters=asked.counters)
            if asked.resume:
                comparison = comparing.interrupted(store, ready.plan)
                comparing.check_same(comparison, ready.facts_of_run())
                store.adopt(comparison)
                meters.idle = comparing.idle_of(comparison)
            else:
                with Runner(ready.plan, ready.program) as runner:
                    counts = probe(ready.plan, known, runner)
                comparison = comparing.begin(store, ready, counts, meters)
            if added:
                say(f"{BASELINE} is added: every ratio is to it")
            comparing.remark(ready)
            reading = meters if meters.wanted else None
            with Runner(comparison.plan, ready.program, ready.settings, reading) as runner:
                records = carry_out(comparison, store, known, runner)
            title = asked.title or f"Locks under {Path(asked.arguments[0]).name}"
            made = report.make(comparison, title, records, reading)
            screen = output()
            table.show(screen, made)
            sys.stdout.flush()
            try:
                comparing.write_files(asked, lambda option: comparing.render(option, made))
            finally:
                # Last, so that it is what remains in sight; a file that fails does not hide it.
                use = comparing.callable_line(made.verdict.command)
                table.conclude(screen, made.verdict, use)
                sys.stdout.flush()
            store.finish(comparison)
        except interrupts.Stopped as stopped:
            if comparison is None:
                say(
                    "interrupted before the first counted run; nothing is kept, so just start again"
                )
            else:
                line = comparing.to_go_on(asked)
                say(f"interrupted, what was measured is kept; go on with: {line}")
            return stopped.status
        finally:
            store.close()
    return 0
