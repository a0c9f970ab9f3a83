"""The worker of a fleet, which is one machine and makes one run at a time.

These functions are called by name on the worker. An error that a user can correct is returned as an
answer, because Dask would print an exception with a traceback.
"""

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.experiment import Run

from lockwright_lab.study.campaign.certificates import (
    SAME_AUTHORITY,
    Certificates,
    address_with_scheme,
)
from lockwright_lab.study.campaign.local_machine import Folders, LocalMachine
from lockwright_lab.study.campaign.plan import Configuration, Plan
from lockwright_lab.study.program.inputs import default_cache

_JOINING = 30.0
"""Seconds for a scheduler to answer."""

_local: tuple[str, LocalMachine] | None = None
_folders: Folders | None = None


@dataclass(frozen=True)
class Answer:
    """The result of a call: the value, or the error of the machine."""

    value: Any = None
    error: str = ""


def facts(machine: str, plan: Plan) -> Answer:
    """Return the facts of the machine."""
    return _answered(machine, plan, lambda local: local.facts())


def probe(machine: str, plan: Plan, setting: Configuration) -> Answer:
    """Return the probe of a setting."""
    return _answered(machine, plan, lambda local: local.probe(setting))


def run(machine: str, plan: Plan, configuration: Configuration, number: int, known: Run) -> Answer:
    """Make the run of a round. known: the probe of its setting on this machine."""
    return _answered(machine, plan, lambda local: local.run(configuration, number, known))


def _answered(machine: str, plan: Plan, function: Callable[[LocalMachine], object]) -> Answer:
    global _local
    key = f"{machine} {plan.to_json()}"
    try:
        if _local is not None and _local[0] != key:
            _local[1].close()
            _local = None
        if _local is None:
            _local = key, LocalMachine(machine, plan, _folders or _default_folders())
        return Answer(function(_local[1]))
    except LockwrightError as error:
        # The next call makes a new machine: the old one may have ended its processes.
        if _local is not None:
            _local[1].close()
            _local = None
        return Answer(error=f"{error.what}; {error.todo}")


def _default_folders() -> Folders:
    cache = default_cache()
    return Folders(cache, cache / "work")


def serve(address: str, name: str, folders: Folders, chosen: Certificates | None) -> int:
    """Make the runs of a scheduler until it ends or a signal arrives; return the exit status.
    Raises LockwrightError if no scheduler answers or a certificate cannot be used."""
    global _folders
    _folders = folders
    return asyncio.run(_serve(address_with_scheme(address, chosen), name, chosen))


async def _serve(address: str, name: str, chosen: Certificates | None) -> int:
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    try:
        worker = await _join(address, name, chosen)
        print_line(f"machine {name} makes the runs of studies at {address}")
        while True:
            ended = asyncio.ensure_future(worker.finished())
            await asyncio.wait({ended, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                # The run under way does not end here; the study repeats it.
                await worker.close(timeout=1, executor_wait=False)
                return stopped.result()
            # The scheduler has ended, or had no message from this worker for too long.
            worker = await _join(address, name, chosen)
    finally:
        if _local is not None:
            _local[1].close()


async def _join(address: str, name: str, chosen: Certificates | None) -> Any:
    """Return a worker that has joined the scheduler. Raises LockwrightError if none answers."""
    from distributed import Worker

    security = chosen.security() if chosen else None
    try:
        worker = Worker(
            address,
            nthreads=1,
            name=name,
            memory_limit=0,
            dashboard=False,
            security=security,
        )
        await asyncio.wait_for(worker, _JOINING)
    except (OSError, ValueError, TimeoutError) as error:
        raise LockwrightError(
            f"cannot join the Dask scheduler at {address}: {str(error) or 'no answer'}",
            f"start one with 'dask scheduler'{f' {SAME_AUTHORITY}' if chosen else ''}, and give "
            "each machine another --machine-name",
        ) from error
    return worker
