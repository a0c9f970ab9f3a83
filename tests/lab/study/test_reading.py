"""A study is read from whatever columns it has, and every fault in it is named with its place."""

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest
from lockwright import cli
from lockwright.base.errors import LockwrightError
from lockwright_lab.study import lock_names, reading
from lockwright_lab.study.dataset import DataSet
from support.processes import assert_refused

GOOD = "app,lock,threads,throughput\n"


def read(folder: Path, better: Mapping[str, str] | None = None, **files: str) -> DataSet:
    """Files of a directory; __ in a name stands for -."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name.replace('__', '-')}.csv").write_text(text)
    return reading.read([folder], better)


def values(data: DataSet, metric: str = "throughput", machine: str = "m") -> list[float]:
    sample = data.sample(machine, metric)
    assert sample is not None
    return list(sample.frame.value)


def test_names_of_locks_are_the_projects() -> None:
    found = [
        lock_names.project_name(name) for name in ("mcs_spin", "C-BO-MCS_STP", "pt-mutex", "mine 2")
    ]
    assert found == ["mcs-spin", "c-bo-mcs-stp", "pthread", "mine-2"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("bench,node,strategy,throughput\na,1,x,5\na,2,y,6\n", [5, 6]),
        ("application;lock;threads;throughout\na;x;1;5\n\na;y;1;6\n", [5, 6]),
        ("Program\tLock\tThroughput [Kops/s]\na\tx\t5\n", [5000]),
        ("app,lock,time (ms)\na,x,500\n", [2]),
        ('\ufeffapp,lock,throughput\n"a, b",x,1e3\n', [1000]),
        ("app,lock,throughput,comment\na,x,1,good\n", [1]),
        ("app,lock,outcome,throughput\na,x,finished,1\na,y,timeout,\n", [1]),
        ("app,lock,run,throughput\na,x,1,1\na,x,2,1\n", [1, 1]),
        ("app,lock,type,throughput\na,x,batch,1\n", [1]),
    ],
)
def test_columns_are_found_by_their_names(tmp_path: Path, text: str, wanted: list[float]) -> None:
    assert values(read(tmp_path, m=text)) == pytest.approx(wanted)


def test_units_become_one(tmp_path: Path) -> None:
    data = read(tmp_path, m="app,lock,latency_us,power\na,x,2,5\n")
    assert values(data, "latency") == [1 / 2000]
    assert data.direction("latency") == "lower"


def test_efficiency_is_made_of_throughput_and_power(tmp_path: Path) -> None:
    assert values(read(tmp_path, m="app,lock,time,power\na,x,2,5\n"), "tpp") == [1 / 2 / 5]
    assert values(read(tmp_path, m="app,lock,time,energy\na,x,2,5\n"), "tpp") == [1 / 5]


def test_machines_are_columns_or_files(tmp_path: Path) -> None:
    both = "machine,app,lock,throughput\np,a,x,1\nq,a,x,2\n"
    data = read(tmp_path, m=GOOD + "a,x,1,1\n", both=both)
    assert data.machines == ["m", "p", "q"]
    assert values(data, machine="q") == [2]


def test_a_file_beside_another_adds_metrics_and_no_runs(tmp_path: Path) -> None:
    more = "app,lock,threads,throughput,latency\na,x,1,7,100\n"
    data = read(tmp_path, m=GOOD + "a,x,1,1\n", m__latency=more)
    assert data.machines == ["m"]
    assert values(data) == [1]
    assert values(data, "latency") == [1 / 100]
    paired = data.paired("m", "throughput", "latency")
    assert paired is not None
    assert list(paired.throughput) == [7]


def test_a_metric_of_ones_own(tmp_path: Path) -> None:
    data = read(tmp_path, {"score": "lower"}, m="app,lock,score\na,x,4\n")
    assert values(data, "score") == [1 / 4]


def test_manual_and_interposed_runs_are_apart(tmp_path: Path) -> None:
    text = "type,app,lock,throughput\nmanual,a,x,1\nlitl,a,x,2\n"
    data = read(tmp_path, m=text)
    assert data.machines == []
    assert sorted(data.validations()[0].variant) == ["interposed", "manual"]


def test_a_comparison_is_a_part_of_a_study(tmp_path: Path) -> None:
    """Of `lockwright compare --csv`, the file is the application, and warm-up runs are left out."""
    heading = ["threads", "round", "lock", "outcome", "value", "wall", "user", "others", "unit"]
    rows = [
        {"threads": 2, "round": turn, "lock": lock, "outcome": outcome, "value": value}
        for turn, lock, outcome, value in (
            (0, "ttas", "finished", 9),
            (1, "ttas", "finished", 2),
            (1, "pthread", "finished", 4),
            (2, "pthread", "timeout", ""),
        )
    ]
    for name in ("xz", "xz-fast"):
        with (tmp_path / f"{name}.csv").open("w") as file:
            writer = csv.DictWriter(file, heading, restval="1")
            writer.writeheader()
            writer.writerows(row | {"unit": "s"} for row in rows)
    data = reading.read([tmp_path])
    assert data.machines == [tmp_path.name]
    sample = data.sample(tmp_path.name, "throughput")
    assert sample is not None
    assert sorted(sample.frame.application.unique()) == ["xz", "xz-fast"]
    assert list(sample.frame.value) == [1 / 2, 1 / 4] * 2
    assert sample.counted == "threads"


def test_threads_that_go_with_nodes_are_the_count(tmp_path: Path) -> None:
    data = read(tmp_path, m="app,lock,node,threads,time\na,x,1,8,1\na,x,2,16,1\n")
    sample = data.sample("m", "throughput")
    assert sample is not None
    assert (sample.counted, list(sample.frame["count"])) == ("threads", [8, 16])
    two = "machine,app,lock,node,threads,time\n"
    two += "p,a,x,1,8,1\np,a,x,2,16,1\np,a,x,3,24,1\nq,a,x,1,12,1\nq,a,x,2,24,1\n"
    assert read(tmp_path / "two", m=two).machines == ["p", "q"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["m.csv", "empty"]),
        ("\n \n", ["m.csv", "empty"]),
        ("no data at all\n", ["m.csv:1:", "no column is the application"]),
        ("app,throughput\na,1\n", ["m.csv:1:", "no column is the lock", "strategy"]),
        ("app,lcok,throughput\na,x,1\n", ["m.csv:1:", "the lock", "'lcok' is not understood"]),
        ("app,lock,threads\na,x,1\n", ["m.csv:1:", "no column is a metric"]),
        ("app,lock,mutex,throughput\na,x,x,1\n", ["m.csv:1:", "'lock' and 'mutex' are both"]),
        ("app,lock,time,seconds\na,x,1,1\n", ["m.csv:1:", "are both time"]),
        ("app,lock,latency (furlongs)\na,x,1\n", ["m.csv:1:", "'furlongs'", "ms"]),
        (GOOD, ["m.csv:1:", "no lines below"]),
        (GOOD + "a,x,1,1\na,x,1\n", ["m.csv:3:", "3 fields", "4"]),
        (GOOD + "a,x,1,1,1\n", ["m.csv:2:", "5 fields"]),
        (GOOD + "a,x,1,fast\n", ["m.csv:2:", "throughput is 'fast'"]),
        (GOOD + "a,x,1,\n", ["m.csv:2:", "throughput is nothing"]),
        (GOOD + "\na,x,1,nan\n", ["m.csv:3:", "'nan'"]),
        (GOOD + "a,x,1,inf\n", ["m.csv:2:", "'inf'"]),
        (GOOD + "a,x,1,0\n", ["m.csv:2:", "'0', not a number above 0"]),
        (GOOD + "a,x,1,-5\n", ["m.csv:2:", "'-5'"]),
        (GOOD + "a,x,0,1\n", ["m.csv:2:", "'0' is not a number of threads"]),
        (GOOD + "a,x,1.5,1\n", ["m.csv:2:", "'1.5'"]),
        (GOOD + "a,,1,1\n", ["m.csv:2:", "the lock is empty"]),
        (GOOD + ",x,1,1\n", ["m.csv:2:", "the application is empty"]),
        (GOOD + 'a,"x,1,1\n', ["m.csv:", "is not CSV"]),
        ("app,lock,run,time\na,x,1,1\na,y,1,1\na,x,1,2\n", ["m.csv:4:", "line 2 already"]),
        ("app,lock,outcome,time\na,x,failed,\n", ["m.csv:1:", "no run that finished"]),
        (
            "app,lock,node,threads,time\na,x,1,1,1\na,x,1,2,1\na,x,2,1,1\na,x,2,2,1\n",
            ["m.csv:1:", "vary independently"],
        ),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(LockwrightError) as caught:
        read(tmp_path, m=text)
    for part in parts:
        assert part in caught.value.line()


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    for content in (b"\xff\xfe\x00\x01", b"app,lock,time\na,x,1\x00\n"):
        (tmp_path / "m.csv").write_bytes(content)
        with pytest.raises(LockwrightError, match=r"m\.csv"):
            reading.read([tmp_path])


RUNS = GOOD + "".join(
    f"{app},{lock},{threads},{value + run / 10}\n"
    for app in "ab"
    for threads in (1, 2)
    for lock, value in (("pthread", 10 * threads), ("mcs_spin", 14 * threads), ("ttas", 5))
    for run in range(3)
)


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The one line that the command refuses with; its status is 2."""
    status = cli.main(["study", "analyse", *map(str, words)])
    shown = capsys.readouterr()
    assert_refused(status, shown.out, shown.err)
    return shown.err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--tolerance", "much"], "neither a percentage nor ci"),
        (["--tolerance", "-5%"], "neither a percentage nor ci"),
        (["--threads", "1,two"], "is not a list of numbers"),
        (["--threads", "3,4"], "no runs at 3"),
        (["--columns", "latency"], "no metric 'latency'; choose from throughput"),
        (["--columns", "throughput", "--better", "lower"], "is better when higher"),
        (["--columns", "score", "--better", "lower"], "no file has a column 'score'"),
        (["--better", "lower"], "--better is about one metric"),
        (["--relative-to", "mine"], "no run has the lock 'mine'; choose from mcs-spin"),
        (["--show", "pairs"], "no table 'pairs'; choose from applications"),
        (["--frobnicate"], "no such option"),
    ],
)
def test_bad_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], part: str
) -> None:
    (tmp_path / "m.csv").write_text(RUNS)
    assert part in refused(capsys, tmp_path, *words)


def test_places_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no" in refused(capsys, tmp_path / "nowhere.csv")
    assert "no *.csv in it" in refused(capsys, tmp_path)
    (tmp_path / "one.csv").write_text("app,lock,time\na,x,1\n")
    assert "nothing to compare" in refused(capsys, tmp_path)


def test_intervals_of_single_figures_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.csv").write_text("app,lock,time\na,x,1\na,y,2\n")
    assert "single figure" in refused(capsys, tmp_path, "--tolerance", "ci")
