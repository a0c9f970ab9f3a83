"""A new experiment of thirty lines has a table, a resumption, files and a page."""

import csv
import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import (
    TIMEOUT,
    Cell,
    Contender,
    Experiment,
    Figure,
    Outcome,
    Relative,
    Runs,
    carry_out,
)
from lockwright.experiment.conduct import conduct
from lockwright.experiment.model import Run, Slot
from lockwright.experiment.request import Request
from lockwright.experiment.rules import KeepUp, Rounds
from lockwright.experiment.schedule import Schedule
from lockwright.experiment.store import Store

RATES = {"adding": 100.0, "sorting": 50.0, "hanging": 0.0}


def sums(made: list[Slot], stop_after: int = 1000, rounds: int = 5) -> Experiment:
    """Return the experiment. made: gets the runs; stop_after: the number of runs before one is
    interrupted."""

    def run(cell: Cell, contender: Contender, number: int) -> Outcome:
        if len(made) == stop_after:
            raise KeyboardInterrupt
        made.append(Slot(cell.name, contender.name, number))
        if contender.name == "hanging":
            return Outcome(TIMEOUT, wall=9.0, note="killed after 9 s")
        rate = RATES[contender.name] * cell.options["size"] * (1 + number / 1000)
        return Outcome(wall=1 / rate, figures={"rate": rate}, details={"others": 0.0})

    return Experiment(
        "sums",
        [Cell(f"{size} numbers", {"size": size}) for size in (10, 20)],
        [Contender(name) for name in RATES],
        [
            Figure("rate", "1/s", definition="sums in a second"),
            Figure("seconds", "s", lower_is_better=True, value=lambda made: made.wall),
        ],
        run,
        rounds=rounds,
        warmup=1,
        settings={"seed": 1},
    )


def test_it_has_a_table_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made: list[Slot] = []
    files = {kind: tmp_path / f"sums.{kind}" for kind in ("json", "csv", "html")}
    request = Request(tmp_path / "db", False, files["json"], files["csv"], files["html"])
    assert conduct(sums(made), request) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["10", "numbers"] in lines
    assert ["adding", "1,003", "±0.1", "%", "0.000997", "±0.1", "%", "1", "-"] in lines
    assert ["hanging", "timed", "out", "9.00", "-", "-"] in lines
    assert ["sorting", "0.50", "0.50", "to", "0.50"] in [line[:1] + line[-4:] for line in lines]
    document = json.loads(files["json"].read_text())
    assert document["plan"]["seed"] == 1
    assert [row["size"] for row in document["summaries"]] == [10, 10, 10, 20, 20, 20]
    adding, _, hanging = document["summaries"][:3]
    assert adding["figures"]["rate"]["median"] == adding["median"] == pytest.approx(1003)
    assert adding["mark"] == "" or adding["complete"]
    assert (hanging["timeouts"], hanging["gave_up"], hanging["median"]) == (2, True, None)
    rows = list(csv.DictReader(files["csv"].open()))
    assert len(rows) == len(document["runs"]) == len(made) == 2 * (6 + 6 + 2)
    assert {row["size"] for row in rows} == {"10", "20"}
    page = files["html"].read_text()
    assert "<h1>" in page
    assert "10 numbers" in page
    assert '"baseline":"adding"' in page


def test_it_is_resumed_where_it_was_interrupted(tmp_path: Path) -> None:
    made: list[Slot] = []
    store = Store(tmp_path / "db")
    with pytest.raises(KeyboardInterrupt):
        carry_out(sums(made, stop_after=7), store)
    with pytest.raises(LockwrightError, match="differs in --runs"):
        carry_out(sums([], rounds=9), store, resume=True)
    runs = carry_out(sums(made), store, resume=True)
    uninterrupted: list[Slot] = []
    carry_out(sums(uninterrupted))
    assert made == uninterrupted == [run.slot for run in runs]
    with pytest.raises(LockwrightError, match="no interrupted sums"):
        carry_out(sums(made), store, resume=True)


def test_rounds_are_interleaved_and_shuffled() -> None:
    made: list[Slot] = []
    carry_out(sums(made, rounds=40))
    assert [slot.round for slot in made] == sorted(slot.round for slot in made)
    orders = [tuple(s.contender for s in made if s.round == n and s.cell[0] == "1") for n in (3, 4)]
    assert all(sorted(order) == ["adding", "sorting"] for order in orders)
    firsts = [
        next(slot.contender for slot in made if slot.round == number) for number in range(3, 41)
    ]
    assert 8 < firsts.count("adding") < 30


def made_run(slot: Slot, value: float) -> Run:
    return Run(figures={"rate": value}, slot=slot)


def test_rounds_go_on_until_a_contender_is_decided() -> None:
    experiment = replace(sums([]), rule=Rounds("rate", 2, 4, deviation=0.1))
    schedule = Schedule(experiment, Runs())
    while (slot := schedule.next()) is not None:
        varies = slot.contender == "sorting"
        schedule.done(made_run(slot, slot.round + 2 if varies else 1.0))
    made = {name: len(schedule.runs.of("10 numbers", name, counted=True)) for name in RATES}
    assert made == {"adding": 2, "sorting": 4, "hanging": 2}
    assert schedule.finished


def test_those_far_behind_drop_out() -> None:
    experiment = replace(sums([]), rule=KeepUp("rate", 5, share=0.5, always=("adding",)))
    schedule = Schedule(experiment, Runs())
    values = {"adding": 1.0, "sorting": 10.0, "hanging": 4.0}
    while (slot := schedule.next()) is not None:
        schedule.done(made_run(slot, values[slot.contender]))
    made = {name: len(schedule.runs.of("10 numbers", name, counted=True)) for name in RATES}
    assert made == {"adding": 5, "sorting": 5, "hanging": 2}


def test_workers_share_a_schedule() -> None:
    """A slot that was lost is made again, and one that a worker cannot run stays for another."""
    schedule = Schedule(sums([], rounds=1), Runs())
    first = schedule.next(lambda slot: slot.contender == "sorting")
    assert first is not None
    assert first.contender == "sorting"
    schedule.lost(first)
    assert schedule.next(lambda slot: slot.contender == "sorting") == first
    assert schedule.next(lambda _: False) is None
    assert not schedule.finished
    schedule.done(made_run(first, 1.0))
    while (slot := schedule.next()) is not None:
        schedule.done(made_run(slot, 1.0))
    assert schedule.finished
    assert len(schedule.runs) == 12


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs/experiments.md").read_text()
    _, example = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(compile(example, "docs/experiments.md", "exec"), {})
    assert "fast is 2 times as fast as slow" in capsys.readouterr().out


def test_a_figure_may_be_relative_to_another_run_of_its_round() -> None:
    """To another contender, and to another cell; there is none without the other run."""
    relative = (
        Figure("to adding", "", relative=Relative("rate", contender="adding")),
        Figure("to ten", "", relative=Relative("rate", cell="10 numbers")),
    )
    experiment = replace(sums([]), figures=[*sums([]).figures, *relative])
    (_, (adding, sorting, hanging)) = experiment.summaries(carry_out(experiment))
    assert list(adding.by_round("to adding").values()) == [1.0] * 5
    assert list(sorting.by_round("to adding").values()) == pytest.approx([0.5] * 5)
    assert list(sorting.by_round("to ten").values()) == pytest.approx([2.0] * 5)
    assert not hanging.by_round("to ten")


def test_an_unfinished_part_is_continued(tmp_path: Path) -> None:
    """Another command makes the runs that are left, as after an interrupt."""
    request = Request(tmp_path / "db")
    made: list[Slot] = []
    assert conduct(replace(sums(made), unfinished=lambda: True), request) == 0
    assert conduct(sums(made), replace(request, resume=True)) == 0
    assert len(made) == 2 * (6 + 6 + 2)
    with pytest.raises(LockwrightError, match="no interrupted sums"):
        conduct(sums(made), replace(request, resume=True))


def test_some_runs_are_made_alone() -> None:
    """Those of `sorting` run beside no other, and the others together."""
    under_way: set[str] = set()
    beside: dict[str, set[str]] = {"adding": set(), "sorting": set()}

    def run(_: Cell, contender: Contender, __: int) -> Outcome:
        for name in under_way:
            beside[name].add(contender.name)
            beside[contender.name].add(name)
        under_way.add(contender.name)
        time.sleep(0.002)
        under_way.discard(contender.name)
        return Outcome(figures={"rate": 1.0})

    experiment = replace(
        sums([]),
        contenders=[Contender("adding"), Contender("sorting")],
        run=run,
        at_once=2,
        alone=lambda slot: slot.contender == "sorting",
    )
    assert len(carry_out(experiment)) == 2 * 2 * 6
    assert not beside["sorting"]
