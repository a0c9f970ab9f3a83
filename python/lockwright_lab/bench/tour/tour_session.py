"""A session of a tour: its start or resumption, measurements, and files."""

import json
import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base import files, interrupts, invocation
from lockwright.calibrate.report import Report, noise
from lockwright.doctor import examine
from lockwright.machine import provenance
from lockwright.machine.meters import Meters
from lockwright.run.bench_program import LIBC, Outcome, Subject, loops_per_us, subjects
from lockwright.run.resume import check_facts
from lockwright.run.run_log import SCHEMA

from lockwright_lab.bench.cases import Case
from lockwright_lab.bench.claims import measure, show
from lockwright_lab.bench.claims.evaluate import Machine
from lockwright_lab.bench.claims.table import CLAIMS, choose
from lockwright_lab.bench.output import csv_text
from lockwright_lab.bench.rounds import RoundResults, RunLengths
from lockwright_lab.bench.tour import page, store, tour_figures, tour_plan
from lockwright_lab.bench.tour.drive import Clock, drive
from lockwright_lab.bench.tour.page import Tour

REPORT, FIGURES, DOCUMENT = "report.html", "figures.csv", "tour.json"
"""The files of a tour in its directory."""


@dataclass
class TourSession:
    """A tour in its directory, with the runs made so far."""

    directory: Path
    header: store.Header
    machine: Machine
    results: RoundResults = field(default_factory=RoundResults)
    failures: list[str] = field(default_factory=list)

    @property
    def claims(self) -> list[str]:
        """The names of the tested claims."""
        return self.header.claims

    def plan(self) -> tour_plan.Plan:
        """Return the plan: the tour's own figures, and the claims that can be shown here."""
        claims = choose(",".join(self.claims)) if self.claims else []
        return tour_plan.make(
            self.header.locks, self.header.processors, measure.possible(claims, self.machine)
        )


def begin(directory: Path, locks: str | None, with_claims: bool, minutes: float) -> TourSession:
    """Begin a tour of the locks (None: those of the papers) in a directory, which is created.

    Raises LockwrightError for unknown locks, and if the directory has a tour already.
    """
    machine = measure.this_machine()
    chosen = [subject.name for subject in subjects(locks, _default_locks(machine))]
    store.log(directory).prepare_directory()
    files.check_all_writable({f"-o, file {REPORT}": directory / REPORT})
    claims = CLAIMS if with_claims else []
    facts = provenance.machine() | {
        provenance.FINDINGS: provenance.as_facts(examine.examine_this_machine()),
    }
    plan = tour_plan.make(chosen, machine.processors, measure.possible(claims, machine))
    header = store.Header(
        started=time.strftime("%Y-%m-%d %H:%M:%S %z"),
        locks=chosen,
        claims=[claim.name for claim in claims],
        processors=machine.processors,
        seconds=round(tour_plan.seconds_of_a_run(60 * minutes, len(plan.cases())), 3),
        loops_per_us=loops_per_us(),
        facts=facts,
    )
    store.log(directory).begin(vars(header))
    store.log(directory).adopt()
    return TourSession(directory, header, machine)


def resume(directory: Path) -> TourSession:
    """Return the tour in the directory. Raises LockwrightError if it cannot be resumed."""
    header, results, failures = store.load(store.log(directory))
    advice = "its runs do not compare: begin one in another directory"
    check_facts(header.facts, provenance.machine(), "the tour", advice)
    store.log(directory).adopt()
    return TourSession(directory, header, measure.this_machine(), results, failures)


def run(session: TourSession, minutes: float) -> tuple[Tour, interrupts.Stopped | None, float]:
    """Measure for some minutes; return the tour, the signal that ended it, if any, and the
    remaining minutes."""
    command = _command(session, minutes)
    report = Report("tour", command, {}, [])
    report.meters = Meters(energy=not session.machine.no_energy)
    by_name = {each.name: each for each in _subjects(session.header.locks)}
    lengths = RunLengths(session.header.seconds, tour_plan.WARM_UP, session.header.loops_per_us)
    clock = Clock(60 * minutes)

    def add(case: Case, round_number: int, outcome: Outcome) -> None:
        store.add(store.log(session.directory), case, round_number, outcome)

    plan = session.plan()
    stopped = interrupts.until_stopped(
        lambda: drive(report, plan, by_name, lengths, session.results, clock, add)
    )
    session.failures += report.failures
    remarks = report.remarks()
    if report.busy is not None:
        remarks.append(noise(report.busy))
    remarks += [f"Failed: {failure}" for failure in dict.fromkeys(session.failures)]
    claims = choose(",".join(session.claims)) if session.claims else []
    tour = Tour(
        session.header,
        plan,
        session.results,
        measure.findings(claims, session.results, session.machine),
        remarks,
        shlex.join(command),
        session.machine.no_energy,
        stopped is not None,
    )
    return tour, stopped, clock.left / 60


def _command(session: TourSession, minutes: float) -> list[str]:
    """Return the command that repeats the tour."""
    words = [*invocation.command_words(), "bench", "tour", "--minutes", f"{minutes:g}"]
    chosen = [name for name in session.header.locks if name != LIBC]
    if chosen != _default_locks(session.machine):
        words += ["--locks", ",".join(chosen)]
    return [*words, *([] if session.claims else ["--no-claims"]), "-o", str(session.directory)]


def _default_locks(machine: Machine) -> list[str]:
    return [name for name in tour_plan.LOCKS if name in machine.locks]


def _subjects(locks: Sequence[str]) -> list[Subject]:
    """Return all locks, for the claims, and those of the tour, also if for measurements only."""
    return [*subjects("all", None), *subjects(",".join(locks), None)]


def write(tour: Tour, directory: Path) -> list[Path]:
    """Write the report and the files with the figures; return their paths, the report first."""
    document = {
        "schema": SCHEMA,
        **vars(tour.header),
        "command": tour.command,
        "figures": page.data(tour),
        "claims": [show.row(finding) for finding in tour.findings],
        "remarks": list(tour.remarks),
        "not measurable here": {"energy": tour.no_energy} if tour.no_energy else {},
    }
    contents = {
        REPORT: page.render(tour),
        FIGURES: csv_text(list(tour_figures.rows(tour.plan, tour.results))),
        DOCUMENT: json.dumps(document, indent=1) + "\n",
    }
    for name, content in contents.items():
        files.write(directory / name, content, "-o")
    return [directory / name for name in contents]


def resume_command(directory: Path, minutes_left: float) -> str:
    """Return the command that resumes a stopped tour."""
    minutes = max(0.1, math.ceil(10 * minutes_left) / 10)
    words = [*invocation.command_words(), "bench", "tour", "--resume", "-o", str(directory)]
    return shlex.join([*words, "--minutes", f"{minutes:g}"])
