"""`lockwright study catalogue`: the programs that studies can name."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from lockwright.base import numbers
from lockwright.commands.common import brief, grammar

from lockwright_lab.commands.common import complete
from lockwright_lab.commands.common.folders import CACHE

if TYPE_CHECKING:
    from lockwright_lab.study.program.entry import Program

_ALL = "all"
_COUNTED_RWLOCK = "futex-rw"
_THREADS = 2
"""Threads of a run that only checks a program, if it can run with so many."""


@brief.command("catalogue")
@click.argument("name", required=False, shell_complete=complete.program)
@grammar.json_file("all properties")
@click.option(
    "--install",
    metavar="NAME,...|all|STUDY.toml",
    shell_complete=complete.programs,
    help="Install the Debian packages of these programs, or of those that a study names.",
)
@click.option(
    "--check",
    metavar="NAME,...|all",
    shell_complete=complete.programs,
    help="Run each of these once under the C library's mutex, and check the result. "
    f"Reader-writer locks are {_COUNTED_RWLOCK}, since the C library's cannot be counted.",
)
@grammar.real_number(
    "--scale", 1.0, "With --check: scale the amount of work by F.", metavar="F", min=0.001, max=1000
)
@CACHE
def command(
    name: str | None,
    json_file: Path | None,
    install: str | None,
    check: str | None,
    scale: float,
    cache: Path | None,
) -> int:
    """List the programs that a study can name, or describe one of them.

    Their format is in docs/lab/programs.md. Examples:

    lockwright study catalogue kyoto-cache

    lockwright study catalogue --install kyoto-cache,pigz --check kyoto-cache,pigz
    """
    from lockwright.base.errors import LockwrightError

    if name is not None and (install is not None or check is not None):
        raise LockwrightError(
            f"'{name}' cannot be combined with --install or --check", "name it after the option"
        )
    if install is not None:
        _install(_chosen(install, "--install"))
    if check is not None:
        return _check(_chosen(check, "--check"), check == _ALL, scale, cache)
    if install is None:
        _show(name, json_file)
    return 0


def _chosen(text: str, option: str) -> "list[Program]":
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study.program import catalogue

    if text.endswith(".toml"):
        from lockwright.preload.locks import registry

        from lockwright_lab.study.campaign import plan

        return [member.program for member in plan.read(Path(text), registry()).members]
    names = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    if not names:
        raise LockwrightError(f"{option} names no program", "give names with commas, or all")
    return [catalogue.find(each) for each in (catalogue.names() if names == [_ALL] else names)]


def _show(name: str | None, json_file: Path | None) -> None:
    from lockwright.base import files

    from lockwright_lab.study.program import catalogue

    programs = [catalogue.find(each) for each in ([name] if name else catalogue.names())]
    if json_file is not None:
        facts = [_facts(each) for each in programs]
        text = json.dumps(facts[0] if name else facts, indent=2)
        files.write(json_file, text + "\n", "--json")
    if json_file == files.STANDARD_OUTPUT:
        return
    if name is not None:
        _print_one(programs[0])
    else:
        _print_all(programs)


def _facts(program: "Program") -> dict[str, Any]:
    import msgspec

    from lockwright_lab.study.campaign.local_machine import missing

    return {**msgspec.to_builtins(program), "missing": missing(program)}


def _threads(program: "Program") -> str:
    from lockwright_lab.study.program.entry import MOST_THREADS

    unbounded = program.most >= MOST_THREADS
    return f"{program.least}-" if unbounded else f"{program.least}-{program.most}"


def _state(program: "Program") -> str:
    from lockwright_lab.study.campaign.local_machine import missing

    if not missing(program):
        return "yes"
    return "no" if program.packages else "manual"


def _print_all(programs: "list[Program]") -> None:
    from lockwright.base.terminal import output
    from rich.table import Table

    screen = output()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("program", "kind", "installed", "threads", "figure"):
        table.add_column(heading, no_wrap=True)
    table.add_column("about")
    for each in programs:
        figure = f"{each.metric.unit}, {each.metric.better}"
        row = (each.name, each.category, _state(each), _threads(each), figure, each.about)
        table.add_row(*row)
    screen.print(table)
    if sys.stdout.isatty():
        screen.print(
            "\nDetails of a program: lockwright study catalogue NAME; packages of those that are"
            " not installed: --install NAMES",
            style="dim",
        )


def _print_one(program: "Program") -> None:
    from lockwright_lab.study.campaign.local_machine import missing
    from lockwright_lab.study.program import catalogue, packages

    click.echo(f"{program.name}: {program.about}")
    if absent := missing(program):
        click.echo(f"not installed: {', '.join(absent)}; {packages.how_to_get([program])}")
    click.echo(f"figure: {program.metric.unit}, {program.metric.better} is better")
    click.echo(f"threads: {_threads(program)}")
    for path in catalogue.files_of(program.name):
        click.echo(f"\n# {path.name}\n{path.read_text().rstrip()}")


def _install(programs: "list[Program]") -> None:
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study.campaign.local_machine import missing
    from lockwright_lab.study.program import packages

    if any(map(missing, programs)) and not any(each.packages for each in programs):
        names = ", ".join(each.name for each in programs)
        raise LockwrightError(f"no package has {names}", packages.how_to_get(programs[:1]))
    wanted = list(dict.fromkeys(word for each in programs for word in each.packages))
    here = packages.installed(wanted)
    absent = [each for each in wanted if each not in here]
    if not absent:
        click.echo("All packages are installed.")
        return
    for words in packages.commands(absent):
        click.echo(f"Runs: {' '.join(words)}")
    sys.stdout.flush()
    packages.install(absent)


def _check(programs: "list[Program]", everything: bool, scale: float, cache: Path | None) -> int:
    from lockwright.base import interrupts
    from lockwright.base.errors import LockwrightError
    from lockwright.base.progress import print_line

    from lockwright_lab.study.campaign.local_machine import missing
    from lockwright_lab.study.program import packages

    absent = [each for each in programs if missing(each)]
    if absent and not everything:
        names = ", ".join(f"{each.name} ({', '.join(missing(each))})" for each in absent)
        raise LockwrightError(f"not installed for {names}", packages.how_to_get(absent))
    wrong = 0
    with interrupts.stop_on_signals():
        try:
            for program in programs:
                if program in absent:
                    click.echo(f"{program.name}: not installed: {', '.join(missing(program))}")
                    continue
                problem, figures = _checked(program, scale, cache)
                wrong += bool(problem)
                click.echo(f"{program.name}: {problem or 'ok'}{figures}")
                sys.stdout.flush()
        except interrupts.Stopped as stopped:
            print_line("stopped")
            return stopped.status
    return 1 if wrong else 0


def _checked(program: "Program", scale: float, cache: Path | None) -> tuple[str, str]:
    """Return the problem of a run, or "", and its figures as text."""
    from lockwright.preload.locks import RWLOCK

    from lockwright_lab.commands.common.folders import folders
    from lockwright_lab.study.campaign.local_machine import LocalMachine, default_name
    from lockwright_lab.study.campaign.plan import one_program

    plan = one_program(program, _THREADS, scale, {RWLOCK: _COUNTED_RWLOCK})
    (configuration,) = plan.configurations()
    threads = configuration.threads
    with LocalMachine(default_name(), plan, folders(cache, None)) as local:
        probe = local.probe(configuration.setting)
    problem = "" if probe.finished else probe.note
    if "counts" not in probe.details:
        return problem, ""
    counts = probe.details["counts"]
    acquisitions = counts["acquisitions"]
    share = counts["contended"] / max(1, acquisitions)
    figures = (
        f"{threads} threads, {probe.wall:.1f} s, {acquisitions} acquisitions, "
        f"{numbers.percent(share, 1)} contended"
    )
    reads, writes = counts["reads"], counts["writes"]
    if reads + writes > 0:
        figures += f", {reads} reads and {writes} writes of reader-writer locks"
    return problem, f" ({figures})"
