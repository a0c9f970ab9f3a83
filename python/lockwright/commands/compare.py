"""`lockwright compare`: run a program under several locks and show which is best."""

import sys
from pathlib import Path

import click

from lockwright.commands.common import grammar
from lockwright.commands.common.comparison_options import ComparisonOptions, comparison_options


@click.command("compare", context_settings={"allow_interspersed_args": False})
@grammar.locks("all", value="all")
@grammar.runs(5)
@grammar.integer("--warmup", 1, "Warm-up runs of each lock, which do not count.", least=0)
@comparison_options
def command(locks: str, runs: int, warmup: int, options: ComparisonOptions) -> int:
    """Run a program under several locks and show which is best.

    In CMD and --prepare, {threads} stands for each number of --threads, and {=EXPRESSION} for
    arithmetic with it: {=3200000//t} keeps the total work the same. Allowed are whole numbers,
    t, + - * // ( ) min max.

    Rounds are interleaved: each runs every lock once, in an order shuffled per round. A run that
    takes longer than --timeout is killed with all its children; after two such runs the lock is not
    run again at that number of threads. Standard input is empty, and processes left by --prepare
    are killed at the end of the run.

    Each run is saved when it ends: repeat the command with --resume if it was interrupted.

    Example: lockwright compare --threads 1,2,16 -- kccachetest wicked -th {threads} 20000
    """
    from lockwright.base import interrupts
    from lockwright.base.progress import print_line
    from lockwright.base.terminal import output
    from lockwright.commands.common import comparison_steps as steps
    from lockwright.compare import plan, report, table
    from lockwright.compare.probe import probe
    from lockwright.compare.runner import Runner
    from lockwright.compare.session import carry_out
    from lockwright.compare.store import Store
    from lockwright.machine.meters import Meters
    from lockwright.preload.locks import BASELINE, registry

    steps.set_other_locks(options)
    known = registry()
    names, added = plan.choose_locks(locks, known)
    prepared = steps.prepare(options, known, names, runs=runs, warmup=warmup)
    with interrupts.stop_on_signals():
        store = Store(prepared.results)
        comparison = None
        try:
            meters = Meters(energy=options.energy, counters=options.counters)
            if options.resume:
                comparison = steps.find_interrupted(store, prepared.plan)
                steps.check_same(comparison, prepared.facts_of_run())
                store.adopt(comparison)
                meters.idle = steps.idle_of(comparison)
            else:
                with Runner(prepared.plan, prepared.program) as runner:
                    counts = probe(prepared.plan, known, runner)
                comparison = steps.begin(store, prepared, counts, meters)
            if added:
                print_line(f"{BASELINE} is added as the reference of every ratio")
            steps.print_notes(prepared)
            reading = meters if meters.wanted else None
            with Runner(comparison.plan, prepared.program, prepared.settings, reading) as runner:
                records = carry_out(comparison, store, known, runner)
            title = options.title or f"Locks under {Path(options.arguments[0]).name}"
            results = report.make(comparison, title, records, reading)
            screen = output()
            table.show(screen, results)
            sys.stdout.flush()
            try:
                steps.write_files(options, results)
            finally:
                # Last, so that it stays visible; printed also if a file cannot be written.
                use = steps.runnable_line(results.verdict.command)
                table.print_verdict(screen, results.verdict, use)
                sys.stdout.flush()
            store.finish(comparison)
        except interrupts.Stopped as stopped:
            if comparison is None:
                print_line(
                    "interrupted before the first counted run; nothing is saved: start again"
                )
            else:
                steps.print_interrupted(options)
            return stopped.status
        finally:
            store.close()
    return 0
