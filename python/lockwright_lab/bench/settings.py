"""The settings in which two runs are compared: workloads of papers, and the cost alone."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.base.errors import LockwrightError
from lockwright.experiment import Cell, Column, Summary
from lockwright.experiment.columns import term
from lockwright.preload.locks import registry
from lockwright.run.bench_program import LIBC

from lockwright_lab.bench import runs
from lockwright_lab.bench.measurement import Given


class Setting(Table, frozen=True, kw_only=True):
    """A workload with its options.

    per_core: threads per processor; 0 for one thread, whose rate shows the cost of the lock rather
    than its effect on a program; one_core: all threads run on one processor; batches: per second of
    a run, of a workload that is not timed. value: what is measured, as of `runs.field`; is_time:
    lower is better. of_mutexes: threads take mutexes.
    """

    workload: str
    meaning: str
    per_core: int = 0
    one_core: bool = False
    batches: int = 0
    options: dict[str, str | int | float] = {}  # noqa: RUF012
    value: str = "measured: operations_per_second"
    is_time: bool = False
    of_mutexes: bool = True

    def having_threads(self) -> dict[str, str | int | float]:
        """Return the options of the measuring program, with the number of threads."""
        return {"threads": self.per_core * runs.processors() or 1, **self.options}


@cache
def settings(kind: str) -> dict[str, Setting]:
    """Return the settings of a kind, `forms` or `costs`, by name in the order of their runs."""
    known = documents.load(dict[str, dict[str, Setting]], Path(__file__).with_name("settings.toml"))
    return known[kind]


def terms(kind: str) -> dict[str, Sequence[Column]]:
    """Return the meanings of the settings of a kind, for a help text."""
    known = settings(kind).items()
    return {"Settings:": [term(name, f"{each.meaning}.") for name, each in known]}


def of_setting(call: runs.Call) -> runs.Call:
    """Return the run with the workload and the options of its setting, the option `setting`."""
    others = dict(call.options)
    setting = settings("forms")[str(others.pop("setting"))]
    return replace(call, workload=setting.workload, options={**setting.having_threads(), **others})


def title(cell: Cell) -> str:
    """Return the title of a setting's table."""
    return f"{cell.name}: {settings('forms')[cell.name].meaning}"


def is_of_one_thread(cell: Cell) -> bool:
    """Return True if the rate of a cell is that of one thread."""
    return not settings("forms")[cell.name].per_core


def ns_more(without: str, with_: str) -> Callable[[Summary], str]:
    """Return the text on the additional nanoseconds of an acquisition, of settings with one thread.
    without, with_: the figures that are rates."""

    def text(row: Summary) -> str:
        less, more = row.over_rounds(without), row.over_rounds(with_)
        if less is None or more is None or not is_of_one_thread(row.of_cell):
            return "-"
        return f"{1e9 / more.median - 1e9 / less.median:+.2f}"

    return text


def only_locks(given: Given, why: str) -> Given:
    """Return what was given without libc. Raises LockwrightError for what is no lock of the
    build."""
    chosen = [each for each in given.common.chosen if each.name != LIBC]
    for each in chosen:
        if each.name not in registry().names:
            raise LockwrightError(f"'{each.name}' {why}", "give locks that 'lockwright list' shows")
    if not chosen:
        raise LockwrightError(f"'{LIBC}' {why}", "name locks with --locks")
    return replace(given, common=replace(given.common, chosen=chosen))
