"""`lockwright compare`: run a program under several locks and show which is best."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from lockwright.commands.common import complete, grammar, limits
from lockwright.commands.common.comparison_options import ComparisonOptions, comparison_options


@click.command("compare", context_settings={"allow_interspersed_args": False})
@grammar.locks("one of each family, or pthread with --rwlocks")
@click.option(
    "--rwlocks",
    metavar="A,B,...",
    shell_complete=complete.rwlocks,
    help="Reader-writer locks to combine with each of --locks: keep (the C library's, always"
    " included), mutex, or names of `lockwright list --rwlocks`, or 'all'.",
)
@grammar.runs(5)
@grammar.integer("--warmup", 1, "Warm-up runs of each lock, which do not count.", least=0)
@click.option(
    "--baseline",
    type=grammar.FILE,
    metavar="FILE",
    help="Compare each lock also with an earlier comparison: the file of its --json.",
)
@click.option(
    "--fail-if-worse",
    type=limits.Percentage(),
    metavar="P%",
    help="Exit with status 1 if a lock is shown to be worse than in --baseline by more than P %.",
)
@grammar.markdown_file()
@comparison_options
def command(
    locks: str | None,
    rwlocks: str | None,
    runs: int,
    warmup: int,
    baseline: Path | None,
    fail_if_worse: float | None,
    markdown_file: Path | None,
    options: ComparisonOptions,
) -> int:
    """Run a program under several locks and show which is best.

    In CMD and --prepare, {threads} stands for each number of --threads, and {=EXPRESSION} for
    arithmetic with it: {=3200000//t} keeps the total work the same. Allowed are whole numbers,
    t, + - * // ( ) min max.

    Rounds are interleaved: each runs every lock once, in an order shuffled per round. A run that
    takes longer than --timeout is killed with all its children; after two such runs the lock is not
    run again at that number of threads. Standard input is empty, and processes left by --prepare
    are killed at the end of the run.

    With --fail-if-worse, the status is 0 if no lock is shown to be worse, 1 if one is, 2 for bad
    input. A baseline of another machine shows nothing.

    With --rwlocks, each lock runs with each reader-writer lock; LOCK/RWLOCK names the pair, and
    LOCK alone is that with the C library's.

    Each run is saved when it ends: repeat the command with --resume if it was interrupted.

    Example: lockwright compare --threads 1,2,16 -- kccachetest wicked -th {threads} 20000
    """
    from lockwright.base import files, interrupts
    from lockwright.base.errors import LockwrightError
    from lockwright.base.progress import print_line
    from lockwright.base.terminal import output
    from lockwright.commands.common import comparison_steps as steps
    from lockwright.compare import baseline as baselines
    from lockwright.compare import markdown, plan, report, table
    from lockwright.compare.probe import probe
    from lockwright.compare.runner import Runner
    from lockwright.compare.session import carry_out
    from lockwright.compare.store import Store
    from lockwright.machine.meters import Meters
    from lockwright.preload.families import usual_locks
    from lockwright.preload.locks import BASELINE, registry

    if fail_if_worse is not None and baseline is None:
        raise LockwrightError("--fail-if-worse is given without --baseline", "add --baseline FILE")
    earlier = None if baseline is None else baselines.read(baseline)
    steps.set_other_locks(options)
    known = registry()
    if rwlocks is not None and options.rwlock is not None:
        raise LockwrightError(
            "--rwlock and --rwlocks exclude each other", "give those to compare with --rwlocks"
        )
    usual = () if locks is not None else (BASELINE,) if rwlocks is not None else usual_locks(known)
    names, added = plan.choose_locks(locks or ",".join(usual), known)
    if rwlocks is not None:
        names = plan.crossed(names, plan.choose_rwlocks(rwlocks))
    prepared = steps.prepare(options, known, names, runs=runs, warmup=warmup)
    if earlier is not None:
        baselines.check(earlier, prepared.plan, fail_if_worse is not None)
    change = None
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
            if len(usual) > 1:
                print_line(
                    f"comparing {', '.join(usual)}: one lock of each family; --locks names others,"
                    f" or all {len(known.names)}"
                )
            steps.print_notes(prepared)
            reading = meters if meters.wanted else None
            with Runner(comparison.plan, prepared.program, prepared.settings, reading) as runner:
                records = carry_out(comparison, store, known, runner)
            title = options.title or f"Locks under {Path(options.arguments[0]).name}"
            results = report.make(comparison, title, records, reading)
            if earlier is not None:
                change = baselines.compare(
                    earlier,
                    comparison.plan,
                    results.tables,
                    comparison.provenance,
                    fail_if_worse or 0.0,
                    comparison.has_fixed_time,
                )
                results = replace(results, more={"baseline": change.as_json()})
            screen = output()
            table.show(screen, results)
            if change is not None:
                table.show_change(screen, comparison.plan, change)
            sys.stdout.flush()
            try:
                steps.write_files(options, results)
                if markdown_file is not None:
                    text = markdown.render(results, change)
                    files.write(markdown_file, text, "--markdown", steps.SAVED_ADVICE)
                    print_line(f"wrote {markdown_file}")
            finally:
                # Last, so that it stays visible; printed also if a file cannot be written.
                use = steps.runnable_line(results.verdict.command)
                table.print_verdict(screen, results.verdict, use)
                if change is not None:
                    table.print_change(screen, change)
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
    return int(fail_if_worse is not None and change is not None and change.is_worse)
