"""`lockwright study run` and `lockwright study worker`: the runs of a study, on this machine or on
several."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from lockwright.base import numbers

from lockwright_lab.commands.common.folders import OPTIONS, folders

if TYPE_CHECKING:
    from lockwright_lab.study.campaign.local_machine import Folders
    from lockwright_lab.study.campaign.plan import Plan
    from lockwright_lab.study.campaign.store import Store

_PATH = click.Path(path_type=Path)
_TLS = {
    "ca": "With a Dask scheduler: the certificate of the authority that TLS trusts.",
    "cert": "With a Dask scheduler: the certificate of this process.",
    "key": "With a Dask scheduler: the key of --tls-cert.",
}


def _tls(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of TLS, which arrive as `tls_ca`, `tls_cert` and `tls_key`."""
    for name, description in reversed(_TLS.items()):
        command = click.option(f"--tls-{name}", type=_PATH, metavar="FILE", help=description)(
            command
        )
    return command


@click.command("run")
@click.argument("study", type=_PATH, metavar="STUDY.toml")
@click.option("--db", type=_PATH, metavar="FILE", help="Store the results in this SQLite file.")
@click.option(
    "--dry-run", is_flag=True, help="Print the runs and their duration without running them."
)
@click.option("--skip-missing", is_flag=True, help="Leave out programs that are not installed.")
@click.option("--machine", metavar="NAME", help="Name of this machine in the results.")
@OPTIONS[0]
@OPTIONS[1]
@click.option("--scheduler", metavar="ADDRESS", help="Run on the machines of this Dask scheduler.")
@click.option(
    "--patience",
    default=60.0,
    show_default=True,
    metavar="S",
    help="With --scheduler: wait S seconds for a machine that has disconnected.",
)
@_tls
def run(
    study: Path,
    db: Path | None,
    dry_run: bool,
    skip_missing: bool,
    machine: str | None,
    cache: Path | None,
    work: Path | None,
    scheduler: str | None,
    patience: float,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> int:
    """Run the programs of a study under its locks, and store the results.

    STUDY.toml has the locks, programs, thread counts, repetitions and machines: see
    docs/lab/study.md. The results are in STUDY.sqlite beside it, or in --db. Each run is saved when
    it ends, so that the same command resumes a stopped study.

    Example: lockwright study run small.toml
    """
    from lockwright.base import interrupts
    from lockwright.base.progress import print_line
    from lockwright.preload import locks
    from lockwright.run import resume

    from lockwright_lab.study.campaign import plan as plans
    from lockwright_lab.study.campaign.certificates import certificates
    from lockwright_lab.study.campaign.session import bad_endings, summary
    from lockwright_lab.study.campaign.store import Store

    chosen = certificates(tls_ca, tls_cert, tls_key)
    if chosen and scheduler is None:
        raise click.UsageError("--tls-ca, --tls-cert and --tls-key need --scheduler")
    wanted = plans.read(study, locks.registry())
    place = db or study.with_suffix(".sqlite")
    if dry_run:
        _dry_run(wanted, place, machine)
        return 0
    if scheduler is None and not (skip_missing or wanted.everything):
        _refuse_missing(wanted)
    with interrupts.stop_on_signals():
        store = Store(place)
        try:
            if store.begin(wanted):
                print_line(f"resuming the study in {place}")
            if scheduler is None:
                left = _here(wanted, store, machine, folders(cache, work))
            else:
                from lockwright_lab.study.campaign.fleet import carry_out

                left = carry_out(wanted, store, scheduler, patience, chosen)
            runs = [record for _, record in store.runs()]
            print(f"{place}: {summary(runs)}")
            bad = bad_endings(wanted, runs)
            for line in bad:
                print(f"  {line}")
            if left:
                print_line(f"{left}; continue with: {resume.resume_command()}")
                return 1
            store.finish()
        except interrupts.Stopped as stopped:
            print_line(resume.interruption_message(resume.resume_command()))
            return stopped.status
        finally:
            store.close()
    return 1 if bad else 0


def _here(wanted: "Plan", store: "Store", machine: str | None, folders: "Folders") -> str:
    """Carry out the study on this machine alone; return "" when it is complete."""
    from lockwright.base.progress import print_line
    from lockwright.doctor import examine
    from lockwright.machine.finding import Finding
    from lockwright.machine.provenance import FINDINGS

    from lockwright_lab.study.campaign.local_machine import LocalMachine, default_name
    from lockwright_lab.study.campaign.schedule import Schedule
    from lockwright_lab.study.campaign.session import Local, check_same_machine, machine_column

    name = machine or default_name()
    place = machine_column(wanted, name)
    if Schedule(wanted, [record for each, record in store.runs() if each == place]).finished:
        return ""
    with LocalMachine(name, wanted, folders) as local:
        facts = local.facts()
        check_same_machine(store, local.name, facts)
        if disturbances := examine.disturbances([Finding(**each) for each in facts[FINDINGS]]):
            print_line(f"'lockwright doctor' warns of {disturbances}")
        store.add_session(local.name, facts)
        Local(wanted, store, local).carry_out()
    return ""


def _refuse_missing(wanted: "Plan") -> None:
    """Raise LockwrightError if a program is not installed, with the commands that install all of
    them."""
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study.campaign.local_machine import missing
    from lockwright_lab.study.program.packages import how_to_get

    absent = [each.program for each in wanted.members if missing(each.program)]
    if not absent:
        return
    names = ", ".join(f"{each.name} ({', '.join(missing(each))})" for each in absent)
    raise LockwrightError(
        f"not installed for {names}", f"{how_to_get(absent)}; or add --skip-missing"
    )


def _dry_run(wanted: "Plan", place: Path, machine: str | None) -> None:
    from lockwright.base.progress import duration

    from lockwright_lab.study.campaign.local_machine import default_name, missing
    from lockwright_lab.study.campaign.plan import EACH
    from lockwright_lab.study.campaign.schedule import Schedule
    from lockwright_lab.study.campaign.session import machine_column, seconds_left
    from lockwright_lab.study.campaign.store import Store

    done, probes = [], []
    if place.exists():
        store = Store(place)
        try:
            store.check(wanted)
            own = machine_column(wanted, machine or default_name())
            done = [record for each, record in store.runs() if each == own]
            probes = store.probes()
        finally:
            store.close()
    line = Schedule(wanted, done)
    to_do = [slot for slot in line.remaining() if not wanted.left_out(slot.configuration)]
    for member in wanted.members:
        name = member.program.name
        slots = [slot for slot in to_do if slot.configuration.program == name]
        counts = sorted({slot.configuration.threads for slot in slots} - {0})
        where = f", threads {', '.join(map(str, counts))}" if counts else ""
        absent = missing(member.program)
        note = f" (not installed: {', '.join(absent)})" if absent else ""
        print(f"{name}: {len(slots)} runs{where}{note}")
    settings = {slot.configuration.setting for slot in to_do}
    more = "" if wanted.machines != EACH else " on each machine"
    print(
        f"{len(to_do)} runs{more} of {len(wanted.configurations())} configurations, "
        f"{len(settings)} probe runs, and up to {wanted.most_runs} runs "
        f"of those that differ by more than {numbers.percent(wanted.spread)}"
    )
    known = {record.slot.configuration.program for record in done}
    typical = {m.program.name: m.program.seconds * m.scale for m in wanted.members}
    unknown = [name for name in typical if name not in known and not typical[name]]
    left = seconds_left(done, probes, (s for s in to_do if s.configuration.program in known))
    seconds = (left or 0.0) + sum(
        typical[slot.configuration.program]
        for slot in to_do
        if slot.configuration.program not in known
    )
    line_end = f"; unknown for {', '.join(unknown)}" if unknown else ""
    print(f"about {duration(seconds)}{line_end}")


@click.command("worker")
@click.argument("address")
@click.option("--machine", metavar="NAME", help="Name of this machine in the results.")
@OPTIONS[0]
@OPTIONS[1]
@_tls
def worker(
    address: str,
    machine: str | None,
    cache: Path | None,
    work: Path | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
) -> int:
    """Make runs of studies on this machine, one at a time, for a Dask scheduler.

    ADDRESS is that of the scheduler, as in tcp://10.0.0.1:8786. 'lockwright study run --scheduler
    ADDRESS' sends the runs. A process that reaches the scheduler can execute any code here:
    without --tls-ca, --tls-cert and --tls-key, use a trusted network only.
    """
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study.campaign.certificates import certificates
    from lockwright_lab.study.campaign.local_machine import default_name

    chosen = certificates(tls_ca, tls_cert, tls_key)
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise LockwrightError(
            "a worker needs Dask distributed, which is not installed",
            "pip install 'lockwright-lab[fleet]'",
        ) from error
    from lockwright_lab.study.campaign import remote

    return remote.serve(address, machine or default_name(), folders(cache, work), chosen)
