"""Sensitivity: each figure of the machine is halved and doubled, and the rankings are compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich import box
from rich.table import Table

from lockwright.base.errors import LockwrightError
from lockwright.simulate import report
from lockwright.simulate.run import Cell, Orders, Results, run

_FIXED = (
    "shape.",
    "hybrid.",
    "model.skip_polls",
    "line.directory",
    "data.of_node",
    "kernel.wake_in_bucket",
    "smt.",
    "energy.",
)
"""No lengths of time, or, as energy, nothing that a throughput depends on."""

FACTORS = (0.5, 2.0)


@dataclass(frozen=True)
class Effect:
    """Kendall's tau-b of the ranking with a figure at half and at twice its value, with the one at
    its value."""

    figure: str
    value: float
    taus: tuple[float, ...]


def varied(orders: Orders) -> list[str]:
    """The figures of the machine that are varied."""
    return [
        name
        for name, value in orders.machine.figures.items()
        if value != 0 and not name.startswith(_FIXED)
    ]


def examine(
    orders: Orders,
    cells: Sequence[Cell],
    timeout: float,
    on_end: Callable[[Cell], None],
) -> list[Effect]:
    """The effect of each figure on the ranking of the cells; the strongest first.

    Raises LockwrightError where fewer than three cells can be ranked.
    """
    base = _throughputs(run(orders, cells, timeout, on_end), cells)
    if len(base) < 3:
        raise LockwrightError("fewer than three locks can be ranked", "give more with --locks")
    effects = []
    for name in varied(orders):
        value = orders.machine.figures[name]
        taus = []
        for factor in FACTORS:
            figures = {**orders.machine.figures, name: value * factor}
            machine = replace(orders.machine, figures=figures)
            found = _throughputs(
                run(replace(orders, machine=machine), cells, timeout, on_end), cells
            )
            taus.append(_tau(base, found))
        effects.append(Effect(name, value, tuple(taus)))
    return sorted(effects, key=lambda one: min(one.taus))


def _throughputs(results: Results, cells: Sequence[Cell]) -> dict[Cell, float]:
    return {
        cell: report.figures(results.lines[cell])["operations_per_second"]
        for cell in cells
        if cell in results.lines
    }


def _tau(base: dict[Cell, float], found: dict[Cell, float]) -> float:
    from scipy.stats import kendalltau

    both = [cell for cell in base if cell in found]
    tau = kendalltau([base[cell] for cell in both], [found[cell] for cell in both]).statistic
    return float(tau)


def table(orders: Orders, effects: Sequence[Effect]) -> Table:
    """A line for each figure."""
    shown = Table(
        title=f"{report.heading(orders)}: Kendall's tau with the ranking as it is",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
    )
    shown.add_column("Figure", no_wrap=True)
    for column in ("value", "at half", "at twice"):
        shown.add_column(column, justify="right")
    for one in effects:
        shown.add_row(one.figure, f"{one.value:g}", *(f"{tau:.2f}" for tau in one.taus))
    return shown
