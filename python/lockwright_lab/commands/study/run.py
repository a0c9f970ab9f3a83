"""`lockwright study run` and `lockwright study worker`: the runs of a study, on this machine or on
several."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from lockwright.commands.common import brief, grammar

from lockwright_lab.commands.common.folders import CACHE, WORK, folders
from lockwright_lab.commands.common.grammar import shared

if TYPE_CHECKING:
    from lockwright_lab.study.campaign.certificates import Certificates

_PATH = click.Path(path_type=Path)
_TLS = {
    "ca": "With a Dask scheduler: the certificate of the authority that TLS trusts.",
    "cert": "With a Dask scheduler: the certificate of this process.",
    "key": "With a Dask scheduler: the key of --tls-cert.",
}


def _tls(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of TLS, which arrive as `certificates`; None without any of them."""

    @wraps(command)
    def with_certificates(
        tls_ca: Path | None, tls_cert: Path | None, tls_key: Path | None, **values: Any
    ) -> int:
        from lockwright_lab.study.campaign.certificates import certificates

        return command(certificates=certificates(tls_ca, tls_cert, tls_key), **values)

    options = [shared(f"--tls-{name}", text) for name, text in _TLS.items()]
    return grammar.with_options(with_certificates, options)


@brief.command("run")
@click.argument("study", type=_PATH, metavar="STUDY.toml")
@grammar.shared("--db", "Store the results in this SQLite file.")
@click.option(
    "--dry-run", is_flag=True, help="Print the runs and their duration without running them."
)
@click.option("--skip-missing", is_flag=True, help="Leave out programs that are not installed.")
@shared("--machine-name", "Name of this machine in the results.", "machine")
@CACHE
@WORK
@click.option("--scheduler", metavar="ADDRESS", help="Run on the machines of this Dask scheduler.")
@grammar.real_number(
    "--reconnect",
    60.0,
    "With --scheduler: wait S seconds for a machine that has disconnected.",
    metavar="S",
    min=0,
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
    reconnect: float,
    certificates: "Certificates | None",
) -> int:
    """Run the programs of a study under its locks, and store the results.

    STUDY.toml has the locks, programs, thread counts, repetitions and machines: see
    docs/lab/study.md. The results are in STUDY.sqlite beside it, or in --db. Each run is saved when
    it ends, so that the same command resumes a stopped study.

    Example: lockwright study run small.toml
    """
    from lockwright.preload import locks

    from lockwright_lab.study.campaign import plan as plans
    from lockwright_lab.study.campaign.conduct import Place, conduct
    from lockwright_lab.study.campaign.preview import preview, refuse_missing

    if certificates and scheduler is None:
        raise click.UsageError("--tls-ca, --tls-cert and --tls-key need --scheduler")
    wanted = plans.read(study, locks.registry())
    path = db or study.with_suffix(".sqlite")
    if dry_run:
        for line in preview(wanted, path, machine):
            print(line)
        return 0
    if scheduler is None and not (skip_missing or wanted.everything):
        refuse_missing(wanted)
    place = Place(machine, folders(cache, work), scheduler, reconnect, certificates)
    return conduct(wanted, path, place)


@brief.command("worker")
@click.argument("address")
@shared("--machine-name", "Name of this machine in the results.", "machine")
@CACHE
@WORK
@_tls
def worker(
    address: str,
    machine: str | None,
    cache: Path | None,
    work: Path | None,
    certificates: "Certificates | None",
) -> int:
    """Make runs of studies on this machine, one at a time, for a Dask scheduler.

    ADDRESS is that of the scheduler, as in tcp://10.0.0.1:8786. 'lockwright study run --scheduler
    ADDRESS' sends the runs. A process that reaches the scheduler can execute any code here:
    without --tls-ca, --tls-cert and --tls-key, use a trusted network only.
    """
    from lockwright.base.errors import LockwrightError

    from lockwright_lab.study.campaign.local_machine import default_name

    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise LockwrightError(
            "a worker needs Dask distributed, which is not installed",
            "pip install 'lockwright-lab[fleet]'",
        ) from error
    from lockwright_lab.study.campaign import remote

    return remote.serve(address, machine or default_name(), folders(cache, work), certificates)
