"""`lockwright metrics` reads from outside what a program under `run --metrics` counts."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from lockwright.preload.locks import METRICS
from support import locate

from .conftest import Cli, Program

LOCKS = [lock for lock in ("pthread", "adaptive", "mcs-stp", "ttas") if lock in locate.lock_names()]
#: The waits that the program makes, by call site.
WAITS = {"times_out": 5, "waits": 1, "waits_in_c11": 1}
COUNT = "lockwright_mutex_wait_duration_seconds_count"
SUM = "lockwright_mutex_wait_duration_seconds_sum"
TOTAL = "lockwright_mutex_wait_total_seconds_total"
_SAMPLE = re.compile(r'([a-z0-9_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? ([0-9.e+-]+)')


@dataclass(frozen=True)
class Page:
    """The samples of a page, by name and labels."""

    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def values(self, name: str, by: str, **labels: object) -> dict[str, float]:
        """Return the values of a metric with these labels, by another label."""
        wanted = {(key, str(value)) for key, value in labels.items()}
        return {
            dict(of).get(by, ""): value
            for (metric, of), value in self.samples.items()
            if metric == name and wanted <= of
        }


def parsed(text: str) -> Page:
    """Return the samples; assert that each line is valid, and that none occurs twice."""
    samples = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        found = _SAMPLE.fullmatch(line)
        assert found, line
        labels = frozenset(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
        assert (found[1], labels) not in samples, line
        samples[found[1], labels] = float(found[3])
    return Page(samples)


@contextlib.contextmanager
def started(
    words: Sequence[str | Path], env: dict[str, str] | None = None
) -> Iterator[tuple[int, int]]:
    """Start a `contended` program; yield its process, and its child or else the process again."""
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ready, pid, child = process.stdout.readline().split()
        assert ready == "ready"
        yield int(pid), int(child)
        process.stdin.close()


@pytest.fixture
def run(command: list[str], program: Program) -> list[str | Path]:
    """Return the words that run `contended` with metrics."""
    return [*command, "run", "--metrics", "--", program("contended", "-rdynamic")]


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("counting", [False, True])
def test_waits_of_each_call_site(
    cli: Cli, command: list[str], program: Program, lock: str, counting: bool
) -> None:
    """Contended acquisitions are counted exactly, uncontended ones not at all."""
    options = ["--stats"] if counting else []
    words: list[str | Path] = [*command, "run", "--metrics", *options, "--lock", lock, "--"]
    with started([*words, program("contended", "-rdynamic")]) as (pid, _):
        result = cli("metrics", "--pid", str(pid))
    assert result.status == 0, result.err
    page = parsed(result.out)
    assert page.values("lockwright_process_info", "lock", pid=pid) == {lock: 1}
    assert page.values(COUNT, "site", pid=pid, program="contended-rdynamic") == WAITS
    durations = page.values(SUM, "site", pid=pid)
    assert durations["waits"] > 0
    assert page.values(TOTAL, "pid") == {str(pid): pytest.approx(sum(durations.values()))}
    buckets = page.values(f"{COUNT.removesuffix('_count')}_bucket", "le", pid=pid, site="times_out")
    assert list(buckets.values()) == sorted(buckets.values())
    assert buckets["+Inf"] == 5


def test_a_plan(cli: Cli, command: list[str], program: Program, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f'lock = "{LOCKS[-1]}"\n')
    words: list[str | Path] = [
        *command,
        "run",
        "--metrics",
        "--plan",
        plan,
        "--",
        program("contended", "-rdynamic"),
    ]
    with started(words) as (pid, _):
        page = parsed(cli("metrics", "--pid", str(pid)).out)
    assert page.values(COUNT, "site", pid=pid) == WAITS


def test_parent_and_child_count_separately(cli: Cli, run: list[str | Path]) -> None:
    with started([*run, "fork"]) as (parent, child):
        page = parsed(cli("metrics").out)
    assert parent != child
    for pid in (parent, child):
        assert page.values(COUNT, "site", pid=pid) == WAITS


def test_call_sites_without_room(cli: Cli, run: list[str | Path]) -> None:
    """All waits are counted, those of further call sites under one name."""
    with started([*run, "sites"]) as (pid, _):
        page = parsed(cli("metrics", "--pid", str(pid)).out)
    counts = page.values(COUNT, "site", pid=pid)
    assert sum(counts.values()) == 600 + sum(WAITS.values())
    assert counts["other"] > 0
    assert counts["contends_at_many_sites"] > 0


def test_functions_without_symbols(cli: Cli, command: list[str], program: Program) -> None:
    with started([*command, "run", "--metrics", "--", program("contended", "-s")]) as (pid, _):
        page = parsed(cli("metrics", "--pid", str(pid)).out)
    counts = page.values(COUNT, "site", pid=pid)
    assert sorted(counts.values()) == sorted(WAITS.values())
    assert all(re.fullmatch(r"contended-s\+0x[0-9a-f]+", site) for site in counts)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_program_that_changes_its_user(cli: Cli, run: list[str | Path]) -> None:
    """It counts as before, and only root can read it."""
    with started([*run, "user"]) as (pid, _):
        page = parsed(cli("metrics", "--pid", str(pid)).out)
        for user in ("65534", "65533"):
            for file in ("maps", "mem"):
                setpriv = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
                done = subprocess.run(
                    [*setpriv, "head", "-c1", f"/proc/{pid}/{file}"], capture_output=True
                )
                assert done.returncode != 0
    assert page.values(COUNT, "site", pid=pid) == WAITS


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a setuid program")
def test_a_setuid_program_counts_nothing(cli: Cli) -> None:
    library = cli("path", LOCKS[-1]).out.strip()
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip("/tmp is mounted with nosuid")
        # The loader drops LD_PRELOAD in secure mode, so the program is linked with the library.
        loaded = shutil.copy(library, folder / f"liblockwright-{LOCKS[-1]}.so")
        flags = ["-Wl,--no-as-needed", str(loaded), f"-Wl,-rpath,{folder}"]
        contended = folder / "contended"
        source = Path(__file__).parent / "programs" / "contended.c"
        subprocess.run(["cc", "-pthread", source, *flags, "-o", contended], check=True)
        start: list[str | Path] = ["setpriv", "--reuid=65534", "--clear-groups", contended]
        for mode, counts in ((0o755, True), (0o4755, False)):
            contended.chmod(mode)
            with started(start, env={**os.environ, METRICS: "1"}) as (pid, _):
                assert (cli("metrics", "--pid", str(pid)).status == 0) == counts


def test_without_the_variable_nothing_is_counted(
    cli: Cli, command: list[str], program: Program
) -> None:
    with started([*command, "run", "--", program("contended")]) as (pid, _):
        cli("metrics", "--pid", str(pid)).refuses(f"process {pid} counts no waits", "--metrics")


def test_without_a_program_that_counts_there_is_a_hint(cli: Cli) -> None:
    """Another test's program may count meanwhile."""
    result = cli("metrics")
    assert result.status == 0
    assert ("'lockwright run --metrics'" in result.err) == ("process_info{" not in result.out)


def test_a_port_in_use_is_refused(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        cli("metrics", "--listen", port).refuses(f"port {port}", "in use")


@contextlib.contextmanager
def served(command: list[str], *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the server on a free port; yield its process and the address of the page."""
    with subprocess.Popen(
        [*command, "metrics", "--listen", "0", *words], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        try:
            found = re.fullmatch(
                r"lockwright: metrics at (http://127\.0\.0\.1:\d+/metrics)\n",
                server.stderr.readline(),
            )
            assert found
            yield server, found[1]
        finally:
            server.terminate()


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return str(answer.read().decode())


def test_the_server_outlives_programs(
    cli: Cli, command: list[str], run: list[str | Path], program: Program
) -> None:
    """Every scrape is valid while programs start and end; their series end with them."""
    ended = threading.Event()

    def churn() -> None:
        library = cli("path", LOCKS[-1]).out.strip()
        environment = {**os.environ, "LD_PRELOAD": library, METRICS: "1"}
        for _ in range(200):
            subprocess.run([program("worker"), "4", "500"], env=environment, capture_output=True)
        ended.set()

    with served(command) as (server, url):
        churning = threading.Thread(target=churn)
        churning.start()
        with started(run) as (pid, _):
            while not ended.is_set():
                assert parsed(fetched(url)).values(COUNT, "site", pid=pid) == WAITS
        churning.join()
        assert not parsed(fetched(url)).values(COUNT, "site", pid=pid)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(url.removesuffix("metrics"))
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 130


def test_the_server_of_a_process_ends_with_it(command: list[str], run: list[str | Path]) -> None:
    with started(run) as (pid, _), served(command, "--pid", str(pid)) as (server, url):
        assert parsed(fetched(url)).values(COUNT, "site", pid=pid) == WAITS
        # The server does not wait for a client that sends nothing.
        with socket.create_connection(("127.0.0.1", int(url.split(":")[2].split("/")[0]))):
            os.kill(pid, signal.SIGKILL)
            assert server.wait(30) == 0
        assert server.stderr is not None
        assert server.stderr.read() == f"lockwright: process {pid} has ended\n"
