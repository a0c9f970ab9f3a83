"""`./dev test-programs` tells how programs end, and runs nothing twice."""

from __future__ import annotations

import contextlib
import csv
import json
import socket
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


FETCH = "import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/').read()"
#: Server, client, and how it has to end under every lock.
SERVERS = {
    "serves": ("{P} python3 -m http.server --bind 127.0.0.1 {port}", f'python3 -c "{FETCH}"', "ok"),
    "ends-early": ("{P} sh -c 'exit 0'", f'python3 -c "{FETCH}"', "failed"),
    "is-of-no-use": (
        "{P} python3 -m http.server --bind 127.0.0.1 {port}",
        f'python3 -c "{FETCH.replace("{port}/", "{port}/absent")}"',
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
    assert done.returncode == 2
    assert "there is no" in done.stderr
    assert "name its folder" in done.stderr
    assert not done.stdout


#: Where other catalogues have a number, and the port may be taken.
NUMBER = "18081"


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    server, client, _ = SERVERS["serves"]
    row = {"name": "serves", "server": server, "command": client}
    text = json.dumps([row]).replace("{port}", NUMBER)
    (tmp_path / "catalogue.json").write_text(text)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Another program may have it: then it is taken, too.
        with contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", int(NUMBER)))
            taken.listen()
        done = run(tmp_path, "--locks", "mcs-stp", "--per-processor", "1")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(": ok (") == 2, done.stdout


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    server = "{P} sh -c 'echo no port for me >&2; exit 1'"
    row = {"name": "refuses", "server": server, "command": SERVERS["serves"][1]}
    (tmp_path / "catalogue.json").write_text(json.dumps([row]))
    done = run(tmp_path, "--locks", "mcs-stp", "--per-processor", "1")
    failed = [line for line in done.stdout.splitlines() if "failed (" in line]
    assert len(failed) == 2, done.stdout
    assert all("server: no port for me" in line for line in failed)
