"""`lockwright study analyse` prints what matters and writes everything, for data of any origin."""

import csv
import json
import sys
from pathlib import Path

import pytest
from lockwright import cli
from support.processes import captured

from .test_reading import RUNS


def analyse(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    status = cli.main(["study", "analyse", *map(str, words)])
    shown = capsys.readouterr()
    assert (status, shown.err) == (0, "")
    return shown.out


def test_tables_of_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "box.csv").write_text(RUNS)
    out = analyse(capsys, tmp_path / "box.csv", "--output-dir", tmp_path / "all")
    for name in ("applications", "locks", "coverage", "best-count", "changes"):
        assert f"[box.throughput.{name}]" in out
    assert "2 of 2 applications are lock-sensitive." in out
    assert "Yes, as far as the runs show: at the largest count, 1 of " in out
    assert "application: mcs-spin.\n" in out
    assert "No, as far as the runs show: at the largest count these harm no" in out
    assert "Welch" in out
    assert "pairwise" not in out
    whole = json.loads((tmp_path / "all/analysis.json").read_text())
    tables = {table["name"]: table for table in whole["tables"]}
    effect = {row["application"]: row for row in tables["box.throughput.effect"]["rows"]}
    # 28.1 and 5.1 are the means at two threads.
    assert effect["a"]["gain_max"] == pytest.approx(28.1 / 5.1 - 1)
    assert effect["a"]["gain_max_low"] < effect["a"]["gain_max"] < effect["a"]["gain_max_high"]
    with (tmp_path / "all/csv/box.throughput.pairwise-max.csv").open(newline="") as file:
        rows = {row["row_beats_col"]: row for row in csv.DictReader(file)}
    assert rows["mcs-spin"] == {
        "row_beats_col": "mcs-spin",
        "mcs-spin": "-",
        "pthread": "100",
        "ttas": "100",
        "average": "100",
    }
    latex = (tmp_path / "all/latex/box.throughput.harmful.tex").read_text()
    assert "mcs-spin & 0 & 0 \\\\" in latex
    assert latex.count("{tabular}") == 2


def test_the_rule_of_the_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """pthread's 105 is 5 % above 100, and not more."""
    (tmp_path / "box.csv").write_text("app,lock,throughput\na,x,100\na,pthread,105\na,z,10\n")
    by_default = analyse(capsys, tmp_path, "--show", "locks,pairwise-max")
    assert "so the 5 % rule is used" in by_default
    assert "more than 5 % above" in by_default
    lines = [line.split() for line in by_default.splitlines()]
    assert ["pthread", "-", "0", "100", "50"] in lines
    asked = analyse(capsys, tmp_path, "--tolerance", "3%", "--show", "pairwise-max")
    assert ["pthread", "-", "100", "100", "100"] in [line.split() for line in asked.splitlines()]


def test_counts_and_metrics_are_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "app,lock,threads,time,score\n" + "".join(
        f"a,{lock},{threads},{time},{score}\n"
        for lock, time, score in (("x", 1, 5), ("y", 2, 9))
        for threads in (1, 2, 4)
    )
    (tmp_path / "box.csv").write_text(text)
    out = analyse(capsys, tmp_path, "--threads", "1,4")
    assert "1/4" in out
    assert "1/2" not in out
    ratios = analyse(capsys, tmp_path, "--threads", "4", "--show", "best-lock-ratio")
    assert ["a", "1.00", "0.50"] in [line.split() for line in ratios.splitlines()]
    other = analyse(capsys, tmp_path, "--columns", "score", "--better", "higher", "--show", "best")
    assert "[box.score.best]" in other
    assert ["y", "100", "100", "100"] in [line.split() for line in other.splitlines()]


def test_latency_and_energy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "app,lock,threads,throughput,latency,tpp\n" + "".join(
        f"a,{lock},{threads},{speed * threads},{latency},{speed}\n"
        for lock, speed, latency in (("pthread", 10, 50), ("ttas", 20, 400))
        for threads in (1, 2)
    )
    (tmp_path / "box.csv").write_text(text)
    out = analyse(capsys, tmp_path, "--show", "all")
    assert ["a", "ttas", "2", "8.00", "0.50"] in [line.split() for line in out.splitlines()]
    assert "[box.pcc]" in out
    assert "[box.energy-shift]" in out
    assert "[machines]" in out


@pytest.mark.parametrize(
    "lines",
    [
        ["a,x,1,1,1,1", "a,y,2,1,1,1"],
        ["a,x,1,1,1,1", "a,y,1,1,1,1", "b,x,2,1,1,1"],
        ["a,x,1,5,1,1", "a,y,2,7,1,1", "b,y,1,2,3,4", "b,x,4,2,3,4"],
    ],
)
@pytest.mark.parametrize("rule", ["5%", None])
def test_studies_with_holes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[str], rule: str | None
) -> None:
    """Locks at one count each, figures that are all alike, applications with one lock."""
    text = "\n".join(["app,lock,threads,throughput,latency,tpp", *lines * 2])
    (tmp_path / "box.csv").write_text(text)
    chosen = ["--tolerance", rule] if rule else []
    out = analyse(capsys, tmp_path, "--show", "all", "--json", tmp_path / "all.json", *chosen)
    assert "nan" not in out.split()
    assert json.loads((tmp_path / "all.json").read_text())["tables"]


def test_pandas_is_loaded_by_studies_only() -> None:
    """It takes longer to load than the other commands to run."""
    code = (
        "import sys; from lockwright import cli; cli.main(['study', '--help']);"
        "cli.main(['study', 'analyse', '--help']); assert 'pandas' not in sys.modules"
    )
    done = captured([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
