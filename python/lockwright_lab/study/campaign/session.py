"""A study on this machine alone, and functions that it shares with the fleet."""

from collections.abc import Callable, Iterable

from lockwright.base.progress import Display, Similarity, print_line, remaining_seconds
from lockwright.base.results import now
from lockwright.run import resume
from lockwright.run.record import FINISHED

from lockwright_lab.study.campaign.local_machine import LocalMachine
from lockwright_lab.study.campaign.plan import ANY, Configuration, Plan
from lockwright_lab.study.campaign.run_record import Probe, RunRecord, Slot
from lockwright_lab.study.campaign.schedule import Schedule
from lockwright_lab.study.campaign.store import Store
from lockwright_lab.study.program.trial import LEFT_OUT, SLOW, Result


def machine_column(plan: Plan, machine: str) -> str:
    """Return the machine's name, or '' if the machines share the runs."""
    return "" if plan.machines == ANY else machine


def left_out(slot: Slot, machine: str, why: str) -> RunRecord:
    """Return the record of a configuration that is not run. why: the reason."""
    return RunRecord(slot, machine, now(), Result(LEFT_OUT, why))


def similarity_keys(configuration: Configuration) -> Similarity:
    """Return the keys of runs that take about as long as a configuration, the closest first."""
    return [configuration, configuration.setting, configuration.program]


def seconds_left(
    runs: Iterable[RunRecord], probes: Iterable[Probe], slots: Iterable[Slot]
) -> float | None:
    """Return an estimate of the seconds left, from the runs made; None without any."""
    known = [(similarity_keys(k.slot.configuration), k.result.elapsed) for k in runs if not k.final]
    measured = {key for keys, _ in known for key in keys}
    # The probe is a first estimate for settings that have not been run under any lock.
    known += [
        ([probe.setting], probe.elapsed)
        for probe in probes
        if probe.elapsed and probe.setting not in measured
    ]
    return remaining_seconds(known, (similarity_keys(slot.configuration) for slot in slots))


def check_same_machine(store: Store, site_name: str, facts: dict[str, object]) -> None:
    """Check the facts. Raises LockwrightError if another machine of that name took part before."""
    before = store.facts(site_name)
    if before is not None:
        todo = "resume on that, or name the machine with --machine, or another file with --db"
        resume.check_facts(before, facts, f"the study on {site_name}", todo)


class Local:
    """The runs of a study on this machine alone."""

    def __init__(self, plan: Plan, store: Store, local: LocalMachine) -> None:
        """Read the stored runs. The store has been begun, and has a session of the machine."""
        self._plan = plan
        self._store = store
        self._local = local
        self._place = machine_column(plan, local.name)
        self._done = [run for place, run in store.runs() if place == self._place]
        self.schedule = Schedule(plan, self._done)
        self._probes = {p.setting: p for p in store.probes() if p.machine == local.name}

    def carry_out(self, on_run: Callable[[RunRecord], None] = lambda _: None) -> None:
        """Make all missing runs, and store each at once. on_run: called after each."""
        schedule = self.schedule
        made = len(self._done)
        with Display(made + sum(1 for _ in schedule.remaining()), made) as display:
            while (slot := schedule.next()) is not None:
                run = self._run(slot, display)
                self._store.add(self._place, run)
                schedule.done(run)
                self._done.append(run)
                display.advance()
                if run.final:
                    display.set_total(len(self._done) + sum(1 for _ in schedule.remaining()))
                on_run(run)

    def _run(self, slot: Slot, display: Display) -> RunRecord:
        configuration = slot.configuration
        if why := self._plan.left_out(configuration):
            return left_out(slot, "", why)
        probe = self._probes.get(configuration.setting)
        if probe is None:
            self._show(display, slot, f"{configuration.setting}, first run")
            probe = self._local.probe(configuration.setting)
            self._store.add_probe(probe)
            self._probes[configuration.setting] = probe
            if probe.problem:
                print_line(f"{configuration.setting} is left out: {probe.problem}")
        if probe.problem:
            return left_out(slot, self._local.name, probe.problem)
        self._show(display, slot, str(configuration))
        return self._local.run(slot, probe)

    def _show(self, display: Display, slot: Slot, about: str) -> None:
        left = seconds_left(self._done, self._probes.values(), [slot, *self.schedule.remaining()])
        number = f"round {slot.round}" if slot.round >= 1 else "warm-up"
        total = len(self._done) + 1 + sum(1 for _ in self.schedule.remaining())
        share = 10 * (10 * len(self._done) // total)
        display.announce(f"{number}, {about}", f"{number}, {share} % done", left)


def bad_endings(plan: Plan, runs: Iterable[RunRecord]) -> list[str]:
    """Return a line for each run that ended in a fault, if the plan tests endings. A polling lock
    that is slow with more threads than processors is no fault."""
    lines = []
    for run in runs if plan.endings else ():
        configuration, result = run.slot.configuration, run.result
        expected = result.outcome == SLOW and plan.may_take_forever(configuration)
        if not (run.finished or run.final or expected):
            lines.append(f"{configuration}: {result.outcome}, {result.note}")
    return lines


def summary(runs: Iterable[RunRecord]) -> str:
    """Return the number of runs, and of unfinished runs by outcome, as text."""
    outcomes: dict[str, int] = {}
    for run in runs:
        outcomes[run.result.outcome] = outcomes.get(run.result.outcome, 0) + 1
    total = sum(outcomes.values())
    others = [f"{count} {what}" for what, count in sorted(outcomes.items()) if what != FINISHED]
    return f"{total} runs" + (f", of which {', '.join(others)}" if others else "")
