"""`lockwright simulate`: machine files, tables, and locks of a user."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from lockwright.simulate import figures, machine
from lockwright.simulate import run as runs
from lockwright_lab.simulate import open_pairs
from support import locate

from .conftest import Cli
from .test_check import BROKEN, GOOD

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)

#: A result of a simulation, of which open_pairs reads the time and the operations.
LINE: runs.Line = {
    "picoseconds": 10**12,
    "acquisitions": 1,
    "transfers": [0] * 6,
    "handovers": [0] * 6,
    "invalidations": 0,
    "lwss_windows": 0,
    "mttr": 0,
    "per_thread": [1],
    "wait_p99_ps": 0,
    "sleeps": 0,
    "picojoules": 0,
}

SHORT = ("--seconds", "0.0005")
MACHINES = locate.ROOT / "python/lockwright_lab/machines"


def test_the_tables_state_that_they_are_simulated(cli: Cli, tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "html")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    result = cli("simulate", "--locks", "pthread,futex", "--threads", "1,4", *SHORT, *options)
    assert (result.status, result.err) == (0, "")
    assert result.out.count("Simulated, not measured") == 2
    legend = result.out[result.out.rindex("\nops/s ") :].splitlines()
    for heading in (figure.heading for figure in figures.FIGURES.values()):
        assert any(line.startswith(f"{heading} ") for line in legend), heading
    written = json.loads(files["json"].read_text())
    assert written["simulated"] is True
    assert written["complete"] is True
    assert {(row["lock"], row["threads"]) for row in written["rows"]} == {
        (lock, threads) for lock in ("pthread", "futex") for threads in (1, 4)
    }
    assert all(row["ratio"] == 1 for row in written["rows"] if row["lock"] == "pthread")
    assert set(written["machine"]["sources"]) >= {"load", "kernel", "energy"}
    table = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert {row["simulated"] for row in table} == {"1"}
    assert len(table) == 4
    assert "None was measured" in files["html"].read_text()


def test_the_same_seed_gives_the_same_files(cli: Cli, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        path = tmp_path / name
        cli("simulate", "--locks", "futex,mcs-stp", "--threads", "70", *SHORT, "--json", path)
        texts.append(path.read_text())
    assert texts[0] == texts[1]


def test_a_lock_of_the_user(cli: Cli, tmp_path: Path) -> None:
    """The lock of docs/lab/adding-a-lock.md is ranked; without an atomic exchange it fails."""
    if shutil.which("g++") is None and "CXX" not in os.environ:
        pytest.skip("no g++")
    header = tmp_path / "my_lock.hpp"
    header.write_text(GOOD)
    result = cli("simulate", header, "--locks", "pthread", "--threads", "4", *SHORT)
    assert (result.status, result.err) == (0, "")
    assert re.search(r"^ *my-lock +", result.out, re.MULTILINE)
    header.write_text(BROKEN)
    result = cli(
        *("simulate", header, "--locks", "pthread", "--threads", "4", *SHORT),
        *("--workload", "lockbench", "--set", "section-max-ns=100", "--set", "gap-max-ns=300"),
    )
    assert result.status == 1
    assert "FAILED: my-lock with 4 threads: the lock is broken" in result.out
    header.write_text(GOOD.replace("try_lock", "try_lokc"))
    cli("simulate", header, "--threads", "2").refuses("my_lock")
    header.write_text("namespace lockwright { not C++ }")
    cli("simulate", header, "--threads", "2").refuses("my_lock.hpp:1", "does not compile")
    cli("simulate", tmp_path / "none.hpp").refuses("there is no file")


RWLOCKS = ("simulate", "--workload", "rwlock", *SHORT)


def test_reader_writer_locks(cli: Cli, tmp_path: Path) -> None:
    """Readers and writers have columns of their own; the ratio is to the C library's lock."""
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "html")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    words = ("--rwlocks", "pthread,big-reader", "--threads", "1,8", "--set", "read-percent=95")
    result = cli(*RWLOCKS, *words, *options)
    assert (result.status, result.err) == (0, "")
    assert result.out.count("Simulated, not measured: rwlock read-percent=95") == 2
    assert all(heading in result.out for heading in ("reads/s", "write wait", "scaling"))
    written = json.loads(files["json"].read_text())
    assert {(row["lock"], row["threads"]) for row in written["rows"]} == {
        (lock, threads) for lock in ("pthread", "big-reader") for threads in (1, 8)
    }
    for row in written["rows"]:
        assert row["reads_per_second"] > 5 * row["writes_per_second"] > 0
        assert row["lock"] != "pthread" or row["ratio"] == 1
        assert row["threads"] != 1 or row["scaling"] == 1
        assert row["threads"] == 1 or row["longest_write_wait_ns"] > 0
    table = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert [row["lock"] for row in table] == [row["lock"] for row in written["rows"]]
    page = files["html"].read_text()
    assert "None was measured" in page
    assert "Handovers" not in page


def test_writers_that_do_not_exist_have_no_wait(cli: Cli) -> None:
    words = ("--rwlocks", "futex-rw", "--threads", "2", "--set", "read-percent=100", "--json", "-")
    result = cli(*RWLOCKS, *words)
    (row,) = json.loads(result.out)["rows"]
    assert (row["writes_per_second"], row["longest_write_wait_ns"]) == (0, None)


def test_a_reader_writer_lock_of_the_user(cli: Cli, tmp_path: Path) -> None:
    """A copy of a header of the package is ranked; without its readers' mark it fails."""
    if shutil.which("g++") is None and "CXX" not in os.environ:
        pytest.skip("no g++")
    header = tmp_path / "my_rw.hpp"
    text = (locate.ROOT / "include/lockwright/rwlock/futex_rw.hpp").read_text()
    header.write_text(text.replace("futex_rw", "my_rw"))
    result = cli(*RWLOCKS, header, "--rwlocks", "futex-rw", "--threads", "8", "--json", "-")
    assert result.status == 0, result.err
    rates = {r["lock"]: r["operations_per_second"] for r in json.loads(result.out)["rows"]}
    assert rates.keys() == {"my-rw", "futex-rw"}
    cli("simulate", header, "--locks", "pthread", "--threads", "2", *SHORT).refuses("my_rw")


def test_lists_of_the_other_kind_are_refused(cli: Cli) -> None:
    cli(*RWLOCKS, "--locks", "futex").refuses("rwlock takes no --locks", "--rwlocks")
    cli("simulate", "--rwlocks", "big-reader").refuses(
        "single-lock takes no --rwlocks", "--workload rwlock"
    )
    cli(*RWLOCKS, "--rwlocks", "big-raeder").refuses(
        "no reader-writer lock is named 'big-raeder'", "did you mean 'big-reader'?"
    )
    cli(*RWLOCKS, "--rwlocks", ",").refuses("--rwlocks names no lock")
    cli(*RWLOCKS, "--threads", "2", "--set", "read-percent=101").refuses("above 100")


def test_machines_are_complete() -> None:
    """Each machine names its sources, and has as many processors as its title states."""
    papers = {"a-64", "a-48", "i-48", "i-20", "xeon-e5-2680v2x2", "t5-2", "xeon-e5-2640v4x2"}
    current = {"epyc-7763x2", "epyc-9654x2", "xeon-8358x2", "xeon-8480x2", "graviton-3"}
    assert papers | current | {"altra-q80-30x2", "core-i9-12900k"} <= set(machine.built_in_names())
    for name in machine.built_in_names():
        model = machine.load(name)
        assert re.search(rf"\b{model.processors} (cores|hardware threads|processors)", model.title)
        assert all(len(source) > 5 for source in model.sources.values())


HYBRID = """[hybrid]
source = "a guess"
slow_cores = {slow_cores}
slow_share = {slow_share}

[clock]"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[clock]", "[clokc]"), ("clokc: is not a key", "did you mean 'clock'?")),
        (("ghz =", "gigahertz ="), ("clock.gigahertz: is not a key",)),
        (("ghz = 2.1", 'ghz = "2.1"'), ("clock.ghz: is '2.1', not true or false or a number",)),
        (("ghz = 2.1", "ghz = 0"), ("clock.ghz: is 0, not a number > 0",)),
        (("ghz = 2.1", ""), ("clock.ghz: is missing",)),
        (("far_ns = 165", ""), ("rmw.far_ns is missing",)),
        (("packages = 4", "packages = 400"), ("processors", "at most 1024")),
        (
            ("cores_per_cache = 12", "cores_per_cache = 0.1"),
            ("shape.cores_per_cache: is 0.1, not a whole number",),
        ),
        (
            ("packages = 4", "packages = 4\ntwo_hops = [[0, 9]]"),
            ("shape: two_hops has [0, 9]", "0 to 3"),
        ),
        (
            ("jitter_share = 0.1", "jitter_share = 2"),
            ("line.jitter_share: is 2, not a number < 1",),
        ),
        (('like = "linux-2015"', ""), ("kernel: is missing",)),
        (('like = "linux-2015"', 'like = "linux"'), ("no machine is named 'linux'",)),
        (('like = "linux-2015"', 'like = "m.toml"'), ("like itself: m.toml -> m.toml",)),
        (('source = "TOCS 2019, table 2"', ""), ("clock.source: is missing",)),
        (("ghz = 2.1", "ghz = = 2.1"), ("m.toml is not TOML",)),
        (("ghz = 2.1", "ghz = [2, 3, 4]"), ("clock.ghz: is [2, 3, 4], not a list of length",)),
        (("ghz = 2.1", "ghz = [3, 2]"), ("clock.ghz is [3.0, 2.0]", "write [low, high]")),
        (("ghz = 2.1", "ghz = [0, 2]"), ("clock.ghz[1]: is 0",)),
        (("ghz = 2.1", 'ghz = [1, "x"]'), ("clock.ghz[2]: is 'x', not a number",)),
        (("packages = 4", "packages = [2, 4]"), ("shape.packages: is [2, 4], not a whole number",)),
        (("[clock]", HYBRID.format(slow_cores=49, slow_share=2)), ("there are 48 cores",)),
        (("[clock]", HYBRID.format(slow_cores=0.5, slow_share=2)), ("hybrid.slow_cores: is 0.5",)),
        (("[clock]", HYBRID.format(slow_cores=4, slow_share=0.5)), ("hybrid.slow_share: is 0.5",)),
        (("[clock]", "[hybrid]\nsource = 'x y'\nslow_cores = 4\n[clock]"), ("is missing",)),
    ],
)
def test_a_bad_machine_is_refused(
    change: tuple[str, str], message: tuple[str, ...], cli: Cli, tmp_path: Path
) -> None:
    text = (MACHINES / "i-48.toml").read_text()
    assert change[0] in text
    path = tmp_path / "m.toml"
    path.write_text(text.replace(*change))
    cli("simulate", "--machine", path, "--locks", "futex").refuses(*message)


RANGED = 'like = "a-64"\ntitle = "64 cores"\n[kernel]\nsource = "a guess"\n'


def test_pairs_whose_order_changes_within_a_range_are_open(cli: Cli, tmp_path: Path) -> None:
    """With a wake latency from 0 to 100 us, parking is better than polling at one end only."""
    path = tmp_path / "ranged.toml"
    path.write_text(RANGED + "idle_exit_us = 0\nwake_latency_ns = [0, 100000]\n")
    files = {name: tmp_path / f"out.{name}" for name in ("json", "html")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    words = ("--machine", path, "--locks", "mcs-stp,spinlock,pthread", "--threads", "64")
    result = cli(
        "simulate", *words, "--set", "section-cycles=50000", "--seconds", "0.003", *options
    )
    assert (result.status, result.err) == (0, "")
    written = json.loads(files["json"].read_text())
    assert written["machine"]["ranges"]["kernel.wake_latency_ns"] == [0, 100000]
    assert written["machine"]["figures"]["kernel.wake_latency_ns"] == 50000
    assert len(written["runs"]) == 3
    assert written["open"] == [
        {
            "threads": 64,
            "faster": "spinlock",
            "slower": "mcs-stp",
            "ends": ["kernel.wake_latency_ns = 0"],
        }
    ]
    text = "spinlock above mcs-stp with 64 threads, but not with kernel.wake_latency_ns = 0"
    assert text in result.out
    assert text in files["html"].read_text()
    assert "(0 to 100000)" in files["html"].read_text()


def test_open_pairs() -> None:
    """Lock a is above b in the middle and at one end; c is below both everywhere."""

    def results(**rates: int) -> runs.Results:
        lines: dict[runs.Cell, runs.Line] = {
            runs.Cell(name, 4): {**LINE, "operations": rate} for name, rate in rates.items()
        }
        return runs.Results(lines)

    middle = results(a=30, b=20, c=10)
    ends = {"x = 1": results(a=40, b=20, c=10), "x = 2": results(a=20, b=25, c=10)}
    (pair,) = open_pairs.open_pairs(middle, ends)
    assert pair.text == "a above b with 4 threads, but not with x = 2"
    assert "1 pair of locks" in open_pairs.summary([pair], 2)[0]
    assert open_pairs.open_pairs(middle, {"x = 1": middle}) == []
    assert "the same at all 2 ends" in open_pairs.summary([], 2)[0]
    assert open_pairs.summary([pair] * 12, 2)[-1] == "  and 2 more, which --json and --html have"


def test_costs_over_one_distance_change_together(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    text = (MACHINES / "i-48.toml").read_text().replace("far_ns = 165", "far_ns = [100, 200]")
    path.write_text(text.replace("far_ns = 149", "far_ns = [90, 180]"))
    model = machine.load(str(path))
    assert [label for label, _ in model.range_ends()] == [
        "load.far_ns = 90, rmw.far_ns = 100",
        "load.far_ns = 180, rmw.far_ns = 200",
    ]
    assert model.figures["rmw.far_ns"] == 150
    assert [end.figures["rmw.far_ns"] for _, end in model.range_ends()] == [100, 200]


def test_bad_requests(cli: Cli, tmp_path: Path) -> None:
    short = ("simulate", "--threads", "2", *SHORT)
    cli(*short, "--machine", "a-46").refuses("no machine is named 'a-46'", "did you mean 'a-64'?")
    cli(*short, "--machine", tmp_path / "x.toml").refuses("there is no file")
    cli(*short, "--locks", "fuetx").refuses("no lock is named 'fuetx'", "did you mean 'futex'?")
    cli(*short, "--workload", "lockbnech").refuses("did you mean 'lockbench'?")
    cli(*short, "--set", "speed=3").refuses("has no parameter 'speed'")
    cli(*short, "--set", "section-cycles=x", "--locks", "futex").refuses(
        "--section-cycles", "'x'", "give it a number"
    )
    cli("simulate", "--threads", "0").refuses("--threads")
    cli("simulate", "--threads", "70000", "--locks", "futex").refuses("1 to 65536")
    cli(*short, "--trace", tmp_path / "t.json").refuses("--trace shows one lock of the list")


def test_an_interrupt_leaves_the_finished_simulations(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    words = ["--locks", "futex,hemlock,partitioned,ticket,shfllock", "--threads", "2,64"]
    process = subprocess.Popen(
        [*command, "simulate", *words, "--seconds", "0.2", "--json", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(3)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    assert "Stopped after" in out
    written = json.loads(path.read_text())
    assert written["complete"] is False


def test_sensitivity(cli: Cli) -> None:
    """Each duration of the machine has a line; energy and shape have none."""
    words = ("--locks", "pthread,hmcs,ticket,spinlock", "--threads", "16", *SHORT)
    result = cli("simulate", "--sensitivity", *words)
    assert result.status == 0, result.err
    progress = r"lockwright: \d+ of \d+ simulations, about .* left"
    assert all(re.fullmatch(progress, line) for line in result.err.splitlines())
    lines = re.findall(r"^ *(\w+)\.(\w+) +[\d.]+ +(-?[\d.]+) +(-?[\d.]+) *$", result.out, re.M)
    assert {section for section, *_ in lines} >= {"clock", "load", "rmw", "kernel", "wait"}
    assert {section for section, *_ in lines}.isdisjoint({"shape", "energy"})
    strength = [min(float(half), float(doubled)) for *_, half, doubled in lines]
    assert strength == sorted(strength)
    cli("simulate", "--sensitivity", "--locks", "futex", *SHORT).refuses("three locks")
    cli("simulate", "--sensitivity", "--threads", "1,2", *SHORT).refuses("one number of threads")


def test_gini() -> None:
    assert figures.gini([5, 5, 5]) == pytest.approx(0)
    assert figures.gini([0, 0, 0, 8]) == pytest.approx(0.75)
    assert figures.gini([0, 0]) == 0
