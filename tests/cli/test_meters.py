"""The options `--energy` and `--counters`: they show the counts of the run only."""

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lockwright.cli import main
from lockwright.machine import meters
from lockwright.machine.perf import counters
from lockwright.machine.perf.counters import USER_ONLY, Counting
from lockwright.machine.perf.event import Reading
from lockwright_lab.bench import runs
from support import machine
from support.machine import POWERCAP
from support.processes import shell_script

from .conftest import Cli, Program

RANGE = 262_143_328_850


def opener_refusing(*refusals: tuple[int, OSError]) -> counters.Opener:
    """Return an opener of empty descriptors; it raises the error of bits that a counter has."""

    def open_(kind: int, config: int, pid: int, bits: int) -> int:
        for bit, error in refusals:
            if bits & bit == bit if bit else not bits & (1 << 5):
                raise error
        return os.open(os.devnull, os.O_RDONLY)

    return open_


def test_counters_are_read_by_name() -> None:
    order = iter([700, 1400, 7, 2])
    counting = Counting(opener=opener_refusing())
    counts = counting.end(lambda _: Reading(next(order), 5, 5))
    assert counts == {"cycles": 700, "instructions": 1400, "cache misses": 7, "migrations": 2}
    assert not counting.absent
    assert not counting.remarks


def test_without_permission_only_user_mode_is_counted() -> None:
    """A remark states that; counts of the kernel alone are absent, since they would always be 0."""
    counting = Counting(opener=opener_refusing((0, PermissionError(13, "Permission denied"))))
    counts = counting.end(lambda _: Reading(1, 5, 5))
    assert set(counts) == {"cycles", "instructions", "cache misses"}
    assert set(counting.remarks.values()) == {USER_ONLY}
    assert "not allowed" in counting.absent["migrations"]


def test_a_counter_that_the_processor_lacks_is_absent() -> None:
    refusal = (1, OSError(2, "No such file or directory"))
    counting = Counting(opener=opener_refusing(refusal))
    assert counting.end() == {}
    assert set(counting.absent) == {each.name for each in counters.COUNTERS}
    assert "the processor has no such counter" in counting.absent["cycles"]


def test_a_multiplexed_counter_is_absent_not_scaled() -> None:
    counting = Counting(opener=opener_refusing())
    assert counting.end(lambda _: Reading(500, 100, 60)) == {}
    assert "not count all the time" in counting.absent["cycles"]


def test_a_counter_that_cannot_be_read_is_absent() -> None:
    counting = Counting(opener=opener_refusing())
    assert counting.end() == {}, "an empty file has no count"
    assert counting.absent.keys() == {each.name for each in counters.COUNTERS}


@pytest.fixture
def migrations_script() -> str:
    """Return a line of Python that moves its process 60 times to another processor."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("one processor")
    counting = Counting()
    counting.end()
    if "migrations" in counting.absent:
        pytest.skip(f"migrations: {counting.absent['migrations']}")
    first, second = allowed[:2]
    return f"for n in range(60): os.sched_setaffinity(0, {{{first} if n % 2 else {second}}})"


def test_counting_begins_with_the_program_and_ends_with_its_descendants(
    migrations_script: str,
) -> None:
    """The kernel counts the migrations of a child and a grandchild."""
    in_child = f"if os.fork() == 0:\n    {migrations_script}\n    os._exit(0)\nos.wait()"
    script = f"import os\n{migrations_script}\n{in_child}"
    allowed = os.sched_getaffinity(0)
    counting = Counting()
    # The migrations of this process do not count.
    exec(migrations_script, {"os": os})
    os.sched_setaffinity(0, allowed)
    subprocess.run([sys.executable, "-c", script], check=True)
    assert 118 <= counting.end()["migrations"] < 150


def test_compare_counts_the_program_and_not_its_preparation(
    cli: Cli, migrations_script: str, program: Program, tmp_path: Path
) -> None:
    mover = tmp_path / "mover.py"
    mover.write_text(f"import os\n{migrations_script}\n")
    text = f"{program('worker')} 1 1\nexec {sys.executable} {mover}"
    script = shell_script(tmp_path / "moving", text)
    file = tmp_path / "o.json"
    words = [
        "--locks",
        "pthread",
        "--runs",
        "1",
        "--warm-up-runs",
        "0",
        "--counters",
        "--json",
        file,
    ]
    both = f"{sys.executable} {mover}; {sys.executable} {mover}"
    result = cli("compare", *words, "--prepare", both, "--", script)
    assert result.status == 0, result.err
    (run,) = json.loads(file.read_text())["runs"]
    assert 58 <= run["meters"]["migrations"] < 90


@pytest.fixture
def energy_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a machine of one socket and its memory, whose counter grows by 3 J at each reading."""
    root = tmp_path / "machine"
    tree = machine.make(
        root,
        {
            **machine.zone("0", "package-0", RANGE - 4_000_000, RANGE),
            **machine.zone("0:0", "dram", 0, RANGE),
        },
    )
    monkeypatch.setattr(meters, "TREE", tree)
    monkeypatch.setattr(meters, "IDLE_SECONDS", 0.05)
    # A run has two readings and no samples in between.
    monkeypatch.setattr(meters, "SAMPLING", math.inf)
    read = Path.read_text

    def reading(path: Path, *words: object, **options: object) -> str:
        text = read(path, *words, **options)  # type: ignore[arg-type]
        if path.name == "energy_uj" and path.parent.name == "intel-rapl:0":
            path.write_text(f"{(int(text) + 3_000_000) % (RANGE + 1)}\n")
        return text

    monkeypatch.setattr(Path, "read_text", reading)
    for variable in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    return root


def assert_findings(stored: list[dict[str, str]]) -> None:
    """Check that each finding of `lockwright doctor` is stored in full."""
    assert {"governor", "cgroup quota", "other load", "clock read"} <= {f["name"] for f in stored}
    assert all(f["level"] in ("ok", "warn", "absent") and f["effect"] for f in stored)


def test_bench_shows_energy_by_operation(
    energy_machine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two readings make a run's energy 3 J, over a wrap-around too."""
    file = tmp_path / "o.json"
    words = ["bench", "uncontended", "--locks", "ttas", "--runs", "2", "--set", "batch=1000"]
    assert main([*words, "--set", "batches=3", "--energy", "--json", str(file)]) == 0
    document = json.loads(file.read_text())
    assert document["provenance"]["meters"]["idle"]["watts"]["package"] > 0
    assert_findings(document["provenance"]["findings"])
    for run in document["runs"]:
        assert run["meters"]["joules_package"] == pytest.approx(3.0)
        assert run["meters"]["joules_dram"] == 0
    rows = {row["lock"]: row for row in document["metered"]}
    assert set(rows) == {"libc", "ttas"}
    for row in rows.values():
        assert row["uJ per op"] == pytest.approx(1e6 * 3.0 / 3000)
        assert row["ops per J"] == pytest.approx(1000)
        assert row["above idle"] < row["watts"]
    output = capsys.readouterr().out
    assert "energy and counters" in output
    assert "ops per J" in output
    assert "Idle for" in output
    assert (energy_machine / f"{POWERCAP}/intel-rapl:0/energy_uj".lstrip("/")).exists()


@pytest.mark.usefixtures("energy_machine")
def test_bench_reports_the_energy_of_the_measurement(tmp_path: Path) -> None:
    """The workload states begin and end of the measurement; energy and operations are within."""
    file = tmp_path / "o.json"
    words = ["bench", "handover", "--locks", "libc", "--runs", "1", "--threads-per-core", "0.5"]
    assert main([*words, "--seconds", "0.5", "--energy", "--json", str(file)]) == 0
    document = json.loads(file.read_text())
    (row,) = document["metered"]
    measured = [line for line in document["runs"][0]["lines"] if line["kind"] == "measured"]
    values = document["runs"][0]["meters"]
    assert values[meters.WINDOWED]
    assert values[meters.SECONDS] == pytest.approx(measured[0]["seconds"])
    expected = sorted(
        line["acquisitions"] / run["meters"]["joules_package"]
        for run in document["runs"]
        for line in run["lines"]
        if line["kind"] == "measured"
    )
    # The meters' window is a little longer than that of the workload.
    assert 0.999 * expected[0] <= row["ops per J"] <= 1.001 * expected[-1]


@pytest.mark.usefixtures("energy_machine")
def test_compare_shows_energy_by_figure(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command of --prepare is not included; a rate divided by watts is operations per joule."""
    script = shell_script(tmp_path / "rated", f"{program('worker')} 1 1\necho rate: 6")
    files = {kind: tmp_path / f"o.{kind}" for kind in ("json", "csv", "html")}
    outputs = [word for kind, file in files.items() for word in (f"--{kind}", str(file))]
    words = [
        "compare",
        "--locks",
        "ttas",
        "--runs",
        "2",
        "--warm-up-runs",
        "1",
        "--energy",
        "--counters",
    ]
    words += ["--metric", r"rate: (\d+)", "--unit", "ops/s", "--prepare", "true", *outputs]
    assert main([*words, "--", str(script)]) == 0
    output = capsys.readouterr().out
    assert "energy and counters" in output
    assert "ops/J" in output
    document = json.loads(files["json"].read_text())
    assert_findings(document["provenance"]["findings"])
    for run in document["runs"]:
        assert run["meters"]["joules_package"] == pytest.approx(3.0)
        assert run["meters"]["energy_seconds"] >= run["wall"]
        assert run["meters"]["page_faults"] > 0
    for row in document["metered"]:
        runs = [
            r["meters"] for r in document["runs"] if r["lock"] == row["lock"] and r["round"] > 0
        ]
        rates = sorted(6 / (3.0 / run["energy_seconds"]) for run in runs)
        assert row["ops/J"] == pytest.approx(sum(rates) / 2)
        assert row["J per run"] == pytest.approx(3.0)
    assert document["provenance"]["meters"]["idle"]["watts"]["dram"] == 0
    lines = list(csv.DictReader(files["csv"].read_text().splitlines()))
    assert all(float(line["joules_package"]) == pytest.approx(3.0) for line in lines)
    assert "energy and counters" in files["html"].read_text()


def test_a_machine_without_energy_counters_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no estimate, and the idle machine is not measured."""
    monkeypatch.setattr(meters, "TREE", machine.make(tmp_path / "none", {}))
    words = ["bench", "uncontended", "--locks", "libc", "--runs", "1", "--set", "batch=1000"]
    assert main([*words, "--energy"]) == 0
    output = capsys.readouterr().out
    assert "Not measurable here: energy (there is no /sys/class/powercap" in output
    assert "watts" not in output


def test_operations_of_a_run() -> None:
    """They are in the last line with a count, under the first of the names that the line has."""
    lines = [{"kind": "measured", "acquisitions": 5}, {"kind": "final", "acquisitions": 7}]
    assert runs.operations(lines) == 7
    assert runs.operations(lines, measured=True) == 5
    assert runs.operations([{"operations": 3, "acquisitions": 9}]) == 3
    assert runs.operations([{"kind": "result", "clock_ns": 3.0}]) is None
