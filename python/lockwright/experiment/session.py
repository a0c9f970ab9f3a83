"""The runs that an experiment lacks: made in order, each stored as soon as it has ended."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.base.progress import Display, remaining_seconds
from lockwright.base.results import now
from lockwright.experiment.declaration import Experiment
from lockwright.experiment.model import LEFT_OUT, Run, Runs, Slot, with_figures
from lockwright.experiment.schedule import Schedule
from lockwright.experiment.store import Store, Stored
from lockwright.run import resume

KNOWN = "before the first run"
"""Key of the result of `Experiment.first` among the facts."""

_ESTIMATE_EVERY = 1.0
"""Seconds between two estimates of the time left, which take long if there are many runs."""

NO_OPTIONS: Mapping[str, str] = {}


@dataclass
class Session:
    """An experiment that is carried out by this process. runs: all, with those of earlier sessions;
    store, stored: where they are stored, None for nowhere; machine: the name of this one."""

    experiment: Experiment
    store: Store | None = None
    stored: Stored | None = None
    runs: Runs = field(default_factory=Runs)
    machine: str = ""
    _left: float | None = None
    _next_estimate: float = -math.inf

    def carry_out(self, on_run: Callable[[Run], None] = lambda _: None) -> Runs:
        """Make all missing runs, and return all. on_run: called with each, after it was stored."""
        schedule = Schedule(self.experiment, self.runs)
        made = len(self.runs)
        total = made + sum(1 for _ in schedule.remaining())
        with self.experiment.around(), Display(total, made) as display:
            if self.experiment.at_once > 1:
                with ThreadPoolExecutor(self.experiment.at_once) as workers:
                    self._make_together(schedule, display, workers, on_run)
            else:
                while (slot := schedule.next()) is not None:
                    self._show(display, schedule, slot)
                    self._keep(schedule, display, self.make(slot), on_run)
        return self.runs

    def make(self, slot: Slot) -> Run:
        """Make one run, and return it without storing it."""
        experiment, started = self.experiment, now()
        cell, contender = experiment.cell(slot.cell), experiment.contender(slot.contender)
        made = with_figures(experiment.run(cell, contender, slot.round), experiment.figures)
        what = (made.ended, made.wall, made.figures, made.note, made.details)
        return Run(*what, slot, started, self.machine)

    def _make_together(
        self,
        schedule: Schedule,
        display: Display,
        workers: ThreadPoolExecutor,
        on_run: Callable[[Run], None],
    ) -> None:
        under_way: set[Future[Run]] = set()
        is_alone = False
        try:
            while True:
                while len(under_way) < self.experiment.at_once and not (is_alone and under_way):
                    slot = self._next(schedule, is_busy=bool(under_way))
                    if slot is None:
                        break
                    is_alone = self.experiment.alone(slot)
                    self._show(display, schedule, slot)
                    under_way.add(workers.submit(self.make, slot))
                if not under_way:
                    return
                ended, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                for each in ended:
                    self._keep(schedule, display, each.result(), on_run)
        finally:
            workers.shutdown(wait=False, cancel_futures=True)

    def _next(self, schedule: Schedule, *, is_busy: bool) -> Slot | None:
        """Return a slot that can be run now. is_busy: others are under way."""
        return schedule.next(lambda slot: not (is_busy and self.experiment.alone(slot)))

    def _keep(
        self, schedule: Schedule, display: Display, run: Run, on_run: Callable[[Run], None]
    ) -> None:
        if self.store is not None and self.stored is not None:
            self.store.add(self.stored, run)
        schedule.done(run)
        display.advance()
        on_run(run)

    def _show(self, display: Display, schedule: Schedule, slot: Slot) -> None:
        rule = self.experiment.rounds_rule
        number = f"round {slot.round}" if slot.counted else "warm-up"
        parts = [slot.cell, number, *rule.state(slot, self.runs)]
        if rule.is_open:
            display.set_total(len(self.runs) + 1)
        elif time.monotonic() >= self._next_estimate:
            self._left = seconds_left(self.runs, [slot, *schedule.remaining()])
            self._next_estimate = time.monotonic() + _ESTIMATE_EVERY
        line = ", ".join(filter(None, parts))
        display.announce(", ".join(filter(None, [*parts, slot.contender])), line, self._left)


def seconds_left(runs: Iterable[Run], slots: Iterable[Slot]) -> float | None:
    """Return an estimate of the seconds that the runs of slots take, from the runs made; None
    without any."""
    made = ((_similar(run.slot), run.wall) for run in runs if run.ended != LEFT_OUT)
    return remaining_seconds(made, map(_similar, slots))


def _similar(slot: Slot) -> list[tuple[str, ...]]:
    return [(slot.cell, slot.contender), (slot.cell,)]


def carry_out(experiment: Experiment, store: Store | None = None, *, resume: bool = False) -> Runs:
    """Make all runs of an experiment, and return them. store: where they are stored; resume:
    whether the latest interrupted one of the same plan in the store is continued."""
    if store is None:
        experiment.known.update(experiment.first())
        return Session(experiment).carry_out()
    session = open_session(experiment, store, {}, resume=resume)
    runs = session.carry_out()
    assert session.stored is not None
    store.finish(session.stored)
    return runs


def open_session(
    experiment: Experiment, store: Store, facts: Mapping[str, Any], *, resume: bool
) -> Session:
    """Begin an experiment in a store, or resume the latest interrupted one of the same plan. facts:
    of this machine and build, which must not have changed. Raises LockwrightError if there is none
    to resume, or if it is another machine's."""
    if resume:
        stored = find_interrupted(store, experiment.kind, experiment.plan())
        check_same(stored, facts)
        store.adopt(stored)
    else:
        known = dict(experiment.first())
        stored = store.begin(experiment.kind, experiment.plan(), {**facts, KNOWN: known})
    experiment.known.update(stored.facts.get(KNOWN, {}))
    return Session(experiment, store, stored, Runs(store.runs(stored)))


def find_interrupted(
    store: Store,
    kind: str,
    plan: Mapping[str, Any],
    fits: Callable[[Mapping[str, Any]], bool] | None = None,
    of: str = "",
    options: Mapping[str, str] = NO_OPTIONS,
) -> Stored:
    """Return the latest interrupted experiment of a kind with this plan, or with one that `fits`.
    of: the name of a part of the plan that says whether another one is meant, such as "command";
    options: of parts of the plan that have another name than their option. Raises LockwrightError
    if there is none."""
    interrupted = store.unfinished(kind)
    fits = fits or (lambda other: other == plan)
    same = next((each for each in interrupted if fits(each.plan)), None)
    if same is not None:
        return same
    similar = next((e.plan for e in interrupted if e.plan.get(of) == plan.get(of)), None)
    what = f"{kind} of this {of}" if of else kind
    if similar is None:
        raise LockwrightError(
            f"{store.path} has no interrupted {what}", "leave out --resume to start one"
        )
    part = difference(similar, plan)
    raise LockwrightError(
        f"the interrupted {what} differs in --{options.get(part, part.replace('_', '-'))}",
        "repeat it with the options it had, or leave out --resume to start another",
    )


def difference(plan: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return the first part in which two plans differ."""
    names = [*plan, *(name for name in other if name not in plan)]
    return next((name for name in names if plan.get(name) != other.get(name)), "")


def check_same(stored: Stored, facts: Mapping[str, Any]) -> None:
    """Raise LockwrightError if an interrupted experiment was made on another machine, with another
    build or with other settings of the locks."""
    before = stored.facts
    declared = {name for name in {**before, **facts} if name.startswith("LOCKWRIGHT_")}
    todo = "leave out --resume to start another"
    resume.check_facts(before, facts, f"the interrupted {stored.kind}", todo, sorted(declared))
