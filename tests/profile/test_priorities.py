"""Tests of the number of a process's threads with real-time priorities."""

import os
import threading
from pathlib import Path

import pytest
from lockwright.base.process_numbers import ThreadNumbers
from lockwright.profile.thread_states import TaskFiles
from lockwright.profile.watch import _tasks


@pytest.mark.parametrize("policy", [os.SCHED_FIFO, os.SCHED_RR])
def test_threads_with_a_real_time_policy_are_counted(policy: int) -> None:
    own = Path("/proc/self")
    may_end, started = threading.Event(), threading.Event()
    refused: list[OSError] = []

    def sleep_under_the_policy() -> None:
        try:
            os.sched_setscheduler(threading.get_native_id(), policy, os.sched_param(1))
        except OSError as error:
            refused.append(error)
        started.set()
        may_end.wait()

    before = _tasks(TaskFiles(own), ThreadNumbers(own), set()).realtime
    thread = threading.Thread(target=sleep_under_the_policy)
    thread.start()
    started.wait()
    during = _tasks(TaskFiles(own), ThreadNumbers(own), set()).realtime
    may_end.set()
    thread.join()
    if refused:
        pytest.skip(f"needs CAP_SYS_NICE: {refused[0]}")
    assert (before, during) == (0, 1)
