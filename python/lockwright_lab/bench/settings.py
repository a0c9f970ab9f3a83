"""The settings in which forms of a lock are compared: workloads of papers, and the cost alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lockwright.experiment import Cell, Column, Summary

from lockwright_lab.bench import runs


@dataclass(frozen=True)
class Setting:
    """A workload with its options. threads: None for one thread, else threads per processor.

    busy: True if threads contend and have other work, as in the programs of the papers. If one
    thread only locks and unlocks, some nanoseconds are a large share, and the setting shows the
    cost rather than its effect on a program. usual: True if it is run by default.
    """

    name: str
    workload: str
    threads: int | None
    options: Mapping[str, object]
    meaning: str
    busy: bool = True
    usual: bool = True

    def arguments(self) -> dict[str, object]:
        """Return the options of the measuring program."""
        count = 1 if self.threads is None else self.threads * runs.processors()
        return {"threads": count, **self.options}


def _lockbench(
    name: str, preset: str, threads: int, meaning: str, *, usual: bool = True
) -> Setting:
    return Setting(name, "lockbench", threads, {"preset": preset}, meaning, usual=usual)


SETTINGS = {
    setting.name: setting
    for setting in (
        _lockbench(
            "short-long",
            "short-long",
            1,
            "a thread for each processor, sections up to 3.7 µs, gaps up to 366 µs (Marotta et "
            "al., Mutable Locks, 2019, figure 3 (e))",
        ),
        _lockbench(
            "short-short",
            "short-short",
            1,
            "a thread for each processor, sections and gaps up to 3.7 µs (ibidem, figure 3 (a))",
        ),
        Setting(
            "uncontested",
            "uncontested",
            None,
            {"section-cycles": 100},
            "one thread, sections of 100 cycles (Falsafi et al., Unlocking Energy, ATC 2016, "
            "table 2)",
            busy=False,
        ),
        Setting(
            "empty",
            "uncontested",
            None,
            {"section-cycles": 0},
            "one thread that only locks and unlocks",
            busy=False,
        ),
        _lockbench(
            "over-subscribed",
            "short-long",
            4,
            "four threads for each processor, sections up to 3.7 µs, gaps up to 366 µs (ibidem, "
            "figure 3 (e), more threads than processors); only on request",
            usual=False,
        ),
    )
}
"""The settings, in the order in which they are run."""


def cells(chosen: Sequence[Setting]) -> list[Cell]:
    """Return a cell for each setting."""
    return [Cell(each.name, {"setting": each.name}) for each in chosen]


def of_setting(call: runs.Call) -> runs.Call:
    """Return the run with the workload and the options of its setting, the option `setting`."""
    others = dict(call.options)
    setting = SETTINGS[str(others.pop("setting"))]
    return replace(call, workload=setting.workload, options={**setting.arguments(), **others})


def title(cell: Cell) -> str:
    """Return the title of a setting's table."""
    return f"{cell.name}: {SETTINGS[cell.name].meaning}"


def is_of_one_thread(cell: Cell) -> bool:
    """Return True if the rate of a cell is that of one thread."""
    return SETTINGS[cell.name].threads is None


def ns_more(without: str, with_: str, definition: str) -> Column:
    """Return the column of the additional nanoseconds of an acquisition, of settings with one
    thread. without, with_: the figures that are rates."""

    def text(row: Summary) -> str:
        less, more = row.over_rounds(without), row.over_rounds(with_)
        if less is None or more is None or not is_of_one_thread(row.of_cell):
            return "-"
        return f"{1e9 / more.median - 1e9 / less.median:+.2f}"

    return Column("ns more", definition, text)
