"""Carries a study out on the workers of a Dask scheduler: each is a machine.

All records are kept here, by one process, so each run is there once whatever happens to a worker.
At most one run of ours is under way on each.
"""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import Display, print_line
from lockwright.study.campaign import remote
from lockwright.study.campaign.plan import ANY, Configuration, Plan
from lockwright.study.campaign.run_record import Probe, RunRecord, Slot
from lockwright.study.campaign.schedule import Line
from lockwright.study.campaign.session import check_same_machine, left_out, place_of, seconds_left
from lockwright.study.campaign.store import Store

_FETCHING = 2.0
"""Seconds for a result to come over."""
_POLL = 0.3
"""Seconds between looks at who is there."""


@dataclass
class _Machine:
    """A worker. address: '' while it is not there; refused: why it takes no part.

    future: what it is doing; slot: the run that it is doing, or that waits for a probe.
    """

    name: str
    line: Line
    address: str = ""
    known: bool = False
    refused: str = ""
    future: Any = None
    slot: Slot | None = None
    doing: str = ""
    probes: dict[Configuration, Probe] = field(default_factory=dict)


def carry_out(plan: Plan, store: Store, address: str, patience: float) -> str:
    """Makes all missing runs. Returns what is left and why, or nothing.

    patience: seconds to wait for workers while nothing can be done without them. Raises
    LockwrightError if no scheduler answers.
    """
    with _client(address) as client:
        return _Fleet(plan, store, client).carry_out(patience)


@contextlib.contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
    except ImportError as error:
        raise LockwrightError(
            "--scheduler needs Dask distributed, which is not installed",
            "pip install 'lockwright[fleet]'",
        ) from error
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise LockwrightError(
            f"no Dask scheduler answers at {address}", "start one with 'dask scheduler'"
        ) from error
    try:
        yield client
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=2)


class _Fleet:
    def __init__(self, plan: Plan, store: Store, client: Any) -> None:
        self._plan = plan
        self._store = store
        self._client = client
        self._kept = store.runs()
        self._probes = store.probes()
        self._machines: dict[str, _Machine] = {}
        self._news = threading.Event()
        self._shared = Line(plan, [run for _, run in self._kept])
        for name in store.machines():
            self._machine(name)

    def _machine(self, name: str) -> _Machine:
        if name not in self._machines:
            line = self._shared
            if self._plan.machines != ANY:
                line = Line(self._plan, [run for place, run in self._kept if place == name])
            probes = {each.setting: each for each in self._probes if each.machine == name}
            self._machines[name] = _Machine(name, line, probes=probes)
        return self._machines[name]

    def _lines(self) -> list[Line]:
        """The lines of those that take part, each once."""
        taking_part = [m for m in self._machines.values() if not m.refused]
        if self._plan.machines == ANY:
            return [self._shared]
        return [machine.line for machine in taking_part]

    def carry_out(self, patience: float) -> str:
        self._look()
        waited_since = time.monotonic()
        with Display(self._total(), len(self._kept)) as display:
            while True:
                self._look()
                started = [self._start(machine) for machine in self._present()]
                ended = [self._collect(machine, display) for machine in self._present()]
                if self._machines and all(line.finished for line in self._lines()):
                    return self._refusals()
                now = time.monotonic()
                if any(started) or any(ended) or any(m.future for m in self._present()):
                    waited_since = now
                elif self._give_up_waiting():
                    continue
                elif now - waited_since >= patience:
                    return self._unfinished()
                self._show(display)
                self._wait()

    def _present(self) -> list[_Machine]:
        return [m for m in self._machines.values() if m.address and not m.refused]

    def _look(self) -> None:
        """Who has come, and who has gone."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        here = {str(each["name"]): (place, each) for place, each in workers.items()}
        for name, (place, about) in here.items():
            machine = self._machine(name)
            if machine.address and machine.address != place:
                self._lose(machine)
            if not machine.address:
                machine.address, machine.known, machine.refused = place, False, ""
                if about.get("nthreads", 1) != 1:
                    self._refuse(machine, "has more than one thread, and would disturb itself")
        for machine in self._machines.values():
            if machine.address and machine.name not in here:
                print_line(f"{machine.name} has left")
                self._lose(machine)

    def _lose(self, machine: _Machine) -> None:
        """It is no longer there: its run is to be made again."""
        machine.address = ""
        self._drop(machine)

    def _drop(self, machine: _Machine) -> None:
        if machine.future is not None:
            machine.future.cancel()
        if machine.slot is not None:
            machine.line.lost(machine.slot)
        machine.future, machine.slot, machine.doing = None, None, ""

    def _refuse(self, machine: _Machine, why: str) -> None:
        print_line(f"{machine.name} takes no part: {why}")
        machine.refused = why
        self._drop(machine)

    def _start(self, machine: _Machine) -> bool:
        """Gives an idle machine something to do; returns whether it did."""
        if machine.future is not None:
            return False
        if not machine.known:
            self._submit(machine, "facts", remote.facts)
            return True
        slot = machine.slot or machine.line.next(lambda one: self._able(machine, one))
        if slot is None:
            return False
        machine.slot = slot
        one = slot.configuration
        if why := self._plan.left_out(one):
            self._keep(machine, left_out(slot, "", why))
            return True
        probe = machine.probes.get(one.setting)
        if probe is None:
            self._submit(machine, "probe", remote.probe, one.setting)
        elif probe.problem:
            self._cannot(machine, slot, probe)
        else:
            self._submit(machine, "run", remote.run, slot, probe)
        return True

    def _able(self, machine: _Machine, one: Configuration) -> bool:
        """Whether a machine may take it: what it cannot run is left for others that share it."""
        probe = machine.probes.get(one.setting)
        return self._plan.machines != ANY or probe is None or not probe.problem

    def _cannot(self, machine: _Machine, slot: Slot, probe: Probe) -> None:
        if self._plan.machines == ANY:
            machine.slot = None
            machine.line.lost(slot)
        else:
            self._keep(machine, left_out(slot, machine.name, probe.problem))

    def _submit(self, machine: _Machine, doing: str, function: Any, *arguments: object) -> None:
        machine.doing = doing
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
        machine.future.add_done_callback(lambda _: self._news.set())

    def _collect(self, machine: _Machine, display: Display) -> bool:
        """Takes what a machine has done; returns whether there was anything."""
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
            # It may have died with the result; if it has, that will be seen.
            return False
        except CancelledError:
            self._drop(machine)
            return True
        machine.future = None
        if answer.error:
            self._refuse(machine, answer.error)
        elif machine.doing == "facts":
            self._introduce(machine, answer.value)
        elif machine.doing == "probe":
            self._store.add_probe(answer.value)
            machine.probes[answer.value.setting] = answer.value
            self._probes.append(answer.value)
            if answer.value.problem:
                setting, problem = answer.value.setting, answer.value.problem
                print_line(f"{setting} is left out on {machine.name}: {problem}")
        else:
            self._keep(machine, answer.value)
            display.done()
        return True

    def _introduce(self, machine: _Machine, facts: dict[str, Any]) -> None:
        try:
            check_same_machine(self._store, machine.name, facts)
        except LockwrightError as error:
            self._refuse(machine, error.what)
            return
        self._store.sit(machine.name, facts)
        machine.known = True

    def _keep(self, machine: _Machine, run: RunRecord) -> None:
        place = place_of(self._plan, machine.name)
        self._store.add(place, run)
        self._kept.append((place, run))
        machine.line.done(run)
        machine.slot = None

    def _give_up_waiting(self) -> bool:
        """Runs that no machine that is there can make are left out; returns whether there were."""
        waiting = self._shared.waiting() if self._plan.machines == ANY else []
        problems = [
            [m.probes[slot.configuration.setting].problem for m in self._present() if m.known]
            for slot in waiting
            if all(slot.configuration.setting in m.probes for m in self._present())
        ]
        if not waiting or len(problems) < len(waiting) or not self._present():
            return False
        for slot, why in zip(waiting, problems, strict=True):
            run = left_out(slot, "", "; ".join(dict.fromkeys(why)))
            self._store.add("", run)
            self._kept.append(("", run))
            self._shared.done(run)
        return True

    def _wait(self) -> None:
        """Until a machine has done something, or it is time to look who is there."""
        self._news.wait(_POLL)
        self._news.clear()

    def _total(self) -> int:
        return len(self._kept) + sum(sum(1 for _ in line.remaining()) for line in self._lines())

    def _show(self, display: Display) -> None:
        present = self._present()
        if not present:
            display.next("waiting for machines", "waiting for machines", None)
            return
        times = []
        for line in self._lines():
            runs = [run for _, run in self._kept]
            left = seconds_left(runs, self._probes, line.remaining())
            if left is not None:
                times.append(left / (len(present) if self._plan.machines == ANY else 1))
        total = self._total()
        share = 10 * (10 * len(self._kept) // max(1, total))
        busy = ", ".join(f"{m.name}: {m.slot.configuration}" for m in present if m.slot)
        display.grow(total)
        machines = f"{len(present)} machine{'' if len(present) == 1 else 's'}"
        display.next(busy or machines, f"{machines}, {share} % done", max(times, default=None))

    def _unfinished(self) -> str:
        """Why not all is done."""
        if not self._machines:
            return "no machine has come: start 'lockwright study worker' on each"
        if self._plan.machines == ANY:
            left = sum(1 for _ in self._shared.remaining())
            return f"{left} runs are left, and no machine is there to make them"
        lines = [(m.name, sum(1 for _ in m.line.remaining())) for m in self._machines.values()]
        return "; ".join(f"{name} has gone with {left} runs left" for name, left in lines if left)

    def _refusals(self) -> str:
        refused = [m for m in self._machines.values() if m.refused]
        if self._plan.machines == ANY:
            return ""
        return "; ".join(f"{each.name} takes no part: {each.refused}" for each in refused)
