"""The tables and sentences of a validation."""

from collections.abc import Sequence

from rich.table import Table

from lockwright.bench.report import Column, table
from lockwright.bench.validation.agreement import FACTOR, Agreement, Ratio

COLUMNS = [
    Column("workload", "as of lockwright bench and of lockwright simulate, with its defaults."),
    Column("threads", "threads of the workload."),
    Column(
        "tau",
        "Kendall's tau between the simulated and the real order, over the pairs of locks that the "
        "real runs show to differ: by more than the ranges of their runs together.",
    ),
    Column("pairs", "these pairs, of all pairs."),
    Column(
        "within 1.5",
        f"the share of the locks whose throughput over that of pthread is within a factor of "
        f"{FACTOR:g} of the real one.",
    ),
]

WORST = [
    Column("workload", "as above."),
    Column("threads", "as above."),
    Column("lock", "the lock."),
    Column("real", "its throughput over that of pthread on this machine."),
    Column("simulated", "the same in the simulator."),
    Column("factor", "simulated over real."),
]

GOAL_TAU = 0.8
GOAL_SHARE = 0.9


def cells_table(found: Agreement) -> Table:
    """Return the agreement of each cell."""
    shown = table("Simulated against real, by cell", COLUMNS)
    for one in found.cells:
        near = sum(ratio.is_near for ratio in one.ratios)
        shown.add_row(
            one.cell.workload,
            str(one.cell.threads),
            "-" if one.tau is None else f"{one.tau:.2f}",
            f"{one.shown} of {one.pairs}",
            f"{100 * near / len(one.ratios):.0f} %" if one.ratios else "-",
        )
    return shown


def worst_table(found: Agreement, most: int) -> Table:
    """Return the ratios that are farthest off, one for each lock at most in a cell."""
    shown = table(f"The {most} ratios that are farthest off", WORST)
    ranked: Sequence[Ratio] = sorted(
        found.ratios, key=lambda one: max(one.factor, 1 / one.factor), reverse=True
    )
    for one in ranked[:most]:
        shown.add_row(
            one.cell.workload,
            str(one.cell.threads),
            one.lock,
            f"{one.real:.3g}",
            f"{one.simulated:.3g}",
            f"{one.factor:.3g}",
        )
    return shown


def sentences(found: Agreement) -> list[str]:
    """Return the two figures of the validation, each with its goal."""
    tau, share = found.median_tau, found.share_near
    if tau is None or share is None:
        return ["There are no real runs with simulations beside them yet, or one round only."]
    with_tau = sum(one.tau is not None for one in found.cells)
    return [
        f"Kendall's tau, median of {with_tau} cells: {tau:.2f}; the goal is {GOAL_TAU:g} "
        f"({'met' if tau >= GOAL_TAU else 'not met'}).",
        f"Ratios to pthread within a factor of {FACTOR:g}: {100 * share:.0f} % of "
        f"{len(found.ratios)}; the goal is {100 * GOAL_SHARE:.0f} % "
        f"({'met' if share >= GOAL_SHARE else 'not met'}).",
    ]
