"""A study whose scheduler, workers and client recognise each other by certificates."""

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Cli, Program
from .test_study_fleet import WITH_DASK, study, with_runs
from .test_study_run import count, slow

pytestmark = [
    WITH_DASK,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl"),
]

WAITS = pytest.mark.full("Dask tries to connect for half a minute")
FEW_SECONDS = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}


MISSING = ["--tls-ca", "a", "--tls-cert", "b", "--tls-key", "c"]


def make_authority(folder: Path, name: str) -> list[str]:
    """Write the certificate of an authority and one that it has signed; return the options."""
    folder.mkdir()
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"]
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for words in (
        ["req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", f"/CN={name}"],
        ["req", *new_key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=member"],
        ["x509", "-req", "-in", "request.pem", "-out", "cert.pem", *signed],
    ):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    files = {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"}
    return [word for name, file in files.items() for word in (f"--tls-{name}", str(folder / file))]


@pytest.fixture
def trusted(tmp_path: Path) -> list[str]:
    return make_authority(tmp_path / "trusted", "trusted")


@pytest.fixture
def wrong(tmp_path: Path) -> list[str]:
    return make_authority(tmp_path / "wrong", "wrong")


@pytest.fixture
def address(tmp_path: Path, trusted: list[str]) -> Iterator[str]:
    """Start a scheduler with TLS and return its address."""
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    words += ["--protocol", "tls", "--host", "127.0.0.1", "--port", "0"]
    words += [word.replace("--tls-ca", "--tls-ca-file") for word in trusted]
    path = tmp_path / "scheduler.log"
    with path.open("w") as log:
        process = subprocess.Popen(words, stderr=log, stdout=log, cwd=tmp_path)
    found = ""
    while not found and process.poll() is None:
        time.sleep(0.02)
        lines = path.read_text().splitlines()
        found = next((line.split()[-1] for line in lines if "Scheduler at:" in line), "")
    assert found.startswith("tls://"), path.read_text()
    yield found
    process.kill()
    process.wait()


@pytest.mark.full("runs a study on several machines")
def test_runs_with_certificates(
    command: list[str],
    environment: dict[str, str],
    address: str,
    trusted: list[str],
    program: Program,
    tmp_path: Path,
) -> None:
    words = [*command, "study", "worker", address, "--machine-name", "a", *trusted]
    with (tmp_path / "worker.log").open("w") as log:
        worker = subprocess.Popen(
            [*words, "--cache", str(tmp_path / "cache")], env=environment, stdout=log, stderr=log
        )
    try:
        plan = with_runs(slow(program, tmp_path, 0), 1)
        run = study(command, environment, tmp_path, plan, "--scheduler", address, *trusted)
        _, message = run.communicate(timeout=200)
    finally:
        worker.kill()
        worker.wait()
    assert run.returncode == 0, message
    assert count(tmp_path / "s.sqlite") > 0


@WAITS
def test_certificate_of_another_authority(
    cli: Cli, address: str, wrong: list[str], program: Program, tmp_path: Path
) -> None:
    plan = tmp_path / "s.toml"
    plan.write_text(slow(program, tmp_path, 0))
    for words in (["worker", address], ["run", plan, "--scheduler", address]):
        result = cli("study", *words, *wrong, env=FEW_SECONDS)
        assert result.status == 2, result.err
        last = result.err.splitlines()[-1]
        assert "certificate of the same authority" in last
        assert "Traceback" not in result.err
    assert not (tmp_path / "s.sqlite").exists() or count(tmp_path / "s.sqlite") == 0


@WAITS
def test_unencrypted_client_is_refused(cli: Cli, address: str) -> None:
    plain = address.replace("tls://", "tcp://")
    result = cli("study", "worker", plain, env=FEW_SECONDS)
    assert result.status == 2
    assert "cannot join the Dask scheduler" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tls://127.0.0.1:1"], "needs certificates"),
        (["127.0.0.1:1", "--tls-ca", "ca.pem"], "give all of"),
        (["tcp://127.0.0.1:1", *MISSING], "not encrypted"),
        (["127.0.0.1:1", *MISSING], "a: No such file"),
    ],
)
def test_bad_certificate_options(cli: Cli, words: list[str], message: str) -> None:
    result = cli("study", "worker", *words)
    assert result.status == 2
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_key_of_another_certificate(cli: Cli, trusted: list[str], wrong: list[str]) -> None:
    words = [*trusted[:-1], wrong[-1]]
    result = cli("study", "worker", "127.0.0.1:1", *words)
    assert result.status == 2
    assert "is not the unencrypted key" in result.err
