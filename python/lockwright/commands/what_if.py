"""`lockwright what-if`: the predicted effect of changes of a profiled program."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockwright.commands.common import complete, grammar
from lockwright.commands.common.machines import simulations
from lockwright.commands.common.prediction import begin, shared_options

if TYPE_CHECKING:
    from lockwright.predict.changes import Change


@click.command("what-if")
@click.argument("profile", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--mutex",
    metavar="RANK|SITE",
    help="The mutex to change: its rank in the profile, or a part of its name or of a place that "
    "takes it.  [default: that with most waiting]",
)
@click.option(
    "--section",
    type=grammar.FiniteRange(min=0, max=100),
    metavar="F",
    help="Its sections last F times as long.",
)
@click.option("--moved", is_flag=True, help="With --section: the rest is done outside, not saved.")
@click.option("--shards", type=click.IntRange(2, 4096), metavar="N", help="N mutexes instead.")
@click.option(
    "--lock",
    metavar="LOCK",
    shell_complete=complete.lock,
    help="Another lock: of the mutex with --mutex, else of all.",
)
@click.option("--atomic", is_flag=True, help="An atomic variable instead of mutex and section.")
@click.option("--rwlock", is_flag=True, help="A reader-writer lock instead; needs --reads.")
@click.option(
    "--reads",
    type=grammar.FiniteRange(min=0, max=1),
    metavar="SHARE",
    help="With --rwlock: the share of its sections that only read, which a profile does not have.",
)
@click.option("--threads", type=click.IntRange(1, 65536), metavar="N", help="N threads.")
@shared_options
@grammar.json_file("the changes and the model")
@grammar.csv_file("the table")
@grammar.html_file()
def command(
    profile: Path,
    mutex: str | None,
    section: float | None,
    moved: bool,
    shards: int | None,
    lock: str | None,
    atomic: bool,
    rwlock: bool,
    reads: float | None,
    threads: int | None,
    machine_name: str,
    runs: int,
    seconds: float | None,
    seed: int,
    timeout: float,
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
) -> int:
    """Predict what a change of a profiled program gains.

    PROFILE is a file that 'lockwright profile -o' wrote. Each change that is given is compared with
    the program as it was profiled, by simulations of its model; several changes are compared one
    by one, not together. Throughput is that of the whole program; the tail is the 99th percentile
    of an acquisition's duration. Nothing is measured: docs/predicting.md compares predictions with
    measurements.
    """
    from lockwright.base import terminal
    from lockwright.base.errors import LockwrightError
    from lockwright.base.files import write
    from lockwright.predict import changes as kinds
    from lockwright.predict import page, show, what_if
    from lockwright.predict.simulations import points, simulate
    from lockwright.profile import record
    from lockwright.simulate.figures import BASELINE
    from lockwright.simulate.run import choose_locks

    if rwlock != (reads is not None):
        raise LockwrightError(
            "--rwlock and --reads belong together",
            "a profile does not have the share of sections that only read, so give it by --reads",
        )
    if moved and section is None:
        raise LockwrightError("--moved needs --section", "give the new length of the sections")
    if lock is not None:
        choose_locks(lock)
    header = begin(profile, machine_name, runs, seed, timeout)
    derived = header.derived
    # Without --mutex, the one that costs most among those of the model.
    number = 0
    if mutex is not None:
        number = kinds.find_mutex(record.read(profile), derived.indices, mutex)
    name = derived.model.mutexes[number].name
    changes: list[Change] = []
    if section is not None:
        changes.append(kinds.section(number, name, section, moved))
    if shards is not None:
        changes.append(kinds.shards(number, name, shards))
    if atomic:
        changes.append(kinds.atomic(number, name))
    if reads is not None:
        changes.append(kinds.rwlock(number, name, reads))
    if lock is not None:
        changes.append(
            kinds.lock_of_all(lock) if mutex is None else kinds.lock_of(number, name, lock)
        )
    if threads is not None:
        changes.append(kinds.thread_count(threads))
    if not changes:
        raise LockwrightError(
            "no change is given",
            "give --section, --shards, --lock, --threads, --atomic or --rwlock",
        )
    present = derived.model.threads
    at = points(derived.variants, header.machine, runs, seed)
    jobs = what_if.jobs(at, changes, present, BASELINE, seconds)
    outcomes = simulate(jobs, timeout, simulations, lambda key: key[1])
    effects = what_if.effects(outcomes, at, changes)
    console = terminal.output()
    console.print(header.title, style="bold", soft_wrap=True)
    console.print(show.effects_table(effects, BASELINE, present))
    for note in header.notes:
        console.print(note, style="dim", soft_wrap=True)
    failures = [each for each in effects if each.failure]
    for each in failures:
        console.print(
            f"FAILED: {each.change.text}: {each.failure}", style="bold red", soft_wrap=True
        )
    if json_file is not None:
        write(json_file, show.effects_json(header, effects, BASELINE, present), "--json")
    if csv_file is not None:
        write(csv_file, show.effects_csv(header, effects), "--csv")
    if html_file is not None:
        write(html_file, page.effects_page(header, effects, BASELINE, present), "--html")
    return 1 if failures else 0
