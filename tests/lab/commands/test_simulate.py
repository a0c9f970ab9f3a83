"""`lockwright simulate`: machine files, tables, and locks of a user."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from lockwright.simulate import machine
from lockwright_lab.simulate import experiment
from support import locate

from .conftest import Cli, Refuses
from .test_check import BROKEN, GOOD

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)


def simulated(cli: Cli, folder: Path, *words: str | Path) -> tuple[str, dict[str, Any]]:
    """Return what a simulation prints, and its JSON document."""
    target = folder / "found.json"
    result = cli("simulate", *words, "--json", target)
    assert result.status == 0, result.out + result.err
    document: dict[str, Any] = json.loads(target.read_text())
    assert document["simulated"] is True
    return result.out, document


def medians(document: dict[str, Any]) -> dict[tuple[str, int], dict[str, float | None]]:
    """Return the figures by lock and number of threads, in the middle of the machine's ranges."""
    return {
        (row["lock"], row["threads"]): {
            name: each and each["median"] for name, each in row["figures"].items()
        }
        for row in document["summaries"]
        if not row["at"]
    }


SHORT = ("--seconds", "0.0005")
MACHINES = locate.ROOT / "python/lockwright_lab/machines"


def test_the_tables_state_that_they_are_simulated(cli: Cli, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ("--locks", "pthread,futex", "--threads", "1,4", *SHORT)
    printed, document = simulated(cli, tmp_path, *words, "--html", page)
    assert printed.count("Simulated, not measured") == 2
    found = medians(document)
    assert set(found) == {(lock, threads) for lock in ("pthread", "futex") for threads in (1, 4)}
    assert all(found["pthread", threads]["ratio"] == 1 for threads in (1, 4))
    assert set(document["machine"]["sources"]) >= {"load", "kernel", "energy"}
    text = page.read_text()
    assert "None was measured" in text
    assert "Share of handovers" in text
    assert medians(simulated(cli, tmp_path, *words)[1]) == found, "the same seed"


@pytest.mark.full("compiles for long; a reader-writer lock of the user is simulated")
def test_a_lock_of_the_user(cli: Cli, tmp_path: Path) -> None:
    """The lock of docs/lab/adding-a-lock.md is ranked; without an atomic exchange it fails."""
    if shutil.which("g++") is None and "CXX" not in os.environ:
        pytest.skip("no g++")
    header = tmp_path / "my_lock.hpp"
    header.write_text(GOOD)
    result = cli("simulate", header, "--locks", "pthread", "--threads", "4", *SHORT)
    assert result.status == 0, result.err
    assert re.search(r"^ *my-lock +", result.out, re.MULTILINE)
    header.write_text(BROKEN)
    result = cli(
        *("simulate", header, "--locks", "pthread", "--threads", "4", *SHORT),
        *("--workload", "lockbench", "--set", "section-max-ns=100", "--set", "gap-max-ns=300"),
    )
    assert result.status == 1
    assert "my-lock, 4 threads: the lock is broken" in " ".join(result.out.split())
    header.write_text(GOOD.replace("try_lock", "try_lokc"))
    cli("simulate", header, "--threads", "2").refuses("my_lock")
    header.write_text("namespace lockwright { not C++ }")
    cli("simulate", header, "--threads", "2").refuses("my_lock.hpp:1", "does not compile")
    cli("simulate", tmp_path / "none.hpp").refuses("there is no file")


RWLOCKS = ("simulate", "--workload", "rwlock", *SHORT)


def test_reader_writer_locks(cli: Cli, tmp_path: Path) -> None:
    """Readers and writers have columns of their own; the ratio is to the C library's lock."""
    words = ("--rwlocks", "pthread,big-reader", "--threads", "1,8", "--set", "read-percent=95")
    printed, document = simulated(cli, tmp_path, *RWLOCKS[1:], *words)
    assert printed.count("Simulated, not measured: rwlock read-percent=95") == 2
    for (lock, threads), row in medians(document).items():
        reads, writes = (row[f"{kind}_per_second"] or 0.0 for kind in ("reads", "writes"))
        assert reads > 5 * writes > 0
        assert lock != "pthread" or row["ratio"] == 1
        assert threads != 1 or row["scaling"] == 1
        assert threads == 1 or (row["longest_write_wait_ns"] or 0.0) > 0
    words = ("--rwlocks", "futex-rw", "--threads", "2", "--set", "read-percent=100")
    (row,) = medians(simulated(cli, tmp_path, *RWLOCKS[1:], *words)[1]).values()
    assert (row["writes_per_second"], row["longest_write_wait_ns"]) == (0, None), "no writers"


def test_a_reader_writer_lock_of_the_user(cli: Cli, tmp_path: Path) -> None:
    """A copy of a header of the package is ranked; without its readers' mark it fails."""
    if shutil.which("g++") is None and "CXX" not in os.environ:
        pytest.skip("no g++")
    header = tmp_path / "my_rw.hpp"
    text = (locate.ROOT / "include/lockwright/rwlock/futex_rw.hpp").read_text()
    header.write_text(text.replace("futex_rw", "my_rw"))
    words = (header, "--rwlocks", "futex-rw", "--threads", "8")
    found = medians(simulated(cli, tmp_path, *RWLOCKS[1:], *words)[1])
    assert found.keys() == {("my-rw", 8), ("futex-rw", 8)}
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
        (("ghz = 2.1", 'ghz = "2.1"'), ("clock.ghz: is '2.1', not true or false or a number",)),
        (("ghz = 2.1", "ghz = 0"), ("clock.ghz: is 0, not a number > 0",)),
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
        (("ghz = 2.1", "ghz = [3, 2]"), ("clock.ghz is [3.0, 2.0]", "write [low, high]")),
        (("ghz = 2.1", "ghz = [0, 2]"), ("clock.ghz[1]: is 0",)),
        (("[clock]", HYBRID.format(slow_cores=49, slow_share=2)), ("there are 48 cores",)),
        (("[clock]", HYBRID.format(slow_cores=0.5, slow_share=2)), ("hybrid.slow_cores: is 0.5",)),
        (("[clock]", HYBRID.format(slow_cores=4, slow_share=0.5)), ("hybrid.slow_share: is 0.5",)),
        (("[clock]", "[hybrid]\nsource = 'x y'\nslow_cores = 4\n[clock]"), ("is missing",)),
    ],
)
def test_a_bad_machine_is_refused(
    change: tuple[str, str], message: tuple[str, ...], refuses: Refuses, tmp_path: Path
) -> None:
    text = (MACHINES / "i-48.toml").read_text()
    assert change[0] in text
    path = tmp_path / "m.toml"
    path.write_text(text.replace(*change))
    refuses(["simulate", "--machine", path, "--locks", "futex"], *message)


RANGED = 'like = "a-64"\ntitle = "64 cores"\n[kernel]\nsource = "a guess"\n'


def test_pairs_whose_order_changes_within_a_range_are_open(cli: Cli, tmp_path: Path) -> None:
    """With a wake latency from 0 to 100 us, parking is better than polling at one end only."""
    path = tmp_path / "ranged.toml"
    path.write_text(RANGED + "idle_exit_us = 0\nwake_latency_ns = [0, 100000]\n")
    words = ("--machine", path, "--locks", "mcs-stp,spinlock,pthread", "--threads", "64")
    more = ("--set", "section-cycles=50000", "--seconds", "0.003")
    printed, document = simulated(cli, tmp_path, *words, *more)
    assert document["machine"]["ranges"]["kernel.wake_latency_ns"] == [0, 100000]
    assert document["machine"]["figures"]["kernel.wake_latency_ns"] == 50000
    assert len(medians(document)) == 3
    ends = ["kernel.wake_latency_ns = 0"]
    pair = {"threads": 64, "faster": "spinlock", "slower": "mcs-stp", "ends": ends}
    assert document["open"] == [pair]
    text = "spinlock above mcs-stp with 64 threads, but not with kernel.wake_latency_ns = 0"
    assert text in " ".join(printed.split())


def test_open_pairs() -> None:
    """Lock a is above b in the middle and at one end; c is below both everywhere."""
    middle = {"a": 30, "b": 20, "c": 10}
    ends = {"x = 1": {"a": 40, "b": 20, "c": 10}, "x = 2": {"a": 20, "b": 25, "c": 10}}
    (pair,) = experiment.open_pairs(4, middle, ends)
    assert pair.text == "a above b with 4 threads, but not with x = 2"
    assert experiment.open_pairs(4, middle, {"x = 1": middle}) == []
    assert "the same at all 2 ends" in experiment.summary([], 2)[0]
    assert experiment.summary([pair] * 12, 2)[-1] == "  and 2 more, which --json has"


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


@pytest.mark.full("simulates for ten seconds")
def test_sensitivity(cli: Cli) -> None:
    """Each duration of the machine has a line; energy and shape have none."""
    words = ("--locks", "pthread,ticket,spinlock", "--threads", "4", *SHORT)
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
