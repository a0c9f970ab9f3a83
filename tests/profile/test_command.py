"""Tests of `lockwright profile`: bad input, the program's status and output, running processes."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from lockwright.advise import advise
from lockwright.base import shared_files
from lockwright.base.errors import LockwrightError
from lockwright.profile import buffer as buffers
from lockwright.profile import record
from lockwright.profile.record import FIRST_TAKEN
from support import locate
from support.processes import captured, compiled

pytestmark = locate.native


def profile(*words: str | Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return captured(
        [locate.lockwright(), "profile", *words], timeout=timeout, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((), "--pid"),
        (("--pid", "1", "--", "true"), "--pid"),
        (("--seconds", "1", "--", "true"), "--seconds"),
        (("-o", "profile.html", "--", "true"), "--html profile.html"),
        (("-o", "-", "--", "true"), "--output -"),
        (("-o", "/nowhere/profile.json", "--", "true"), "/nowhere/profile.json"),
        (("--", "no-such-program"), "no-such-program"),
        (("--pid", "4194304"), "4194304"),
    ],
)
def test_refuses(words: tuple[str, ...], part: str) -> None:
    done = profile(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert part in line


def test_status_and_output_are_the_programs(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    code = (
        "import ctypes, os; m = ctypes.create_string_buffer(64); c = ctypes.CDLL(None)\n"
        "for _ in range(20000): c.pthread_mutex_lock(m); c.pthread_mutex_unlock(m)\n"
        "print('out', flush=True); os.kill(os.getpid(), 9)"
    )
    done = profile("-o", path, "--", sys.executable, "-c", code)
    assert done.returncode == -9
    assert done.stdout == "out\n"
    profiled = record.read(path)
    assert profiled.exit_status is None
    assert "SIGKILL" in profiled.partial
    (mutex,) = (each for each in profiled.mutexes if each.place.kind == FIRST_TAKEN)
    assert mutex.acquisitions == pytest.approx(20000, rel=0.5)


def test_threads_that_follow_each_other_are_counted() -> None:
    code = (
        "import ctypes, threading; m = ctypes.create_string_buffer(64); c = ctypes.CDLL(None)\n"
        "def take(): c.pthread_mutex_lock(m), c.pthread_mutex_unlock(m)\n"
        "for _ in range(40): t = threading.Thread(target=take); t.start(); t.join()"
    )
    found = re.search(
        r", (\d+) threads, at most (\d+) at once, on ",
        profile("--", sys.executable, "-c", code).stderr,
    )
    assert found
    assert int(found[1]) >= 40
    assert int(found[2]) <= 4


def test_a_deadlock(tmp_path: Path) -> None:
    """Waits until the program's end and a wait until a deadline, of 0.4 s, count. The former last a
    second; the time since the last sample is not known."""
    path = tmp_path / "profile.json"
    done = profile("-o", path, "--", locate.program("profile", "deadlock"))
    assert done.returncode == -signal.SIGALRM
    profiled = record.read(path)
    assert "2 threads waited for mutexes to the end" in profiled.partial
    assert "deadlock" in advise(profiled).sentence
    mutexes = {each.name.rpartition("::")[2]: each for each in profiled.mutexes}
    long = 0.2e9
    assert long < mutexes["second"].lost <= profiled.process.duration
    assert 0.39e9 + long < mutexes["first"].lost <= 2 * profiled.process.duration
    for name, other in (("first", "second"), ("second", "first")):
        mutex = mutexes[name]
        assert mutex.holding.most > long
        (block,) = (each for each in mutex.blocks if f"{other}_then" in mutex.waiter(each))
        assert f"{name}_then" in mutex.holder(block)
    kinds = [each.kind for each in profiled.timeline if each.end - each.begin > long]
    assert sorted(kinds) == ["hold", "hold", "wait", "wait", "wait"]


def test_a_file_or_summary_that_cannot_be_written(tmp_path: Path) -> None:
    """The program makes a directory with the name of a file, and the summary goes to a closed
    pipe; the other file and the status are not affected."""
    code = (
        "import ctypes, os, sys; m = ctypes.create_string_buffer(64); c = ctypes.CDLL(None)\n"
        "for _ in range(20000): c.pthread_mutex_lock(m); c.pthread_mutex_unlock(m)\n"
        "os.mkdir(sys.argv[1]); os._exit(3)"
    )
    bad, good = tmp_path / "bad.html", tmp_path / "good.json"
    done = profile("--html", bad, "-o", good, "--", sys.executable, "-c", code, bad)
    assert done.returncode == 3
    assert "acquisitions" in done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"lockwright: cannot write --html {bad}: ")
    assert record.read(good).exit_status == 3
    reader, writer = os.pipe()
    os.close(reader)
    words: list[str | Path] = [locate.lockwright(), "profile", "--", sys.executable, "-c", code]
    status = subprocess.run([*words, tmp_path / "other"], stderr=writer, check=False, timeout=60)
    os.close(writer)
    assert status.returncode == 3


def test_no_room_for_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file remains."""

    def full(*_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(shared_files, "_MEMORY", str(tmp_path / "nowhere"))
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(LockwrightError, match="No space left"), buffers.new():
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_waits_do_not_exceed_the_run(tmp_path: Path) -> None:
    """The sections are so short that the sampled waits are the longest waits."""
    path = tmp_path / "profile.json"
    done = profile("-o", path, "--", locate.program("profile", "counter"))
    assert done.returncode == 0, done.stderr
    profiled = record.read(path)
    (mutex,) = (each for each in profiled.mutexes if each.name.endswith("::mutex"))
    assert mutex.lost <= 2 * profiled.process.duration
    assert sum(site.waited for site in mutex.sites) == pytest.approx(mutex.lost)
    assert sum(block.waited for block in mutex.blocks) == pytest.approx(mutex.lost)


def test_processor_time_of_children_does_not_count(tmp_path: Path) -> None:
    """The processors are those that the process may use."""
    path = tmp_path / "profile.json"
    code = (
        "import ctypes, os, subprocess, sys, time\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "m = ctypes.create_string_buffer(64); c = ctypes.CDLL(None)\n"
        "for _ in range(20000): c.pthread_mutex_lock(m); c.pthread_mutex_unlock(m)\n"
        "burn = 'import time\\nwhile time.process_time() < .6: pass'\n"
        "subprocess.run([sys.executable, '-c', burn])\n"
        "time.sleep(.5); print(time.process_time())"
    )
    done = profile("-o", path, "--", sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    process = record.read(path).process
    assert process.processors == 1
    used = (process.cpu_user + process.cpu_system) / 1e9
    assert used == pytest.approx(float(done.stdout), abs=0.3)


@pytest.mark.parametrize(("program", "status"), [("true", 0), ("false", 1)])
def test_a_program_that_takes_no_mutex(tmp_path: Path, program: str, status: int) -> None:
    path = tmp_path / "profile.json"
    done = profile("-o", path, "--", program)
    assert done.returncode == status
    assert done.stderr == "lockwright: the program took no mutex\n"
    profiled = record.read(path)
    assert (profiled.exit_status, profiled.mutexes) == (status, ())


def test_a_program_with_address_sanitizer(tmp_path: Path) -> None:
    """AddressSanitizer's library starts only if it is the first."""
    source = (
        "#include <pthread.h>\nstatic pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;\n"
        "int main(void) { for (int i = 0; i < 5000; ++i) { pthread_mutex_lock(&one);"
        " pthread_mutex_unlock(&one); } return 3; }\n"
    )
    program, path = compiled(tmp_path, "locks", source, "-fsanitize=address"), tmp_path / "p.json"
    done = profile("-o", path, "--", program)
    assert done.returncode == 3, done.stderr
    (mutex,) = (each for each in record.read(path).mutexes if each.name == "one")
    assert mutex.acquisitions == 5000
    assert mutex.sites[0].label == "main (locks.c:3)"


def test_signals_after_the_end_of_the_program() -> None:
    """They are repeated, as `timeout` does; the profile is not lost."""
    code = (
        "import os, signal, subprocess, sys; ppid = os.getppid()\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "words = 'import os, time\\nfor _ in range(60): time.sleep(.02); os.kill(%d, 15)' % ppid\n"
        "subprocess.Popen([sys.executable, '-c', words], start_new_session=True, env={},"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "os._exit(5)"
    )
    done = profile("--", sys.executable, "-c", code)
    assert done.returncode == 5
    assert "acquisitions" in done.stderr


@pytest.mark.parametrize("lock", [None, "futex", "adaptive", "mcs-stp", "parking-lot"])
def test_a_running_process(tmp_path: Path, lock: str | None) -> None:
    """Also with its mutexes replaced, when the word that a thread sleeps on is not the mutex's."""
    path = tmp_path / "profile.json"
    program = locate.program("profile", "sleepers")
    env = os.environ | ({"LD_PRELOAD": str(locate.preload(lock))} if lock else {})
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    ) as sleepers:
        assert sleepers.stdin is not None
        assert sleepers.stdout is not None
        assert sleepers.stdout.readline() == "ready\n"
        done = profile("-o", path, "--pid", str(sleepers.pid), "--seconds", "0.7")
        sleepers.stdin.close()
        assert sleepers.wait() == 0
    if "cannot be examined" in done.stderr:
        pytest.skip("processes may not be traced here")
    assert done.returncode == 0, done.stderr
    profiled = record.read(path)
    (mutex,) = profiled.mutexes
    assert mutex.name == "(anonymous namespace)::wanted"
    assert mutex.waiters_most == 2
    # A waiter of another lock may be awake in a sample, to look whether it is the next.
    assert mutex.contended == 2 or (lock is not None and mutex.contended > 2)
    # Each thread slept for nearly all of the time.
    assert mutex.lost == pytest.approx(2 * profiled.process.duration, rel=0.5)
    assert "contend" in mutex.sites[0].stack[0].symbol
    (holder,) = mutex.holders
    assert (holder.number, holder.name) == (sleepers.pid, "sleepers")
    assert holder.doing == "asleep in read"
    assert holder.label in done.stderr.replace("\n  ", " ")
    (word,) = (each for each in profiled.waits if each.name.endswith("::foreign"))
    assert (word.kind, word.waits, word.holders) == ("futex", 1, ())
    assert word.waited == pytest.approx(profiled.process.duration, rel=0.5)
    waiting = profiled.account.all.waiting
    assert waiting["lock"] == pytest.approx(mutex.lost / 1e9, rel=0.5)
    assert waiting["futex"] == pytest.approx(word.waited / 1e9, rel=0.1)
    assert "not known" in profiled.partial
    assert "acquisitions," not in done.stderr
    row = next(line for line in done.stderr.splitlines() if "::wanted" in line)
    assert "%" not in row
    answers = [step.answer for step in advise(profiled).steps]
    assert answers[1:5] == ["not measurable here"] * 4
