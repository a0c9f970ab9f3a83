"""`./dev test-programs` tells how programs end, and runs nothing twice."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import locate

#: Name, command, and how it has to end under every lock.
PROGRAMS = {
    "ends": ("{P} sh -c 'test {=6*t//t} = 6 && test -n \"$LD_PRELOAD\"'", "ok"),
    "same": ("{P} echo same > /dev/null", "ok"),
    "fails": ("{P} sh -c 'exit 3'", "failed"),
    "fails-and-tidies": ("{P} sh -c 'exit 3'; true", "failed"),
    "hangs": ("{P} sleep 1000", "hung"),
}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    script = locate.ROOT / "scripts/test_programs.py"
    return subprocess.run(
        [sys.executable, script, "--catalogue", folder, "--table", folder / "table.csv", *words],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


FETCH = "import urllib.request as u; u.urlopen('http://127.0.0.1:18082/').read()"
#: Server, client, and how it has to end under every lock.
SERVERS = {
    "serves": ("{P} python3 -m http.server --bind 127.0.0.1 18082", f'python3 -c "{FETCH}"', "ok"),
    "ends-early": ("{P} sh -c 'exit 0'", f'python3 -c "{FETCH}"', "failed"),
    "is-of-no-use": (
        "{P} python3 -m http.server --bind 127.0.0.1 18082",
        f'python3 -c "{FETCH.replace("18082/", "18082/absent")}"',
        "failed",
    ),
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    rows = [{"name": name, "command": command} for name, (command, _) in PROGRAMS.items()]
    rows.append({"name": "absent", "command": "{P} no-such-program", "package": "none"})
    (tmp_path / "catalogue.json").write_text(json.dumps(rows))
    return tmp_path


def test_endings(catalogue: Path) -> None:
    done = run(catalogue, "--locks", "mcs-stp", "--limit", "1")
    assert done.stderr == ""
    assert "absent: left out: no-such-program is not installed (none)" in done.stdout
    with (catalogue / "table.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(PROGRAMS) * 2 * 2
    assert {row["program"] for row in rows} == set(PROGRAMS)
    for row in rows:
        assert row["ending"] == PROGRAMS[row["program"]][1], row
    # What does not end under the C library's mutex is not held against a lock.
    assert done.returncode == 0, done.stdout
    before = (catalogue / "table.csv").read_text()
    again = run(catalogue, "--locks", "mcs-stp", "--limit", "1")
    assert (catalogue / "table.csv").read_text() == before
    assert again.returncode == 0


def test_servers(tmp_path: Path) -> None:
    rows = [
        {"name": name, "server": server, "command": command}
        for name, (server, command, _) in SERVERS.items()
    ]
    (tmp_path / "catalogue.json").write_text(json.dumps(rows))
    done = run(tmp_path, "--locks", "mcs-stp")
    assert done.stderr == ""
    with (tmp_path / "table.csv").open() as table:
        endings = [(row["program"], row["ending"]) for row in csv.DictReader(table)]
    assert endings == [(name, SERVERS[name][2]) for name in SERVERS for _ in range(4)]


@pytest.mark.parametrize("ending", ["hung", "failed", "wrong", "slow"])
def test_a_lock_that_spoils_a_program_is_told(catalogue: Path, ending: str) -> None:
    """With a table as such a lock would leave it."""
    lines = ["program,threads,lock,ending,seconds,acquisitions,output"]
    done = run(catalogue, "--locks", "mcs-stp", "--programs", "ends")
    assert done.returncode == 0, done.stdout
    table = (catalogue / "table.csv").read_text().splitlines()
    assert table[0] == lines[0]
    (catalogue / "table.csv").write_text(
        "\n".join(line.replace("mcs-stp,ok", f"mcs-stp,{ending}") for line in table) + "\n"
    )
    done = run(catalogue, "--locks", "mcs-stp", "--programs", "ends")
    assert done.returncode == 1, done.stdout


def test_without_a_catalogue_nothing_is_run(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 0
    assert "nothing is run" in done.stdout
