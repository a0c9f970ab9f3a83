"""The tables and sentences of a validation."""

from lockwright.experiment.columns import headings, term
from lockwright.experiment.report import Grid, text_grid

from lockwright_lab.bench.validation.agreement import FACTOR, Agreement, share_near

COLUMNS = [
    term("workload", "a workload of lockwright bench and lockwright simulate, with its defaults."),
    term("threads", "number of threads."),
    term(
        "tau",
        "Kendall's tau between the simulated and the real order, over the pairs of locks that the "
        "real runs show to differ: by more than the ranges of their runs together.",
    ),
    term("pairs", "the number of these pairs, and of all pairs."),
    term(
        "within 1.5",
        f"the share of the locks whose throughput over that of pthread is within a factor of "
        f"{FACTOR:g} of the real one.",
    ),
    term(
        "real round",
        "the last two columns with a real round in the simulator's place, against the other "
        "rounds: what a perfect simulator of one run would reach. tau: the median over the rounds; "
        "it needs three.",
    ),
]

BY_WORKLOAD = [
    term("workload", "as above."),
    term("tau", "the number of threads, and tau with it."),
    term("within 1.5", "the share, and the number of ratios."),
    term(
        "rounds agree",
        f"the same of the locks whose real ratios are within a factor of {FACTOR:g} in all rounds.",
    ),
    term("real round", "the share with a real round in the simulator's place."),
]

WORST = [
    term("workload", "as above."),
    term("threads", "as above."),
    term("lock", "the lock."),
    term("real", "its throughput over that of pthread on this machine."),
    term("simulated", "the same in the simulator."),
    term("factor", "simulated over real."),
]

GOAL_TAU = 0.8
GOAL_SHARE = 0.9


def cells_table(found: Agreement, repeated: Agreement) -> Grid:
    """Return the table of the cells. repeated: the agreement of each real round with the others."""
    lines = []
    for each in found.cells:
        rounds = Agreement(tuple(one for one in repeated.cells if one.cell == each.cell))
        lines.append(
            [
                each.cell.workload,
                str(each.cell.threads),
                _tau(each.tau),
                f"{each.shown} of {each.pairs}",
                _percent(share_near(each.ratios)),
                f"{_tau(rounds.median_tau)}, {_percent(rounds.share_near)}",
            ]
        )
    return text_grid("Simulated against real, by cell", headings(COLUMNS), lines)


def workloads_table(found: Agreement, repeated: Agreement) -> Grid:
    """Return the table of the workloads. repeated: as for `cells_table`."""
    lines = []
    for workload in dict.fromkeys(each.cell.workload for each in found.cells):
        part = found.of_workload(workload)
        lines.append(
            [
                workload,
                ", ".join(f"{each.cell.threads}: {_tau(each.tau)}" for each in part.cells),
                _percent(part.share_near, len(part.ratios)),
                _percent(share_near(part.repeatable), len(part.repeatable)),
                _percent(repeated.of_workload(workload).share_near),
            ]
        )
    return text_grid("Simulated against real, by workload", headings(BY_WORKLOAD), lines)


def _tau(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _percent(share: float | None, of: int | None = None) -> str:
    if share is None:
        return "-"
    return f"{100 * share:.0f} %" + ("" if of is None else f" of {of}")


def worst_table(found: Agreement, most: int) -> Grid:
    """Return the table of the ratios with the largest errors."""
    ranked = sorted(found.ratios, key=lambda ratio: -max(ratio.factor, 1 / ratio.factor))
    lines = [
        [
            ratio.cell.workload,
            str(ratio.cell.threads),
            ratio.lock,
            *(f"{figure:.3g}" for figure in (ratio.real, ratio.simulated, ratio.factor)),
        ]
        for ratio in ranked[:most]
    ]
    return text_grid(f"The {most} ratios with the largest errors", headings(WORST), lines)


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
    among = found.repeatable
    near = share_near(among)
    if near is not None:
        lines.append(
            f"Of the {len(among)} ratios whose real rounds are within a factor of {FACTOR:g} of "
            f"each other, {100 * near:.0f} % are."
        )
    of_tau, of_share = repeated.median_tau, repeated.share_near
    if of_share is not None:
        text = "a tau needs three rounds" if of_tau is None else f"a median tau of {of_tau:.2f}"
        lines.append(
            f"One round of real runs in the simulator's place, against the others: {text}, "
            f"{100 * of_share:.0f} % of the ratios."
        )
    return lines
