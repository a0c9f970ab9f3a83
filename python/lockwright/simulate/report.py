"""The report of a simulation: the figures of each cell as a table, CSV and JSON."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.table import Table

from lockwright import version
from lockwright.base import numbers
from lockwright.simulate.run import Cell, Line, Orders, Results

BASELINE = "pthread"


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


@dataclass(frozen=True)
class Figure:
    """A figure of a cell: its heading and its meaning."""

    heading: str
    meaning: str


FIGURES = {
    "operations_per_second": Figure("ops/s", "operations per simulated second"),
    "ratio": Figure("ratio", f"throughput over that of {BASELINE} with as many threads"),
    "transfers": Figure("transfers", "cache lines moved per acquisition, from any distance"),
    "transfers_far": Figure("far", "of these, from another package"),
    "invalidations": Figure("inval.", "copies invalidated per acquisition"),
    "handovers_far": Figure("moves", "share of the acquisitions for which the lock left its node"),
    "lwss": Figure("LWSS", "different holders in 1000 acquisitions"),
    "mttr": Figure("MTTR", "median acquisitions of others until a thread's next one"),
    "gini": Figure("Gini", "inequality of the threads' operations: 0 for equal, near 1 for one"),
    "wait_p99_ns": Figure("p99", "the 99th percentile of an acquisition's duration"),
    "sleeps": Figure("sleeps", "sleeps per acquisition"),
    "joules_per_million": Figure("J/M", "joules per million operations"),
}


def figures(line: Line) -> dict[str, float]:
    """Return the figures of a cell except the ratio."""

    def integer(name: str) -> int:
        value = line[name]
        assert isinstance(value, int)
        return value

    seconds = integer("picoseconds") / 1e12
    acquisitions = max(1, integer("acquisitions"))
    operations = integer("operations")
    transfers = integers(line, "transfers")
    windows = integer("lwss_windows")
    return {
        "operations_per_second": operations / seconds,
        "transfers": sum(transfers) / acquisitions,
        "transfers_far": sum(transfers[4:]) / acquisitions,
        "invalidations": integer("invalidations") / acquisitions,
        "handovers_far": sum(integers(line, "handovers")[3:]) / acquisitions,
        "lwss": integer("lwss_distinct") / windows if windows else float("nan"),
        "mttr": float(integer("mttr")),
        "gini": gini(integers(line, "per_thread")),
        "wait_p99_ns": integer("wait_p99_ps") / 1e3,
        "sleeps": integer("sleeps") / acquisitions,
        "joules_per_million": (
            integer("picojoules") / 1e6 / operations if operations else float("nan")
        ),
    }


def integers(line: Line, name: str) -> list[int]:
    """Return a list of integers of a result."""
    value = line[name]
    assert isinstance(value, list)
    return value


def gini(values: Sequence[int]) -> float:
    """Return the Gini coefficient: 0 if all values are equal."""
    total = sum(values)
    if total == 0:
        return 0.0
    weighted = sum(rank * value for rank, value in enumerate(sorted(values), 1))
    count = len(values)
    return 2 * weighted / (count * total) - (count + 1) / count


def rates(results: Results) -> dict[Cell, float]:
    """Return the operations per second of each cell that did not fail."""
    return {cell: figures(line)["operations_per_second"] for cell, line in results.lines.items()}


def table_rows(results: Results) -> list[dict[str, object]]:
    """Return a row for each cell that did not fail, by threads, then by throughput."""
    rows: list[dict[str, object]] = []
    base = {cell.threads: rate for cell, rate in rates(results).items() if cell.lock == BASELINE}
    for cell, line in results.lines.items():
        values = figures(line)
        reference = base.get(cell.threads, 0.0)
        values["ratio"] = values["operations_per_second"] / reference if reference else float("nan")
        rows.append({"lock": cell.lock, "threads": cell.threads, **values})
    rows.sort(key=lambda row: (row["threads"], -as_float(row["operations_per_second"])))
    return rows


def as_float(value: object) -> float:
    """Return a figure of a row, which is a float."""
    assert isinstance(value, float)
    return value


_FORMATTERS = {
    "operations_per_second": numbers.count,
    "ratio": numbers.ratio,
    "wait_p99_ns": numbers.time,
    "handovers_far": numbers.share,
}


def formatted(name: str, value: float) -> str:
    """Return the text of a figure of FIGURES, "-" for one that is not a number."""
    return "-" if value != value else _FORMATTERS.get(name, numbers.plain)(value)


def heading(orders: Orders) -> str:
    """Return a line that describes the simulation."""
    options = " ".join(f"{name}={value}" for name, value in orders.parameters.items())
    workload = f"{orders.workload} {options}".strip()
    return f"Simulated, not measured: {workload} on {orders.machine.title}"


def empty_table(title: str, first_column: str) -> Table:
    """Return a table with its title and its left-aligned first column."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column(first_column, no_wrap=True)
    return table


def table(orders: Orders, rows: Sequence[Mapping[str, object]], threads: int) -> Table:
    """Return a table of the cells with that number of threads."""
    cells = empty_table(f"{heading(orders)}, {threads} threads", "Lock")
    for figure in FIGURES.values():
        cells.add_column(figure.heading, justify="right", no_wrap=True)
    for row in rows:
        if row["threads"] == threads:
            values = [formatted(name, as_float(row[name])) for name in FIGURES]
            cells.add_row(str(row["lock"]), *values)
    return cells


def as_csv(orders: Orders, rows: Sequence[Mapping[str, object]]) -> str:
    """Return the figures as CSV, a line for each cell."""
    text = io.StringIO()
    names = ["simulated", "machine", "workload", "lock", "threads", *FIGURES]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        fixed = {"simulated": 1, "machine": orders.machine.name, "workload": orders.workload}
        writer.writerow({**fixed, **row})
    return text.getvalue()


def as_json(
    orders: Orders,
    results: Results,
    rows: Sequence[Mapping[str, object]],
    complete: bool,
    open_pairs: Sequence[OpenPair] = (),
) -> str:
    """Return all results as JSON, with the machine and its sources."""
    machine = orders.machine
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
        "workload": orders.workload,
        "parameters": dict(orders.parameters),
        "seconds": orders.seconds,
        "seed": orders.seed,
        "figures": {name: figure.meaning for name, figure in FIGURES.items()},
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
