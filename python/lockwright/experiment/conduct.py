"""An experiment from its first check to its files: what the command of an experiment calls.

The same command with --resume continues an experiment that was interrupted.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from lockwright.base import files, interrupts, terminal
from lockwright.base.progress import print_line
from lockwright.doctor import examine
from lockwright.experiment import export, page
from lockwright.experiment import report as reports
from lockwright.experiment import terminal as texts
from lockwright.experiment.declaration import Experiment
from lockwright.experiment.report import Report
from lockwright.experiment.request import Request
from lockwright.experiment.session import Session, open_session
from lockwright.experiment.store import Store, default_path
from lockwright.machine import provenance
from lockwright.machine.meters import FACTS, Idle, Meters
from lockwright.run import resume

SAVED_ADVICE = "all runs are saved: free space or name another file, and repeat with --resume"
"""The advice if a result cannot be written."""


def conduct(
    experiment: Experiment,
    request: Request,
    make: Callable[[Experiment, Session], Report] | None = None,
) -> int:
    """Make the missing runs, print the report, and write the files. Return the exit status: 0, 1 if
    a run failed, or that of the signal that ended it early. make: makes another report than the
    usual one."""
    with interrupts.stop_on_signals():
        store = Store(request.db or default_path())
        session = None
        try:
            session = _open(experiment, store, request)
            session.carry_out()
            report = (make or _report)(experiment, session)
            present(report, request)
            assert session.stored is not None
            if experiment.unfinished():
                print_interrupted(request.resume)
            else:
                store.finish(session.stored)
        except interrupts.Stopped as stopped:
            print_interrupted(request.resume)
            if session is not None and session.runs.all:
                texts.show(terminal.output(), (make or _report)(experiment, session))
            return stopped.status
        finally:
            store.close()
    return int(bool(report.failures))


def _open(experiment: Experiment, store: Store, request: Request) -> Session:
    findings = examine.examine_this_machine()
    facts = provenance.machine() | {provenance.FINDINGS: provenance.as_facts(findings)}
    if experiment.meters is not None and not request.resume:
        facts |= facts_of_meters(experiment.meters)
    session = open_session(experiment, store, facts, resume=request.resume)
    if disturbances := examine.disturbances(findings):
        print_line(f"'lockwright doctor' warns of {disturbances}")
    if experiment.meters is not None and session.stored is not None:
        experiment.meters.idle = idle_of(session.stored.facts)
    return session


def facts_of_meters(meters: Meters) -> dict[str, Any]:
    """Measure the idle machine if meters are wanted, and return the facts to store."""
    if not meters.wanted:
        return {}
    meters.measure_idle()
    return {FACTS: meters.as_facts()}


def idle_of(facts: Mapping[str, Any]) -> Idle | None:
    """Return the idle machine's power before the first run of an experiment."""
    idle = facts.get(FACTS, {}).get("idle")
    return None if idle is None else Idle(**idle)


def _report(experiment: Experiment, session: Session) -> Report:
    stored = session.stored
    facts = {} if stored is None else stored.facts
    started = "" if stored is None else stored.started
    return reports.make(experiment, session.runs, started=started, facts=facts)


Print = Callable[[Console, Report], None]


def present(
    report: Report,
    request: Request,
    write_more: Callable[[Report], None] = lambda _: None,
    before: Print = lambda _console, _report: None,
    after: Print = lambda _console, _report: None,
) -> None:
    """Print a report and write its files; its conclusion is printed last, also if a file cannot be
    written. write_more: writes further files; before, after: print what precedes the tables, and
    the conclusion."""
    console = terminal.output()
    before(console, report)
    texts.show(console, report)
    console.file.flush()
    try:
        write_files(report, request)
        write_more(report)
    finally:
        after(console, report)
        texts.conclude(console, report)
        console.file.flush()


def write_files(report: Report, request: Request) -> None:
    """Write the report to the files of a request."""
    for option, file, render in (
        ("--json", request.json_file, export.to_json),
        ("--csv", request.csv_file, export.to_csv),
        ("--html", request.html_file, page.render),
    ):
        if file is not None:
            files.write(file, render(report), option, SAVED_ADVICE)
            print_line(f"wrote {file}")


def print_interrupted(is_resumed: bool) -> None:
    """Print the command that continues this one."""
    added = () if is_resumed else ("--resume",)
    print_line(resume.interruption_message(resume.resume_command(*added)))
