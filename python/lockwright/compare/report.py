"""The report on a comparison: its tables, its verdict, and the page's cards."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from lockwright.base import invocation, numbers
from lockwright.compare import tables, verdict, warnings
from lockwright.compare.experiment import declare, no_runs
from lockwright.compare.plan import UNSPECIFIED, Plan, threads_of
from lockwright.compare.probe import FIXED_TIME
from lockwright.compare.verdict import Verdict
from lockwright.experiment import Runs, Summary, TableOf
from lockwright.experiment import report as reports
from lockwright.experiment.report import Card, Report
from lockwright.experiment.store import Stored
from lockwright.machine.meters import Meters
from lockwright.preload.locks import BASELINE

PROBE = "probe"
"""Key of the counts of the probe run among the facts."""


def has_fixed_time(facts: Mapping[str, Any]) -> bool:
    """Return whether the program seems to run for a fixed time, so that wall times show nothing."""
    return bool(facts[PROBE].get(FIXED_TIME))


def make(
    stored: Stored, plan: Plan, title: str, runs: Runs, meters: Meters | None = None
) -> Report:
    """Return the report on all runs of a comparison. meters: those of its runs."""
    experiment = declare(plan, no_runs)
    cells = [experiment.ranking(runs, cell.name) for cell in plan.cells]
    is_fixed = has_fixed_time(stored.facts)
    if is_fixed:
        cells = [[replace(row, ratio=None, mark="") for row in rows] for rows in cells]
    decided = verdict.FIXED_TIME if is_fixed else verdict.decide(plan, cells)
    return report_on(stored, plan, title, runs, cells, decided, meters)


def report_on(
    stored: Stored,
    plan: Plan,
    title: str,
    runs: Runs,
    cells: Sequence[Sequence[Summary]],
    decided: Verdict,
    meters: Meters | None,
) -> Report:
    """Return the report with a verdict. cells: the rows of each table, the best first."""
    experiment = declare(plan, no_runs, meters=meters)
    facts = {name: fact for name, fact in stored.facts.items() if name != PROBE}
    metered = reports.metered(experiment, [_in_order(plan, rows) for rows in cells])
    is_fixed = has_fixed_time(stored.facts)
    return Report(
        experiment,
        title,
        runs,
        cells,
        stored.started,
        facts,
        grids=[*(_grid(plan, rows) for rows in cells), *metered.grids],
        legend=[*tables.legend(plan), *metered.legend],
        remarks=metered.remarks,
        warnings=warnings.collect(plan, runs),
        conclusion=decided.sentence,
        todo=None if decided.command is None else (decided.heading, _runnable(decided.command)),
        cards=[] if is_fixed else [_card(plan, rows) for rows in cells],
        subtitle=shlex.join(plan.command),
        quantity=_quantity(plan),
        ratio=tables.ratio_definition(plan),
        conditions=_conditions(plan, stored),
        metered=metered.rows,
        more={PROBE: stored.facts[PROBE], "verdict": asdict(decided)},
    )


def _in_order(plan: Plan, rows: Sequence[Summary]) -> list[Summary]:
    return sorted(rows, key=lambda row: plan.locks.index(row.contender))


def _runnable(line: str) -> str:
    """Return a command line with `lockwright` replaced by the words that started this command."""
    if not line.startswith("lockwright "):
        return line
    return shlex.join(invocation.command_words()) + line.removeprefix("lockwright")


def _grid(plan: Plan, rows: Sequence[Summary]) -> reports.Grid:
    table = TableOf(tables.columns(plan), lambda cell: tables.heading(plan, cell))
    made = reports.grid(table, rows)
    return replace(made, notes=tables.notes(plan, rows), is_wide=False)


def _card(plan: Plan, rows: Sequence[Summary]) -> Card:
    best = verdict.winner(rows)
    beats = best is not None
    if best is None:
        best = next((row for row in rows if row.mark == "*"), None)
    if best is None:
        name, gain = "none", "no lock finished all of its runs"
    elif best.contender == BASELINE:
        name, gain = BASELINE, "the C library's own mutex"
    elif best.ratio is None:
        name, gain = best.contender, f"no ratio to {BASELINE}"
    else:
        name = best.contender
        gain = f"{numbers.ratio(best.ratio.value)} times as good as {BASELINE}"
        if best.ratio.low is not None:
            gain += f" ({numbers.interval(best.ratio.low, best.ratio.high)})"
        if not beats:
            gain += ", which may be chance"
    # The best median may be of a lock whose runs vary too much for a conclusion.
    what = tables.best(plan) if best is None or best.mark == "*" else "shown to be better"
    cell = rows[0].of_cell.name
    where = what if threads_of(rows[0]) == UNSPECIFIED else f"{cell}: {what}"
    return Card(beats, where, name, gain, [row.contender for row in rows if row.mark == "="])


def _quantity(plan: Plan) -> str:
    what = f"{plan.unit} from the program's output" if plan.metric else "wall time in seconds"
    better = "lower" if plan.lower_is_better else "higher"
    return f"Measured: {what} ({better} is better), {plan.runs_description}."


def _conditions(plan: Plan, stored: Stored) -> dict[str, str]:
    facts = {
        "command": shlex.join(plan.command),
        "runs": f"{plan.runs_description}, at most {plan.timeout:g} s each",
    }
    if plan.metric:
        facts["metric"] = f"{plan.metric} ({plan.unit})"
    if plan.prepare:
        facts["prepare"] = plan.prepare
    for library in plan.other_libraries:
        facts[library.name] = str(library.path)
    counts = stored.facts[PROBE]
    facts["mutexes"] = (
        f"{counts['mutexes']:,} taken {counts['acquisitions']:,} times in the first run"
    )
    return facts
