"""`lockwright study report` writes pages that a browser shows without errors, and figures."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from lockwright import cli
from lockwright_lab.study import reading
from lockwright_lab.study.analysis import Analysis, analyse
from lockwright_lab.study.dataset import DataSet
from lockwright_lab.study.machine_metric import MachineMetric
from lockwright_lab.study.report import common_traits, metric_figures, plots, vector, verdicts
from lockwright_lab.study.report.plots import leaders
from support.html import Page

LOCKS = {"pthread": 1.0, "ttas": 2.0, "mcs-stp": 0.5}
"""How good each lock is for the program `cache` at the largest count; `<i>&` does not mind."""


def runs() -> str:
    """Two programs, three locks, two counts, three runs each, with power and latency."""
    lines = ["app,lock,threads,throughput,power,latency"]
    for lock, good in LOCKS.items():
        for threads in (1, 8):
            for run in (0.99, 1.0, 1.01):
                fast = 100 * run * (good if threads == 8 else 1)
                lines.append(f"my cache,{lock},{threads},{fast},{20 + threads},{1e6 / fast}")
                lines.append(f"<i>&,{lock},{threads},{50 * run},{20 + threads},{2e4 / run}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "box.csv"
    file.write_text(runs())
    return file


@pytest.fixture(scope="module")
def report(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "made" / "here"
    chosen = ["--columns", "throughput", "--title", "A <b> & c"]
    assert cli.main(["study", "report", str(data), "--output-dir", str(folder), *chosen]) == 0
    return folder


@pytest.fixture(scope="module")
def read(data: Path) -> DataSet:
    return reading.read([data])


@pytest.fixture(scope="module")
def found(read: DataSet) -> Analysis:
    return analyse(read)


@pytest.fixture
def part(found: Analysis) -> MachineMetric:
    return next(part for part in found.parts if part.name == "box.throughput")


@pytest.fixture(scope="module")
def page(report: Path) -> tuple[str, Page]:
    text = (report / "report.html").read_text()
    return text, Page(text)


def test_one_file_that_needs_nothing_else(page: tuple[str, Page]) -> None:
    text, elements = page
    assert "<h1>A &lt;b&gt; &amp; c</h1>" in text
    assert "<i>&" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=", text)
    assert all(link.startswith("#") for link in elements.links)


def test_every_link_and_every_plot_leads_somewhere(page: tuple[str, Page]) -> None:
    """Each program and each lock has a page; each plot has its data, and all data a plot."""
    from urllib.parse import unquote

    text, elements = page
    assert len(elements.ids) == len(set(elements.ids))
    wanted = {f"lock/{lock}" for lock in LOCKS} | {"program/my_cache", "program/<i>&"}
    assert wanted <= set(elements.ids)
    assert {unquote(link[1:]) for link in elements.links} <= set(elements.ids)
    drawn = re.search(r"const DATA = (.*);\n", text)
    assert drawn is not None
    assert sorted(json.loads(drawn.group(1))["figures"]) == sorted(elements.plots)


def test_the_questions_are_answered_and_gaps_are_named(page: tuple[str, Page]) -> None:
    text, _ = page
    for question in (
        "How much do locks matter?",
        "Is one lock always best?",
        "Is every lock harmful?",
        "Does energy efficiency follow throughput?",
        "Does tail latency follow throughput?",
    ):
        assert f"<h3>{question}</h3>" in text
    assert "Yes: for 2 of 2 applications the lock with the most throughput" in text
    assert "Interposed locks against those written into the program: no runs" in text
    assert "Energy efficiency against throughput: not measured" not in text


def test_tables_and_figures_are_written(report: Path) -> None:
    whole = json.loads((report / "analysis.json").read_text())
    names = {table["name"] for table in whole["tables"]}
    for folder, ending in (("csv", "csv"), ("latex", "tex")):
        assert {path.name for path in (report / folder).iterdir()} == {
            f"{name}.{ending}" for name in names
        }
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    pictures = list((report / "figures").rglob("*.pdf"))
    assert all(path.read_bytes().startswith(b"%PDF") for path in pictures)
    stems = {path.stem for path in pictures}
    assert {"box.throughput.gain", "box.energy", "box.latency-max"} <= stems
    assert "box.throughput.program.my_cache" in stems


def test_an_interval_beside_its_mark_is_drawn(tmp_path: Path) -> None:
    """One without the noise of the runs may end below the mean."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    values = {"ratio": pd.Series({"a": 9.9, "b": 2.0})}
    ends = {"ratio": (pd.Series({"a": 3.0, "b": 1.5}), pd.Series({"a": 5.1, "b": 2.5}))}
    plot = plots.dots(values, "best / worst", logarithmic=True, ends=ends)
    vector.write([plots.Figure("gain", "", "", "", plot)], tmp_path, "svg")
    assert (tmp_path / "gain.svg").read_text().startswith("<?xml")


def test_advice(part: MachineMetric, page: tuple[str, Page]) -> None:
    """ttas is the best at 8 threads; both others are behind by more than 15 %."""
    found = {place: verdicts.verdicts_at(part, place) for place in ("one", "max", "opt")}
    words = found["max"].verdict
    assert words.loc["my cache"].to_dict() == {
        "mcs-stp": "avoid",
        "pthread": "avoid",
        "ttas": "use",
    }
    assert set(words.loc["<i>&"]) == {"use"}
    text, _ = page
    cache, other = (
        text.partition(f'id="program/{name}">')[2].partition("</section>")[0]
        for name in ("my_cache", "&lt;i&gt;&amp;")
    )
    assert "<b>The lock matters</b>" in cache
    assert re.search(r"<b>Use</b> at the largest count: <a[^>]*>ttas</a></p>", cache)
    assert re.search(r"<b>Avoid</b>.*>mcs-stp</a> \(4.00\), <a[^>]*>pthread</a> \(2.00\)", cache)
    assert "no change is needed" in other
    assert "no change is needed" not in cache


def test_figures_hold_what_was_measured(part: MachineMetric) -> None:
    drawn = {
        figure.name.rpartition(".")[2]: figure.plot["data"]
        for figure in metric_figures.figures_of_part(part)
    }
    (heat,) = drawn["map"]
    assert heat["y"] == ["my cache", "<i>&"]
    assert heat["x"] == ["ttas", "pthread", "mcs-stp"]
    assert heat["z"] == [[0, 0.5, 0.75], [0, 0, 0]]
    reached = {
        each["name"]: each["x"][each["y"].index(100)]
        for each in drawn["coverage-max"]
        if 100 in each["y"]
    }
    assert reached == {"ttas": 1, "pthread": pytest.approx(2, abs=0.06)}
    assert reached["pthread"] >= 2
    (needed,) = drawn["portfolio"]
    assert (needed["x"], needed["y"]) == (["ttas"], [100])


def test_the_report_opens_with_the_map(page: tuple[str, Page]) -> None:
    """What to remember is said first, then follows the map of locks and programs."""
    text, elements = page
    start = text.partition('id="overview">')[2]
    assert start.lstrip().startswith('<p class="verdict">box, throughput: the lock matters for 1')
    assert "ttas is among the best for all of them" in start.partition("</p>")[0]
    assert next(iter(elements.plots)) == "box.throughput.map"


def test_a_lock_without_a_figure_is_marked_on_the_map(tmp_path: Path) -> None:
    """A lock that times out at the largest count is not drawn as one that was not run."""
    lines = ["app,lock,threads,throughput,outcome"]
    for threads in (1, 8):
        for lock, good in LOCKS.items():
            lost = (lock, threads) == ("mcs-stp", 8)
            for run in (0.99, 1.0, 1.01):
                figure = "" if lost else f"{100 * run * good}"
                lines.append(f"cache,{lock},{threads},{figure},{'timeout' if lost else 'ok'}")
    file = tmp_path / "box.csv"
    file.write_text("\n".join(lines) + "\n")
    (part,) = analyse(reading.read([file])).parts
    (heat,) = metric_figures.loss_map(part).plot["data"]
    assert (heat["x"][-1], heat["text"][0][-1], heat["z"][0][-1]) == ("mcs-stp", "x", 1)


def test_several_leaders_are_all_named() -> None:
    values = pd.Series({"a": 1.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 2.0})
    assert leaders(values) == "b, c, d and 1 more"
    assert leaders(values, least=True) == "a"


def test_what_groups_of_locks_have_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three that sleep against two that poll; single locks say nothing."""

    class Made:
        fifo = light = numa_aware = False
        category = ""

        def __init__(self, parking: bool) -> None:
            self.parking = parking

    known = {name: Made(name.startswith("p")) for name in ("p1", "p2", "p3", "s1", "s2")}
    monkeypatch.setattr(common_traits, "installed_locks", lambda: known)
    (sleeping, polling) = common_traits.differing_traits(
        ["s1", "s2"], ["p1", "p2", "p3", "foreign"]
    )
    assert sleeping == "3 of the 3 locks to avoid park their waiters, and 0 of the 2 to use."
    assert "never park" in polling
    assert not list(common_traits.differing_traits(["s1"], ["p1", "p2"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("app,lock,throughput\na,x,1\na,y,2\n", ["the 5 % rule"]),
        ("app,lock,throughput\na,x,1\na,x,1.01\na,y,1\na,y,1.01\n", ["no application is shown"]),
    ],
)
def test_small_studies(tmp_path: Path, text: str, words: list[str]) -> None:
    """Single runs at one count; and locks that do not differ."""
    (tmp_path / "box.csv").write_text(text)
    place = tmp_path / "out"
    given = ["study", "report", str(tmp_path / "box.csv"), "--output-dir", str(place)]
    assert cli.main([*given, "--figures", "none"]) == 0
    page = (place / "report.html").read_text()
    for each in words:
        assert each in page
    assert not (place / "figures").exists()


def test_a_file_in_the_place_of_the_directory(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["study", "report", str(data), "--output-dir", str(data)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert data.read_text() == runs()
