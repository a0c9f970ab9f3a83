"""Prometheus scrapes the metrics of a real server under a lock."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import locate
from support.processes import captured, wait_until

LOCK = next(lock for lock in ("mcs-stp", "ttas", "pthread") if lock in locate.lock_names())
NEEDED = ["prometheus", "promtool", "memcached", "memcaslap"]
COUNT = 'lockwright_mutex_wait_duration_seconds_count{program="memcached"}'
TOTAL = 'lockwright_mutex_wait_total_seconds_total{program="memcached"}'


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def started(*words: str | Path) -> Iterator[subprocess.Popen[str]]:
    """Start a server, and terminate it at the end of the block."""
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            yield server
        finally:
            server.terminate()


def results(port: int, expression: str) -> list[object]:
    """Return the result of a query; empty before Prometheus answers."""
    query = urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}") as answer:
            return list(json.load(answer)["data"]["result"])
    except OSError:
        return []


def is_changed_to(server: subprocess.Popen[str], user: int) -> bool:
    status = Path(f"/proc/{server.pid}/status").read_text()
    return f"\nUid:\t{user}\t" in status and "\nName:\tmemcached\n" in f"\n{status}"


@pytest.mark.timeout(300)
def test_prometheus_scrapes_memcached(tmp_path: Path) -> None:
    """Run by root, memcached changes its user, and is read nevertheless."""
    if absent := [name for name in NEEDED if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(absent)} is not installed; see tests/apps/more-packages.txt")
    port, port_of_prometheus = free_port(), free_port()
    with contextlib.ExitStack() as servers:
        words: list[str | Path] = [
            locate.lockwright(),
            "run",
            "--metrics",
            "--lock",
            LOCK,
            "--",
            "memcached",
        ]
        words += ["-u", "nobody", "-l", "127.0.0.1", "-p", str(port), "-t", "4"]
        memcached = servers.enter_context(started(*words))
        user = 65534 if Path("/proc/self").stat().st_uid == 0 else Path("/proc/self").stat().st_uid
        wait_until(lambda: is_changed_to(memcached, user))
        words = [locate.lockwright(), "metrics", "--pid", str(memcached.pid), "--listen", "0"]
        exporter = servers.enter_context(started(*words))
        assert exporter.stderr is not None
        found = re.search(r"http://(127\.0\.0\.1:\d+)/metrics", exporter.stderr.readline())
        assert found
        config = tmp_path / "prometheus.yml"
        config.write_text(
            "scrape_configs:\n- job_name: lockwright\n  scrape_interval: 1s\n"
            f"  static_configs:\n  - targets: ['{found[1]}']\n"
        )
        listen = f"--web.listen-address=127.0.0.1:{port_of_prometheus}"
        data = f"--storage.tsdb.path={tmp_path / 'data'}"
        servers.enter_context(started("prometheus", f"--config.file={config}", data, listen))
        wait_until(lambda: results(port_of_prometheus, "up == 1"))

        def is_contended() -> bool:
            load = ["memcaslap", "-s", f"127.0.0.1:{port}", "-T", "4", "-c", "64", "-t", "3s"]
            loaded = captured(load)
            assert loaded.returncode == 0, loaded.stdout + loaded.stderr
            return bool(results(port_of_prometheus, f"rate({TOTAL}[1m]) > 0"))

        wait_until(is_contended, 120)
        assert results(port_of_prometheus, f"{COUNT} > 0")
        with urllib.request.urlopen(f"http://{found[1]}/metrics") as page:
            checked = captured(["promtool", "check", "metrics"], input=page.read().decode())
        assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
        memcached.terminate()
        assert exporter.wait(60) == 0
