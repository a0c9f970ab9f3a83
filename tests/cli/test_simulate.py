"""`lockwright simulate`: machines as files, tables that say that they are simulated, own locks."""

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
from lockwright.simulate import machine, report
from support import locate

from .conftest import Cli

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)

PAGE = (locate.ROOT / "docs/adding-a-lock.md").read_text()
GOOD = re.findall(r"^```cpp\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]

SHORT = ("--seconds", "0.0005")
MACHINES = locate.ROOT / "python/lockwright/simulate/machines"


def test_the_tables_say_that_they_are_simulated(cli: Cli, tmp_path: Path) -> None:
    files = {name: tmp_path / f"out.{name}" for name in ("json", "csv", "html")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    result = cli("simulate", "--locks", "pthread,futex", "--threads", "1,4", *SHORT, *options)
    assert (result.status, result.err) == (0, "")
    assert result.out.count("Simulated, not measured") == 2
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


def test_a_lock_of_ones_own(cli: Cli, tmp_path: Path) -> None:
    """The lock of docs/adding-a-lock.md is ranked; one that takes in two steps is found broken."""
    if shutil.which("g++") is None and "CXX" not in os.environ:
        pytest.skip("no g++")
    header = tmp_path / "my_lock.hpp"
    header.write_text(GOOD)
    result = cli("simulate", header, "--locks", "pthread", "--threads", "4", *SHORT)
    assert (result.status, result.err) == (0, "")
    assert re.search(r"^ *my-lock +", result.out, re.MULTILINE)
    broken = GOOD.replace(
        "return flag_.exchange(1, std::memory_order_acquire) == 0;",
        """
    if (flag_.load(std::memory_order_acquire) != 0) {
      return false;
    }
    flag_.store(1, std::memory_order_relaxed);
    return true;
""",
    )
    assert broken != GOOD
    header.write_text(broken)
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


def test_machines_are_complete() -> None:
    """Each is read, names its sources, and has as many processors as its title says."""
    assert {"a-64", "i-48", "epyc-9654x2"} <= set(machine.known())
    for name in machine.known():
        one = machine.load(name)
        assert re.search(rf"\b{one.processors} (cores|hardware threads|processors)", one.title)
        assert all(len(source) > 5 for source in one.sources.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[clock]", "[clokc]"), ("there is no section 'clokc'", "did you mean 'clock'?")),
        (("ghz =", "gigahertz ="), ("[clock]", "there is no figure 'gigahertz'")),
        (("ghz = 2.1", 'ghz = "2.1"'), ("clock.ghz is no number",)),
        (("ghz = 2.1", "ghz = 0"), ("clock.ghz is 0",)),
        (("ghz = 2.1", ""), ("clock.ghz is missing",)),
        (("far_ns = 165", ""), ("rmw.far_ns is missing",)),
        (("packages = 4", "packages = 4000"), ("processors", "at most 1024")),
        (("cores_per_cache = 12", "cores_per_cache = 0.1"), ("more nodes than processors",)),
        (("packages = 4", "packages = 4\ntwo_hops = [[0, 9]]"), ("two_hops", "is missing")),
        (("jitter_share = 0.1", "jitter_share = 2"), ("line.jitter_share is 2",)),
        (('like = "linux-2015"', ""), ("section [kernel] is missing",)),
        (('like = "linux-2015"', 'like = "linux"'), ("no machine is named 'linux'",)),
        (('like = "linux-2015"', 'like = "m.toml"'), ("like itself: m.toml -> m.toml",)),
        (('source = "TOCS 2019, table 2"', ""), ("[clock] has no 'source'",)),
        (("ghz = 2.1", "ghz = = 2.1"), ("m.toml is no TOML",)),
    ],
)
def test_a_bad_machine_is_refused(
    change: tuple[str, str], said: tuple[str, ...], cli: Cli, tmp_path: Path
) -> None:
    good = (MACHINES / "i-48.toml").read_text()
    assert change[0] in good
    path = tmp_path / "m.toml"
    path.write_text(good.replace(*change))
    cli("simulate", "--machine", path, "--locks", "futex").refuses(*said)


def test_bad_requests(cli: Cli, tmp_path: Path) -> None:
    short = ("simulate", "--threads", "2", *SHORT)
    cli(*short, "--machine", "a-46").refuses("no machine is named 'a-46'", "did you mean 'a-64'?")
    cli(*short, "--machine", tmp_path / "x.toml").refuses("there is no file")
    cli(*short, "--locks", "fuetx").refuses("no lock is named 'fuetx'", "did you mean 'futex'?")
    cli(*short, "--workload", "lockbnech").refuses("did you mean 'lockbench'?")
    cli(*short, "--set", "speed=3").refuses("has no parameter 'speed'")
    cli(*short, "--set", "section-cycles=x", "--locks", "futex").refuses("is not a number")
    cli("simulate", "--threads", "0").refuses("--threads")
    cli("simulate", "--threads", "70000", "--locks", "futex").refuses("1 to 65536")
    cli(*short, "--trace", tmp_path / "t.json").refuses("--trace shows one lock of the list")


def test_an_interrupt_leaves_what_was_simulated(command: list[str], tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    words = [
        "simulate",
        "--locks",
        "futex,hemlock,partitioned,ticket,shfllock",
        "--threads",
        "2,64",
    ]
    process = subprocess.Popen(
        [*command, *words, "--seconds", "0.2", "--json", str(path)],
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
    """Each figure has a line; energy and shape are no lengths of time, and have none."""
    words = ("--locks", "pthread,hmcs,ticket,spinlock", "--threads", "16", *SHORT)
    result = cli("simulate", "--sensitivity", *words)
    assert (result.status, result.err) == (0, "")
    lines = re.findall(r"^ *(\w+)\.(\w+) +[\d.]+ +(-?[\d.]+) +(-?[\d.]+) *$", result.out, re.M)
    assert {section for section, *_ in lines} >= {"clock", "load", "rmw", "kernel", "wait"}
    assert {section for section, *_ in lines}.isdisjoint({"shape", "energy"})
    strength = [min(float(half), float(twice)) for *_, half, twice in lines]
    assert strength == sorted(strength)
    cli("simulate", "--sensitivity", "--locks", "futex", *SHORT).refuses("three locks")
    cli("simulate", "--sensitivity", "--threads", "1,2", *SHORT).refuses("one ranking")


def test_gini() -> None:
    assert report.gini([5, 5, 5]) == pytest.approx(0)
    assert report.gini([0, 0, 0, 8]) == pytest.approx(0.75)
    assert report.gini([0, 0]) == 0
