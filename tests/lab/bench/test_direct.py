"""The workloads that are compiled with the locks' headers: exclusion, counts and options."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.preload import locks
from lockwright.run import tools
from support import locate, tiers
from support.processes import captured

QUICK = ["--warm-up", "0", "--loops-per-us", "900"]

WORKLOADS = {
    "uncontested": ["--threads", "2"],
    "single-lock": ["--section-cycles", "100", "--gap-cycles", "100"],
    "lockbench": ["--section-max-ns", "500", "--gap-max-ns", "500"],
}


def call(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        program = tools.find("lockwright-bench-direct", "measuring")
    except LockwrightError as problem:
        pytest.skip(f"not built: {problem}")
    return captured([program, *words], env={})


@pytest.mark.parametrize(
    "lock",
    tiers.short(
        locate.lock_names(),
        ("pthread", "ttas", "mcs-stp"),
        "the workloads are templates, and the locks have unit tests",
    ),
)
def test_counts_add_up(lock: str) -> None:
    """No two threads were inside a section at once, and this lock's header was called."""
    for workload, options in WORKLOADS.items():
        # On a machine that is busy, threads may get no processor for as long as a short run takes.
        for seconds in ("0.01", "1", "10"):
            done = call(lock, workload, *options, *QUICK, "--seconds", seconds)
            assert done.returncode == 0, (workload, done.stderr)
            lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
            measured, final = lines
            if final["operations"] > 0:
                break
        assert (measured["kind"], final["kind"]) == ("measured", "final")
        assert measured["threads"] == len(final["per_thread"]) == 2
        assert sum(final["per_thread"]) == final["operations"] == final["acquisitions"] > 0
        assert final["guarded"] == final["acquisitions"]
        header = locks.registry().find(lock).header
        library = lock == locks.BASELINE
        assert measured["mutex"] == header or (
            library and Path(measured["mutex"]).name == "libc.so.6"
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no lock and workload named"),
        (["ttas"], "no lock and workload named"),
        (["no-such", "lockbench"], "no lock 'no-such'; 'lockwright list' shows them"),
        (["pthread", "keymap"], "no workload 'keymap'"),
        (["pthread", "uncontested", "--latency", "1"], "leave out '--latency'"),
        (["pthread", "single-lock", "--admissions", "1"], "leave out '--admissions'"),
        (["pthread", "lockbench", "--preset", "none"], "'none' is no preset of 'lockbench'"),
        (["pthread", "lockbench", "--cycles", "1"], "unknown option '--cycles'"),
    ],
)
def test_bad_input_gets_one_line(words: list[str], message: str) -> None:
    done = call(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert message in line
    assert "; " in line
