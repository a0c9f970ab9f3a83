"""A program on each processor that never sleeps."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# It ends by itself if this process is killed.
_PROGRAM = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def busy_processors() -> Iterator[list[int]]:
    """Keep each allowed processor busy by a program of its own during the block. Yield their
    process ids."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        for processor in sorted(os.sched_getaffinity(0)):
            # Isolated, and without site, it starts in some milliseconds.
            started.append(subprocess.Popen([sys.executable, "-I", "-S", "-c", _PROGRAM]))
            os.sched_setaffinity(started[-1].pid, {processor})
        yield [each.pid for each in started]
    finally:
        for each in started:
            each.kill()
        for each in started:
            each.wait()
