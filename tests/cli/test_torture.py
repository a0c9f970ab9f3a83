"""`lockwright torture` says what it does, what it found, and leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import locate

from .conftest import Cli

#: Short, and with processes of its own.
BRIEF = ["--minutes", "0.02", "--only", "crowd,forks"]


def left_over(mark: str) -> list[str]:
    """The torture programs that were told that seed and still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"lockwright-torture" in words[0] and mark.encode() in words:
            found.append(path.parent.name)
    return found


def test_a_clean_run(cli: Cli, tmp_path: Path) -> None:
    """The lock runs with its numbers as they are, and with the smallest ones."""
    written = tmp_path / "found.json"
    done = cli("torture", "mcs-stp", "--seed", "5", *BRIEF, "--json", written)
    assert done.status == 0, done.out + done.err
    assert "seed 5" in done.out.splitlines()[0]
    assert "Clean." in done.out
    document = json.loads(written.read_text())
    assert document["seed"] == 5
    assert document["complete"]
    first, second = document["runs"]
    assert (first["numbers"], second["numbers"]) == ({}, {"LOCKWRIGHT_MCS_STP_SPIN_NS": "0"})
    for run in (first, second):
        assert (run["lock"], run["topology"], run["clean"]) == ("mcs-stp", None, True)
        assert run["final"]["sections"] > 0
        assert {line["what"].split(",")[0] for line in run["phases"]} <= {"crowd", "forks"}
    own = {"LOCKWRIGHT_SPIN_NS": "5"}
    assert cli("torture", "mcs-stp", *BRIEF, "--json", written, env=own).status == 0
    assert len(json.loads(written.read_text())["runs"]) == 1


def test_the_seed_is_drawn_and_said(cli: Cli) -> None:
    first, second = (
        cli("torture", "pthread", "--minutes", "0.005", "--only", "reuse").out.splitlines()[0]
        for _ in range(2)
    )
    assert "seed " in first
    assert first != second


def test_a_lock_that_knows_nodes_is_tortured_on_several(cli: Cli, tmp_path: Path) -> None:
    written = tmp_path / "found.json"
    done = cli("torture", "hmcs", "--minutes", "0.03", "--only", "crowd", "--json", written)
    assert done.status == 0, done.out + done.err
    assert "at most 2 threads for each processor" in done.out
    runs = json.loads(written.read_text())["runs"]
    assert runs[0]["topology"] is None
    assert runs[-1]["topology"] == "threads:0;1;2;3"
    assert [bool(run["numbers"]) for run in runs] == [False] * (len(runs) - 1) + [True]
    declared = {"LOCKWRIGHT_TOPOLOGY": "threads:0;1"}
    assert cli("torture", "hmcs", *BRIEF, "--json", written, env=declared).status == 0
    assert [run["topology"] for run in json.loads(written.read_text())["runs"]] == [None] * 2


@pytest.fixture
def with_broken(libdir: Path, tmp_path: Path) -> dict[str, str]:
    """Libraries of which `ttas` is broken and `pthread` is not, and no other is there."""
    folder = tmp_path / "own" / "lib"
    folder.mkdir(parents=True)
    rows = json.loads((libdir / "locks.json").read_text())
    kept = [row for row in rows if row["name"] in ("ttas", "pthread")]
    (folder / "locks.json").write_text(json.dumps(kept))
    shutil.copy(
        locate.program("torture", "broken_deadline_too_soon.so"), folder / "liblockwright-ttas.so"
    )
    (folder / "liblockwright-pthread.so").symlink_to(libdir / "liblockwright-pthread.so")
    (folder.parent / "bin").symlink_to(libdir.parent / "bin")
    return {"LOCKWRIGHT_LIBDIR": str(folder)}


def test_all_goes_on_after_a_failure(cli: Cli, tmp_path: Path, with_broken: dict[str, str]) -> None:
    """Status 1, the state, the command that repeats it, and the other lock's result."""
    written = tmp_path / "found.json"
    words = ["--seed", "11", "--minutes", "0.1", "--only", "crowd", "--json", str(written)]
    done = cli("torture", "all", *words, env=with_broken)
    assert done.status == 1, done.out + done.err
    failed, clean = json.loads(written.read_text())["runs"]
    if failed["lock"] == "pthread":
        failed, clean = clean, failed
    assert clean["clean"]
    assert failed["failure"]["check"] == "deadline"
    phase = failed["failure"]["phase"]
    assert f"torture ttas --seed 11 --phase {phase} --only crowd" in failed["again"]
    assert failed["again"] in done.out
    assert "ttas FAILED: " in done.out
    assert "bytes:" in done.out
    assert "1 of 2 runs failed." in done.out
    again = failed["again"].split()
    words = again[again.index("torture") :]
    assert cli(*words, "--minutes", "0.5", env=with_broken).status == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_torture_leaves_nothing_behind(
    command: list[str], environment: dict[str, str], how: signal.Signals
) -> None:
    """Whatever ends it; if it can still speak, with a summary."""
    mark = str(900_000 + os.getpid() * 10 + int(how))
    words = [*command, "torture", "all", "--seed", mark, "--minutes", "9", "--only", "crowd,forks"]
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not left_over(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(how)
    out, _ = process.communicate(timeout=120)
    if how != signal.SIGKILL:
        assert process.returncode == 128 + how
        assert "Stopped after 0 of" in out
    deadline = time.monotonic() + 60
    while left_over(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_over(mark) == []


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["mcs"], ["no lock is named 'mcs'", "did you mean"]),
        (["null"], ["no lock is named 'null'"]),
        (["ttas", "--minutes", "0"], ["--minutes"]),
        (["ttas", "--seed", "-1"], ["--seed"]),
        (["ttas", "--seed", str(2**64)], ["--seed"]),
        (["ttas", "--only", "crowds"], ["--only", "'crowds'", "did you mean 'crowd'?"]),
        (["ttas", "--without", "x"], ["--without", "'x'", "stutter"]),
        (["ttas", "--only", "order"], ["no phase is left for ttas"]),
        (["ttas", "--only", "herd", "--without", "herd"], ["no phase is left for ttas"]),
        (["ttas", "--json", "/nonexistent/x"], ["--json", "/nonexistent/x"]),
        ([], ["LOCK|all"]),
    ],
)
def test_what_makes_no_sense_is_refused(cli: Cli, words: list[str], parts: list[str]) -> None:
    cli("torture", *words).refuses(*parts)


def test_numbers_of_the_lock_are_checked(cli: Cli) -> None:
    done = cli("torture", "mcs-stp", env={"LOCKWRIGHT_MCS_STP_SPIN_NS": "x"})
    done.refuses("LOCKWRIGHT_MCS_STP_SPIN_NS")
