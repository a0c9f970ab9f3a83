"""The report of a simulation: figures of each cell, as a table, CSV, JSON and a page."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rich import box
from rich.table import Table

from lockwright import version
from lockwright.base import numbers
from lockwright.page import templates
from lockwright.page.rows import Row, number
from lockwright.simulate.machine import Machine
from lockwright.simulate.run import Line, Orders, Results

BASELINE = "pthread"


@dataclass(frozen=True)
class OpenPair:
    """Two locks, the first of which has more throughput with all figures in the middle of their
    ranges, and does not at one of the ends at least.

    ends: the ends at which it does not, as `kernel.wake_ns = 1200`.
    """

    threads: int
    faster: str
    slower: str
    ends: tuple[str, ...]

    @property
    def text(self) -> str:
        """`hmcs above cna with 64 threads, but not with rmw.far_ns = 150`."""
        return (
            f"{self.faster} above {self.slower} with {self.threads} threads, but not with "
            f"{', nor with '.join(self.ends)}"
        )


@dataclass(frozen=True)
class Figure:
    """A figure of a cell: its heading, and what it is."""

    heading: str
    meaning: str


FIGURES = {
    "operations_per_second": Figure("ops/s", "operations per simulated second"),
    "ratio": Figure("ratio", f"throughput over that of {BASELINE} with as many threads"),
    "transfers": Figure("transfers", "cache lines moved per acquisition, from any distance"),
    "transfers_far": Figure("far", "of these, from another package"),
    "invalidations": Figure("inval.", "copies taken away per acquisition"),
    "handovers_far": Figure("moves", "share of the acquisitions for which the lock left its node"),
    "lwss": Figure("LWSS", "different holders in 1000 acquisitions"),
    "mttr": Figure("MTTR", "median acquisitions of others until a thread's next one"),
    "gini": Figure("Gini", "inequality of the threads' operations: 0 for equal, near 1 for one"),
    "wait_p99_ns": Figure("p99", "the 99th percentile of an acquisition's duration"),
    "sleeps": Figure("sleeps", "sleeps per acquisition"),
    "joules_per_million": Figure("J/M", "joules per million operations"),
}


def figures(line: Line) -> dict[str, float]:
    """The figures of one cell, but for the ratio."""

    def whole(name: str) -> int:
        value = line[name]
        assert isinstance(value, int)
        return value

    def several(name: str) -> list[int]:
        value = line[name]
        assert isinstance(value, list)
        return value

    seconds = whole("picoseconds") / 1e12
    taken = max(1, whole("acquisitions"))
    done = whole("operations")
    transfers = several("transfers")
    handovers = several("handovers")
    windows = whole("lwss_windows")
    return {
        "operations_per_second": done / seconds,
        "transfers": sum(transfers) / taken,
        "transfers_far": sum(transfers[4:]) / taken,
        "invalidations": whole("invalidations") / taken,
        "handovers_far": sum(handovers[3:]) / taken,
        "lwss": whole("lwss_distinct") / windows if windows else float("nan"),
        "mttr": float(whole("mttr")),
        "gini": gini(several("per_thread")),
        "wait_p99_ns": whole("wait_p99_ps") / 1e3,
        "sleeps": whole("sleeps") / taken,
        "joules_per_million": whole("picojoules") / 1e6 / done if done else float("nan"),
    }


def gini(values: Sequence[int]) -> float:
    """The Gini coefficient: 0 where all are equal."""
    total = sum(values)
    if total == 0:
        return 0.0
    ranked = sorted(values)
    weighted = sum(rank * value for rank, value in enumerate(ranked, 1))
    count = len(ranked)
    return 2 * weighted / (count * total) - (count + 1) / count


def table_rows(results: Results) -> list[dict[str, object]]:
    """A row for each cell, by threads and then by throughput; cells that failed come last."""
    found: list[dict[str, object]] = []
    base = {
        cell.threads: figures(line)["operations_per_second"]
        for cell, line in results.lines.items()
        if cell.lock == BASELINE
    }
    for cell, line in results.lines.items():
        values = figures(line)
        reference = base.get(cell.threads, 0.0)
        values["ratio"] = values["operations_per_second"] / reference if reference else float("nan")
        found.append({"lock": cell.lock, "threads": cell.threads, **values})
    found.sort(key=lambda one: (one["threads"], -_float(one["operations_per_second"])))
    return found


def _float(value: object) -> float:
    assert isinstance(value, float)
    return value


def _shown(name: str, value: float) -> str:
    if value != value:
        return "-"
    if name == "operations_per_second":
        return numbers.count(value)
    if name == "ratio":
        return numbers.ratio(value)
    if name == "wait_p99_ns":
        return numbers.time(value)
    if name == "handovers_far":
        return numbers.share(value)
    return numbers.plain(value)


def heading(orders: Orders) -> str:
    """Return a line that describes what was simulated."""
    options = " ".join(f"{name}={value}" for name, value in orders.parameters.items())
    what = f"{orders.workload} {options}".strip()
    return f"Simulated, not measured: {what} on {orders.machine.title}"


def table(orders: Orders, rows: Sequence[Mapping[str, object]], threads: int) -> Table:
    """The cells with so many threads."""
    shown = Table(
        title=f"{heading(orders)}, {threads} threads",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
    )
    shown.add_column("Lock", no_wrap=True)
    for figure in FIGURES.values():
        shown.add_column(figure.heading, justify="right", no_wrap=True)
    for one in rows:
        if one["threads"] == threads:
            cells = [_shown(name, _float(one[name])) for name in FIGURES]
            shown.add_row(str(one["lock"]), *cells)
    return shown


def as_csv(orders: Orders, rows: Sequence[Mapping[str, object]]) -> str:
    """A line for each cell."""
    text = io.StringIO()
    names = ["simulated", "machine", "workload", "lock", "threads", *FIGURES]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for one in rows:
        fixed = {"simulated": 1, "machine": orders.machine.name, "workload": orders.workload}
        writer.writerow({**fixed, **one})
    return text.getvalue()


def as_json(
    orders: Orders,
    results: Results,
    rows: Sequence[Mapping[str, object]],
    complete: bool,
    open_pairs: Sequence[OpenPair] = (),
) -> str:
    """Everything, with the machine and its sources."""
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
        "rows": [_finite(one) for one in rows],
        "open": [asdict(pair) for pair in open_pairs],
        "runs": [dict(line) for line in results.lines.values()],
        "failures": [
            {"lock": cell.lock, "threads": cell.threads, "what": what}
            for cell, what in results.failures.items()
        ],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _finite(one: Mapping[str, object]) -> dict[str, object]:
    return {
        name: None if isinstance(value, float) and value != value else value
        for name, value in one.items()
    }


def as_page(
    orders: Orders,
    rows: Sequence[Mapping[str, object]],
    failures: Sequence[str],
    open_pairs: Sequence[OpenPair] = (),
) -> str:
    """A page of its own with the table, what its columns are, and the machine's sources."""
    lines = []
    for one in rows:
        cells = [(str(one["lock"]), str(one["lock"])), (str(one["threads"]), str(one["threads"]))]
        for name in FIGURES:
            value = _float(one[name])
            cells.append(number(value, _shown(name, value)))
        lines.append(Row(cells))
    return templates.fill(
        "simulate/page/page.html",
        {"locks": list(dict.fromkeys(str(one["lock"]) for one in rows)), "baseline": BASELINE},
        title=heading(orders),
        failures=failures,
        ranges=len(orders.machine.ranges),
        open_pairs=[pair.text for pair in open_pairs],
        columns=["Lock", "threads", *(figure.heading for figure in FIGURES.values())],
        rows=lines,
        meanings={figure.heading: figure.meaning for figure in FIGURES.values()},
        sources=_sources(orders.machine),
    )


def _range(machine: Machine, name: str) -> str:
    if name not in machine.ranges:
        return ""
    low, high = machine.ranges[name]
    return f" ({low:g} to {high:g})"


def _sources(machine: Machine) -> dict[str, str]:
    found = {}
    for section, source in machine.sources.items():
        values = [
            f"{name.partition('.')[2]} = {value:g}{_range(machine, name)}"
            for name, value in machine.figures.items()
            if name.startswith(f"{section}.")
        ]
        found[section] = f"{', '.join(values)}. Source: {source}"
    return found
