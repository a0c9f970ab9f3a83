"""The sensitivity of a ranking: each figure of the machine is halved and doubled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lockwright.base.errors import LockwrightError
from lockwright.experiment.report import Grid, text_grid
from lockwright.simulate.figures import figures
from lockwright.simulate.run import Cell, Results, Setup, run

from lockwright_lab.simulate.experiment import heading

_FIXED = (
    "shape.",
    "hybrid.",
    "model.skip_polls",
    "line.directory",
    "line.migratory",
    "data.of_node",
    "kernel.wake_in_bucket",
    "kernel.fair",
    "smt.",
    "energy.",
)
"""Figures that are not times, or on which the throughput does not depend."""

FACTORS = (0.5, 2.0)


@dataclass(frozen=True)
class Effect:
    """The effect of halving and doubling a figure: Kendall's tau-b with the unchanged ranking."""

    figure: str
    value: float
    taus: tuple[float, ...]


def varied(setup: Setup) -> list[str]:
    """Return the names of the figures to vary."""
    return [
        name
        for name, value in setup.machine.figures.items()
        if value != 0 and not name.startswith(_FIXED)
    ]


def examine(
    setup: Setup, cells: Sequence[Cell], timeout: float, on_end: Callable[[Cell], None]
) -> list[Effect]:
    """Return the effect of each figure on the ranking of the cells, the strongest first. Raises
    LockwrightError if fewer than three cells can be ranked."""
    base = _rates(run(setup, cells, timeout, on_end))
    if len(base) < 3:
        raise LockwrightError("fewer than three locks can be ranked", "give more with --locks")
    effects = []
    for name in varied(setup):
        value = setup.machine.figures[name]
        taus = []
        for factor in FACTORS:
            changed = {**setup.machine.figures, name: value * factor}
            machine = replace(setup.machine, figures=changed)
            results = run(replace(setup, machine=machine), cells, timeout, on_end)
            taus.append(_tau(base, _rates(results)))
        effects.append(Effect(name, value, tuple(taus)))
    return sorted(effects, key=lambda effect: min(effect.taus))


def _rates(results: Results) -> dict[Cell, float]:
    return {cell: figures(line)["operations_per_second"] for cell, line in results.lines.items()}


def _tau(base: dict[Cell, float], varied: dict[Cell, float]) -> float:
    from scipy.stats import kendalltau

    both = [cell for cell in base if cell in varied]
    tau = kendalltau([base[cell] for cell in both], [varied[cell] for cell in both]).statistic
    return float(tau)


def table(setup: Setup, effects: Sequence[Effect]) -> Grid:
    """Return a table with a line for each figure."""
    title = f"{heading(setup)}: Kendall's tau with the ranking as it is"
    lines = [
        [each.figure, f"{each.value:g}", *(f"{tau:.2f}" for tau in each.taus)] for each in effects
    ]
    return text_grid(title, ["Figure", "value", "at half", "at twice"], lines)
