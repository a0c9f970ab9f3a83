"""The names of what threads of a Python program wait for."""

import sys
from pathlib import Path

import pytest
from lockwright.profile import record
from support import locate
from support.processes import captured

pytestmark = locate.native

_PROGRAM = """
import queue, threading, time
lock, jobs = threading.Lock(), queue.Queue()
def guard():
    for _ in range(60):
        with lock: time.sleep(0.01)
def consume():
    while jobs.get() is not None: pass
threads = [threading.Thread(target=each) for each in (guard, guard, consume)]
for thread in threads: thread.start()
for thread in threads[:2]: thread.join()
jobs.put(None)
"""


def test_locks_and_queues_are_named_by_python_functions(tmp_path: Path) -> None:
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        pytest.skip("the layout of this interpreter is not known")
    program, profile = tmp_path / "jobs.py", tmp_path / "profile.json"
    program.write_text(_PROGRAM)
    answer = captured(
        [locate.lockwright(), "profile", "-o", profile, "--", sys.executable, program]
    )
    assert answer.returncode == 0, answer.stderr
    names = [each.name for each in record.read(profile).waits if each.waited > 0.2e9]
    for name in ("guard (jobs.py)", "consume (jobs.py) (via Queue.get)"):
        assert any(each.endswith(f"waited for in {name}") for each in names), names
