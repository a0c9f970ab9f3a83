"""Every kind of report, from made-up measurements that are the same each time."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from support.made_profile import made_profile
from support.made_runs import made_run

if TYPE_CHECKING:
    from lockwright.predict.header import Header

LOCKS = ("pthread", "ttas", "futex", "mcs-stp", "mcs-timepub", "malth-stp", "c-bo-mcs-stp")


def profile(folder: Path) -> Path:
    """Write the report of a profile that has every part."""
    from lockwright.export import page

    path = folder / "profile.html"
    page.write(made_profile(), path)
    return path


def bare_profile(folder: Path) -> Path:
    """Write the report of a profile with one mutex and no other data."""
    from lockwright.export import page
    from lockwright.profile.record import Distribution

    whole_profile = made_profile()
    mutex = replace(
        whole_profile.mutexes[0],
        contended=0,
        waiting=Distribution(),
        holding=Distribution(),
        hand_over=Distribution(),
        arrivals=(),
        sites=(),
        blocks=(),
    )
    path = folder / "bare.html"
    page.write(replace(whole_profile, mutexes=(mutex,), timeline=()), path)
    return path


def comparison(folder: Path) -> Path:
    """Write the report of `lockwright compare` at three numbers of threads; one lock times out."""
    from lockwright.compare import report
    from lockwright.compare.experiment import declare, no_runs
    from lockwright.compare.plan import Plan
    from lockwright.experiment import Runs, page
    from lockwright.experiment.schedule import Schedule
    from lockwright.experiment.store import Stored

    draw = random.Random(1)
    command = ("benchmark", "--threads", "{threads}")
    plan = Plan(command, LOCKS, (1, 4, 16), 5, 1, "rate: (.*)", "op/s", False, 60, None)
    runs = Runs()
    for slot in Schedule(declare(plan, no_runs), runs).remaining():
        threads = int(slot.cell.split()[0])
        timed_out = slot.contender == "ttas" and threads == 16
        rate = 1e5 * (1 + LOCKS.index(slot.contender) / 5) / threads**0.3 * draw.gauss(1, 0.02)
        value = None if timed_out else rate
        runs.add(made_run(slot.contender, slot.round, value, threads=threads, others=0.01))
    facts = {"probe": {"mutexes": 3, "acquisitions": 4000}}
    stored = Stored(1, "comparison", plan.stored(), facts, "", "then", "now")
    path = folder / "comparison.html"
    path.write_text(page.render(report.make(stored, plan, "A comparison", runs)))
    return path


def study(folder: Path) -> Path:
    """Write the report of `lockwright study report`: four programs, seven locks, two counts."""
    from lockwright import cli

    draw = random.Random(1)
    lines = ["app,lock,threads,throughput"]
    for program in ("cache", "database-server", "compress", "a-program-with-a-long-name"):
        for index, lock in enumerate(LOCKS):
            for threads in (1, 8):
                factor = 1 + index * draw.uniform(-0.1, 0.4) * (threads > 1)
                lines += (f"{program},{lock},{threads},{100 * factor * x}" for x in (0.99, 1, 1.01))
    data = folder / "study.csv"
    data.write_text("\n".join(lines) + "\n")
    words = [
        "study",
        "report",
        str(data),
        "--output-dir",
        str(folder / "study"),
        "--figures",
        "none",
    ]
    assert cli.main([*words, "--columns", "throughput"]) == 0
    return folder / "study" / "report.html"


def _predicted() -> "Header":
    """Return the header of predictions for two workers on A-64."""
    from lockwright.predict.derive import derive
    from lockwright.predict.estimate import Estimate
    from lockwright.predict.header import Header
    from lockwright.simulate import machine
    from predict import examples

    profile = examples.two_workers()
    derived, agreement = derive(profile, None), Estimate(1.02, 0.97, 1.06)
    return Header("server", machine.load("a-64"), derived, agreement, profile.process)


def prediction(folder: Path) -> Path:
    """Write the report of `lockwright predict` at two numbers of threads."""
    from lockwright.predict import page
    from lockwright.predict.estimate import Estimate
    from lockwright.predict.ranking import Prediction

    ranked = []
    for threads in (2, 64):
        for rank, lock in enumerate(reversed(LOCKS), 1):
            ratio = 2.0 - rank / 8
            ranked.append(
                Prediction(
                    lock,
                    threads,
                    Estimate(1e6 * ratio, 9e5 * ratio, 1.1e6 * ratio),
                    Estimate(ratio, 0.95 * ratio, 1.05 * ratio),
                    Estimate(1000.0 * rank, 900.0 * rank, 1100.0 * rank),
                    1 if rank < 3 else rank,
                    2 if rank < 3 else rank,
                    {},
                )
            )
    reasons = {2: "The sections are short.", 64: "The waiters take turns."}
    path = folder / "prediction.html"
    path.write_text(page.ranking_page(_predicted(), ranked, reasons, [f"{LOCKS[1]}: stopped"]))
    return path


def what_if(folder: Path) -> Path:
    """Write the report of `lockwright what-if` with three changes, of which one failed."""
    from lockwright.predict import page
    from lockwright.predict.changes import Change
    from lockwright.predict.estimate import Estimate
    from lockwright.predict.what_if import Effect

    def change(text: str) -> Change:
        return Change(text, lambda model: model)

    effects = [
        Effect(change("halve the sections of hot"), Estimate(1.6, 1.4, 1.7), Estimate(0.5, 0.4, 1)),
        Effect(change("divide hot into 4 parts"), Estimate(1.1, 0.9, 1.3), None),
        Effect(change("8 threads"), None, None, "two holders at once"),
    ]
    path = folder / "what-if.html"
    path.write_text(page.effects_page(_predicted(), effects, "pthread", 2))
    return path


def experiments(folder: Path) -> Path:
    """Write the report of `lockwright what-if --measure` of three locks, of which one has no
    sections; a share had no gain."""
    from lockwright.predict.estimate import Estimate
    from lockwright.speedup import show
    from lockwright.speedup.choice import Subject
    from lockwright.speedup.measure import Curve, Measured
    from lockwright.speedup.windows import NO_WAITS, Window

    control = Window(0, 6e7, 0, 1000)
    rounds = [
        {0: control, 50: Window(50, 6e7, 2e7, 900 + number), 100: Window(100, 6e7, 5.99e7, 900)}
        for number in range(3)
    ]
    nothing = [{0: control, 50: Window(50, 6e7, 0, 1000 + number)} for number in range(3)]
    waits = [
        {0: control, NO_WAITS: Window(NO_WAITS, 6e7, 2e7, 900 + 20 * number)} for number in range(3)
    ]
    rounds = [{**rounds[n], NO_WAITS: waits[n][NO_WAITS]} for n in range(3)]
    site = "Table::insert(std::string const&, unsigned long) (table.cpp:211)"
    curves = (
        Curve(Subject("hot", "hot", 0.06, held=0.8, waited=1.4), tuple(rounds)),
        Curve(Subject(site, site, 0.06, held=0.3, waited=0.1), tuple(nothing)),
        Curve(Subject("table", "hot", 0.06, held=0.2, waited=0.5, only_waits=True), tuple(waits)),
    )
    path = folder / "experiments.html"
    measured = Measured(("server", "--port", "80"), curves)
    path.write_text(show.page(measured, {"hot": {50: Estimate(1.6, 1.4, 1.7), 100: None}}))
    return path


REPORTS: dict[str, Callable[[Path], Path]] = {
    "profile": profile,
    "bare-profile": bare_profile,
    "comparison": comparison,
    "study": study,
    "prediction": prediction,
    "what-if": what_if,
    "experiments": experiments,
}
