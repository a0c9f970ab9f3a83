"""Carries a study out on this machine."""

from collections.abc import Callable, Iterable

from lockwright.base.progress import Display, Similarity, print_line, remaining_seconds
from lockwright.base.results import now
from lockwright.run import resume
from lockwright.run.record import FINISHED
from lockwright.study.campaign.plan import ANY, Configuration, Plan
from lockwright.study.campaign.run_record import Probe, RunRecord, Slot
from lockwright.study.campaign.schedule import Line
from lockwright.study.campaign.site import Site
from lockwright.study.campaign.store import Store
from lockwright.study.program.trial import LEFT_OUT, SLOW, Result


def place_of(plan: Plan, machine: str) -> str:
    """The line of a machine: its own, or that which all share."""
    return "" if plan.machines == ANY else machine


def left_out(slot: Slot, machine: str, why: str) -> RunRecord:
    """The result that a configuration is not run, and why."""
    return RunRecord(slot, machine, now(), Result(LEFT_OUT, why))


def likes(one: Configuration) -> Similarity:
    """What takes about as long as a configuration, the closest first."""
    return [one, one.setting, one.program]


def seconds_left(
    done: Iterable[RunRecord], probes: Iterable[Probe], to_do: Iterable[Slot]
) -> float | None:
    """Estimate from what was run."""
    known = [(likes(k.slot.configuration), k.result.elapsed) for k in done if not k.final]
    seen = {like for each, _ in known for like in each}
    # The counting run is a first guess for what has not been run under any lock.
    known += [
        ([each.setting], each.elapsed)
        for each in probes
        if each.elapsed and each.setting not in seen
    ]
    return remaining_seconds(known, (likes(slot.configuration) for slot in to_do))


def check_same_machine(store: Store, site_name: str, facts: dict[str, object]) -> None:
    """Raises LockwrightError if a machine of that name took part and was another one."""
    before = store.facts(site_name)
    if before is not None:
        todo = "go on with that, or name the machine with --machine, or another file with --db"
        resume.check_facts(before, facts, f"the study on {site_name}", todo)


class Local:
    """A study on this machine alone."""

    def __init__(self, plan: Plan, store: Store, site: Site) -> None:
        """The store has been begun, and the machine sits in it."""
        self._plan = plan
        self._store = store
        self._site = site
        self._place = place_of(plan, site.name)
        self._done = [run for place, run in store.runs() if place == self._place]
        self._line = Line(plan, self._done)
        self._probes = {p.setting: p for p in store.probes() if p.machine == site.name}

    def carry_out(self, tell: Callable[[RunRecord], None] = lambda _: None) -> None:
        """Makes all missing runs, each kept at once."""
        line = self._line
        made = len(self._done)
        with Display(made + sum(1 for _ in line.remaining()), made) as display:
            while (slot := line.next()) is not None:
                run = self._run(slot, display)
                self._store.add(self._place, run)
                line.done(run)
                self._done.append(run)
                display.done()
                if run.final:
                    display.grow(len(self._done) + sum(1 for _ in line.remaining()))
                tell(run)

    def _run(self, slot: Slot, display: Display) -> RunRecord:
        one = slot.configuration
        if why := self._plan.left_out(one):
            return left_out(slot, "", why)
        probe = self._probes.get(one.setting)
        if probe is None:
            self._show(display, slot, f"{one.setting}, first run")
            probe = self._site.probe(one.setting)
            self._store.add_probe(probe)
            self._probes[one.setting] = probe
            if probe.problem:
                print_line(f"{one.setting} is left out: {probe.problem}")
        if probe.problem:
            return left_out(slot, self._site.name, probe.problem)
        self._show(display, slot, str(one))
        return self._site.run(slot, probe)

    def _show(self, display: Display, slot: Slot, about: str) -> None:
        left = seconds_left(self._done, self._probes.values(), [slot, *self._line.remaining()])
        number = f"round {slot.round}" if slot.round >= 1 else "warm-up"
        total = len(self._done) + 1 + sum(1 for _ in self._line.remaining())
        share = 10 * (10 * len(self._done) // total)
        display.next(f"{number}, {about}", f"{number}, {share} % done", left)

    @property
    def line(self) -> Line:
        """The runs, and which of them are still to be made."""
        return self._line


def bad_endings(plan: Plan, runs: Iterable[RunRecord]) -> list[str]:
    """Of a plan that asks for endings, a line for each run that did not end as it has to.

    That a lock is slow whose threads spin while others need their processors is in its nature.
    """
    found = []
    for run in runs if plan.endings else ():
        one, result = run.slot.configuration, run.result
        by_nature = result.outcome == SLOW and plan.may_take_forever(one)
        if not (run.finished or run.final or by_nature):
            found.append(f"{one}: {result.outcome}, {result.note}")
    return found


def summary(runs: Iterable[RunRecord]) -> str:
    """How many runs there are, and of those that did not finish, how many of each kind."""
    outcomes: dict[str, int] = {}
    for run in runs:
        outcomes[run.result.outcome] = outcomes.get(run.result.outcome, 0) + 1
    total = sum(outcomes.values())
    others = [f"{count} {what}" for what, count in sorted(outcomes.items()) if what != FINISHED]
    return f"{total} runs" + (f", of which {', '.join(others)}" if others else "")
