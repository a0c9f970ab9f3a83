"""Claims on simulated machines: the settings of the papers, the figures, files and interrupts."""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from lockwright.simulate.run import Job, catalogue
from lockwright_lab.bench.claims.experiment import Prepared, job, prepare, simulations
from lockwright_lab.bench.claims.simulated_line import outcome_of
from lockwright_lab.bench.claims.simulated_settings import inexpressible
from lockwright_lab.bench.claims.table import CLAIMS, choose
from lockwright_lab.bench.statistic import STATISTICS
from support.processes import captured

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)


def jobs(chosen: list[Prepared]) -> list[Job]:
    """Return the simulations with one seed."""
    return [job(case, machine, 1) for case, machine in simulations(chosen).values()]


def test_each_claim_is_simulated_or_has_a_reason() -> None:
    """A simulated claim has a workload of the simulator, with its parameters."""
    known = catalogue().workloads
    common = {"warm-up", "balanced", "data-lines"}
    for claim, experiment in zip(CLAIMS, prepare(CLAIMS), strict=True):
        reason = experiment.claim.elsewhere
        assert (experiment.machine is None) == bool(inexpressible(claim)) == bool(reason)
    for each in jobs(prepare(CLAIMS)):
        assert each.setup.workload in known
        assert set(each.setup.parameters) <= set(known[each.setup.workload].parameters) | common
        assert each.cell.threads >= 1
        assert each.setup.seconds > 0


@pytest.mark.parametrize(
    ("name", "machine", "threads"),
    [
        ("restriction-throughput", "t5-2", {32}),
        ("oversubscription-cliff", "t5-2", {128, 256}),
        ("handover-pinned", "a-64", {64}),
        ("mcs-is-best", "xeon-e5-2680v2x2", {40}),
        ("timeout-throughput", "xeon-e5-2680v2x2", {20}),
        ("short-short-mutable", "xeon-e5-2640v4x2", {20}),
        (
            "best-lock-long-long",
            "xeon-e5-2640v4x2",
            {1, 2, 5, 8, 10, 12, 15, 18, 20, 24, 28, 30, 40},
        ),
        ("lockbench-shared-ttas", "xeon-8260x2", {52, 58, 60, 70, 80, 90}),
    ],
)
def test_the_machine_and_the_threads_are_those_of_the_paper(
    name: str, machine: str, threads: set[int]
) -> None:
    found = jobs(prepare(choose(name)))
    assert {each.setup.machine.name for each in found} == {machine}
    assert {each.cell.threads for each in found} == threads


@pytest.mark.parametrize(
    ("claim", "data_lines"),
    [
        ("short-short-mutable", "0"),
        ("ticket-beats-mutex", "0"),
        ("mutexee-on-average", None),
        ("restriction-throughput", None),
    ],
)
def test_sections_change_shared_data_only_if_those_of_the_program_do(
    claim: str, data_lines: str | None
) -> None:
    for each in jobs(prepare(choose(claim))):
        assert each.setup.parameters.get("data-lines") == data_lines


def test_the_figures_of_a_simulation_are_those_of_a_measurement() -> None:
    """2 ms, 400 operations of two threads, 500 acquisitions, each calculated manually."""
    line = {
        "picoseconds": 2_000_000_000,
        "operations": 400,
        "per_thread": [300, 100],
        "acquisitions": 500,
        "transfers": [0] * 6,
        "handovers": [0] * 6,
        "invalidations": 0,
        "lwss_windows": 2,
        "lwss_distinct": 6,
        "mttr": 7,
        "wait_p99_ps": 1,
        "wait_p999_ps": 5_000,
        "wait_max_ps": 9_000,
        "handed_over": 10,
        "handover_ps": 300_000,
        "sleeps": 20,
        "running_ps": 4_000_000_000,
        "working_ps": 1_000_000_000,
        "picojoules": 4_000_000_000,
    }
    expected = {
        "rate": 200_000,
        "acquisitions per message": 1.25,
        "sync cpus": 1.5,
        "voluntary": 50,
        "gini": 0.25,
        "lwss": 3,
        "mttr": 7,
        "p99.9": 5,
        "longest": 9,
        "handover": 30,
        "per joule": 100_000,
    }
    outcome = outcome_of(line)
    figures = {name: STATISTICS[name].of(outcome) for name in expected}
    assert figures == pytest.approx(expected)
    empty = outcome_of({**line, "lwss_windows": 0, "handed_over": 0, "operations": 0})
    for name in ("lwss", "handover", "acquisitions per message", "per joule"):
        assert STATISTICS[name].of(empty) is None


def call(lockwright: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return captured([lockwright, "bench", "claims", "--simulated", *words])


def test_the_command_writes_the_same_findings_twice(lockwright: Path, tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        files = {kind: tmp_path / f"{name}.{kind}" for kind in ("json", "csv")}
        options = [word for kind, path in files.items() for word in (f"--{kind}", path)]
        done = call(
            lockwright, "--claims", "uncontested-ttas-pthread,systems", "--seeds", "3", *options
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Machine: xeon-e5-2680v2x2" in done.stdout
        assert "systems: cannot be shown here" in done.stdout
        found.append(json.loads(files["json"].read_text()))
        with files["csv"].open(newline="") as file:
            ran, other = csv.DictReader(file)
        assert (ran["machine"], ran["rounds"]) == ("xeon-e5-2680v2x2", "3")
        assert float(ran["low"]) <= float(ran["median"]) <= float(ran["high"])
        assert (other["machine"], other["verdict"]) == ("", "cannot be shown here")
    document, again = found
    assert document["rows"] == again["rows"]
    assert document["simulated"] is True
    assert len(document["rows"][0]["values"]) == 3
    assert set(document["machines"]) == {"xeon-e5-2680v2x2"}
