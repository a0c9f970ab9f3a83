"""A torture from its options to its verdict: what `lockwright torture` does."""

import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
from lockwright.base import interrupts
from lockwright.base.progress import duration
from lockwright.machine import calibration
from lockwright.preload.locks import BASELINE, Lock, Registry, registry
from lockwright.preload.rwlocks import RwLock

from lockwright_lab.torture import plan, report
from lockwright_lab.torture.run import READERS, Finding, Options, torture


@dataclass(frozen=True)
class Planned:
    """The runs to make. locks: those under test, or the one whose library has the reader-writer
    locks; rwlocks: those under test."""

    registry: Registry
    locks: Sequence[Lock]
    rwlocks: Sequence[RwLock]
    options: Options
    seconds: float
    runs: Sequence[plan.Run]

    def announce(self, name: str) -> None:
        """Print what is tested. name: as it was asked for."""
        subject = {
            "all": f"{len(self.locks)} locks",
            plan.RWLOCKS: f"{len(self.rwlocks)} reader-writer locks",
        }.get(name, name)
        click.echo(f"Torture of {subject}, {duration(self.seconds)}, seed {self.options.seed}.")
        for line in [] if self.rwlocks else plan.remarks(self.locks):
            click.echo(line)
        sys.stdout.flush()


@dataclass
class Tortured:
    """The runs that were made, and the signal that ended them early."""

    planned: Planned
    findings: list[tuple[plan.Run, Finding]] = field(default_factory=list)
    stopped: interrupts.Stopped | None = None


def prepare(
    name: str,
    budget: float | None,
    seed: int | None,
    patience: float,
    phase: int | None,
    only: str | None,
    without: str | None,
) -> Planned:
    """Check the options of the command, and plan the runs. Raises LockwrightError."""
    known = registry()
    is_mutex = name == "all" or name in known.names
    rwlocks = [] if is_mutex else plan.chosen_rwlocks(name)
    # Every library has the reader-writer locks.
    beside = BASELINE if BASELINE in known.names else known.names[0]
    chosen = [known.find(beside)] if rwlocks else plan.chosen_locks(name, known)
    for lock in chosen:
        known.path_of(lock.name)
        known.check_environment(lock.name, os.environ)
    kinds = (READERS,) if rwlocks else plan.KINDS
    options = Options(
        seed=secrets.randbits(32) if seed is None else seed,
        patience=patience,
        phase=phase,
        only=plan.parse_words(only, "--only", kinds),
        without=plan.parse_words(without, "--without", (*kinds, *plan.DISTURBANCES)),
    )
    seconds = budget or 60.0 * len(rwlocks or chosen)
    if rwlocks:
        options = replace(options, only=(READERS,))
        runs = plan.planned_runs(rwlocks, seconds, chosen[0])
    else:
        plan.check(options, chosen)
        runs = plan.planned_runs(chosen, seconds)
    return Planned(known, chosen, rwlocks, options, seconds, runs)


def carry_out(planned: Planned) -> Tortured:
    """Make the runs, and print each failure as soon as it occurs."""
    known, options = planned.registry, planned.options
    names = [lock.name for lock in planned.locks]
    calibrated = calibration.calibrated_variables(known, names, os.environ)
    inherited = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    tortured = Tortured(planned)
    try:
        with interrupts.stop_on_signals(), report.display(planned.runs) as display:
            for run in planned.runs:
                display.begin(run)
                environment = inherited | calibrated[run.lock.name] | run.variables
                finding = torture(
                    known.path_of(run.lock.name),
                    environment,
                    options,
                    run.seconds,
                    parks=run.parks,
                    fifo=run.rwlock is None and plan.is_fifo(run.lock),
                    handovers_aside=plan.most_handovers_aside(run.lock, environment),
                    on_phase=display.phase,
                )
                tortured.findings.append((run, finding))
                display.end(finding)
                if finding.failure is not None:
                    report.show_failure(run, finding, options)
    except interrupts.Stopped as signalled:
        tortured.stopped = signalled
    return tortured


def conclude(tortured: Tortured, json_file: Path | None) -> int:
    """Print the table and the verdict, and write the findings. Return the exit status."""
    findings, options = tortured.findings, tortured.planned.options
    report.show_table(findings)
    failed = [(run, finding) for run, finding in findings if finding.failure is not None]
    for run, finding in failed:
        click.echo(f"Again: {report.repeat_command(run, finding, options)}")
    if json_file is not None:
        report.write(json_file, sys.argv[1:], options, findings, tortured.stopped is None)
        click.echo(f"Written: {json_file}")
    count = len(tortured.planned.runs)
    if tortured.stopped is not None:
        click.echo(f"Stopped after {len(findings)} of {count} runs.")
        return tortured.stopped.status
    click.echo("Clean." if not failed else f"{len(failed)} of {count} runs failed.")
    return 1 if failed else 0
