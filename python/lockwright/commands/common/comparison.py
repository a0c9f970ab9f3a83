"""What `compare` and `tune` share: their options, what is checked before any run, the files."""

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lockwright.commands.common.options import of_meters, of_other_locks, of_peers

if TYPE_CHECKING:
    from lockwright.compare.plan import Plan
    from lockwright.compare.report import Report
    from lockwright.compare.store import Comparison, Store
    from lockwright.machine.meters import Idle, Meters
    from lockwright.preload.locks import Registry

_FILE = click.Path(path_type=Path)

_KEPT = "all runs are kept: free space or name another file, and repeat with --resume"
"""What to do where a result cannot be written."""


@dataclass(frozen=True)
class Asked:
    """The options that both commands have, as they were given."""

    threads: str | None
    metric: str | None
    unit: str | None
    lower_is_better: bool
    timeout: float
    rwlock: str | None
    spin: str | None
    preload: tuple[str, ...]
    energy: bool
    counters: bool
    prepare: str | None
    json_file: Path | None
    csv_file: Path | None
    html_file: Path | None
    db: Path | None
    resume: bool
    title: str | None
    arguments: tuple[str, ...]

    @property
    def outputs(self) -> tuple[tuple[str, Path | None], ...]:
        """The files of results, by option."""
        return ("--json", self.json_file), ("--csv", self.csv_file), ("--html", self.html_file)


_BEFORE: tuple[Callable[..., Any], ...] = (
    click.option("--threads", metavar="N,N,...", help="Thread counts that {threads} stands for."),
    click.option(
        "--metric",
        metavar="REGEX",
        help="Measure this number in the output instead of wall time: the first group of the last"
        " match, in standard output or else in standard error.",
    ),
    click.option("--unit", metavar="U", help="Unit of --metric."),
    click.option("--lower-is-better", is_flag=True, help="Low values of --metric are good."),
    click.option(
        "--timeout", default=60.0, show_default=True, metavar="S", help="Seconds a run may take."
    ),
    of_other_locks,
    of_peers(),
    *of_meters(),
)
_AFTER: tuple[Callable[..., Any], ...] = (
    click.option(
        "--prepare", metavar="SHELLCMD", help="Run this by sh before each run, unmeasured."
    ),
    click.option("--json", "json_file", type=_FILE, metavar="F", help="Write everything as JSON."),
    click.option("--csv", "csv_file", type=_FILE, metavar="F", help="Write a line per run as CSV."),
    click.option("--html", "html_file", type=_FILE, metavar="F", help="Write a report with plots."),
    click.option("--db", type=_FILE, metavar="F", help="Keep the results in this SQLite file."),
    click.option("--resume", is_flag=True, help="Go on with this where it was interrupted."),
    click.option("--title", metavar="T", help="Title of the report."),
    click.argument("arguments", metavar="-- CMD...", nargs=-1, required=True),
)


def of_comparisons(command: Callable[..., int]) -> Callable[..., int]:
    """The options of `Asked`, which the command gets as its argument `asked`."""

    @wraps(command)
    def called(**given: Any) -> int:
        asked = Asked(**{field.name: given.pop(field.name) for field in fields(Asked)})
        return command(asked=asked, **given)

    for option in reversed((*_BEFORE, *_AFTER)):
        called = option(called)
    return called


@dataclass(frozen=True)
class Ready:
    """What is known once all was checked that can be checked without a run.

    plan: of the locks that were named, and the peers; facts: of the machine and the program;
    doubts: what disturbs measurements here.
    """

    plan: "Plan"
    program: Path
    registry: "Registry"
    facts: dict[str, Any]
    doubts: str
    results: Path

    @property
    def settings(self) -> dict[str, dict[str, str]]:
        """The calibrated variables of each lock."""
        from lockwright.machine import calibration

        mine = [lock for lock in self.plan.locks if self.plan.peer(lock) is None]
        return calibration.all_in_force(self.registry, mine, os.environ)

    def under(self, locks: tuple[str, ...], **changes: Any) -> "Ready":
        """The same for other locks, and with other changes of the plan; the peers stay."""
        _check_locks(self.registry, locks)
        names = (*locks, *(peer.name for peer in self.plan.peers))
        return replace(self, plan=replace(self.plan, locks=names, **changes))

    def facts_of_run(self) -> dict[str, Any]:
        """The facts, and what is calibrated for the plan's locks."""
        facts = dict(self.facts)
        for variables in self.settings.values():
            facts |= {name: f"{value} (calibrated)" for name, value in variables.items()}
        return facts


def _check_locks(known: "Registry", names: tuple[str, ...]) -> None:
    for name in names:
        known.path_of(name)
        known.check_environment(name, os.environ)


def make_ready(asked: Asked, known: "Registry", locks: tuple[str, ...], **about: Any) -> Ready:
    """Checks what was asked for. about: what else the plan is to know.

    Raises LockwrightError for anything that cannot work.
    """
    from lockwright.base import files
    from lockwright.base.errors import LockwrightError
    from lockwright.compare import plan
    from lockwright.compare.store import default_path
    from lockwright.doctor import examine
    from lockwright.machine import provenance
    from lockwright.preload import binary, peers
    from lockwright.preload.locks import BASELINE

    if asked.metric is None and (asked.unit is not None or asked.lower_is_better):
        option = "--unit" if asked.unit is not None else "--lower-is-better"
        raise LockwrightError(f"{option} is given without --metric", "add --metric REGEX")
    if asked.metric is not None and not asked.unit:
        raise LockwrightError(
            "--metric is given without --unit", "name its unit, as in --unit ops/s"
        )
    wanted = plan.Plan(
        command=asked.arguments,
        locks=locks,
        threads=plan.choose_threads(asked.threads),
        metric=asked.metric,
        unit=asked.unit or "s",
        lower_is_better=asked.lower_is_better or asked.metric is None,
        timeout=asked.timeout,
        prepare=asked.prepare,
        energy=asked.energy,
        counters=asked.counters,
        **about,
    )
    plan.check(wanted)
    program = binary.find(wanted.argv(min(wanted.threads))[0])
    _check_locks(known, locks)
    binary.check(program, known.path_of(BASELINE), wanted.argv(min(wanted.threads))[1:])
    others = peers.choose(asked.preload, program)
    wanted = replace(wanted, locks=(*locks, *(peer.name for peer in others)), peers=others)
    named = {
        option: path for option, path in (*asked.outputs, ("--db", asked.db)) if path is not None
    }
    files.try_out_all(named)
    path = asked.db or default_path()
    findings = examine.here()
    facts = provenance.gather(program, known.directory)
    facts[provenance.FINDINGS] = provenance.as_facts(findings)
    return Ready(wanted, program, known, facts, examine.doubts(findings), path)


def choose_ways(asked: Asked) -> None:
    """Puts the ways of other locks into our own environment, as if the user had set them there, for
    all runs and the report."""
    from lockwright.preload.locks import choose_ways as chosen

    ways = dict(os.environ)
    chosen(ways, {"rwlock": asked.rwlock, "spin": asked.spin})
    os.environ.update(ways)


def remark(ready: Ready) -> None:
    """Says what the user should know before the first run."""
    from lockwright.base.progress import say
    from lockwright.preload import peers

    for each in peers.remarks(ready.plan.peers):
        say(each)
    if ready.doubts:
        say(f"'lockwright doctor' warns of {ready.doubts}")


def check_same(same: "Comparison", facts: dict[str, Any]) -> None:
    """Raises LockwrightError if an interrupted comparison was made with something else."""
    from lockwright.base.errors import LockwrightError
    from lockwright.machine.provenance import MUST_MATCH

    declared = {name for name in same.provenance | facts if name.startswith("LOCKWRIGHT_")}
    for name in (*MUST_MATCH, *sorted(declared)):
        if same.provenance.get(name) != facts.get(name):
            raise LockwrightError(
                f"the interrupted comparison was made with another {name} "
                f"({same.provenance.get(name)}, now {facts.get(name)})",
                "leave out --resume to start another",
            )


def interrupted(
    store: "Store", plan: "Plan", fits: "Callable[[Plan], bool] | None" = None
) -> "Comparison":
    """The latest interrupted comparison with this plan, or with one that `fits`.

    Raises LockwrightError if there is none.
    """
    from lockwright.base.errors import LockwrightError

    found = store.unfinished()
    fits = fits or (lambda other: other == plan)
    same = next((each for each in found if fits(each.plan)), None)
    if same is not None:
        return same
    alike = next((each.plan for each in found if each.plan.command == plan.command), None)
    if alike is None:
        raise LockwrightError(
            f"{store.path} has no interrupted comparison of this command",
            "leave out --resume to start one",
        )
    raise LockwrightError(
        f"the interrupted comparison of this command differs in --{alike.difference(plan)}",
        "repeat it with the options it had, or leave out --resume to start another",
    )


def idle_of(comparison: "Comparison") -> "Idle | None":
    """The idle machine's power, as it was measured before the first run of a comparison."""
    from lockwright.machine.meters import FACTS, Idle

    known = comparison.provenance.get(FACTS, {}).get("idle")
    return None if known is None else Idle(**known)


def begin(
    store: "Store",
    ready: Ready,
    counts: dict[str, int],
    meters: "Meters",
    more: dict[str, Any] | None = None,
) -> "Comparison":
    """A comparison that has been proved to make sense, put into the results file.

    counts: of its first run; more: facts to keep beside.
    """
    from lockwright.machine.meters import FACTS

    meters.measure_idle()
    facts = ready.facts_of_run() | (more or {})
    if meters.wanted:
        facts |= {FACTS: meters.as_facts()}
    return store.begin(ready.plan, facts, counts)


def write_files(asked: Asked, render: Callable[[str], str]) -> None:
    """Writes the files that were asked for. render: the text of the one of an option."""
    from lockwright.base import files
    from lockwright.base.progress import say

    for option, file in asked.outputs:
        if file is not None:
            files.write(file, render(option), option, _KEPT)
            say(f"wrote {file}")


def render(option: str, made: "Report") -> str:
    """The file of that option."""
    if option == "--html":
        from lockwright.compare.html import render as page

        return page(made)
    from lockwright.compare import export

    return export.to_json(made) if option == "--json" else export.to_csv(made)


def callable_line(line: str | None) -> str:
    """A line that begins with `lockwright`, as it works from the user's shell."""
    from lockwright.base import invocation

    if not line or not line.startswith("lockwright "):
        return line or ""
    return shlex.join(invocation.words()) + line.removeprefix("lockwright")


def to_go_on(asked: Asked) -> str:
    """The line that resumes what this command line began."""
    from lockwright.base import invocation

    words = [*invocation.words(), sys.argv[1], *([] if asked.resume else ["--resume"])]
    return shlex.join([*words, *sys.argv[2:]])
