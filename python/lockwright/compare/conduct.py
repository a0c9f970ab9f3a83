"""A comparison from its first check to its verdict: what `lockwright compare` does."""

from dataclasses import dataclass, field
from pathlib import Path

from lockwright.base import files, interrupts
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.compare import baseline, markdown, plan, report
from lockwright.compare.baseline import Earlier
from lockwright.compare.experiment import declare, runs_of
from lockwright.compare.plan import Plan
from lockwright.compare.preparation import Prepared, prepare, set_other_locks
from lockwright.compare.probe import probe
from lockwright.compare.request import Request
from lockwright.compare.runner import Runner
from lockwright.experiment import Runs
from lockwright.experiment.conduct import SAVED_ADVICE, present, print_interrupted
from lockwright.experiment.report import Report
from lockwright.experiment.session import Session
from lockwright.experiment.store import Store, Stored, default_path
from lockwright.machine.meters import Meters
from lockwright.preload.families import usual_locks
from lockwright.preload.locks import BASELINE, Registry, registry


@dataclass(frozen=True)
class Comparison:
    """What `compare` is asked for. locks, rwlocks: lists with commas, or "all", None for the usual
    ones; baseline: the JSON file of an earlier comparison; fail_if_worse: the accepted share of
    change for the worse; markdown_file: for a summary."""

    request: Request
    locks: str | None = None
    rwlocks: str | None = None
    runs: int = 5
    warmup: int = 1
    baseline: Path | None = None
    fail_if_worse: float | None = None
    markdown_file: Path | None = None


@dataclass
class _Course:
    """A comparison that is carried out. notes: lines to print before the first counted run."""

    wanted: Comparison
    prepared: Prepared
    earlier: Earlier | None
    meters: Meters
    notes: list[str] = field(default_factory=list)
    stored: Stored | None = None

    def run(self, store: Store) -> Report:
        """Make the runs, and return the report."""
        stored, comparison = self._begin(store)
        self.stored = stored
        for note in self.notes:
            print_line(note)
        self.prepared.print_notes()
        prepared, reading = self.prepared, self.meters if self.meters.wanted else None
        with Runner(comparison, prepared.program, prepared.settings, reading) as runner:
            make = runs_of(comparison, runner, prepared.registry)
            experiment = declare(comparison, make, meters=reading)
            runs = Session(experiment, store, stored, Runs(store.runs(stored))).carry_out()
        title = f"Locks under {self.wanted.request.program}"
        made = report.make(stored, comparison, title, runs, reading)
        return made if self.earlier is None else self._with_change(made, comparison)

    def _begin(self, store: Store) -> tuple[Stored, Plan]:
        prepared = self.prepared
        if self.wanted.request.output.resume:
            stored, comparison = prepared.interrupted(store)
            prepared.adopt(store, stored, self.meters)
            return stored, comparison
        with Runner(prepared.plan, prepared.program) as runner:
            counts = probe(prepared.plan, prepared.registry, runner)
        return prepared.begin(store, counts, self.meters), prepared.plan

    def _with_change(self, made: Report, comparison: Plan) -> Report:
        assert self.earlier is not None
        assert self.stored is not None
        change = baseline.compare(
            self.earlier,
            comparison,
            made.cells,
            made.facts,
            self.wanted.fail_if_worse or 0.0,
            report.has_fixed_time(self.stored.facts),
        )
        return baseline.with_change(made, comparison, change)

    def write_markdown(self, made: Report) -> None:
        """Write the summary if a file is named for it."""
        if self.wanted.markdown_file is not None:
            text = markdown.render(self.prepared.plan, made)
            files.write(self.wanted.markdown_file, text, "--markdown", SAVED_ADVICE)
            print_line(f"wrote {self.wanted.markdown_file}")


def conduct(wanted: Comparison) -> int:
    """Carry out a comparison, print its report, and write its files. Return the exit status: 0, 1
    if a lock is shown to be worse than in the baseline and that is asked for, or that of the signal
    that interrupted it. Raises LockwrightError."""
    course, output = _prepare(wanted), wanted.request.output
    with interrupts.stop_on_signals():
        store = Store(output.db or default_path())
        try:
            made = course.run(store)
            present(made, output, course.write_markdown)
            assert course.stored is not None
            store.finish(course.stored)
        except interrupts.Stopped as stopped:
            if course.stored is None:
                print_line(
                    "interrupted before the first counted run; nothing is saved: start again"
                )
            else:
                print_interrupted(output.resume)
            return stopped.status
        finally:
            store.close()
    change = made.more.get("baseline")
    return int(wanted.fail_if_worse is not None and bool(change and change["is_worse"]))


def measure(wanted: Comparison) -> Report:
    """Carry out a comparison, and return its report without printing it. Raises LockwrightError."""
    course = _prepare(wanted)
    store = Store(wanted.request.output.db or default_path())
    try:
        made = course.run(store)
        assert course.stored is not None
        store.finish(course.stored)
    finally:
        store.close()
    return made


def _prepare(wanted: Comparison) -> _Course:
    """Check everything that can be checked without a run."""
    request = wanted.request
    if wanted.fail_if_worse is not None and wanted.baseline is None:
        raise LockwrightError("--fail-if-worse is given without --baseline", "add --baseline FILE")
    earlier = None if wanted.baseline is None else baseline.read(wanted.baseline)
    set_other_locks(request)
    if wanted.rwlocks is not None and request.rwlock is not None:
        raise LockwrightError(
            "--rwlock and --rwlocks exclude each other", "give those to compare with --rwlocks"
        )
    known = registry()
    names, notes = _choose_locks(wanted, known)
    prepared = prepare(request, known, names, runs=wanted.runs, warmup=wanted.warmup)
    if earlier is not None:
        baseline.check(earlier, prepared.plan, wanted.fail_if_worse is not None)
    meters = Meters(energy=request.energy, counters=request.counters)
    return _Course(wanted, prepared, earlier, meters, notes)


def _choose_locks(wanted: Comparison, known: Registry) -> tuple[tuple[str, ...], list[str]]:
    """Return the names to compare, and what the user should know about the choice."""
    usual: tuple[str, ...] = ()
    if wanted.locks is None:
        usual = tuple(usual_locks(known)) if wanted.rwlocks is None else (BASELINE,)
    names, added = plan.choose_locks(wanted.locks or ",".join(usual), known)
    if wanted.rwlocks is not None:
        names = plan.crossed(names, plan.choose_rwlocks(wanted.rwlocks))
    notes = [f"{BASELINE} is added as the reference of every ratio"] if added else []
    if len(usual) > 1:
        notes.append(
            f"comparing {', '.join(usual)}: one lock of each family; --locks names others,"
            f" or all {len(known.names)}"
        )
    return names, notes
