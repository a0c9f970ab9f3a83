"""A study on the workers of a Dask scheduler, each of which is a machine.

One process, this one, stores all records, so each run is stored once even if a worker fails. At
most one run of the study is under way on each machine.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import Display, print_line
from lockwright.experiment import Run
from lockwright.experiment.model import Slot
from lockwright.experiment.schedule import Schedule
from lockwright.experiment.session import seconds_left

from lockwright_lab.study.campaign import remote
from lockwright_lab.study.campaign.certificates import (
    SAME_AUTHORITY,
    Certificates,
    address_with_scheme,
)
from lockwright_lab.study.campaign.experiment import (
    PROBE,
    configuration_of,
    declare,
    left_out,
    probes_of,
    runs_for,
)
from lockwright_lab.study.campaign.plan import ANY, Plan
from lockwright_lab.study.campaign.results import StudyFile

_FETCHING = 2.0
"""Seconds to wait for the transfer of a result."""
_POLL = 0.3
"""Seconds between two requests for the list of workers."""


@dataclass
class _Machine:
    """A worker. address: '' while it is absent; refused: why it takes no part, or ''. future: of
    the current call, whose kind is `call`; slot: the run that is under way, or that waits for a
    probe; known: whether its facts have been checked; probes: by cell."""

    name: str
    schedule: Schedule
    address: str = ""
    known: bool = False
    refused: str = ""
    future: Any = None
    slot: Slot | None = None
    call: str = ""
    probes: dict[str, Run] = field(default_factory=dict)


def carry_out(
    plan: Plan, file: StudyFile, address: str, patience: float, chosen: Certificates | None
) -> str:
    """Make all missing runs. Return what is left and why, or "". patience: seconds to wait for
    workers while no run is possible. Raises LockwrightError if no scheduler answers."""
    with _client(address, chosen) as client:
        return _Fleet(plan, file, client).carry_out(patience)


@contextlib.contextmanager
def _client(address: str, chosen: Certificates | None) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise LockwrightError(
            "--scheduler needs Dask distributed, which is not installed",
            "pip install 'lockwright-lab[fleet]'",
        ) from error
    address = address_with_scheme(address, chosen)
    security = chosen.security() if chosen else None
    try:
        client = Client(address, timeout=10, set_as_default=False, security=security)
    except (OSError, ValueError, TimeoutError) as error:
        raise LockwrightError(
            f"no Dask scheduler answers at {address}",
            "start one with 'dask scheduler'" + (f" {SAME_AUTHORITY}" if chosen else ""),
        ) from error
    try:
        yield client
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=2)


class _Fleet:
    def __init__(self, plan: Plan, file: StudyFile, client: Any) -> None:
        self._plan = plan
        self._experiment = declare(plan)
        self._file = file
        self._client = client
        self._runs = file.runs()
        self._machines: dict[str, _Machine] = {}
        self._wake = threading.Event()
        self._shared = Schedule(self._experiment, runs_for(plan, self._runs, ""))
        for name in file.machines():
            self._machine(name)

    def _machine(self, name: str) -> _Machine:
        if name not in self._machines:
            schedule = self._shared
            if self._plan.machines != ANY:
                schedule = Schedule(self._experiment, runs_for(self._plan, self._runs, name))
            probes = probes_of(self._runs, name)
            self._machines[name] = _Machine(name, schedule, probes=probes)
        return self._machines[name]

    def _schedules(self) -> list[Schedule]:
        """Return the schedules of the machines that take part, each once."""
        if self._plan.machines == ANY:
            return [self._shared]
        return [machine.schedule for machine in self._machines.values() if not machine.refused]

    def carry_out(self, patience: float) -> str:
        self._update_machines()
        waited_since = time.monotonic()
        with Display(self._total(), self._made()) as display:
            while True:
                self._update_machines()
                started = [self._start(machine) for machine in self._present()]
                ended = [self._collect(machine, display) for machine in self._present()]
                if self._machines and all(schedule.finished for schedule in self._schedules()):
                    return self._refusals()
                now = time.monotonic()
                if any(started) or any(ended) or any(m.future for m in self._present()):
                    waited_since = now
                elif self._leave_out_impossible():
                    continue
                elif now - waited_since >= patience:
                    return self._unfinished()
                self._show(display)
                # Until a call finishes, or it is time to update the machines.
                self._wake.wait(_POLL)
                self._wake.clear()

    def _present(self) -> list[_Machine]:
        return [m for m in self._machines.values() if m.address and not m.refused]

    def _update_machines(self) -> None:
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        present = {str(worker["name"]): (address, worker) for address, worker in workers.items()}
        for name, (address, about) in present.items():
            machine = self._machine(name)
            if machine.address and machine.address != address:
                self._lose(machine)
            if not machine.address:
                machine.address, machine.known, machine.refused = address, False, ""
                if about.get("nthreads", 1) != 1:
                    self._refuse(machine, "has more than one thread, so runs would overlap")
        for machine in self._machines.values():
            if machine.address and machine.name not in present:
                print_line(f"{machine.name} has left")
                self._lose(machine)

    def _lose(self, machine: _Machine) -> None:
        """Mark a machine as absent; its run is to be repeated."""
        machine.address = ""
        self._drop(machine)

    def _drop(self, machine: _Machine) -> None:
        if machine.future is not None:
            machine.future.cancel()
        if machine.slot is not None:
            machine.schedule.lost(machine.slot)
        machine.future, machine.slot, machine.call = None, None, ""

    def _refuse(self, machine: _Machine, why: str) -> None:
        print_line(f"{machine.name} takes no part: {why}")
        machine.refused = why
        self._drop(machine)

    def _start(self, machine: _Machine) -> bool:
        """Give an idle machine a call to run; return whether it did."""
        if machine.future is not None:
            return False
        if not machine.known:
            self._submit(machine, "facts", remote.facts)
            return True
        slot = machine.slot or machine.schedule.next(partial(self._can_run, machine))
        if slot is None:
            return False
        machine.slot = slot
        configuration = configuration_of(self._experiment, slot)
        probe = machine.probes.get(slot.cell)
        if probe is None:
            self._submit(machine, "probe", remote.probe, configuration.setting)
        elif not probe.finished:
            self._skip(machine, slot, probe)
        else:
            self._submit(machine, "run", remote.run, configuration, slot.round, probe)
        return True

    def _can_run(self, machine: _Machine, slot: Slot) -> bool:
        """Return whether a machine may make a run; if it cannot run a shared one, that is
        left to other machines."""
        probe = machine.probes.get(slot.cell)
        return self._plan.machines != ANY or probe is None or probe.finished

    def _skip(self, machine: _Machine, slot: Slot, probe: Run) -> None:
        if self._plan.machines == ANY:
            machine.slot = None
            machine.schedule.lost(slot)
        else:
            self._store_run(machine, left_out(slot, machine.name, probe.note))

    def _submit(self, machine: _Machine, call: str, function: Any, *arguments: object) -> None:
        machine.call = call
        machine.future = self._client.submit(
            function,
            machine.name,
            self._plan,
            *arguments,
            workers=[machine.address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        machine.future.add_done_callback(lambda _: self._wake.set())

    def _collect(self, machine: _Machine, display: Display) -> bool:
        """Store the result of a finished call; return whether there was one."""
        future = machine.future
        if future is None or not future.done():
            return False
        if future.status != "finished":
            if future.status == "error":
                self._refuse(machine, f"{future.exception()}")
            else:
                self._drop(machine)
            return True
        try:
            answer: remote.Answer = future.result(timeout=_FETCHING)
        except TimeoutError:
            # If the worker has died with the result, the next list of workers shows that.
            return False
        except CancelledError:
            self._drop(machine)
            return True
        machine.future = None
        if answer.error:
            self._refuse(machine, answer.error)
        elif machine.call == "facts":
            self._check_facts(machine, answer.value)
        elif machine.call == "probe":
            self._store_probe(machine, answer.value)
        else:
            self._store_run(machine, answer.value)
            display.advance()
        return True

    def _check_facts(self, machine: _Machine, facts: dict[str, Any]) -> None:
        try:
            self._file.join(machine.name, facts)
        except LockwrightError as error:
            self._refuse(machine, error.what)
            return
        machine.known = True

    def _store_probe(self, machine: _Machine, probe: Run) -> None:
        self._file.add(probe)
        self._runs.append(probe)
        machine.probes[probe.cell] = probe
        if not probe.finished:
            print_line(f"{probe.cell} is left out on {machine.name}: {probe.note}")

    def _store_run(self, machine: _Machine, run: Run) -> None:
        self._file.add(run)
        self._runs.append(run)
        machine.schedule.done(run)
        machine.slot = None

    def _leave_out_impossible(self) -> bool:
        """Leave out runs that no present machine can make; return whether there were any."""
        waiting = self._shared.waiting() if self._plan.machines == ANY else []
        problems = [
            [m.probes[slot.cell].note for m in self._present() if m.known]
            for slot in waiting
            if all(slot.cell in m.probes for m in self._present())
        ]
        if not waiting or len(problems) < len(waiting) or not self._present():
            return False
        for slot, why in zip(waiting, problems, strict=True):
            run = left_out(slot, "", "; ".join(dict.fromkeys(why)))
            self._file.add(run)
            self._runs.append(run)
            self._shared.done(run)
        return True

    def _made(self) -> int:
        return sum(run.contender != PROBE for run in self._runs)

    def _total(self) -> int:
        return self._made() + sum(
            sum(1 for _ in schedule.remaining()) for schedule in self._schedules()
        )

    def _show(self, display: Display) -> None:
        present = self._present()
        if not present:
            display.announce("waiting for machines", "waiting for machines", None)
            return
        times = []
        for schedule in self._schedules():
            left = seconds_left(self._runs, schedule.remaining())
            if left is not None:
                times.append(left / (len(present) if self._plan.machines == ANY else 1))
        total = self._total()
        share = 10 * (10 * self._made() // max(1, total))
        busy = ", ".join(f"{m.name}: {m.slot.cell}, {m.slot.contender}" for m in present if m.slot)
        display.set_total(total)
        machines = f"{len(present)} machine{'' if len(present) == 1 else 's'}"
        display.announce(busy or machines, f"{machines}, {share} % done", max(times, default=None))

    def _unfinished(self) -> str:
        if not self._machines:
            return "no machine has joined: start 'lockwright study worker' on each"
        if self._plan.machines == ANY:
            left = sum(1 for _ in self._shared.remaining())
            return f"{left} runs are left, and no machine is present to make them"
        lines = [(m.name, sum(1 for _ in m.schedule.remaining())) for m in self._machines.values()]
        return "; ".join(
            f"{name} has left with {left} runs to make" for name, left in lines if left
        )

    def _refusals(self) -> str:
        if self._plan.machines == ANY:
            return ""
        refused = [m for m in self._machines.values() if m.refused]
        return "; ".join(f"{machine.name} takes no part: {machine.refused}" for machine in refused)
