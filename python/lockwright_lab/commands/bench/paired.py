"""The commands that compare two forms of a lock: interposition, mixed, plan and profile-cost."""

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

import click
from lockwright.base.errors import LockwrightError
from lockwright.commands.common import complete, grammar
from lockwright.commands.common.experiment_options import definitions
from lockwright.commands.common.options import name_list
from lockwright.experiment import Experiment
from lockwright.preload.locks import registry
from lockwright.run.bench_program import LIBC

from lockwright_lab.bench import interposition as interposition_runs
from lockwright_lab.bench import mixed as mixed_runs
from lockwright_lab.bench import profile_cost as profile_cost_runs
from lockwright_lab.bench import quiet_and_hot
from lockwright_lab.bench.runs import BEFORE_AND_AFTER, Common, processors
from lockwright_lab.bench.settings import SETTINGS, Setting
from lockwright_lab.commands.bench.experiments import measurement


def _settings(usual: Iterable[Setting], help_text: str, **more: Any) -> Callable[..., Any]:
    """Return the option for the settings, which become the argument."""

    def parse(_: click.Context, __: click.Parameter, text: str) -> list[Setting]:
        return [SETTINGS[name] for name in name_list(text, "--settings", SETTINGS)]

    default = ",".join(each.name for each in usual)
    return click.option(
        "--settings", default=default, metavar="A,B,...", callback=parse, help=help_text, **more
    )


def _only_locks(common: Common, why: str) -> Common:
    """Return the options without libc. Raises LockwrightError for what is no lock of the build."""
    chosen = [each for each in common.chosen if each.name != LIBC]
    for each in chosen:
        if each.name not in registry().names:
            raise LockwrightError(f"'{each.name}' {why}", "give locks that 'lockwright list' shows")
    if not chosen:
        raise LockwrightError(f"'{LIBC}' {why}", "name locks with --locks")
    return replace(common, chosen=chosen)


def _limited(common: Common, seconds: float) -> Common:
    """Return the options with a limit, if none was given. seconds: of a run."""
    return replace(common, timeout=common.timeout or seconds + BEFORE_AND_AFTER)


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def meaning(self) -> str: ...


def _meanings(settings: Iterable[_Named]) -> str:
    lines = ["\b", "Settings:"]
    for each in settings:
        text = f"{each.name}: {each.meaning}."
        lines += textwrap.wrap(text, 76, initial_indent="  ", subsequent_indent="    ")
    return "\n".join(lines)


_ALL = [*SETTINGS.values()]

_INTERPOSITION = "\n\n".join(
    [
        "Compare each lock compiled into a workload with the same lock preloaded under it.",
        "The workload is the same source in both forms, and the two runs of a pair follow one "
        "another. For each lock a test of equivalence shows whether the forms differ by less "
        "than 5 %; for all locks, it prints the mean difference and the changes of order.",
        _meanings(_ALL),
        definitions(interposition_runs.SUMMARY, "All locks together:"),
    ]
)


@measurement(
    interposition_runs.COLUMNS, 10, help_text=_INTERPOSITION, timeout=None, with_meters=False
)
@_settings(
    [each for each in _ALL if each.usual],
    "Settings, separated by commas; see above.  [default: all but over-subscribed]",
)
@grammar.seconds(0.2)
@grammar.warm_up(0.05)
def interposition(
    common: Common, settings: list[Setting], seconds: float, warm_up: float
) -> Experiment:
    """Declare the experiment."""
    common = _only_locks(_limited(common, seconds + warm_up), "cannot be measured in two forms")
    lengths = {"seconds": seconds, "warm-up": warm_up}
    return interposition_runs.interposition(common, lengths, settings)


@measurement(mixed_runs.COLUMNS, 7, timeout=None, with_meters=False)
@_settings(
    mixed_runs.USUAL,
    "Settings of 'lockwright bench interposition', separated by commas.",
    show_default=True,
)
@grammar.seconds(0.1)
def mixed(common: Common, settings: list[Setting], seconds: float) -> Experiment:
    """Measure the additional cost of the library with a lock for each mutex over the library of one
    lock."""
    common = _only_locks(_limited(common, 1.25 * seconds), "is not a lock of a plan")
    return mixed_runs.mixed(common, {"seconds": seconds, "warm-up": seconds / 4}, settings)


def _choice(name: str, mutexes: str) -> Callable[..., Any]:
    return click.option(
        f"--{name}",
        default=getattr(quiet_and_hot.Choice(), name),
        show_default=True,
        metavar="LOCK",
        shell_complete=complete.lock,
        help=f"The plan's lock of {mutexes}.",
    )


@measurement(quiet_and_hot.COLUMNS, 7, quiet_and_hot.DEFAULT_LOCKS, timeout=5.0, with_meters=False)
@_choice("quiet", "the quiet mutexes")
@_choice("crowd", "the mutex that all threads take")
@_choice("exchange", "the mutex of two threads")
@grammar.integer("--mutexes", 4000, "Number of quiet mutexes.")
@grammar.integer("--threads-per-core", 8, "Threads for each processor.")
@grammar.integer("--work", 5, "Repetitions of each phase.")
@grammar.integer("--times", 200_000, "Acquisitions that do work, in a phase.", least=1000)
def plan(common: Common, quiet: str, crowd: str, exchange: str, **sizes: int) -> Experiment:
    """Measure a program with thousands of quiet mutexes and two contended ones, under single locks
    and under a plan with a lock for each kind."""
    choice = quiet_and_hot.Choice(quiet, crowd, exchange)
    for name in choice.plan().all_locks:
        registry().find(name)
    options = {
        "quiet": sizes["mutexes"],
        "threads": max(2, sizes["threads_per_core"] * processors()),
        "processors": processors(),
        "rounds": sizes["work"],
        "times": sizes["times"],
    }
    return quiet_and_hot.plan(_only_locks(common, "is not a lock of a plan"), options, choice)


_PROFILE_COST = "\n\n".join(
    [
        "Measure workloads with and without 'lockwright profile', and under the default lock "
        "with and without 'run --metrics', the two runs of a round one after the other.",
        _meanings(profile_cost_runs.SETTINGS),
    ]
)


@measurement(
    profile_cost_runs.COLUMNS,
    30,
    help_text=_PROFILE_COST,
    timeout=None,
    with_locks=False,
    with_meters=False,
)
@grammar.seconds(0.3)
def profile_cost(common: Common, seconds: float) -> Experiment:
    """Declare the experiment."""
    return profile_cost_runs.profile_cost(_limited(common, seconds), seconds)


COMMANDS = (interposition, mixed, plan, profile_cost)
