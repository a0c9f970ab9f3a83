"""The steps that `compare` and `tune` share: checks before the first run, files, resumption."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockwright.commands.common.comparison_options import ComparisonOptions

if TYPE_CHECKING:
    from lockwright.compare.plan import Plan
    from lockwright.compare.report import Report
    from lockwright.compare.store import Comparison, Store
    from lockwright.machine.meters import Idle, Meters
    from lockwright.preload.locks import Registry

SAVED_ADVICE = "all runs are saved: free space or name another file, and repeat with --resume"
"""The advice if a result cannot be written."""


@dataclass(frozen=True)
class Prepared:
    """A comparison whose options have been checked as far as possible without a run. facts: those
    of the machine and the program; disturbances: a summary of those on this machine."""

    plan: "Plan"
    program: Path
    registry: "Registry"
    facts: dict[str, Any]
    disturbances: str
    results: Path

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """The calibrated variables of each lock, and the one that selects its reader-writer
        lock, if the plan compares these."""
        from lockwright.machine import calibration
        from lockwright.preload.locks import RWLOCK
        from lockwright.preload.rwlocks import parts_of

        own = {
            name: parts_of(name)
            for name in self.plan.locks
            if self.plan.other_library(name) is None
        }
        by_lock = calibration.calibrated_variables(
            self.registry, dict.fromkeys(lock for lock, _ in own.values()), os.environ
        )
        selects = bool(self.plan.rwlocks)
        return {
            name: by_lock[lock] | ({RWLOCK: rwlock} if selects else {})
            for name, (lock, rwlock) in own.items()
        }

    def with_locks(self, locks: tuple[str, ...], **changes: Any) -> "Prepared":
        """Return a copy with other locks, the same libraries, and other changes of the plan."""
        _check_locks(self.registry, locks)
        names = (*locks, *(each.name for each in self.plan.other_libraries))
        return replace(self, plan=replace(self.plan, locks=names, **changes))

    def facts_of_run(self) -> dict[str, Any]:
        """Return the facts, and the calibrated parameters of the plan's locks."""
        from lockwright.preload.locks import RWLOCK

        facts = dict(self.facts)
        for variables in self.settings.values():
            facts |= {
                name: f"{value} (calibrated)" for name, value in variables.items() if name != RWLOCK
            }
        return facts


def _check_locks(known: "Registry", names: tuple[str, ...]) -> None:
    from lockwright.preload.rwlocks import parts_of

    for lock in dict.fromkeys(parts_of(name)[0] for name in names):
        known.path_of(lock)
        known.check_environment(lock, os.environ)


def prepare(
    options: ComparisonOptions, known: "Registry", locks: tuple[str, ...], **about: Any
) -> Prepared:
    """Check the options, and return the prepared comparison. Raises LockwrightError. about: further
    fields of the plan."""
    from lockwright.base.errors import LockwrightError, warn
    from lockwright.compare import plan
    from lockwright.compare.store import default_path
    from lockwright.doctor import examine
    from lockwright.machine import provenance
    from lockwright.preload import binary, other_libraries
    from lockwright.preload.locks import BASELINE

    if options.metric is None and (options.unit is not None or options.lower_is_better):
        option = "--unit" if options.unit is not None else "--lower-is-better"
        raise LockwrightError(f"{option} is given without --metric", "add --metric REGEX")
    wanted = plan.Plan(
        command=options.arguments,
        locks=locks,
        threads=plan.choose_threads(options.threads),
        metric=options.metric,
        unit=options.unit or ("s" if options.metric is None else "value"),
        lower_is_better=options.lower_is_better or options.metric is None,
        timeout=options.timeout,
        prepare=options.prepare,
        energy=options.energy,
        counters=options.counters,
        **about,
    )
    plan.check(wanted)
    program = binary.find(wanted.argv(min(wanted.threads))[0])
    _check_locks(known, locks)
    if doubt := binary.check(
        program, known.path_of(BASELINE), wanted.argv(min(wanted.threads))[1:]
    ):
        warn(doubt)
    others = other_libraries.choose(options.preload, program)
    wanted = replace(
        wanted, locks=(*locks, *(each.name for each in others)), other_libraries=others
    )
    path = options.db or default_path()
    findings = examine.examine_this_machine()
    facts = provenance.gather(program, known.directory)
    facts[provenance.FINDINGS] = provenance.as_facts(findings)
    return Prepared(wanted, program, known, facts, examine.disturbances(findings), path)


def set_other_locks(options: ComparisonOptions) -> None:
    """Set the environment variables of --rwlock and --spin, for all runs and the report."""
    from lockwright.preload.locks import set_replacements

    environment = dict(os.environ)
    set_replacements(environment, {"rwlock": options.rwlock, "spin": options.spin})
    os.environ.update(environment)


def print_notes(prepared: Prepared) -> None:
    """Print the remarks on the comparison before the first run."""
    from lockwright.base.progress import print_line
    from lockwright.preload import other_libraries

    for each in other_libraries.remarks(prepared.plan.other_libraries):
        print_line(each)
    if prepared.disturbances:
        print_line(f"'lockwright doctor' warns of {prepared.disturbances}")


def check_same(interrupted: "Comparison", facts: dict[str, Any]) -> None:
    """Raise LockwrightError if an interrupted comparison was made on another machine, with another
    build or other settings."""
    from lockwright.run import resume

    before = interrupted.provenance
    declared = {name for name in before | facts if name.startswith("LOCKWRIGHT_")}
    todo = "leave out --resume to start another"
    resume.check_facts(before, facts, "the interrupted comparison", todo, sorted(declared))


def find_interrupted(
    store: "Store", plan: "Plan", fits: "Callable[[Plan], bool] | None" = None
) -> "Comparison":
    """Return the latest interrupted comparison with this plan, or with one that `fits`. Raises
    LockwrightError if there is none."""
    from lockwright.base.errors import LockwrightError

    interrupted = store.unfinished()
    fits = fits or (lambda other: other == plan)
    same = next((each for each in interrupted if fits(each.plan)), None)
    if same is not None:
        return same
    plans = (each.plan for each in interrupted)
    similar = next((other for other in plans if other.command == plan.command), None)
    if similar is None:
        raise LockwrightError(
            f"{store.path} has no interrupted comparison of this command",
            "leave out --resume to start one",
        )
    raise LockwrightError(
        f"the interrupted comparison of this command differs in --{similar.difference(plan)}",
        "repeat it with the options it had, or leave out --resume to start another",
    )


def idle_of(comparison: "Comparison") -> "Idle | None":
    """Return the idle machine's power before the first run of a comparison."""
    from lockwright.machine.meters import FACTS, Idle

    idle = comparison.provenance.get(FACTS, {}).get("idle")
    return None if idle is None else Idle(**idle)


def begin(
    store: "Store",
    prepared: Prepared,
    counts: dict[str, int],
    meters: "Meters",
    more: dict[str, Any] | None = None,
) -> "Comparison":
    """Add a comparison to the results file. counts: those of its probe run; more: further facts."""
    from lockwright.machine.meters import FACTS

    meters.measure_idle()
    facts = prepared.facts_of_run() | (more or {})
    if meters.wanted:
        facts |= {FACTS: meters.as_facts()}
    return store.begin(prepared.plan, facts, counts)


def write_files(options: ComparisonOptions, report: "Report") -> None:
    """Write the report to the files that the options name."""
    from lockwright.base import files
    from lockwright.base.progress import print_line

    for option, file in options.outputs:
        if file is not None:
            from lockwright.compare import export, html

            writers = {"--html": html.render, "--json": export.to_json, "--csv": export.to_csv}
            files.write(file, writers[option](report), option, SAVED_ADVICE)
            print_line(f"wrote {file}")


def runnable_line(line: str | None) -> str:
    """Return a command line with `lockwright` replaced by the words that started this command."""
    from lockwright.base import invocation

    if not line or not line.startswith("lockwright "):
        return line or ""
    return shlex.join(invocation.command_words()) + line.removeprefix("lockwright")


def print_interrupted(options: ComparisonOptions) -> None:
    """Print the command that continues this one."""
    from lockwright.base.progress import print_line
    from lockwright.run import resume

    added = () if options.resume else ("--resume",)
    print_line(resume.interruption_message(resume.resume_command(*added)))
