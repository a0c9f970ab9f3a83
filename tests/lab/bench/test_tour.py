"""The runs of a tour, its resumption, and its report."""

import csv
import json
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.base.results import this_process
from lockwright.run.bench_program import LIBC, Outcome
from lockwright_lab.bench.rounds import RoundResults
from lockwright_lab.bench.tour import page, store, tour_figures, tour_plan, tour_session
from lockwright_lab.bench.tour.drive import Clock
from lockwright_lab.bench.tour.page import Tour
from support import locate
from support.html import Page
from support.made_tour import HEADER, LOCKS, PLAN, made, outcome, tour


def test_every_plan_has_the_numbers_of_the_papers() -> None:
    """The numbers of threads range from one to sixteen per processor, each once."""
    assert PLAN.threads == (1, 2, 4, 8, 32)
    assert tour_plan.make(LOCKS, 1, []).threads == (1, 2, 4, 16)
    assert len(set(PLAN.cases())) == len(PLAN.cases()) == 3 * (5 + 3 + 1) + len(tour_plan.DELAYS)


def test_the_length_of_a_run_follows_the_budget() -> None:
    assert tour_plan.seconds_of_a_run(1e6, 100) == 0.3
    assert tour_plan.seconds_of_a_run(140, 100) == pytest.approx(0.11)
    assert tour_plan.seconds_of_a_run(1, 100) == 0.05


def test_a_round_begins_only_if_it_fits() -> None:
    """Three rounds of 30 s fit into 100 s."""
    now = [0.0]
    clock = Clock(100, lambda: now[0])
    rounds = []
    for round_number in clock.rounds(2):
        rounds.append(round_number)
        now[0] += 30
    assert rounds == [2, 3, 4]
    assert clock.left == pytest.approx(10)


def test_figures_are_medians_and_ratios_within_a_round() -> None:
    """The expected figures were calculated manually from the runs of made_tour."""
    first = tour_figures.throughput(PLAN, made())["fast"][0]
    assert first is not None
    assert (first.median, first.least, first.most, first.rounds) == (2e6 + 1, 2e6, 2e6 + 2, 3)
    assert first.ratio is not None
    assert first.ratio[0] == pytest.approx(2, rel=1e-5)
    assert tour_figures.percentiles(PLAN, made(), 2)["slow"] == [1, 10, 100, 1000, 10_000, 100_000]
    lwss = tour_figures.by_threads(PLAN, made(), "lwss", PLAN.timed, PLAN.metered)["slow"]
    assert [point.median for point in lwss if point] == [1.5] * 3
    assert tour_figures.naps(PLAN, made())[0] == {
        "delay": 0,
        "turnaround_ns": 5,
        "wake_ns": 2,
        "sleep_ns": 1,
    }


def test_a_report_of_one_run_has_no_other_figure() -> None:
    results = RoundResults()
    results.add(PLAN.contended(LIBC, 2), 0, outcome(5.0))
    data = page.data(tour(results))
    medians = [point and point["median"] for point in data["throughput"][LIBC]]
    assert medians == [None, 5.0, None, None, None]
    assert data["energy"] == []
    assert data["latency"][0][LIBC] == [None] * 6
    assert page.render(tour(results))
    assert page.render(tour(RoundResults()))


def data_of_page(text: str) -> dict[str, Any]:
    match = re.search(r"const DATA = (.*);\n", text)
    assert match is not None
    data: dict[str, Any] = json.loads(match.group(1))
    return data


def test_the_report_is_well_formed_and_needs_nothing_else() -> None:
    """Every tag is closed, nothing is loaded, texts are escaped, and the data are inside."""
    text = page.render(tour(made(), "systems,uncontested-ttas-pthread"))
    parser = Page(text)
    assert (parser.links, parser.sources) == ([], [])
    assert "{{" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert "A &lt;processor&gt;, 2 processors" in text
    assert "Not measurable here: there is no &lt;counter&gt;." in text
    assert "&lt;/script&gt;&lt;b&gt;bad&lt;/b&gt;" in text
    assert "cannot be shown here" in text
    data = data_of_page(text)
    assert data["locks"] == list(LOCKS)
    # Every plot has its element in the page, and its function in the script.
    for name in ("throughput", "latency", "fairness", "uncontested", "naps"):
        assert f'id="{name}"' in text
        assert f"{name[0].upper()}{name[1:]}()" in text
    assert 'id="energy"' not in text


def test_the_summary_names_the_best_and_the_worst_median() -> None:
    text = page.render(tour(made()))
    assert "1 thread: fast has the most throughput, 2,000,001 op/s, 2.00 times" in text
    assert "32 threads: fast has the most throughput" in text
    assert "slow the least, 4.00 times less" in text
    assert "slow the least, 128 times less" in text


def test_energy_is_drawn_where_it_was_measured() -> None:
    joules = {"joules_package": 2.0, "energy_seconds": 1.0}
    line = {"kind": "measured", "operations_per_second": 10.0, "operations": 100}
    results = RoundResults()
    results.add(PLAN.contended("fast", 2), 0, Outcome([line], meters=joules))
    energy = tour_figures.energy(PLAN, results)
    assert energy == [{"lock": "fast", "threads": 2, "rate": 10.0, "per_joule": 50.0}]
    with_energy = Tour(HEADER, PLAN, results, [], [], "again", no_energy="")
    assert 'id="energy"' in page.render(with_energy)


def test_runs_are_read_from_the_file(tmp_path: Path) -> None:
    """All runs, also those that failed, without an incomplete line."""
    log = store.log(tmp_path)
    log.begin(vars(HEADER))
    case = PLAN.contended("fast", 2)
    store.add(log, case, 0, outcome(5.0))
    store.add(log, case, 1, Outcome(failure="it crashed"))
    store.add(log, case, 3, outcome(7.0))
    with log.path.open("a") as file:
        file.write('{"round": 2, "case"')
    header, results, failures = store.load(log)
    assert header == HEADER
    assert list(results.outcomes) == [case]
    assert {round_number: run.lines for round_number, run in results.outcomes[case].items()} == {
        0: outcome(5.0).lines,
        3: outcome(7.0).lines,
    }
    assert failures == ["single-lock, fast, section-cycles 1000, threads 2: it crashed"]
    with pytest.raises(LockwrightError, match="there is a tour"):
        log.begin(vars(HEADER))
    with pytest.raises(LockwrightError, match="no tour"):
        store.load(store.log(tmp_path / "else"))


def test_a_tour_has_one_owner(tmp_path: Path) -> None:
    """A file of an older version names none; an incomplete line does not hide the next run."""
    log = store.log(tmp_path)
    log.begin(vars(HEADER))
    log.adopt()
    log.adopt()
    with log.path.open("a") as file:
        file.write('{"round": 2, "case"')
    log.adopt()
    store.add(log, PLAN.contended("fast", 2), 0, outcome(5.0))
    _, results, _ = store.load(log)
    assert sum(map(len, results.outcomes.values())) == 1
    with subprocess.Popen(["sleep", "300"]) as other:
        try:
            start = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[19]
            boot = this_process().split(" ")[2]
            with log.path.open("a") as file:
                file.write(json.dumps({"owner": f"{other.pid} {start} {boot}"}) + "\n")
            with pytest.raises(LockwrightError, match=f"carried out by process {other.pid}"):
                log.adopt()
        finally:
            other.kill()
    log.adopt()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('["x"]', "it is \"['x']\""),
        ('{"owner": 5}', "owner: is 5, not a text"),
        ('{"case": {"workload": "a", "lock": "b"}, "round": 0}', "lines: is missing"),
        ("[" * 100_000, "too many brackets"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, why: str) -> None:
    """The advice applies: without the line, the tour is resumed."""
    log = store.log(tmp_path)
    log.begin(vars(HEADER))
    before = log.path.read_text()
    with log.path.open("a") as file:
        file.write(line + "\n")

    def resume() -> None:
        store.load(log)
        log.adopt()

    with pytest.raises(LockwrightError) as caught:
        resume()
    assert caught.value.what.startswith(f"line 2 of {log.path} is damaged ({why}")
    log.path.write_text(before)
    log.adopt()
    assert store.load(log)[0] == HEADER


def test_a_damaged_first_line(tmp_path: Path) -> None:
    log = store.log(tmp_path)
    log.begin(vars(HEADER) | {"seconds": "x"})
    with pytest.raises(LockwrightError, match=r"line 1 of .* is damaged") as caught:
        store.load(log)
    assert "without --resume" in caught.value.todo


def test_a_text_that_is_no_owner_is_of_no_process(tmp_path: Path) -> None:
    log = store.log(tmp_path)
    log.begin(vars(HEADER))
    for text in ("", "1", "x y z", f"{2**70} 1 1"):
        log.append({"owner": text})
        log.adopt()


def test_a_tour_resumes_only_on_the_same_machine(tmp_path: Path) -> None:
    store.log(tmp_path).begin(vars(HEADER))
    with pytest.raises(LockwrightError, match=r"the tour was begun with another \w+ \("):
        tour_session.resume(tmp_path)


def test_the_resume_command_has_the_remaining_time(tmp_path: Path) -> None:
    command = tour_session.resume_command(tmp_path / "a tour", 3.14)
    assert command.endswith(f"bench tour --resume -o '{tmp_path}/a tour' --minutes 3.2")


def start(lockwright: Path, *words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [lockwright, "bench", "tour", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_stopped_tour_has_a_report_and_is_resumed(lockwright: Path, tmp_path: Path) -> None:
    if "ttas" not in locate.lock_names():
        pytest.skip("ttas is not built")
    directory = tmp_path / "tour"
    process = start(lockwright, "-o", directory, "--locks", "ttas", "--no-claims", "--minutes", "5")
    runs = directory / "runs.jsonl"
    deadline = time.monotonic() + 60
    while not runs.exists() or len(runs.read_text().splitlines()) < 4:
        assert time.monotonic() < deadline, "no runs"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT, out + err
    assert "Resume it: " in out
    assert f"Written: {directory}/report.html" in out.splitlines()[-1]
    assert "stopped early" in (directory / "report.html").read_text()
    before = runs.read_text().count('"case"')
    again = start(lockwright, "--resume", "-o", directory, "--minutes", "0.01")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, out + err
    lines = [json.loads(line) for line in runs.read_text().splitlines() if '"case"' in line]
    assert len(lines) > before
    keys = [(json.dumps(line["case"]), line["round"]) for line in lines]
    assert len(set(keys)) == len(keys), "a run was repeated"
    document = json.loads((directory / "tour.json").read_text())
    assert document["locks"] == [LIBC, "ttas"]
    with (directory / "figures.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["lock"] for row in rows} <= {LIBC, "ttas"}
    assert all(float(row["median"]) >= 0 for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--locks", "no-such"], "no-such"),
        (["--minutes", "0"], "--minutes"),
        (["--resume"], "--resume needs the directory of a tour"),
        (["--resume", "-o", "no-such"], "no tour in no-such"),
        (["--resume", "--locks", "ttas", "-o", "x"], "leave out --locks"),
        (["-o", "/proc/x"], "/proc/x"),
    ],
)
def test_bad_input_gets_one_line(lockwright: Path, words: list[str], message: str) -> None:
    process = start(lockwright, *words)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2, out
    assert message in err
    assert err.count("\n") == 1
