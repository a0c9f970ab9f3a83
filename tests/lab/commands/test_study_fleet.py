"""`lockwright study run --scheduler`: each run is made once, even if a machine dies."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.processes import running, wait_until

from .conftest import Program
from .test_study_run import count, rows, slow

WITH_DASK = pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="Dask distributed is not installed"
)

Worker = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Start a scheduler and return its address."""
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    words += ["--host", "127.0.0.1", "--port", "0"]
    with (tmp_path / "scheduler.log").open("w") as log:
        # On a machine that is busy with other tests, a worker may be slow to connect.
        patient = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "200s"}
        process = subprocess.Popen(
            words, stderr=log, stdout=log, cwd=tmp_path, env=os.environ | patient
        )
    found = ""
    while not found and process.poll() is None:
        time.sleep(0.02)
        for line in (tmp_path / "scheduler.log").read_text().splitlines():
            if "Scheduler at:" in line:
                found = line.split()[-1]
    assert found, (tmp_path / "scheduler.log").read_text()
    yield found
    process.kill()
    process.wait()


@pytest.fixture
def worker(
    command: list[str], environment: dict[str, str], address: str, tmp_path: Path
) -> Iterator[Worker]:
    """Return a function that starts a worker, which is a machine of that name."""
    started = []

    def start(name: str) -> subprocess.Popen[str]:
        log = (tmp_path / f"{name}.log").open("a")
        words = [*command, "study", "worker", address, "--machine-name", name]
        process = subprocess.Popen(
            [*words, "--cache", str(tmp_path / name)],
            env=environment,
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            text=True,
        )
        log.close()
        started.append(process)
        return process

    yield start
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()


def study(
    command: list[str], environment: dict[str, str], folder: Path, plan: str, *words: str
) -> subprocess.Popen[str]:
    (folder / "s.toml").write_text(plan)
    return subprocess.Popen(
        [*command, "study", "run", "s.toml", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def with_runs(plan: str, runs: int) -> str:
    return plan.replace("runs = 4", f"runs = {runs}")


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    def holds() -> bool:
        assert process.poll() is None or condition(), process.communicate()
        return condition()

    wait_until(holds, 240)


@pytest.mark.full("runs a study on several machines")
def test_machines_share_the_runs_of_a_killed_machine(
    command: list[str],
    environment: dict[str, str],
    address: str,
    worker: Worker,
    program: Program,
    tmp_path: Path,
) -> None:
    """One of three workers is killed in the middle of a run; every run is stored once."""
    machines = {name: worker(name) for name in ("a", "b", "c")}
    plan = 'machines = "any"\n' + with_runs(slow(program, tmp_path, 0.1), 2)
    run = study(command, environment, tmp_path, plan, "--scheduler", address)
    db = tmp_path / "s.sqlite"
    wait_for(lambda: len({name for (name,) in machines_of(db)}) == 3 and count(db) >= 6, run)
    machines["b"].kill()
    before = count(db)
    out, message = run.communicate(timeout=200)
    assert run.returncode == 0, message
    assert before < 36, "it ended before a worker could be killed"
    assert "b has left" in message
    found = rows(db, "program, lock, threads, round, outcome")
    assert len(found) == len(set(found)) == 2 * 3 * 2 * 3
    assert {row[-1] for row in found} == {"finished"}
    assert {name for (name,) in machines_of(db)} == {"a", "b", "c"}
    assert "36 runs" in out


def machines_of(db: Path) -> list[tuple[str]]:
    with contextlib.suppress(Exception):
        return [(str(name),) for (name,) in rows(db, "machine")] if db.exists() else []
    return []


@pytest.mark.full("waits for the absence of a machine, for minutes")
def test_each_machine_makes_every_run_even_after_an_absence(
    command: list[str],
    environment: dict[str, str],
    address: str,
    worker: Worker,
    program: Program,
    tmp_path: Path,
) -> None:
    """A worker that was killed makes the remaining runs later; it leaves no process."""
    worker("a")
    second = worker("b")
    plan = with_runs(slow(program, tmp_path, 0.3), 1).replace("warmup = 1", "")
    db = tmp_path / "s.sqlite"
    run = study(command, environment, tmp_path, plan, "--scheduler", address, "--reconnect", "1")
    wait_for(lambda: machines_of(db).count(("b",)) >= 2, run)
    second.send_signal(signal.SIGKILL)
    _, message = run.communicate(timeout=200)
    assert run.returncode == 1, message
    assert "b has left with" in message
    assert "continue with: " in message
    assert machines_of(db).count(("a",)) == 12
    assert 2 <= machines_of(db).count(("b",)) < 12
    assert not running(tmp_path / "slow")
    worker("b")
    again = study(command, environment, tmp_path, plan, "--scheduler", address)
    _, message = again.communicate(timeout=200)
    assert again.returncode == 0, message
    found = rows(db, "machine, program, lock, threads, round")
    assert len(found) == len(set(found)) == 2 * 12
    assert {name for (name,) in machines_of(db)} == {"a", "b"}


@pytest.mark.full("waits for time-outs")
def test_a_missing_scheduler_or_worker_is_reported(
    command: list[str], environment: dict[str, str], address: str, program: Program, tmp_path: Path
) -> None:
    """The message names the command to start."""
    plan = slow(program, tmp_path, 0.1)
    nowhere = study(command, environment, tmp_path, plan, "--scheduler", "tcp://127.0.0.1:1")
    _, message = nowhere.communicate(timeout=60)
    assert nowhere.returncode == 2
    assert message.splitlines()[-1].startswith(
        "lockwright: no Dask scheduler answers at tcp://127."
    )
    nobody = study(
        command, environment, tmp_path, plan, "--scheduler", address, "--reconnect", "0.5"
    )
    _, message = nobody.communicate(timeout=60)
    assert nobody.returncode == 1
    assert "start 'lockwright study worker' on each" in message
