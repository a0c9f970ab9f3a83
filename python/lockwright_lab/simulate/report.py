"""The report of a simulation: the figures of each cell as a table, CSV and JSON."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from lockwright import version
from lockwright.base import numbers
from lockwright.base.terminal import empty_table
from lockwright.simulate.figures import BASELINE, columns, figures
from lockwright.simulate.run import Cell, Results, Setup
from rich.table import Table


@dataclass(frozen=True)
class OpenPair:
    """Two locks, of which `faster` has more throughput in the middle of all ranges, but not at the
    `ends`, such as `kernel.wake_ns = 1200`."""

    threads: int
    faster: str
    slower: str
    ends: tuple[str, ...]

    @property
    def text(self) -> str:
        """A line such as `hmcs above cna with 64 threads, but not with rmw.far_ns = 150`."""
        return (
            f"{self.faster} above {self.slower} with {self.threads} threads, but not with "
            f"{', nor with '.join(self.ends)}"
        )


def rates(results: Results) -> dict[Cell, float]:
    """Return the operations per second of each cell that did not fail."""
    return {cell: figures(line)["operations_per_second"] for cell, line in results.lines.items()}


def table_rows(results: Results) -> list[dict[str, object]]:
    """Return a row for each cell that did not fail, by threads, then by throughput."""
    rows: list[dict[str, object]] = []
    all_rates = rates(results)
    for cell, line in results.lines.items():
        values = figures(line)
        values["ratio"] = _quotient(all_rates, cell, Cell(BASELINE, cell.threads))
        if "reads" in line:
            values["scaling"] = _quotient(all_rates, cell, Cell(cell.lock, 1))
        rows.append({"lock": cell.lock, "threads": cell.threads, **values})
    rows.sort(key=lambda row: (row["threads"], -as_float(row["operations_per_second"])))
    return rows


def _quotient(all_rates: Mapping[Cell, float], cell: Cell, reference: Cell) -> float:
    divisor = all_rates.get(reference, 0.0)
    return all_rates[cell] / divisor if divisor else float("nan")


def as_float(value: object) -> float:
    """Return a figure of a row, which is a float."""
    assert isinstance(value, float)
    return value


_FORMATTERS = {
    "operations_per_second": numbers.count,
    "ratio": numbers.ratio,
    "scaling": numbers.ratio,
    "reads_per_second": numbers.count,
    "writes_per_second": numbers.count,
    "longest_read_wait_ns": numbers.time,
    "longest_write_wait_ns": numbers.time,
    "wait_p99_ns": numbers.time,
    "handovers_far": numbers.share,
}


def formatted(name: str, value: float) -> str:
    """Return the text of a figure, "-" for one that is not a number."""
    return "-" if value != value else _FORMATTERS.get(name, numbers.plain)(value)


def heading(setup: Setup) -> str:
    """Return a line that describes the simulation."""
    options = " ".join(f"{name}={value}" for name, value in setup.parameters.items())
    name = setup.workload if setup.model is None else f"model of {setup.model.title}"
    workload = f"{name} {options}".strip()
    return f"Simulated, not measured: {workload} on {setup.machine.title}"


def table(setup: Setup, rows: Sequence[Mapping[str, object]], threads: int) -> Table:
    """Return a table of the cells with that number of threads."""
    cells = empty_table(f"{heading(setup)}, {threads} threads", "Lock")
    for figure in columns(setup).values():
        cells.add_column(figure.heading, justify="right", no_wrap=True)
    for row in rows:
        if row["threads"] == threads:
            values = [formatted(name, as_float(row[name])) for name in columns(setup)]
            cells.add_row(str(row["lock"]), *values)
    return cells


def as_csv(setup: Setup, rows: Sequence[Mapping[str, object]]) -> str:
    """Return the figures as CSV, a line for each cell."""
    text = io.StringIO()
    names = ["simulated", "machine", "workload", "lock", "threads", *columns(setup)]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        fixed = {"simulated": 1, "machine": setup.machine.name, "workload": setup.workload}
        writer.writerow({**fixed, **row})
    return text.getvalue()


def as_json(
    setup: Setup,
    results: Results,
    rows: Sequence[Mapping[str, object]],
    complete: bool,
    open_pairs: Sequence[OpenPair] = (),
) -> str:
    """Return all results as JSON, with the machine and its sources."""
    machine = setup.machine
    document = {
        "simulated": True,
        "complete": complete,
        "version": version(),
        "machine": {
            "name": machine.name,
            "title": machine.title,
            "figures": dict(machine.figures),
            "two_hops": machine.two_hops,
            "ranges": dict(machine.ranges),
            "sources": dict(machine.sources),
        },
        "workload": setup.workload,
        "parameters": dict(setup.parameters),
        "seconds": setup.seconds,
        "seed": setup.seed,
        "figures": {name: figure.meaning for name, figure in columns(setup).items()},
        "rows": [_finite(row) for row in rows],
        "open": [asdict(pair) for pair in open_pairs],
        "runs": [dict(line) for line in results.lines.values()],
        "failures": [
            {"lock": cell.lock, "threads": cell.threads, "what": what}
            for cell, what in results.failures.items()
        ],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _finite(row: Mapping[str, object]) -> dict[str, object]:
    return {
        name: None if isinstance(value, float) and value != value else value
        for name, value in row.items()
    }
