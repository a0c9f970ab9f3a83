"""Each fault of planted_faults.toml, planted in a copy of the sources, is found by tests of the
short run, which pass without it."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support import locate, tiers

FAULTS = tomllib.loads((locate.TESTS / "planted_faults.toml").read_text())["fault"]

#: What a copy has not.
_BUILT = ("build", ".venv", ".git", "__pycache__")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the sources, without what was built."""
    folder = tmp_path / "copy"
    shutil.copytree(locate.ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*_BUILT))
    return folder


def build(folder: Path, targets: list[str], only: str) -> None:
    """Build targets of the debug build, of these locks."""
    configure = ["cmake", "--preset", "debug", f"-DLOCKWRIGHT_ONLY={only}"]
    for words in (configure, ["cmake", "--build", "--preset", "debug", "--target", *targets]):
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def finds(folder: Path, fault: dict[str, Any]) -> bool:
    """Return whether a test fails in the copy, with the libraries that were built there, if any."""
    environment = {**os.environ, "PYTHONPATH": f"{folder}/python:{folder}/tests"}
    environment["LOCKWRIGHT_LIBDIR"] = str(locate.preload_dir())
    environment["PATH"] = f"{locate.lockwright().parent}:{environment['PATH']}"
    if "targets" in fault:
        build(folder, fault["targets"], fault["only"])
        environment["LOCKWRIGHT_ONLY"] = fault["only"]
        environment["LOCKWRIGHT_TESTBIN"] = f"{folder}/build/debug/tests"
        if "locks-json" in fault["targets"]:
            environment["LOCKWRIGHT_LIBDIR"] = f"{folder}/build/debug/lib"
    environment.pop("LOCKWRIGHT_TEST_ALL", None)
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *fault["tests"]]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200
    )
    print(done.stdout[-3000:], done.stderr[-1000:])
    # Other statuses are of tests that were not found or could not be collected.
    assert done.returncode in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED), done.stdout
    assert " passed" in done.stdout or " failed" in done.stdout, done.stdout
    return done.returncode == pytest.ExitCode.TESTS_FAILED


@pytest.mark.full("builds and tests copies of the sources")
@pytest.mark.timeout(5000)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["name"]))
def test_fault_is_found(fault: dict[str, Any], copy: Path) -> None:
    assert not finds(copy, fault), "the tests fail without the fault"
    path = copy / fault["file"]
    path.write_text(path.read_text().replace(fault["old"], fault["new"]))
    assert finds(copy, fault)


def test_every_fault_can_be_planted() -> None:
    """Its text is there once, and the files of its tests are; all parts have faults."""
    for fault in FAULTS:
        for word in fault["tests"]:
            assert not word.startswith("tests/") or (locate.ROOT / word.split("::")[0]).exists()
        text = (locate.ROOT / fault["file"]).read_text()
        assert text.count(fault["old"]) == 1, fault["name"]
        assert fault["new"] != fault["old"]
    parts = {fault["part"] for fault in FAULTS}
    assert parts == {"locks", "preload", "probe", "engine", "statistics"}
    assert len(FAULTS) == 25


def test_the_short_run_has_every_lock_of_the_faults() -> None:
    """Faults of the preload library are found under a lock that represents others."""
    chosen = tiers.representatives()
    for fault in FAULTS:
        if "-k" in fault["tests"] and "test_program" in fault["tests"][-1]:
            assert set(fault["only"].split(";")) <= chosen, fault["name"]
