"""`lockwright compare`: run a program under several locks and show which is best."""

import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockwright.commands.options import of_meters, of_other_locks, of_peers

if TYPE_CHECKING:
    from lockwright.compare.plan import Plan
    from lockwright.compare.report import Report
    from lockwright.compare.store import Comparison, Store
    from lockwright.locks import Registry
    from lockwright.meters import Idle, Meters

_FILE = click.Path(path_type=Path)


def _meters(command: Any) -> Any:
    for option in reversed(of_meters()):
        command = option(command)
    return command


@click.command("compare", context_settings={"allow_interspersed_args": False})
@click.option("--locks", default="all", metavar="A,B,...", help="The locks, or all (the default).")
@click.option("--threads", metavar="N,N,...", help="Thread counts that {threads} stands for.")
@click.option("--runs", default=5, show_default=True, help="Counted runs of each lock.")
@click.option("--warmup", default=1, show_default=True, help="Runs before, not counted.")
@click.option(
    "--metric",
    metavar="REGEX",
    help="Measure this number in the output instead of wall time: the first group of the last"
    " match, in standard output or else in standard error.",
)
@click.option("--unit", metavar="U", help="Unit of --metric.")
@click.option("--lower-is-better", is_flag=True, help="Low values of --metric are good.")
@click.option(
    "--timeout", default=60.0, show_default=True, metavar="S", help="Seconds a run may take."
)
@of_other_locks
@of_peers()
@_meters
@click.option("--prepare", metavar="SHELLCMD", help="Run this by sh before each run, unmeasured.")
@click.option("--json", "json_file", type=_FILE, metavar="F", help="Write everything as JSON.")
@click.option("--csv", "csv_file", type=_FILE, metavar="F", help="Write a line per run as CSV.")
@click.option("--html", "html_file", type=_FILE, metavar="F", help="Write a report with plots.")
@click.option("--db", type=_FILE, metavar="F", help="Keep the results in this SQLite file.")
@click.option("--resume", is_flag=True, help="Go on with this comparison where it was interrupted.")
@click.option("--title", metavar="T", help="Title of the report.")
@click.argument("arguments", metavar="-- CMD...", nargs=-1, required=True)
def command(
    locks: str,
    threads: str | None,
    runs: int,
    warmup: int,
    metric: str | None,
    unit: str | None,
    lower_is_better: bool,
    timeout: float,
    rwlock: str | None,
    spin: str | None,
    preload: tuple[str, ...],
    energy: bool,
    counters: bool,
    prepare: str | None,
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
    db: Path | None,
    resume: bool,
    title: str | None,
    arguments: tuple[str, ...],
) -> int:
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
    from lockwright import binary, calibration, interrupts, invocation, peers, provenance
    from lockwright.compare import files, plan, report, table
    from lockwright.compare.progress import say
    from lockwright.compare.runner import Runner
    from lockwright.compare.session import carry_out
    from lockwright.compare.store import Store, default_path
    from lockwright.doctor import examine
    from lockwright.errors import LockwrightError
    from lockwright.locks import BASELINE, choose_ways, registry
    from lockwright.meters import Meters
    from lockwright.terminal import output

    if metric is None and (unit is not None or lower_is_better):
        option = "--unit" if unit is not None else "--lower-is-better"
        raise LockwrightError(f"{option} is given without --metric", "add --metric REGEX")
    if metric is not None and not unit:
        raise LockwrightError(
            "--metric is given without --unit", "name its unit, as in --unit ops/s"
        )
    # Into our own environment, as if the user had set it there, for all runs and the report.
    ways = dict(os.environ)
    choose_ways(ways, {"rwlock": rwlock, "spin": spin})
    os.environ.update(ways)
    known = registry()
    names, added = plan.choose_locks(locks, known)
    wanted = plan.Plan(
        command=arguments,
        locks=names,
        threads=plan.choose_threads(threads),
        runs=runs,
        warmup=warmup,
        metric=metric,
        unit=unit or "s",
        lower_is_better=lower_is_better or metric is None,
        timeout=timeout,
        prepare=prepare,
        energy=energy,
        counters=counters,
    )
    plan.check(wanted)
    program = binary.find(wanted.argv(min(wanted.threads))[0])
    for name in names:
        known.path_of(name)
        known.check_environment(name, os.environ)
    binary.check(program, known.path_of(BASELINE), wanted.argv(min(wanted.threads))[1:])
    others = peers.choose(preload, program)
    wanted = replace(wanted, locks=(*names, *(peer.name for peer in others)), peers=others)
    outputs = (("--json", json_file), ("--csv", csv_file), ("--html", html_file))
    named = {option: path for option, path in (*outputs, ("--db", db)) if path is not None}
    files.try_out_all(named)
    path = db or default_path()
    settings = calibration.all_in_force(known, names, os.environ)
    findings = examine.here()
    facts = provenance.gather(program, known.directory)
    facts[provenance.FINDINGS] = provenance.as_facts(findings)
    for variables in settings.values():
        facts |= {name: f"{value} (calibrated)" for name, value in variables.items()}
    with interrupts.heeded():
        store = Store(path)
        comparison = None
        try:
            if resume:
                comparison = _interrupted(store, wanted, facts)
            meters = Meters(energy=energy, counters=counters)
            if comparison is None:
                comparison = _begun(store, wanted, facts, program, known, meters)
            else:
                meters.idle = _idle_of(comparison)
            if added:
                say(f"{BASELINE} is added: every ratio is to it")
            for remark in peers.remarks(others):
                say(remark)
            if doubts := examine.doubts(findings):
                say(f"'lockwright doctor' warns of {doubts}")
            reading = meters if meters.wanted else None
            with Runner(comparison.plan, program, settings, reading) as runner:
                records = carry_out(comparison, store, known, runner)
            made = report.make(
                comparison, title or f"Locks under {Path(arguments[0]).name}", records, reading
            )
            screen = output()
            table.show(screen, made)
            sys.stdout.flush()
            try:
                for option, file in outputs:
                    if file is not None:
                        files.write(file, _render(option, made), option)
                        say(f"wrote {file}")
            finally:
                # Last, so that it is what remains in sight; a file that fails does not hide it.
                use = made.verdict.command or ""
                if use.startswith("lockwright "):
                    use = shlex.join(invocation.words()) + use.removeprefix("lockwright")
                table.conclude(screen, made.verdict, use)
                sys.stdout.flush()
            store.finish(comparison)
        except interrupts.Stopped as stopped:
            if comparison is None:
                say(
                    "interrupted before the first counted run; nothing is kept, so just start again"
                )
            else:
                words = [*invocation.words(), sys.argv[1], *([] if resume else ["--resume"])]
                line = shlex.join([*words, *sys.argv[2:]])
                say(f"interrupted, what was measured is kept; go on with: {line}")
            return stopped.status
        finally:
            store.close()
    return 0


def _interrupted(store: "Store", plan: "Plan", facts: dict[str, Any]) -> "Comparison":
    """The latest interrupted comparison with this plan. Raises LockwrightError if none fits."""
    from lockwright.errors import LockwrightError
    from lockwright.provenance import MUST_MATCH

    found = store.unfinished()
    same = next((each for each in found if each.plan == plan), None)
    if same is None:
        alike = next((each.plan for each in found if each.plan.command == plan.command), None)
        if alike is None:
            raise LockwrightError(
                f"{store.path} has no interrupted comparison of this command",
                "leave out --resume to start one",
            )
        raise LockwrightError(
            f"the interrupted comparison of this command differs in --{alike.difference(plan)}",
            "repeat it with the options it had, or leave out --resume to start another",
        )
    declared = {name for name in same.provenance | facts if name.startswith("LOCKWRIGHT_")}
    for name in (*MUST_MATCH, *sorted(declared)):
        if same.provenance.get(name) != facts.get(name):
            raise LockwrightError(
                f"the interrupted comparison was made with another {name} "
                f"({same.provenance.get(name)}, now {facts.get(name)})",
                "leave out --resume to start another",
            )
    store.adopt(same)
    return same


def _idle_of(comparison: "Comparison") -> "Idle | None":
    """The idle machine's power, as it was measured before the first run of a comparison."""
    from lockwright.meters import FACTS, Idle

    known = comparison.provenance.get(FACTS, {}).get("idle")
    return None if known is None else Idle(**known)


def _begun(
    store: "Store",
    plan: "Plan",
    facts: dict[str, Any],
    program: Path,
    known: "Registry",
    meters: "Meters",
) -> "Comparison":
    """A comparison that has been proved to make sense, and is now in the results file."""
    from lockwright.compare.probe import probe
    from lockwright.compare.runner import Runner
    from lockwright.meters import FACTS

    with Runner(plan, program) as runner:
        counts = probe(plan, known, runner)
    meters.measure_idle()
    if meters.wanted:
        facts = facts | {FACTS: meters.as_facts()}
    return store.begin(plan, facts, counts)


def _render(option: str, made: "Report") -> str:
    if option == "--html":
        from lockwright.compare.html import render

        return render(made)
    from lockwright.compare import export

    return export.to_json(made) if option == "--json" else export.to_csv(made)
