"""A setuid program with a lock's library ignores the variables of the user who starts it."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from lockwright.preload import counters

from .conftest import PROGRAMS, Cli

LOCK = "ttas"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a setuid program")


def test_setuid_program_ignores_the_variables(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Path(cli("path", LOCK).out.strip()).parent / "counting" / f"liblockwright-{LOCK}.so"
    compiler = shutil.which("cc")
    assert compiler is not None, "no C compiler"
    with tempfile.TemporaryDirectory(dir="/tmp") as name, counters.counters_file() as counts:
        folder = Path(name)
        folder.chmod(0o755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("/tmp is mounted with nosuid")
        # The loader drops LD_PRELOAD in secure mode, so the program is linked with the library.
        loaded = shutil.copy(library, folder / "liblocked.so")
        worker = folder / "worker"
        words: list[str | Path] = [compiler, "-pthread", PROGRAMS / "worker.c", "-o", worker]
        words += ["-Wl,--no-as-needed", loaded, f"-Wl,-rpath,{folder}"]
        subprocess.run(words, check=True)
        monkeypatch.setenv("LOCKWRIGHT_STATS", str(counts))
        acquisitions = []
        for mode in (0o755, 0o4755):
            worker.chmod(mode)
            start = ["setpriv", "--reuid=65534", "--clear-groups", str(worker), "1", "10"]
            done = subprocess.run(start, capture_output=True, text=True, check=True)
            assert "sum: 10" in done.stdout
            acquisitions.append(counters.read(counts).acquisitions)
        assert acquisitions == [10, 10]
