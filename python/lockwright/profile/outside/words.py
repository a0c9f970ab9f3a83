"""What the memory around a futex's word tells: which lock of the C library it is, and who holds it.

Structures are those of the GNU C library 2.34 and later: malloc/malloc.c (malloc_state),
libio/bits/types/struct_FILE.h, nptl/descr.h.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lockwright.profile.outside.memory import MappedMemory
from lockwright.profile.thread_states import TAKES, FutexSleep

_NUMBER = 0x3FFFFFFF
"""The bits of a word that have the owner's number (FUTEX_TID_MASK)."""
_HAS_WAITERS = 1 << 31
_CONTENDED = 2
"""The value of a lock of the C library that may have sleeping waiters."""

_ARENA = 2184
"""Bytes of malloc's arena, whose first field is its lock: empty bins point to themselves."""
_BINS = 64

_STREAM_MAGIC = 0xFBAD
_STREAM_LOCK = 0x88
"""Offset in a FILE of the pointer to its lock."""
_STREAM_FILE = 0x70
_STREAM_SIZE = 0xE0
"""Offset of the lock of a stream of fopen() from its FILE."""
_MOST_DATA = 1 << 20

_THREAD_SELF, _THREAD_NUMBER = 0x10, 0x2D0
"""Offsets in the C library's data of a thread, on x86-64."""


def owner_of(
    sleep: FutexSleep, mutex: int, memory: MappedMemory, threads: Mapping[int, int]
) -> int:
    """Return the thread that has what another one sleeps for; 0 if the memory does not tell.
    mutex: the one for which it sleeps under a lock of Lockwright, else 0; threads: those of the
    process, and of others with which it may share memory, by their own numbers of them."""
    data = memory.read(mutex or sleep.address, 16)
    if len(data) < 16:
        return 0
    word, _, owner, _ = struct.unpack("=4I", data)
    if mutex:
        return threads.get(owner, 0)
    if word & _HAS_WAITERS or sleep.operation in TAKES:
        return threads.get(word & _NUMBER, 0)
    if sleep.value != _CONTENDED or word != _CONTENDED:
        return 0
    if owner in threads:
        return threads[owner]
    (thread,) = struct.unpack("=Q", data[8:])
    if thread and memory.number(thread + _THREAD_SELF) == thread:
        return threads.get(memory.number(thread + _THREAD_NUMBER, 4), 0)
    return 0


def lock_of_c_library(address: int, memory: MappedMemory, process: Path) -> str:
    """Return what a lock of the C library protects, if its memory tells; else "". process: its
    directory in /proc."""
    if _is_arena(address, memory):
        return "malloc: main arena" if memory.data(address) else "malloc: other arenas"
    if stream := _stream(address, memory):
        number = memory.number(stream + _STREAM_FILE, 4)
        if number < 3:
            return f"stdio stream {('stdin', 'stdout', 'stderr')[number]}"
        try:
            return f"stdio stream of {(process / 'fd' / str(number)).readlink()}"
        except OSError:
            return f"stdio stream of file {number}"
    return ""


def _is_arena(address: int, memory: MappedMemory) -> bool:
    words = np.frombuffer(memory.read(address, _ARENA).ljust(_ARENA, b"\0"), np.uint64)
    return int(((words >= address) & (words < address + _ARENA)).sum()) >= _BINS


def _stream(address: int, memory: MappedMemory) -> int:
    """Return the address of the FILE that has a lock; 0 if none has."""
    candidates = [address - _STREAM_SIZE]
    if home := memory.data(address):
        # The standard streams and their locks are variables of one file.
        for part, is_code in memory.mappings:
            if part.path == home.path and not is_code and part.end - part.start <= _MOST_DATA:
                data = memory.read(part.start, part.end - part.start)
                words = np.frombuffer(data[: len(data) // 8 * 8], np.uint64)
                places = np.flatnonzero(words == address).tolist()
                candidates += [part.start + 8 * place - _STREAM_LOCK for place in places]
    for stream in candidates:
        is_stream = memory.number(stream, 4) >> 16 == _STREAM_MAGIC
        if is_stream and memory.number(stream + _STREAM_LOCK) == address:
            return stream
    return 0
