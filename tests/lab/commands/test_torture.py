"""`lockwright torture`: its output, its findings, and that it leaves no process."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import locate
from support.processes import running, wait_until

from .conftest import Cli

#: A short torture that starts processes.
BRIEF = ["--budget", "1.2", "--only", "crowd,forks"]


def test_a_clean_run(cli: Cli, tmp_path: Path) -> None:
    """The lock runs with its default parameters, and with the smallest."""
    target = tmp_path / "found.json"
    result = cli("torture", "mcs-stp", "--seed", "5", *BRIEF, "--json", target)
    assert result.status == 0, result.out + result.err
    assert "seed 5" in result.out.splitlines()[0]
    assert "Clean." in result.out
    document = json.loads(target.read_text())
    assert document["seed"] == 5
    assert document["complete"]
    first, second = document["runs"]
    assert (first["numbers"], second["numbers"]) == ({}, {"LOCKWRIGHT_MCS_STP_SPIN_NS": "0"})
    for run in (first, second):
        assert (run["lock"], run["topology"], run["clean"]) == ("mcs-stp", None, True)
        assert run["final"]["sections"] > 0
        assert {line["what"].split(",")[0] for line in run["phases"]} <= {"crowd", "forks"}
    variables = {"LOCKWRIGHT_SPIN_NS": "5"}
    assert cli("torture", "mcs-stp", *BRIEF, "--json", target, env=variables).status == 0
    assert len(json.loads(target.read_text())["runs"]) == 1


@pytest.mark.full("test_torture.py of the laboratory has the same phases")
def test_reader_writer_locks(cli: Cli, tmp_path: Path) -> None:
    """One of them, with the smallest numbers too, and all."""
    target = tmp_path / "found.json"
    result = cli("torture", "phase-fair", "--budget", "0.6", "--json", target)
    assert result.status == 0, result.out + result.err
    runs = json.loads(target.read_text())["runs"]
    assert [run["lock"] for run in runs] == ["phase-fair"] * 2
    for run in runs:
        assert {line["what"].split(",")[0] for line in run["phases"]} == {"readers"}
        assert run["final"]["sections"] > 0
    every = cli("torture", "rwlocks", "--budget", "1.2")
    assert every.status == 0, every.out + every.err
    listed = json.loads(cli("list", "--reader-writer", "--json", "-").out)
    assert f"Torture of {len(listed)} reader-writer locks" in every.out


def test_the_seed_is_drawn_and_printed(cli: Cli) -> None:
    first, second = (
        cli("torture", "pthread", "--budget", "0.3", "--only", "reuse").out.splitlines()[0]
        for _ in range(2)
    )
    assert "seed " in first
    assert first != second


def test_a_numa_aware_lock_is_tortured_on_several_nodes(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    result = cli("torture", "hmcs", "--budget", "1.8", "--only", "crowd", "--json", target)
    assert result.status == 0, result.out + result.err
    assert "at most 2 threads for each processor" in result.out
    runs = json.loads(target.read_text())["runs"]
    assert runs[0]["topology"] is None
    assert runs[-1]["topology"] == "threads:0;1;2;3"
    assert [bool(run["numbers"]) for run in runs] == [False] * (len(runs) - 1) + [True]
    declared = {"LOCKWRIGHT_TOPOLOGY": "threads:0;1"}
    assert cli("torture", "hmcs", *BRIEF, "--json", target, env=declared).status == 0
    assert [run["topology"] for run in json.loads(target.read_text())["runs"]] == [None] * 2


@pytest.fixture
def with_broken(libdir: Path, tmp_path: Path) -> dict[str, str]:
    """Make a directory of two libraries, `ttas`, which is broken, and `pthread`."""
    folder = tmp_path / "broken" / "lib"
    folder.mkdir(parents=True)
    rows = json.loads((libdir / "locks.json").read_text())
    rows = [row for row in rows if row["name"] in ("ttas", "pthread")]
    (folder / "locks.json").write_text(json.dumps(rows))
    shutil.copy(
        locate.program("lab/torture", "broken_deadline_too_soon.so"),
        folder / "liblockwright-ttas.so",
    )
    (folder / "liblockwright-pthread.so").symlink_to(libdir / "liblockwright-pthread.so")
    (folder.parent / "bin").symlink_to(libdir.parent / "bin")
    return {"LOCKWRIGHT_LIBDIR": str(folder)}


def test_all_continues_after_a_failure(
    cli: Cli, tmp_path: Path, with_broken: dict[str, str]
) -> None:
    """The output has the lock's state, the command that repeats it, and the other lock's result."""
    target = tmp_path / "found.json"
    words = ["--seed", "11", "--budget", "6", "--only", "crowd", "--json", str(target)]
    result = cli("torture", "all", *words, env=with_broken)
    assert result.status == 1, result.out + result.err
    failed, clean = json.loads(target.read_text())["runs"]
    if failed["lock"] == "pthread":
        failed, clean = clean, failed
    assert clean["clean"]
    assert failed["failure"]["check"] == "deadline"
    phase = failed["failure"]["phase"]
    assert f"torture ttas --seed 11 --phase {phase} --only crowd" in failed["again"]
    assert failed["again"] in result.out
    assert "ttas FAILED: " in result.out
    assert "bytes:" in result.out
    assert "1 of 2 runs failed." in result.out
    again = failed["again"].split()
    words = again[again.index("torture") :]
    assert cli(*words, "--budget", "30", env=with_broken).status == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_torture_leaves_no_process(
    command: list[str], environment: dict[str, str], number: signal.Signals
) -> None:
    """Except after SIGKILL it prints a summary."""
    seed = str(900_000 + os.getpid() * 10 + int(number))
    words = [*command, "torture", "all", "--seed", seed, "--budget", "540", "--only", "crowd,forks"]
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not running("lockwright-torture", seed) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    out, _ = process.communicate(timeout=120)
    if number != signal.SIGKILL:
        assert process.returncode == 128 + number
        assert "Stopped after 0 of" in out
    wait_until(lambda: not running("lockwright-torture", seed))


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["mcs"], ["no lock is named 'mcs'", "did you mean"]),
        (["null"], ["no lock is named 'null'"]),
        (["ttas", "--budget", "0"], ["--budget"]),
        (["ttas", "--seed", "-1"], ["--seed"]),
        (["ttas", "--seed", str(2**64)], ["--seed"]),
        (["phase-fair", "--only", "crowd"], ["--only", "'crowd'"]),
        (["ttas", "--only", "crowds"], ["--only", "'crowds'", "did you mean 'crowd'?"]),
        (["ttas", "--without", "x"], ["--without", "'x'", "stutter"]),
        (["ttas", "--only", "order"], ["no phase is left for ttas"]),
        (["ttas", "--only", "herd", "--without", "herd"], ["no phase is left for ttas"]),
        (["ttas", "--json", "/nonexistent/x"], ["--json", "/nonexistent/x"]),
        ([], ["LOCK|all"]),
    ],
)
def test_bad_arguments_are_refused(cli: Cli, words: list[str], parts: list[str]) -> None:
    cli("torture", *words).refuses(*parts)


def test_parameters_of_the_lock_are_checked(cli: Cli) -> None:
    result = cli("torture", "mcs-stp", env={"LOCKWRIGHT_MCS_STP_SPIN_NS": "x"})
    result.refuses("LOCKWRIGHT_MCS_STP_SPIN_NS")
