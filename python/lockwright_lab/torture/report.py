"""The output of a torture: its progress, failures, table and JSON document."""

import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lockwright import version
from lockwright.base import files, invocation, progress, terminal
from lockwright.base.progress import duration
from lockwright.machine.provenance import machine
from rich import box
from rich.table import Table

from lockwright_lab.torture.plan import Run
from lockwright_lab.torture.run import Finding, Options


class Display:
    """The progress: a live line on a terminal, plain lines elsewhere."""

    def __init__(self, planned: Sequence[Run], shown: progress.Display) -> None:
        self._left = sum(run.seconds for run in planned)
        self._shown = shown
        self._run: Run | None = None
        self._since = 0.0

    def begin(self, run: Run) -> None:
        self._run, self._since = run, time.monotonic()
        self.phase("")

    def phase(self, what: str) -> None:
        """Show the phase that begins. what: its description."""
        assert self._run is not None
        elapsed = min(time.monotonic() - self._since, self._run.seconds)
        text = f"{self._run.label}: {what}" if what else self._run.label
        self._shown.announce(text, text if what else "", self._left - elapsed)

    def end(self, finding: Finding) -> None:
        assert self._run is not None
        self._left -= self._run.seconds
        self._shown.advance()
        if not sys.stderr.isatty():
            result = "clean" if finding.failure is None else "FAILED"
            left = f", about {duration(self._left)} left" if self._left else ""
            progress.print_line(f"{self._run.label}: {result}{left}")


@contextmanager
def display(planned: Sequence[Run]) -> Iterator[Display]:
    """Show the progress of the runs."""
    with progress.Display(len(planned), 0) as shown:
        yield Display(planned, shown)


def repeat_command(run: Run, finding: Finding, options: Options) -> str:
    """Return the command that repeats the phase of a failure."""
    words = [*invocation.command_words(), "torture", run.name, "--seed", str(options.seed)]
    phase = (finding.failure or {}).get("phase")
    if phase is not None:
        words += ["--phase", str(phase)]
    for option, parts in (("--only", options.only), ("--without", options.without)):
        if parts:
            words += [option, ",".join(parts)]
    declared = [f"{name}={shlex.quote(value)}" for name, value in run.settings.items()]
    return " ".join([*declared, shlex.join(words)])


def show_failure(run: Run, finding: Finding, options: Options) -> None:
    """Print a failure as soon as it occurs, with the state of the threads."""
    assert finding.failure is not None
    console = terminal.output()
    console.print(
        f"{run.label} FAILED: {finding.failure['what']}", style="bold red", soft_wrap=True
    )
    if "in" in finding.failure:
        where = f"  in phase {finding.failure['phase']}: {finding.failure['in']}"
        console.print(where, soft_wrap=True)
    for line in finding.state.splitlines():
        console.print(f"  | {line}", soft_wrap=True)
    console.print(f"  Again: {repeat_command(run, finding, options)}", soft_wrap=True)
    sys.stdout.flush()


def show_table(results: Sequence[tuple[Run, Finding]]) -> None:
    """Print a line for each run."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("Lock")
    table.add_column("Result")
    for heading in ("Phases", "Sections", "Threads", "Signals", "Stops", "Time"):
        table.add_column(heading, justify="right")
    for run, finding in results:
        failure, final = finding.failure, finding.final or {}
        result = "clean" if failure is None else f"FAILED: {failure['check']}"
        names = ("phases", "sections", "most_threads", "signals", "stops")
        figures = [f"{int(final[name]):,}" if name in final else "-" for name in names]
        table.add_row(run.label, result, *figures, duration(finding.seconds))
    terminal.output().print(table)


def write(
    path: Path,
    command: Sequence[str],
    options: Options,
    results: Sequence[tuple[Run, Finding]],
    complete: bool,
) -> None:
    """Write all results as one JSON document."""
    document: dict[str, Any] = {
        "command": list(command),
        "lockwright": version(),
        "machine": machine(),
        "seed": options.seed,
        "complete": complete,
        "runs": [_row(run, finding, options) for run, finding in results],
    }
    files.write(path, json.dumps(document, indent=1) + "\n", "--json")


def _row(run: Run, finding: Finding, options: Options) -> Mapping[str, Any]:
    row: dict[str, Any] = {
        "lock": run.name,
        "topology": run.topology,
        "numbers": dict(run.numbers),
        "clean": finding.failure is None,
        "seconds": finding.seconds,
        "phases": list(finding.phases),
        "final": finding.final,
    }
    if finding.failure is not None:
        row["failure"] = dict(finding.failure)
        row["state"] = finding.state
        row["again"] = repeat_command(run, finding, options)
    return row
