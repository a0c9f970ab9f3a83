"""An earlier comparison as the baseline of the present one: `compare --baseline`."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from lockwright.base import documents, numbers
from lockwright.base.errors import LockwrightError
from lockwright.compare.plan import UNSPECIFIED, Plan, at_threads, threads_of
from lockwright.experiment import Summary
from lockwright.experiment.report import INCOMPLETE, Grid, Report
from lockwright.machine import provenance
from lockwright.machine.finding import WARN
from lockwright.page import rows as page_rows
from lockwright.stats import inference

_MACHINE = ("machine", "cpu", "cpus", "numa nodes")
"""Facts of the hardware. If one differs, no difference of the figures is the program's."""
_CONDITIONS = ("memory (GiB)", "kernel", "system", "libc", "compiler", "lockwright", "revision")
"""Facts that may be the reason for a difference."""

_Cell = tuple[int, str]
"""Number of threads and lock."""


@dataclass(frozen=True)
class _Plan:
    metric: str | None
    unit: str
    lower_is_better: bool
    command: tuple[str, ...]


@dataclass(frozen=True)
class _Run:
    threads: int | None
    lock: str
    round: int
    value: float | None


@dataclass(frozen=True)
class _File:
    """What the JSON file of a comparison has for the next one."""

    schema: Literal[1]
    started: str
    plan: _Plan
    provenance: dict[str, Any]
    runs: tuple[_Run, ...]

    def __post_init__(self) -> None:
        datetime.fromisoformat(self.started)


@dataclass(frozen=True)
class Earlier:
    """The earlier comparison. values: of its finished, counted runs."""

    path: Path
    file: _File
    values: Mapping[_Cell, Sequence[float]]


@dataclass(frozen=True)
class Row:
    """A lock at one number of threads. before, now: medians in the plan's unit, None without a
    finished run; ratio: now to before, above 1 is better; low, high: its confidence interval, None
    for fewer than two runs on either side; is_worse: shown to be worse by more than the limit."""

    threads: int
    lock: str
    before: float
    now: float | None
    ratio: float | None
    low: float | None
    high: float | None
    is_worse: bool


@dataclass(frozen=True)
class Change:
    """The difference between both comparisons. machine, conditions: facts that differ, in words;
    limit: the accepted share of change for the worse; confidence: of each interval; fixed_time:
    whether the program seems to run for a fixed time, so that only runs without an end count."""

    earlier: Earlier
    limit: float
    confidence: float
    rows: Sequence[Row]
    machine: Sequence[str]
    conditions: Sequence[str]
    fixed_time: bool = False

    @property
    def is_worse(self) -> bool:
        """True if a row is shown to be worse on the same machine."""
        return not self.machine and any(row.is_worse for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the part of the JSON file."""
        rows = [
            asdict(row) | {"threads": None if row.threads == UNSPECIFIED else row.threads}
            for row in self.rows
        ]
        return {
            "started": self.earlier.file.started,
            "limit": self.limit,
            "confidence": self.confidence,
            "other_machine": list(self.machine),
            "other_conditions": list(self.conditions),
            "fixed_time": self.fixed_time,
            "is_worse": self.is_worse,
            "rows": rows,
        }

    def sentence(self) -> str:
        """Return the conclusion."""
        limit = f"{100 * self.limit:g} %"
        worse = [row for row in self.rows if row.is_worse]
        if self.machine:
            return (
                "The baseline was measured on another machine, so nothing is shown about the "
                f"program ({'; '.join(self.machine)}); measure it again on this one."
            )
        if worse:
            rows = "; ".join(f"{row.lock}{at_threads(row.threads)}{_amount(row)}" for row in worse)
            return f"Worse than the baseline by more than {limit}: {rows}."
        if self.fixed_time:
            return "Wall times show nothing against the baseline; compare figures of --metric."
        if all(row.low is None for row in self.rows):
            return "A single run cannot be compared with the baseline; use more --runs."
        return f"Not shown to be worse than the baseline by more than {limit}."


def _amount(row: Row) -> str:
    if row.ratio is None:
        return " (no run finished)"
    return f" (ratio {numbers.ratio(row.ratio)}, {numbers.interval(row.low, row.high)})"


def read(path: Path) -> Earlier:
    """Read the JSON file of a comparison. Raises LockwrightError if it is none."""
    todo = "name a file that this version's 'lockwright compare --json' wrote"
    try:
        text = path.read_bytes()
    except OSError as error:
        raise LockwrightError(f"cannot read --baseline {path}: {error.strerror}", todo) from error
    file = documents.decode(_File, text, f"--baseline {path}", todo)
    values: dict[_Cell, list[float]] = {}
    for run in file.runs:
        if run.round >= 1 and run.value is not None:
            threads = UNSPECIFIED if run.threads is None else run.threads
            values.setdefault((threads, run.lock), []).append(run.value)
    return Earlier(path, file, values)


def check(earlier: Earlier, plan: Plan, is_limited: bool) -> None:
    """Raise LockwrightError if the plan cannot be compared. is_limited: with --fail-if-worse."""
    for name in ("metric", "unit", "lower_is_better"):
        before, now = getattr(earlier.file.plan, name), getattr(plan, name)
        if before != now:
            raise LockwrightError(
                f"--baseline {earlier.path} has another --{name.replace('_', '-')} ({before}, now"
                f" {now})",
                "use the options of that comparison",
            )
    cells = {(threads, lock) for threads in plan.threads for lock in plan.locks}
    if not cells & earlier.values.keys():
        raise LockwrightError(
            f"--baseline {earlier.path} has finished runs of none of these locks and --threads",
            "use the options of that comparison",
        )
    if is_limited and plan.runs < 2:
        raise LockwrightError("--fail-if-worse needs two runs or more", "add --runs 5")


def compare(
    earlier: Earlier,
    plan: Plan,
    tables: Sequence[Sequence[Summary]],
    facts: Mapping[str, Any],
    limit: float,
    fixed_time: bool = False,
) -> Change:
    """Compare each lock with its earlier runs. The rows share 5 % of error (Bonferroni).

    facts: the present provenance; limit: 0.05 accepts 1.05 times the earlier figure if lower is
    better, 0.95 times if higher is. fixed_time: as of Change.
    """
    pairs = [
        (row, earlier.values.get((threads_of(row), row.contender)))
        for table in tables
        for row in table
    ]
    known = [(row, before) for row, before in pairs if before]
    confidence = 1 - (1 - inference.CONFIDENCE) / max(1, len(known))
    least = 1 / (1 + limit) if plan.lower_is_better else 1 - limit
    rows = []
    for summary, before in known:
        ratio = None
        if not fixed_time:
            ratio = inference.independent_ratio(
                summary.values, before, plan.lower_is_better, confidence
            )
        high = ratio.high if ratio else None
        rows.append(
            Row(
                threads_of(summary),
                summary.contender,
                statistics.median(before),
                summary.median,
                ratio.value if ratio else None,
                ratio.low if ratio else None,
                high,
                not summary.values or (high is not None and high < least),
            )
        )
    settings = sorted(
        name for name in {*earlier.file.provenance, *facts} if name.startswith("LOCKWRIGHT_")
    )
    return Change(
        earlier,
        limit,
        confidence,
        rows,
        _differences(earlier.file.provenance, facts, _MACHINE),
        [
            *_differences(earlier.file.provenance, facts, (*_CONDITIONS, *settings)),
            *([] if plan.command == earlier.file.plan.command else ["another command line"]),
            *_disturbances(earlier.file.provenance, "the baseline"),
            *_disturbances(facts, "this comparison"),
        ],
        fixed_time,
    )


def grid(plan: Plan, change: Change) -> Grid:
    """Return the table against the earlier comparison, and what differs between both."""
    interval = f"{numbers.percent(change.confidence, 1)} CI"
    unit = plan.unit
    headings = ("lock", f"before ({unit})", f"now ({unit})", "ratio to before", interval)
    rows = [
        page_rows.Row([(text, text) for text in _cells(row)], INCOMPLETE if row.is_worse else "")
        for row in change.rows
    ]
    notes = [f"Other conditions: {condition}" for condition in change.conditions]
    title = f"against {change.earlier.path}, {change.earlier.file.started}"
    return Grid(title, headings, rows, notes)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        f"{row.lock}{at_threads(row.threads)}",
        numbers.figure(row.before),
        "-" if row.now is None else numbers.figure(row.now),
        "-" if row.ratio is None else numbers.ratio(row.ratio),
        numbers.interval(row.low, row.high),
    )


def with_change(report: Report, plan: Plan, change: Change) -> Report:
    """Return the report with the change against an earlier comparison."""
    return replace(
        report,
        appendix=[grid(plan, change)],
        last_word=change.sentence(),
        more={**report.more, "baseline": change.as_json()},
    )


def _differences(
    before: Mapping[str, Any], now: Mapping[str, Any], names: Sequence[str]
) -> list[str]:
    return [
        f"{name}: {_printable(before.get(name))}, now {_printable(now.get(name))}"
        for name in names
        if before.get(name) != now.get(name)
    ]


def _printable(fact: Any) -> str:
    """Return a fact as a short text without control characters, which a file may have."""
    text = str(fact)
    short = text if len(text) <= 100 else f"{text[:100]}..."
    return "".join(letter if letter.isprintable() else "?" for letter in short)


def _disturbances(facts: Mapping[str, Any], what: str) -> list[str]:
    findings = facts.get(provenance.FINDINGS)
    names = [
        _printable(each.get("name"))
        for each in (findings if isinstance(findings, list) else [])
        if isinstance(each, dict) and each.get("level") == WARN
    ]
    return [f"'lockwright doctor' warned before {what}: {', '.join(names)}"] if names else []
