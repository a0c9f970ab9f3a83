"""`lockwright bench`: the costs of each lock, measured side by side with the C library's mutex."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from lockwright.base.errors import LockwrightError
from lockwright.calibrate.report import Column, Report, definitions, processors
from lockwright.commands.common import grammar
from lockwright.commands.common.groups import Group
from lockwright.commands.common.options import (
    meter_options,
    number_list,
    other_libraries,
    preload_option,
    store_value,
)
from lockwright.experiment import Experiment
from lockwright.run.bench_program import Subject, loops_per_us, subjects
from rich.table import Table

import lockwright_lab.bench.footprint as footprint_runs
import lockwright_lab.bench.handover as handover_runs
import lockwright_lab.bench.herd as herd_runs
import lockwright_lab.bench.oversubscribe as oversubscribe_runs
import lockwright_lab.bench.park as park_runs
import lockwright_lab.bench.rwlock as rwlock_runs
import lockwright_lab.bench.uncontended as uncontended_runs
from lockwright_lab.bench.catalogue import catalogue
from lockwright_lab.bench.output import show
from lockwright_lab.commands.bench import interposition
from lockwright_lab.commands.bench import plan as plans
from lockwright_lab.commands.bench.claims import claims
from lockwright_lab.commands.bench.experiments import Common, measurement
from lockwright_lab.commands.bench.predictions import command as predictions
from lockwright_lab.commands.bench.profile_cost import command as profile_cost
from lockwright_lab.commands.bench.published import command as published
from lockwright_lab.commands.bench.regret import command as regret
from lockwright_lab.commands.bench.report_setup import finish, new_report
from lockwright_lab.commands.bench.simulator import command as simulator
from lockwright_lab.commands.bench.skeletons import command as skeletons
from lockwright_lab.commands.bench.tour import tour
from lockwright_lab.commands.bench.tune import command as tune

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Measurements(Group):
    """The measurements of this module, and the workloads that the measuring program describes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *catalogue().workloads]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        from lockwright_lab.commands.bench import workload

        return workload.build(cmd_name, _options, new_report)


def _print_list(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from lockwright_lab.commands.bench import workload

        assert isinstance(ctx.command, click.Group)
        workload.print_list(ctx.command.commands)
        ctx.exit()


@click.group(cls=_Measurements)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_list,
    help="List every workload: its measure, its source and its parameters.",
)
def bench() -> None:
    """Measure locks side by side with the C library's own mutex.

    Every lock's run is paired with a run without any library, over several rounds. Ratios are
    taken within each pair, which makes them robust against noise of the machine.
    """


def _options(
    runs: int, default_locks: Sequence[str] | None, *, with_locks: bool = True
) -> _Decorator:
    """Return a decorator with the options that all benchmarks share."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        shared = [
            grammar.runs(runs),
            grammar.timeout(30.0),
            grammar.json_file("every run and every figure"),
            *meter_options(expose_value=False, callback=store_value),
        ]
        if with_locks:
            named = ", ".join(default_locks) if default_locks else "all"
            shared[:0] = [
                grammar.locks(named, beside=" to measure beside libc, or 'libc' alone"),
                preload_option(expose_value=False, callback=store_value),
            ]
        for option in reversed(shared):
            command = option(command)
        return command

    return decorate


def _number_list_option(name: str, default: str, *, help_text: str) -> _Decorator:
    """Return an option for a list of numbers."""
    return click.option(name, default=default, show_default=True, help=help_text)


def _thread_counts(per_core: str) -> list[int]:
    """Return the numbers of threads for `--threads-per-core`, each once."""
    factors = number_list(per_core, "--threads-per-core", 0.001)
    return sorted({max(1, round(factor * processors())) for factor in factors})


@dataclass
class _Request:
    """The options of one measurement. specific: those that only this measurement has."""

    report: Report
    chosen: list[Subject]
    runs: int
    timeout: float
    json_file: Path | None
    specific: dict[str, Any]

    def show(self, tables: list[Table], remarks: Sequence[str] = ()) -> None:
        """Print the tables, write the file, and end the command."""
        show(self.report, tables, list(remarks), self.json_file)
        finish(self.report)


def _measurement(
    columns: Sequence[Column],
    runs: int,
    default_locks: Sequence[str] | None = None,
    *,
    with_locks: bool = True,
) -> Callable[[Callable[[_Request], None]], click.Command]:
    """Return a decorator that makes a command with the options that all benchmarks share."""

    def decorate(measure: Callable[[_Request], None]) -> click.Command:
        @functools.wraps(measure)
        def command(
            runs: int,
            timeout: float,
            json_file: Path | None,
            locks: str | None = None,
            **options: Any,
        ) -> None:
            values = {name.replace("_", "-"): value for name, value in options.items()}
            chosen = subjects(locks, default_locks, other_libraries()) if with_locks else []
            settings = {"locks": locks, "runs": runs, "timeout": timeout, **values}
            report = new_report(measure.__name__, columns, settings)
            measure(_Request(report, chosen, runs, timeout, json_file, values))

        command.__doc__ = f"{measure.__doc__}\n\n{definitions(columns)}"
        return bench.command()(_options(runs, default_locks, with_locks=with_locks)(command))

    return decorate


@_measurement(uncontended_runs.COLUMNS, 50)
@grammar.integer("--batch", 100_000, "Pairs that are timed together.")
@grammar.integer("--batches", 10, "Batches in one run.")
@grammar.integer(
    "--threads-alive",
    1,
    "Sleeping threads beside the one that is measured. With 0 the process has one thread "
    "only, and the C library then locks without atomic instructions.",
    least=0,
)
def uncontended(request: _Request) -> None:
    """Measure one thread that locks and unlocks a mutex that no other thread takes."""
    request.show(
        uncontended_runs.measure(
            request.report, request.chosen, request.runs, request.specific, request.timeout
        )
    )


@_measurement(footprint_runs.COLUMNS, 3)
@grammar.integer("--mutexes", 1_000_000, "Mutexes in the array.", least=2)
@grammar.integer("--warm", 1000, "Mutexes that are locked before the measurement starts.")
@grammar.integer("--threads", 500, "Threads that each wait for one mutex.", most=30_000)
@grammar.integer(
    "--sharers", 16, "How many of these threads each lock every mutex of the array.", least=2
)
def footprint(request: _Request) -> None:
    """Measure the memory of a lock for each mutex, each thread, and each pair of them."""
    options = request.specific
    warm, mutexes = options["warm"], options["mutexes"]
    if warm >= mutexes:
        raise LockwrightError(
            f"--warm {warm} is not below --mutexes {mutexes}", "give a smaller --warm"
        )
    sharers, threads = options["sharers"], options["threads"]
    if sharers > threads:
        raise LockwrightError(
            f"--sharers {sharers} is above --threads {threads}", "give a smaller --sharers"
        )
    tables = footprint_runs.measure(
        request.report, request.chosen, request.runs, options, request.timeout
    )
    request.show(tables, footprint_runs.remarks(request.report))


@measurement(handover_runs.COLUMNS, 7, handover_runs.DEFAULT_LOCKS)
@_number_list_option(
    "--threads-per-core", "1,4,16", help_text="Threads for each processor; a table for each number."
)
@grammar.seconds(0.3)
@grammar.real_number(
    "--section-ns", 100.0, "Nanoseconds of work while the mutex is held.", metavar="NS", min=0
)
@grammar.real_number(
    "--gap-ns",
    200.0,
    "Nanoseconds of work between two acquisitions of a thread.",
    metavar="NS",
    min=0,
)
def handover(common: Common, threads_per_core: str, **options: float) -> Experiment:
    """Measure threads that contend for one mutex, as many as processors and many more."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return handover_runs.handover(
        common.chosen,
        common.runs,
        named,
        _thread_counts(threads_per_core),
        common.timeout,
    )


@_measurement(herd_runs.COLUMNS, 9, herd_runs.DEFAULT_LOCKS)
@grammar.integer("--waiters", 1000, "Threads that wait.", most=30_000)
@grammar.integer("--rounds-inside", 5, "Broadcasts in one run.")
@_number_list_option(
    "--section-ns",
    "5000,1000,0",
    help_text="Nanoseconds that each woken waiter works under the mutex; a table for each value. "
    "Real programs mostly hold it for 0.1 to 1 microsecond.",
)
@click.option(
    "--unlocked", is_flag=True, help="Broadcast after unlocking, not while holding the mutex."
)
@click.option(
    "--rejoin",
    is_flag=True,
    help="Let a woken waiter wait on the same condition variable again after its section, so that "
    "it requests the mutex while others still wait for it. Without this it waits elsewhere until "
    "all have run.",
)
def herd(request: _Request) -> None:
    """Measure a broadcast that wakes many waiters, which all need the same mutex."""
    sections = list(dict.fromkeys(number_list(request.specific["section-ns"], "--section-ns", 0)))
    arguments = {
        "waiters": request.specific["waiters"],
        "rounds": request.specific["rounds-inside"],
        "unlocked": int(request.specific["unlocked"]),
        "rejoin": int(request.specific["rejoin"]),
        "loops-per-us": loops_per_us(),
    }
    tables = herd_runs.measure(
        request.report, request.chosen, request.runs, arguments, sections, request.timeout
    )
    request.show(tables)


@_measurement(oversubscribe_runs.COLUMNS, 3)
@_number_list_option(
    "--threads-per-core",
    "1,2,4,16",
    help_text="Threads for each processor; a table for each number. The others are compared with "
    "the fewest.",
)
@grammar.seconds(2.2, note="Below one second, the progress of each thread per second is unknown.")
@grammar.integer(
    "--section-cycles", 100, "Processor cycles of work while the mutex is held.", least=0
)
@grammar.integer(
    "--gap-cycles", 500, "Processor cycles of work between two acquisitions of a thread.", least=0
)
def oversubscribe(request: _Request) -> None:
    """Measure one mutex under increasing numbers of threads: throughput, and progress of every
    thread."""
    counts = _thread_counts(request.specific.pop("threads-per-core"))
    tables = oversubscribe_runs.measure(
        request.report, request.chosen, request.runs, request.specific, counts, request.timeout
    )
    request.show(tables, oversubscribe_runs.remarks(request.report, processors()))


@_measurement(rwlock_runs.COLUMNS, 5, with_locks=False)
@click.option(
    "--rwlocks",
    metavar="A,B,...",
    help="The reader-writer locks, keep or mutex, to measure beside libc.  [default: all]",
)
@click.option(
    "--mutex",
    default="pthread",
    show_default=True,
    metavar="LOCK",
    help="The lock whose library is loaded, and that replaces reader-writer locks under mutex.",
)
@_number_list_option(
    "--read-percent", "0,50,90,99,100", help_text="Shares of reads; tables for each."
)
@_number_list_option(
    "--threads-per-core", "1,4", help_text="Threads for each processor; a table for each number."
)
@grammar.seconds(0.3)
@grammar.integer("--burst", 1, "Writes that a thread makes one after the other.")
@grammar.integer("--section-cycles", 200, "Processor cycles of work in a section.", least=0)
@grammar.integer("--gap-cycles", 400, "Processor cycles of work between two sections.", least=0)
def rwlock(request: _Request) -> None:
    """Measure readers and writers of one reader-writer lock, under each of them."""
    options = request.specific
    names = options.pop("rwlocks")
    chosen = rwlock_runs.contenders(
        [word.strip() for word in names.split(",") if word.strip()] if names else None,
        options.pop("mutex"),
    )
    shares = list(dict.fromkeys(number_list(options.pop("read-percent"), "--read-percent", 0)))
    if max(shares) > 100:
        raise LockwrightError(
            f"--read-percent {max(shares):g} is above 100", "give shares from 0 to 100"
        )
    counts = _thread_counts(options.pop("threads-per-core"))
    tables = rwlock_runs.measure(
        request.report, chosen, request.runs, options, shares, counts, request.timeout
    )
    request.show(tables)


@_measurement(park_runs.COLUMNS, 9, with_locks=False)
@grammar.integer("--trips", 20_000, "Round trips in one run.")
def park(request: _Request) -> None:
    """Measure two threads that put each other to sleep and wake each other, without a lock."""
    request.show(park_runs.measure(request.report, request.runs, request.specific, request.timeout))


bench.add_command(handover)
bench.add_command(claims)
bench.add_command(tour)
bench.add_command(tune)
bench.add_command(interposition.command)
bench.add_command(regret)
bench.add_command(simulator)
bench.add_command(predictions)
bench.add_command(skeletons)
bench.add_command(published)
bench.add_command(profile_cost)
bench.add_command(plans.mixed)
bench.add_command(plans.plan)

command = bench
