"""`lockwright bench advice`: which locks run, what their intervals say, and its report."""

import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import FINISHED, TIMEOUT, Run, Runs, carry_out, report
from lockwright.experiment.model import Slot
from lockwright.preload.locks import registry
from lockwright.profile import record
from lockwright_lab.bench.advice import advised, subjects
from lockwright_lab.bench.advice.advised import Advised
from lockwright_lab.bench.advice.busy import busy_processors
from lockwright_lab.bench.advice.experiment import Lengths, experiment
from lockwright_lab.bench.advice.rules import former_names
from lockwright_lab.bench.advice.subjects import Conditions
from lockwright_lab.bench.advice.verdict import BELOW, OPEN, SHOWN, Verdict, shares, verdict
from lockwright_lab.bench.installed import Installed
from lockwright_lab.bench.validation.subjects import Subject
from lockwright_lab.study.campaign.local_machine import Folders
from lockwright_lab.study.program.entry import OUTPUT, Metric, Program
from support.made_profile import made_profile

PROGRAM = Program("made", ("made",), Metric("wall", "", OUTPUT, "s", "lower"))
CELL = Conditions(Subject("made", PROGRAM, 2), 2, is_busy=False)


def runs(**rates: Sequence[float]) -> Runs:
    """Return runs that took a second, by lock; 0 for one that was ended after four."""
    found = Runs()
    for lock, values in rates.items():
        for number, rate in enumerate(values, 1):
            slot = Slot("made", lock, number)
            ended = Run(FINISHED, 1.0, {"rate": rate}, slot=slot)
            found.add(ended if rate else Run(TIMEOUT, 4.0, slot=slot))
    return found


def judged(*named: str, former: Sequence[str] = (), **rates: Sequence[float]) -> Verdict:
    found = verdict(runs(**rates), "made", list(rates), named, former, 2)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rates", "harmless", "severe"),
    [
        ((1.00, 1.01, 0.99), SHOWN, SHOWN),
        ((0.90, 0.91, 0.90), BELOW, SHOWN),
        ((0.50, 0.51, 0.50), BELOW, BELOW),
        ((0.80, 1.10, 0.90), OPEN, OPEN),
        ((1.00,), OPEN, OPEN),
    ],
)
def test_the_interval_says_whether_the_first_lock_harms(
    rates: Sequence[float], harmless: str, severe: str
) -> None:
    found = shares([judged("ttas", pthread=(1.0, 1.0, 1.0), ttas=rates)])
    assert found.harmless[harmless] == 1
    assert found.severe[severe] == 1


def test_where_nothing_is_named_the_program_keeps_its_mutex() -> None:
    found = judged(pthread=(1.0,) * 4, futex=(1.2, 1.21, 1.2, 1.21))
    assert found.first() == "pthread"
    total = shares([found])
    assert total.harmless[SHOWN] == 1
    assert (total.gaining, total.near) == (1, 0)


def test_one_of_the_first_two_may_be_near_the_best() -> None:
    rates = {
        "pthread": (1.0,) * 4,
        "ttas": (0.7, 0.7, 0.7, 0.71),
        "futex": (1.2, 1.21, 1.2, 1.21),
        "clof": (1.25, 1.25, 1.25, 1.25),
    }
    found = judged("ttas", "futex", former=["ttas"], **rates)
    assert found.best.lock == "clof"
    assert found.best.gains
    assert found.is_near()
    assert not found.is_near(former=True)
    assert shares([found], former=True).harmless[BELOW] == 1


def test_the_rounds_that_choose_the_best_do_not_say_what_it_gains() -> None:
    """The first two rounds of `futex` are luck."""
    lucky = {"pthread": (1.0,) * 4, "futex": (1.5, 1.51, 1.01, 1.0)}
    found = judged(former=(), **lucky)
    assert (found.best.lock, found.best.gains) == ("futex", False)
    early = judged(former=(), **{lock: rates[:2] for lock, rates in lucky.items()})
    assert early.undecided() == {"pthread", "futex"}
    assert (early.best.ratio, early.best.gains) == (None, False)


def test_a_run_that_was_ended_counts_with_its_bound() -> None:
    found = judged("mcs", pthread=(8.0, 8.0), mcs=(0.0, 0.0))
    ratio = found.of_first()
    assert ratio is not None
    assert ratio.value == pytest.approx(0.25)


@pytest.fixture
def carried_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return a function that carries out the experiment with made rates and advice, and returns
    its report."""

    def carry(answer: Advised, rates: dict[str, Sequence[float]]) -> report.Report:
        made: dict[str, int] = {}

        def run(_: Installed, cell: str, lock: str, *__: object) -> Run:
            number = made[lock] = made.get(lock, 0) + 1
            values = rates.get(lock, (1.0,))
            return Run(FINISHED, 1.0, {"rate": values[(number - 1) % len(values)]})

        monkeypatch.setattr(Installed, "run", run)
        made_experiment = experiment(
            [CELL],
            ["other is left out."],
            Lengths(2, 4, 0.1, 1.0),
            tmp_path,
            Folders(tmp_path, tmp_path),
            lambda cells, *_: {each.name: asdict(answer) for each in cells},
        )
        return report.make(made_experiment, carry_out(made_experiment))

    return carry


def test_the_locks_of_a_cell_run_until_it_is_decided(carried_out: Any) -> None:
    """`ttas` is near the bound in every round; the others need two rounds."""
    answer = Advised(("ttas", "futex"), ("mcs-spin", "clof"))
    found = carried_out(answer, {"ttas": (0.8, 1.1)})
    counts = {lock: len(found.runs.of(CELL.name, lock)) for lock in registry().names}
    locks = {lock for lock, number in counts.items() if number}
    assert locks == {"pthread", "ttas", "futex", "mcs-spin", *advised.OTHERS}
    assert counts["pthread"] == counts["ttas"] == 4
    assert counts["mcs-spin"] == 2
    (cell,) = found.more["cells"]
    assert (cell["first"], cell["former_first"], cell["harmless"]) == ("ttas", "mcs-spin", OPEN)
    assert found.more["advise"]["harmless"] == {SHOWN: 0, OPEN: 1, BELOW: 0}
    assert "other is left out." in found.remarks


def test_a_decided_cell_has_no_further_rounds(carried_out: Any) -> None:
    found = carried_out(Advised(("ttas",)), {"ttas": (1.05, 1.06)})
    assert len(found.runs.of(CELL.name, "ttas")) == 2


def test_the_best_lock_and_a_named_one_run_until_this_is_near(carried_out: Any) -> None:
    """They run in all rounds, since the gain of the first two may be luck."""
    rates = {"ttas": (1.2, 1.21), "futex": (1.25, 1.26), "mcs-stp": (1.0, 1.01)}
    found = carried_out(Advised(("ttas",)), rates)
    counts = {name: len(found.runs.of(CELL.name, name)) for name in (*rates, "pthread")}
    assert counts == {"ttas": 4, "futex": 4, "mcs-stp": 2, "pthread": 4}
    assert found.more["advise"]["near"] == 1


def test_a_cell_without_a_profile_is_named(carried_out: Any) -> None:
    found = carried_out(Advised(problem="no profile was written"), {})
    assert not found.runs.all
    assert f"{CELL.name}: no profile was written" in found.remarks


def test_the_former_rules_name_what_they_named() -> None:
    assert former_names(made_profile())[:3] == ["adaptive", "lifo-cr", "mutexee"]
    idle = replace(made_profile(), mutexes=())
    assert former_names(idle) == []


def test_advice_is_asked_once_for_a_profile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A second command reads it from the folder, and names a damaged file."""
    profiled = []

    def profile(cell: Conditions, path: Path, _: Folders) -> None:
        profiled.append(cell.name)
        path.write_text("")

    monkeypatch.setattr(advised, "load_machine", lambda *_: None)
    monkeypatch.setattr(advised, "_profile", profile)
    names = [{"lock": name} for name in ("ttas", "default", "clof")]
    monkeypatch.setattr(advised, "ask", lambda _: {"shortlist": names})
    monkeypatch.setattr(record, "read", lambda _: made_profile())
    places = Folders(tmp_path, tmp_path)
    first = advised.advise_all([CELL], tmp_path, places)
    # The default is measured as the lock whose gain was predicted.
    assert advised.advised_in(first, CELL.name).named == ("ttas", "adaptive")
    again = advised.advise_all([CELL], tmp_path, places)
    assert advised.advised_in(again, CELL.name) == advised.advised_in(first, CELL.name)
    assert profiled == [CELL.name]
    (file,) = tmp_path.glob("*.advised.json")
    file.write_text("{")
    with pytest.raises(LockwrightError, match="is not JSON"):
        advised.advise_all([CELL], tmp_path, places)


def test_busy_programs_end_with_the_block() -> None:
    with busy_processors() as pids:
        assert len(pids) == len(os.sched_getaffinity(0))
        assert {frozenset(os.sched_getaffinity(pid)) for pid in pids} == {
            frozenset({each}) for each in os.sched_getaffinity(0)
        }
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_program_that_was_not_built_is_named(tmp_path: Path) -> None:
    with pytest.raises(LockwrightError, match=f"no program hand_over in {tmp_path}"):
        subjects.conditions(["hand_over"], tmp_path, [subjects.QUIET], 0.1)


def test_servers_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "page_clearing").write_text("#!/bin/sh\n")
    (tmp_path / "page_clearing").chmod(0o755)
    loads = (subjects.QUIET, subjects.BUSY)
    cells, left_out = subjects.conditions(["page_clearing", "memcached"], tmp_path, loads, 0.1)
    assert [each.name for each in cells] == [f"page_clearing, as it is, {load}" for load in loads]
    assert left_out == ["memcached is left out: it is a server, which runs beside its clients."]
