"""A program that overwrites the profiler's records: one line, and its own status and output."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from lockwright.preload import locks
from lockwright.preload.layouts import layouts
from lockwright.profile import buffer as buffers
from lockwright.profile import damage
from lockwright.profile.buffer import Buffer
from lockwright.profile.collect import probe_path
from support import buffer_reader, locate
from support.processes import captured

pytestmark = locate.native

#: Acquires a mutex, writes to a count of every record that the profiler's library does not need,
#: and ends with 3.
OVERWRITES = """
import ctypes, os, sys
c, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
for _ in range(5000): c.pthread_mutex_lock(mutex); c.pthread_mutex_unlock(mutex)
begin, size, count, offset = map(int, sys.argv[1:])
with open(os.environ["LOCKWRIGHT_PROFILE"], "r+b") as file:
    for number in range(count):
        file.seek(begin + size * number + offset)
        file.write(b"\\x7f" * 8)
print("out", flush=True)
sys.exit(3)
"""


def overwriting_program() -> list[str]:
    layout = layouts(locate.preload_dir())
    records, record = layout.field("profile_buffer", "records"), layout.structs["record"]
    count = layout.field("record", "tried").offset
    numbers = (records.offset, record.bytes, records.count, count)
    return [sys.executable, "-c", OVERWRITES, *map(str, numbers)]


@pytest.mark.parametrize("verb", ["profile", "top"])
def test_the_program_keeps_its_status_and_output(verb: str, tmp_path: Path) -> None:
    written = tmp_path / ("p.json" if verb == "profile" else "output")
    done = captured(
        [locate.lockwright(), verb, "-o", written, "--", *overwriting_program()],
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 3
    line = next(line for line in done.stderr.splitlines() if "overwritten" in line)
    assert "(records.tried)" in line
    assert "Traceback" not in done.stderr
    if verb == "profile":
        assert done.stdout == "out\n"
        assert done.stderr.splitlines() == [line]
        assert not written.exists()
    else:
        assert written.read_text() == "out\n"
        assert f"output is in {written}" in done.stderr


@contextlib.contextmanager
def changed(path: Path) -> Iterator[np.void]:
    """Write a valid buffer, after what the caller has changed in it."""
    buffer_reader.write(path)
    rows = np.fromfile(path, layouts(locate.preload_dir()).dtype("profile_buffer"))
    damage.check(Buffer(path))
    yield rows[0]
    rows.tofile(path)


@pytest.mark.parametrize(
    ("place", "value", "name"),
    [
        (("threads", "acquisitions"), 1 << 63, "threads.acquisitions"),
        (("records", "acquisitions"), 2**64 - 1, "records.acquisitions"),
        (("records", "init_site"), 5000, "init_site"),
        (("records", "hold_site"), 17, "hold_site"),
        (("details", "wait_edges", "holder"), 17, "holder"),
        (("stacks", "frames"), 25, "frames"),
        (("ticks_per_second",), 1, "clock"),
    ],
)
def test_impossible_values(place: tuple[str, ...], value: int, name: str, tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    *tables, field = place
    with changed(path) as row:
        for table in tables:
            row = row[table][0]
        row[field] = value
    with pytest.raises(damage.DamagedRecords, match=rf"records \({name}\)"):
        damage.check(Buffer(path))


def test_a_difference_of_two_clocks_may_be_below_zero(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    with changed(path) as buffer:
        buffer["records"][0]["handed_over"] = 2**64 - 300
    damage.check(Buffer(path))


def test_waits_below_zero_are_no_time(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    with changed(path) as buffer:
        buffer["records"]["waited"] = 0
        buffer["records"][0]["waited"] = 2**64 - 300
    assert Buffer(path).waited == 0


def test_a_total_that_no_program_reaches(tmp_path: Path) -> None:
    path = tmp_path / "buffer"
    with changed(path) as buffer:
        buffer["records"]["held"][:2] = 3 << 58
    with pytest.raises(damage.DamagedRecords, match=r"records \(records.held\)"):
        damage.check(Buffer(path))


#: Twenty threads that wait for a mutex and hold one of twenty others.
CONTENDS = """
import ctypes, threading
c, word = ctypes.CDLL(None), ctypes.create_string_buffer
shared, own = word(64), [word(64) for _ in range(20)]
def contend(number):
    for _ in range(50):
        c.pthread_mutex_lock(shared); c.usleep(1); c.pthread_mutex_unlock(shared)
        c.pthread_mutex_lock(own[number]); c.pthread_mutex_unlock(own[number])
threads = [threading.Thread(target=contend, args=[number]) for number in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

#: Ticks and nanoseconds of about a year.
YEAR = 1 << 56


def clock_readings(rows: np.ndarray, begins: list[int]) -> Iterator[np.ndarray]:
    """Yield the fields of 64 bits, and of those that they contain, in which all values that are not
    0 are those of a clock: at most 2^40 above one of `begins`."""
    for name in rows.dtype.names or ():
        field = rows[name]
        if field.dtype.names:
            yield from clock_readings(field, begins)
        elif field.dtype == np.uint64:
            read = field[field != 0]
            is_of_clock = [(read >= begin) & (read - begin < 1 << 40) for begin in begins]
            if read.size and np.logical_or(*is_of_clock).all():
                yield field


def test_a_machine_that_started_a_year_ago(tmp_path: Path) -> None:
    aged = tmp_path / "buffer"
    with buffers.new() as path:
        program = Path(sys.executable)
        variables = locks.preload(probe_path(), os.environ, program)
        variables[buffers.VARIABLE] = str(path)
        subprocess.run([program, "-c", CONTENDS], env=variables, check=True, timeout=60)
        rows = np.fromfile(path, layouts(locate.preload_dir()).dtype("profile_buffer"))
    begins = [int(rows[0][name]) for name in ("begin_ticks", "begin_ns")]
    readings = list(clock_readings(rows, begins))
    assert sum(field.shape[1:] == rows["records"].shape[1:] for field in readings) >= 3
    for field in readings:
        field[field != 0] += np.uint64(YEAR)
    rows.tofile(aged)
    buffer = Buffer(aged)
    assert len(buffer.threads) >= 20
    damage.check(buffer)
