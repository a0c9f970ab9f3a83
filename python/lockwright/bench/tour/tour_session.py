"""One session of a tour: begins or resumes it, measures, and writes its files."""

import csv
import io
import json
import math
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base import files, interrupts, invocation
from lockwright.bench.cases import Case
from lockwright.bench.claims import measure, show
from lockwright.bench.claims.evaluate import Machine
from lockwright.bench.claims.table import CLAIMS, choose
from lockwright.bench.report import Report, noise
from lockwright.bench.rounds import Pace, Seen
from lockwright.bench.tour import page, store, tour_figures, tour_plan
from lockwright.bench.tour.drive import Clock, drive
from lockwright.bench.tour.page import Tour
from lockwright.doctor import examine
from lockwright.machine import provenance
from lockwright.machine.meters import Meters
from lockwright.run.bench_program import LIBC, Outcome, Subject, loops_per_us, subjects
from lockwright.run.resume import check_facts
from lockwright.run.run_log import SCHEMA

REPORT, FIGURES, WHOLE = "report.html", "figures.csv", "tour.json"
"""What a tour leaves in its directory."""


@dataclass
class TourSession:
    """A tour in its directory, with the runs that were made by now."""

    directory: Path
    header: store.Header
    here: Machine
    seen: Seen = field(default_factory=Seen)
    failures: list[str] = field(default_factory=list)

    @property
    def claims(self) -> list[str]:
        """Names of the claims that are tested."""
        return self.header.claims

    def plan(self) -> tour_plan.Plan:
        """What is run: the claims that can be shown here, beside the tour's own figures."""
        claims = choose(",".join(self.claims)) if self.claims else []
        return tour_plan.make(
            self.header.locks, self.header.processors, measure.possible(claims, self.here)
        )


def begin(directory: Path, locks: str | None, with_claims: bool, minutes: float) -> TourSession:
    """A tour of the locks (None: those of the papers), in a directory that it makes.

    Raises LockwrightError for locks that there are not, and where there is a tour already.
    """
    here = measure.machine()
    chosen = [subject.name for subject in subjects(locks, _default_locks(here))]
    store.log(directory).prepare_directory()
    files.check_all_writable({f"-o, file {REPORT}": directory / REPORT})
    claims = [claim.name for claim in CLAIMS] if with_claims else []
    facts = provenance.machine() | {
        provenance.FINDINGS: provenance.as_facts(examine.examine_this_machine()),
    }
    count = len(
        tour_plan.make(
            chosen, here.processors, measure.possible(CLAIMS, here) if with_claims else []
        ).cases()
    )
    header = store.Header(
        started=time.strftime("%Y-%m-%d %H:%M:%S %z"),
        locks=chosen,
        claims=claims,
        processors=here.processors,
        seconds=round(tour_plan.seconds_of_a_run(60 * minutes, count), 3),
        loops_per_us=loops_per_us(),
        facts=facts,
    )
    store.log(directory).begin(vars(header))
    store.log(directory).adopt()
    return TourSession(directory, header, here)


def resume(directory: Path) -> TourSession:
    """The tour in the directory. Raises LockwrightError if it cannot be resumed."""
    header, seen, failures = store.load(store.log(directory))
    todo = "its runs do not compare: begin one in another directory"
    check_facts(header.facts, provenance.machine(), "the tour", todo)
    store.log(directory).adopt()
    return TourSession(directory, header, measure.machine(), seen, failures)


def run(session: TourSession, minutes: float) -> tuple[Tour, interrupts.Stopped | None, float]:
    """Measures for so many minutes; returns the tour, the signal that ended it, if one did, and the
    minutes that were left."""
    command = _command(session, minutes)
    report = Report("tour", command, {}, [])
    report.meters = Meters(energy=not session.here.no_energy)
    by_name = {each.name: each for each in _subjects(session.header.locks)}
    pace = Pace(session.header.seconds, tour_plan.WARM_UP, session.header.loops_per_us)
    clock = Clock(60 * minutes)

    def keep(one: Case, turn: int, outcome: Outcome) -> None:
        store.add(store.log(session.directory), one, turn, outcome)

    wanted = session.plan()
    stopped = interrupts.until_stopped(
        lambda: drive(report, wanted, by_name, pace, session.seen, clock, keep)
    )
    session.failures += report.failures
    remarks = report.remarks()
    if report.busy is not None:
        remarks.append(noise(report.busy))
    remarks += [f"Failed: {failure}" for failure in dict.fromkeys(session.failures)]
    claims = choose(",".join(session.claims)) if session.claims else []
    tour = Tour(
        session.header,
        wanted,
        session.seen,
        measure.findings(claims, session.seen, session.here),
        remarks,
        shlex.join(command),
        session.here.no_energy,
        stopped is not None,
    )
    return tour, stopped, clock.left / 60


def _command(session: TourSession, minutes: float) -> list[str]:
    """The command that runs such a tour."""
    words = [*invocation.command_words(), "bench", "tour", "--minutes", f"{minutes:g}"]
    chosen = [name for name in session.header.locks if name != LIBC]
    if chosen != _default_locks(session.here):
        words += ["--locks", ",".join(chosen)]
    return [*words, *([] if session.claims else ["--no-claims"]), "-o", str(session.directory)]


def _default_locks(here: Machine) -> list[str]:
    """The locks of a tour that names none."""
    return [name for name in tour_plan.LOCKS if name in here.locks]


def _subjects(locks: Sequence[str]) -> list[Subject]:
    """Every lock, for the claims, and those of the tour, which may be for measurements only."""
    return [*subjects("all", None), *subjects(",".join(locks), None)]


def write(tour: Tour, directory: Path) -> list[Path]:
    """Writes the report and the files with the figures; returns their paths, the report first."""
    rows = list(tour_figures.rows(tour.plan, tour.seen))
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    whole = {
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
        FIGURES: text.getvalue(),
        WHOLE: json.dumps(whole, indent=1) + "\n",
    }
    for name, content in contents.items():
        files.write(directory / name, content, "-o")
    return [directory / name for name in contents]


def resume_command(directory: Path, minutes_left: float) -> str:
    """The command that resumes a stopped tour."""
    minutes = max(0.1, math.ceil(10 * minutes_left) / 10)
    words = [*invocation.command_words(), "bench", "tour", "--resume", "-o", str(directory)]
    return shlex.join([*words, "--minutes", f"{minutes:g}"])
