"""Looks at a process that runs already, by what the kernel tells of its threads in /proc.

A thread that sleeps for a mutex is in the system call futex, with the mutex's address; in the mutex
stands who holds it. Nothing is put into the process, and it is not stopped. What does not sleep is
not seen: acquisitions that did not wait, and for how long a mutex was held.
"""

import contextlib
import os
import platform
import struct
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from lockwright import elf
from lockwright.errors import LockwrightError
from lockwright.profile.naming import name_of
from lockwright.profile.record import (
    FIRST_TAKEN,
    OBJECT,
    Distribution,
    Frame,
    Moment,
    Mutex,
    Place,
    Process,
    Profile,
    Site,
)
from lockwright.profile.symbols import Mapping, Symbols
from lockwright.profile.watch import used
from lockwright.results import now

EVERY = 0.01
"""Seconds between two looks."""

MECHANISM = "attached: 100 looks a second in /proc"

_LIMITS = (
    "it was looked at from outside: acquisitions that did not sleep were not seen, and how long"
    " mutexes were held is not known"
)
_FUTEX = {"x86_64": 202, "aarch64": 98}
_WAITS = (0, 9)
"""The operations by which a thread sleeps until a word changes, without their flags."""
_SLEEPERS = 2
"""What a mutex's word says when somebody may sleep for it, and what those who sleep wait to
change."""
_STACK = 2048
"""Bytes of the stack in which the caller of the lock function is looked for."""
_LIBRARIES = ("libc.so", "libpthread", "ld-linux", "libc-2", "liblockwright-")


@dataclass
class _Wait:
    """One thread that sleeps for one mutex."""

    address: int
    begin: float
    end: float
    caller: int


@dataclass
class _Seen:
    waits: list[tuple[int, _Wait]] = field(default_factory=list)
    waiters: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    waited: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    most: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    kinds: dict[int, int] = field(default_factory=dict)
    owned: set[int] = field(default_factory=set)
    names: dict[int, str] = field(default_factory=dict)
    looks: int = 0
    threads: int = 0
    threads_most: int = 0
    processors: set[int] = field(default_factory=set)


def attach(pid: int, seconds: float) -> Profile:
    """Looks at a process for so long, or until it ends. Raises LockwrightError without the right
    to, and for what is no process."""
    futex = _FUTEX.get(platform.machine())
    if futex is None:
        raise LockwrightError(
            f"--pid is not known on {platform.machine()}", "profile a command instead"
        )
    process = Path(f"/proc/{pid}")
    try:
        memory = os.open(process / "mem", os.O_RDONLY)
        next(iter((process / "task").iterdir())).joinpath("syscall").read_text()
    except FileNotFoundError as error:
        raise LockwrightError(f"there is no process {pid}", "see 'ps -e'") from error
    except OSError as error:
        raise LockwrightError(
            f"process {pid} may not be looked into: {error.strerror}",
            "run as root, or as its user with /proc/sys/kernel/yama/ptrace_scope at 0",
        ) from error
    try:
        return _profile(process, memory, futex, seconds)
    finally:
        os.close(memory)


def _profile(process: Path, memory: int, futex: int, seconds: float) -> Profile:
    seen, asleep = _Seen(), dict[int, _Wait]()
    command = (process / "cmdline").read_bytes().split(b"\0")[:-1]
    program = str((process / "exe").readlink())
    started, begin, before = now(), time.monotonic(), used(process)[0]
    after, mappings, partial = before, _mappings(process), _LIMITS
    code = [each for each in mappings if each[1]]
    try:
        while time.monotonic() - begin < seconds:
            if not _look(process, memory, futex, begin, seen, asleep, code):
                partial = f"{_LIMITS}; the process ended meanwhile"
                break
            with contextlib.suppress(OSError):
                after = used(process)[0]
            time.sleep(EVERY)
    except KeyboardInterrupt:
        pass
    with contextlib.suppress(OSError):
        mappings = _mappings(process)
    duration = 1e9 * (time.monotonic() - begin)
    symbols = Symbols([each for each, _ in mappings], program)
    seen.waits += asleep.items()
    mutexes, timeline = _mutexes(seen, symbols, duration)
    return Profile(
        command=tuple(os.fsdecode(word) for word in command),
        pid=int(process.name),
        started=started,
        mechanism=MECHANISM,
        process=Process(
            duration=duration,
            processors=len(seen.processors) or len(os.sched_getaffinity(0)),
            threads_most=seen.threads_most,
            threads_mean=seen.threads / max(seen.looks, 1),
            **{name: value - before.get(name, 0) for name, value in after.items()},  # type: ignore[arg-type]
        ),
        mutexes=mutexes,
        timeline=timeline,
        thread_names={str(tid): name for tid, name in seen.names.items()},
        partial=partial,
    )


def _look(
    process: Path,
    memory: int,
    futex: int,
    begin: float,
    seen: _Seen,
    asleep: dict[int, _Wait],
    code: list[tuple[Mapping, bool]],
) -> bool:
    """Notes who sleeps for what; False if the process has ended."""
    try:
        tids = [int(each.name) for each in (process / "task").iterdir()]
    except OSError:
        return False
    at = 1e9 * (time.monotonic() - begin)
    seen.looks += 1
    seen.threads += len(tids)
    seen.threads_most = max(seen.threads_most, len(tids))
    now_asleep: defaultdict[int, int] = defaultdict(int)
    for tid in tids:
        if seen.looks == 1:
            with contextlib.suppress(OSError):
                seen.processors |= os.sched_getaffinity(tid)
        found = _sleeper(process / "task" / str(tid) / "syscall", memory, futex, tids)
        known = asleep.get(tid)
        if known is not None and (found is None or found[0] != known.address):
            seen.waits.append((tid, asleep.pop(tid)))
            known = None
        if found is None:
            continue
        address, kind, stack, is_owned = found
        now_asleep[address] += 1
        if is_owned:
            seen.owned.add(address)
        seen.kinds[address] = kind
        if known is None:
            known = asleep[tid] = _Wait(address, at, at, _caller(memory, stack, code))
            with contextlib.suppress(OSError):
                text = (process / "task" / str(tid) / "comm").read_text(errors="replace")
                seen.names[tid] = text.rstrip("\n")
        # A look stands for the time around it.
        known.end = at + 1e9 * EVERY
    for address, count in now_asleep.items():
        seen.waiters[address] += count
        seen.waited[address] += 1
        seen.most[address] = max(seen.most[address], count)
    return True


def _sleeper(
    path: Path, memory: int, futex: int, tids: list[int]
) -> tuple[int, int, int, bool] | None:
    """What may be the mutex that a thread sleeps for, its kind, the thread's stack pointer, and
    whether it has an owner now."""
    try:
        words = path.read_text().split()
        if len(words) < 9 or int(words[0]) != futex:
            return None
        address, operation, value = (int(word, 16) for word in words[1:4])
        if operation & 127 not in _WAITS or value & 0xFFFFFFFF != _SLEEPERS:
            return None
        word, _, owner, _, kind = struct.unpack("=IIIIi", os.pread(memory, 20, address))
    except (OSError, ValueError, struct.error):
        return None
    if word not in (0, 1, _SLEEPERS) or (owner != 0 and owner not in tids) or not 0 <= kind < 1024:
        return None
    return address, kind, int(words[7], 16), owner != 0


def _caller(memory: int, stack: int, code: list[tuple[Mapping, bool]]) -> int:
    """The innermost return address on the stack that lies outside the C library; 0 if none does."""
    try:
        data = os.pread(memory, _STACK, stack)
    except OSError:
        return 0
    for (word,) in struct.iter_unpack("=Q", data[: len(data) // 8 * 8]):
        for mapping, _ in code:
            if mapping.start <= word < mapping.end:
                name = mapping.path.rpartition("/")[2]
                if not name.startswith(_LIBRARIES) and _is_after_call(memory, word):
                    return int(word)
                break
    return 0


def _is_after_call(memory: int, address: int) -> bool:
    """Whether the instruction before an address is a call."""
    try:
        before = os.pread(memory, 7, address - 7)
    except OSError:
        return False
    if platform.machine() == "aarch64":
        (word,) = struct.unpack("=I", before[3:7])
        return bool(word >> 26 == 0x25 or word & 0xFFFFFC1F == 0xD63F0000)
    return (
        before[2] == 0xE8
        or (before[1] == 0xFF and before[2] & 0x38 == 0x10)
        or (before[5] == 0xFF and before[6] & 0x38 == 0x10)
        or (before[4] == 0xFF and before[5] & 0x38 == 0x10)
    )


def _mappings(process: Path) -> list[tuple[Mapping, bool]]:
    """The files in memory, each part with whether it is code; what follows one is its own."""
    found: list[tuple[Mapping, bool]] = []
    bases: dict[str, int] = {}
    for line in (process / "maps").read_text(errors="replace").splitlines():
        words = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in words[0].split("-"))
        path = words[5] if len(words) > 5 else ""
        if path.startswith("/"):
            if path not in bases:
                bases[path] = _base(Path(path), start - int(words[2], 16))
            found.append((Mapping(path, start, end, bases[path]), "x" in words[1]))
        elif not path and found and found[-1][0].end == start and "w" in words[1]:
            # Variables that begin as zero.
            last = found[-1][0]
            found.append((Mapping(last.path, start, end, last.base), False))
    return found


def _base(path: Path, start: int) -> int:
    """What addresses of a file count from, if its first byte lies at `start`."""
    with contextlib.suppress(OSError):
        header = elf.read(path)
        if header is not None and not header.shared:
            return 0
    return start


def _mutexes(
    seen: _Seen, symbols: Symbols, duration: float
) -> tuple[tuple[Mutex, ...], tuple[Moment, ...]]:
    by_address: defaultdict[int, list[tuple[int, _Wait]]] = defaultdict(list)
    for tid, wait in seen.waits:
        # Locks of malloc, of Go and of Rust are waited for in the same way: only a mutex names a
        # thread of the process, whenever it is held.
        if wait.address in seen.owned:
            by_address[wait.address].append((tid, wait))
    order = sorted(by_address, key=lambda a: -sum(w.end - w.begin for _, w in by_address[a]))
    mutexes, moments = [], []
    for index, address in enumerate(order):
        waits = by_address[address]
        lengths = sorted(wait.end - wait.begin for _, wait in waits)
        callers: defaultdict[int, list[float]] = defaultdict(list)
        for _, wait in waits:
            callers[wait.caller].append(wait.end - wait.begin)
        listed = sorted(callers, key=lambda caller: -sum(callers[caller]))
        place = _place(address, listed[0], symbols)
        mutexes.append(
            Mutex(
                name=name_of(place, True),
                place=place,
                address=address,
                type=("normal", "recursive", "error-checking", "adaptive")[seen.kinds[address] & 3],
                acquisitions=float(len(waits)),
                contended=len(waits),
                waiting=Distribution(
                    count=len(waits),
                    total=sum(lengths),
                    samples=len(waits),
                    p50=lengths[len(lengths) // 2],
                    p90=lengths[len(lengths) * 9 // 10],
                    p99=lengths[len(lengths) * 99 // 100],
                    most=lengths[-1],
                ),
                holding=Distribution(),
                hand_over=Distribution(),
                waiters_mean=seen.waiters[address] / max(seen.waited[address], 1),
                waiters_most=seen.most[address],
                sampled_times=seen.looks,
                threads=len({tid for tid, _ in waits}),
                sites=tuple(
                    Site(
                        (symbols.caller(caller) if caller else Frame("", 0),),
                        float(len(callers[caller])),
                        len(callers[caller]),
                        sum(callers[caller]),
                        0.0,
                    )
                    for caller in listed
                ),
            )
        )
        moments += [
            Moment(tid, index, "wait", w.begin, min(w.end, duration), listed.index(w.caller))
            for tid, w in waits
        ]
    return tuple(mutexes), tuple(sorted(moments, key=lambda moment: moment.begin))


def _place(address: int, caller: int, symbols: Symbols) -> Place:
    if symbols.mapping(address) is not None:
        return Place(OBJECT, symbols.place(address))
    return Place(FIRST_TAKEN, symbols.caller(caller) if caller else Frame("", 0), -1)
