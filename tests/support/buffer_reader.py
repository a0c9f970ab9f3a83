"""A valid buffer of the profiler's library, and what `lockwright profile` and `top` make of it."""

import os
import resource
import struct
import sys
from pathlib import Path

import numpy as np
from lockwright.preload.layouts import layouts
from lockwright.profile import buffer as buffers
from lockwright.profile import damage
from lockwright.profile.buffer import Buffer, Buffers
from lockwright.profile.convert import to_profile
from lockwright.profile.live import Live
from lockwright.profile.other_processes import other_processes
from lockwright.profile.profiled_run import ProfiledRun
from lockwright.profile.record import Profile
from lockwright.profile.watch import Samples

#: The program's clock: a tick is half a nanosecond.
_BEGIN_TICKS, _BEGIN_NS, _RATE = 10**12, 5 * 10**11, 2 * 10**9

#: Where the program's file is mapped.
_BASE = 0x555555554000

#: Ticks of the program.
_SPENT = 2 * 10**9


def write(path: Path) -> None:
    """Write the records of two threads with three mutexes and two reader-writer locks."""
    rows = np.zeros(1, layouts().dtype("profile_buffer"))
    buffer = rows[0]
    _fill_header(buffer)
    _fill_threads(buffer["threads"][:2])
    _fill_records(buffer["records"][:7])
    _fill_details(buffer["details"][:3])
    for number, stack in enumerate(buffer["stacks"][:3]):
        stack["hash"], stack["record"], stack["frames"] = 77 + number, number, 2
        stack["waits"], stack["waited"], stack["holds"], stack["held"] = 5, 10**6, 5, 10**5
        stack["pcs"][:2] = _BASE + 0x2345, _BASE + 0x2400
    for number, span in enumerate(buffer["spans"][:6]):
        span["begin"] = _BEGIN_TICKS + 1000 * number
        span["end"], span["caller"] = span["begin"] + 500, _BASE + 0x2345
        span["record"], span["thread"], span["kind"] = number % 3, number % 2, 1 + number % 2
    data = bytearray(rows.tobytes())
    data[:16] = struct.pack("=8sQ", buffers._MAGIC, layouts().number("profile_buffer"))
    path.write_bytes(data)


def _fill_header(buffer: np.void) -> None:
    buffer["process"]["pid"], buffer["program"] = os.getpid(), sys.executable.encode()
    buffer["begin_ticks"], buffer["begin_ns"] = _BEGIN_TICKS, _BEGIN_NS
    buffer["ticks_per_second"] = _RATE
    for name, count in (
        ("threads_used", 2), ("modules_used", 1), ("records_used", 7), ("details_used", 3),
        ("span_blocks_used", 1), ("images", 1), ("others", 1),
    ):  # fmt: skip
        buffer[name] = count
    other = buffer["other_processes"][0]
    other["process"]["pid"], other["taken"] = 2**22 + 1, 5
    loaded = buffer["loaded"]["of"][0]
    loaded["process"]["pid"], loaded["program"] = os.getpid(), b"python3"
    buffer["creations"][3] = 4
    module = buffer["modules"][0]
    module["start"], module["end"], module["base"] = _BASE, _BASE + 2**24, _BASE
    init = buffer["inits"]
    init["sites"][0]["caller"], init["sites"][0]["created"] = _BASE + 0x3000, 4
    stack = init["stacks"][0]
    stack["hash"], stack["frames"], stack["init_site"] = 5, 2, 1
    stack["pcs"][:2] = _BASE + 0x3000, _BASE + 0x3100


def _fill_threads(threads: np.ndarray) -> None:
    for number, thread in enumerate(threads):
        for name, value in (
            ("tid", os.getpid() + number), ("number", number), ("drawn", 100), ("period", 100),
            ("countdown", 40), ("acquisitions", 10_000), ("samples", 100), ("contended", 200),
            ("began", _BEGIN_TICKS), ("last_sample", _BEGIN_TICKS + _SPENT),
            ("last_wait", _BEGIN_TICKS + _SPENT), ("last_record", 1), ("created", 4),
            ("destroyed", 1), ("cond_waits", 3), ("waited", 1000), ("waited_for", 1),
            ("waits", 2), ("failures", 1), ("failing", 2), ("rwlock_calls", 50), ("migrations", 2),
            ("clock_ticks", _BEGIN_TICKS + 10**8), ("clock_ns", _BEGIN_NS + 5 * 10**7),
        ):  # fmt: skip
            thread[name] = value
        thread["reads"]["acquisitions"] = thread["reads"]["samples"] = 30
    threads[1]["waiting_for"], threads[1]["waiting_site"] = 1, _BASE + 0x2345
    threads[1]["waiting_since"] = _BEGIN_TICKS + _SPENT - 1000


def _fill_records(records: np.ndarray) -> None:
    """Fill the records of three mutexes, and of the writers and the readers of two locks."""
    for number, record in enumerate(records):
        for name, value in (
            ("address", 0x7F0000001000 + 64 * number), ("first_site", _BASE + 0x2345),
            ("first_seen", _BEGIN_TICKS + number), ("acquisitions", 5000), ("samples", 50),
            ("tried", 10), ("holds", 5000), ("held", 10**7), ("hold_samples", 50),
            ("contended", 200), ("waits", 100), ("waited", 10**8), ("hand_overs", 50),
            ("handed_over", 10**5), ("released", _BEGIN_TICKS + 10**6), ("owner_changes", 20),
            ("last_thread", 1), ("failed_trylocks", 3), ("cond_waits", 3), ("most_waiting", 1),
            ("detail", number + 1 if number < 3 else 0),
        ):  # fmt: skip
            record[name] = value
        record["threads"][0] = 3
    records["init_site"][0] = 1 | 1 << buffers.constant("init_stack_shift")
    records["hold_begin"][0], records["hold_site"][0] = _BEGIN_TICKS + _SPENT - 2000, 1
    records["address"][1] = _BASE + 0x10000
    for number in (3, 5):
        records["kind"][number] = buffers.constant("record::of_writers")
        records["kind"][number + 1] = buffers.constant("record::of_readers")


def _fill_details(details: np.ndarray) -> None:
    for detail in details:
        for name in ("holding", "waiting", "handing_over"):
            detail[name][40:43] = 10, 50, 2
        detail["arrivals"][:3] = 60, 30, 10
        for number, site in enumerate(detail["sites"][:2]):
            site["caller"] = site["releaser"] = _BASE + 0x2345 + 0x100 * number
            site["acquisitions"], site["contended"] = 2500, 50
            site["waited"], site["held"] = 10**7, 10**6
        edge = detail["wait_edges"][0]
        edge["holder"], edge["waiter"], edge["times"], edge["waited"] = 1, 2, 50, 10**7


def _samples(buffer: Buffer) -> Samples:
    """Return the samples of a process that was seen waiting to its end."""
    zeros = np.zeros(len(buffer.records), np.int64)
    zeros[0] = 1
    last_ns = _BEGIN_NS + _SPENT * 10**9 // _RATE
    return Samples(
        4, zeros, zeros.copy(), zeros.copy(), 8, 2, 3, {0: "main"}, 4, 6, last_ns=last_ns
    )


def read(path: Path) -> Profile:
    """Return a profile, and make what `top` shows."""
    run_buffers = Buffers(path)
    live = Live(run_buffers.first, sys.executable)
    live.state(10)
    run_buffers.first.check()
    buffer = run_buffers.busiest()
    damage.check(buffer)
    samples = _samples(buffer)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    others = other_processes(run_buffers, buffer)
    ended_ns = samples.last_ns + 10**6
    pid = os.getpid()
    run = ProfiledRun(
        ("program",), sys.executable, "then", 0, ended_ns, pid, usage, samples, others, "", True
    )
    profile = to_profile(buffer, run)
    assert Profile.from_json(profile.to_json()).mutexes
    return profile
