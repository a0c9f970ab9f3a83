"""The tables and sentences of a validation."""

from rich.table import Table

from lockwright.bench.report import Column, empty_table
from lockwright.bench.validation.agreement import FACTOR, Agreement

COLUMNS = [
    Column(
        "workload", "a workload of lockwright bench and lockwright simulate, with its defaults."
    ),
    Column("threads", "number of threads."),
    Column(
        "tau",
        "Kendall's tau between the simulated and the real order, over the pairs of locks that the "
        "real runs show to differ: by more than the ranges of their runs together.",
    ),
    Column("pairs", "the number of these pairs, and of all pairs."),
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
    """Return the table of the cells."""
    table = empty_table("Simulated against real, by cell", COLUMNS)
    for each in found.cells:
        near = sum(ratio.is_near for ratio in each.ratios)
        table.add_row(
            each.cell.workload,
            str(each.cell.threads),
            "-" if each.tau is None else f"{each.tau:.2f}",
            f"{each.shown} of {each.pairs}",
            f"{100 * near / len(each.ratios):.0f} %" if each.ratios else "-",
        )
    return table


def worst_table(found: Agreement, most: int) -> Table:
    """Return the table of the ratios with the largest errors."""
    table = empty_table(f"The {most} ratios with the largest errors", WORST)
    ranked = sorted(found.ratios, key=lambda ratio: -max(ratio.factor, 1 / ratio.factor))
    for ratio in ranked[:most]:
        table.add_row(
            ratio.cell.workload,
            str(ratio.cell.threads),
            ratio.lock,
            *(f"{figure:.3g}" for figure in (ratio.real, ratio.simulated, ratio.factor)),
        )
    return table


def sentences(found: Agreement, repeated: Agreement) -> list[str]:
    """Return the two figures of the validation, each with its goal, and what the real runs reach
    among themselves."""
    tau, share = found.median_tau, found.share_near
    if tau is None or share is None:
        return ["There are no cells with simulations and two rounds of real runs."]
    with_tau = sum(each.tau is not None for each in found.cells)
    lines = [
        f"Kendall's tau, median of {with_tau} cells: {tau:.2f}; the goal is {GOAL_TAU:g} "
        f"({'met' if tau >= GOAL_TAU else 'not met'}).",
        f"Ratios to pthread within a factor of {FACTOR:g}: {100 * share:.0f} % of "
        f"{len(found.ratios)}; the goal is {100 * GOAL_SHARE:.0f} % "
        f"({'met' if share >= GOAL_SHARE else 'not met'}).",
    ]
    of_tau, of_share = repeated.median_tau, repeated.share_near
    if of_share is not None:
        text = "a tau needs three rounds" if of_tau is None else f"a median tau of {of_tau:.2f}"
        lines.append(
            f"One round of real runs in the simulator's place, against the others: {text}, "
            f"{100 * of_share:.0f} % of the ratios."
        )
    return lines
