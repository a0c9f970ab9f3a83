"""The page of a simulation: plots, the table, and the machine with its sources."""

from collections.abc import Mapping, Sequence

from lockwright.base import numbers
from lockwright.page import templates
from lockwright.page.rows import Row, number
from lockwright.simulate.figures import BASELINE, columns, integers
from lockwright.simulate.run import Cell, Results, Setup
from lockwright.simulate.sources import sources

from lockwright_lab import PACKAGE
from lockwright_lab.simulate.report import OpenPair, as_float, formatted, heading

DISTANCES = (
    "same core",
    "same cache",
    "same node",
    "same package",
    "other package",
    "other package, two hops",
)
"""The distances of src/simulate/machine.hpp, the nearest first."""

_MOST_SHOWN = 12
"""So many locks, the fastest, are in the plots when the page opens; more have no own colour."""


def as_page(
    setup: Setup,
    results: Results,
    rows: Sequence[Mapping[str, object]],
    failures: Sequence[str],
    open_pairs: Sequence[OpenPair] = (),
) -> str:
    """Return the page of a simulation. rows: those of report.table_rows."""
    figures = columns(setup)
    table_lines = []
    for row in rows:
        cells = [(str(row["lock"]), str(row["lock"])), (str(row["threads"]), str(row["threads"]))]
        for name in figures:
            value = as_float(row[name])
            cells.append(number(value, formatted(name, value)))
        table_lines.append(Row(cells))
    return templates.fill(
        "simulate/page/page.html",
        _plotted(setup, results, rows),
        root=PACKAGE,
        title=heading(setup),
        verdict=verdict(rows),
        most_threads=max((cell.threads for cell in results.lines), default=0),
        has_handovers=not setup.of_rwlocks,
        failures=failures,
        ranges=len(setup.machine.ranges),
        open_pairs=[pair.text for pair in open_pairs],
        columns=["Lock", "threads", *(figure.heading for figure in figures.values())],
        rows=table_lines,
        meanings={figure.heading: figure.meaning for figure in figures.values()},
        sources=sources(setup.machine),
    )


def verdict(rows: Sequence[Mapping[str, object]]) -> str:
    """Return which lock is the fastest with most threads, and by how much. rows: as in as_page."""
    if not rows:
        return "No lock has a result."
    most = max(int(str(row["threads"])) for row in rows)
    best, *others = [row for row in rows if row["threads"] == most]
    threads = "1 thread" if most == 1 else f"{most} threads"
    text = f"With {threads}, {best['lock']} is simulated to be the fastest"
    if not others:
        return f"{text}; no other lock has a result."
    ratio = as_float(best["ratio"])
    if best["lock"] != BASELINE and ratio == ratio:
        text += f", {numbers.ratio(ratio)} times as fast as {BASELINE}"
    least = as_float(others[-1]["operations_per_second"])
    if not least:
        return f"{text}; {others[-1]['lock']} makes no progress."
    times = numbers.ratio(as_float(best["operations_per_second"]) / least)
    return f"{text} and {times} times as fast as {others[-1]['lock']}, the slowest."


def _plotted(
    setup: Setup, results: Results, rows: Sequence[Mapping[str, object]]
) -> dict[str, object]:
    """Return what the plots show: rates by threads, and moves of lines and of the lock by
    distance with most threads."""
    counts = sorted({cell.threads for cell in results.lines})
    ranked = [str(row["lock"]) for row in rows if counts and row["threads"] == counts[-1]]
    locks = list(dict.fromkeys([*ranked, *(str(row["lock"]) for row in rows)]))
    always = {BASELINE, setup.own.name if setup.own is not None else BASELINE}
    rates: dict[str, list[float | None]] = {lock: [None] * len(counts) for lock in locks}
    for row in rows:
        rate = as_float(row["operations_per_second"])
        rates[str(row["lock"])][counts.index(int(str(row["threads"])))] = rate
    moves = {}
    for lock in ranked:
        line = results.lines[Cell(lock, counts[-1])]
        acquisitions = max(1, int(str(line["acquisitions"])))
        moves[lock] = {
            name: [value / acquisitions for value in integers(line, name)]
            for name in ("transfers", "handovers")
            if name in line
        }
    return {
        "locks": locks,
        "baseline": BASELINE,
        "first": [lock for i, lock in enumerate(locks) if i < _MOST_SHOWN or lock in always],
        "counts": counts,
        "rates": rates,
        "distances": DISTANCES,
        "moves": moves,
    }
