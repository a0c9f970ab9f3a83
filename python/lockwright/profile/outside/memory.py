"""The memory of a running process: its mapped files, and the calls that its stacks return to."""

import contextlib
import os
import platform
import struct
from bisect import bisect_right
from pathlib import Path

import numpy as np

from lockwright.elf.file import load
from lockwright.profile.symbols import Mapping

_STACK = 2048
"""Bytes of a stack that are searched for return addresses."""

_CALL, _CALL_BY_TABLE, _JUMP_BY_TABLE = 0xE8, b"\xff\x15", b"\xff\x25"
"""Instructions of x86-64: a call, and a call and a jump to the address in a table."""

_JUMP_PLACES = (0, 1, 4, 5)
"""Offsets of the jump in the stub for a function of another file."""

_CALLERS = 20
"""Limit on those of a stack."""


class Memory:
    """The memory of a process, as far as it may be read."""

    def __init__(self, process: Path) -> None:
        """process: its directory in /proc."""
        self._path, self._file = process / "mem", -1

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at an address, fewer or none where it has no memory."""
        try:
            if self._file < 0:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(self._file, size, address)
        except (OSError, OverflowError):
            return b""

    def words(self, form: struct.Struct, address: int) -> tuple[int, ...] | None:
        """Return the words at an address; None if they cannot be read."""
        data = self.read(address, form.size)
        if len(data) < form.size:
            self.close()  # the process may have become another program
            return None
        return form.unpack(data)

    def number(self, address: int, size: int = 8) -> int:
        """Return the unsigned number at an address; 0 where it has no memory."""
        return int.from_bytes(self.read(address, size), "little")


class MappedMemory(Memory):
    """The memory of a process with its files. mappings: as in mappings_of(), when they were last
    looked at, at first none; calls: by the address behind a call that callers() found, the function
    that it calls, 0 where the instruction does not tell. Both stay known when the process has
    ended."""

    def __init__(self, process: Path) -> None:
        """process: its directory in /proc. Raises OSError if it is missing or permission is
        denied."""
        super().__init__(process)
        self._process = process
        self.calls: dict[int, int] = {}
        self.mappings: list[tuple[Mapping, bool]] = []
        self._set_code()
        self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)

    def refresh(self) -> None:
        """Look at the mapped files again. Raises OSError if the process has ended."""
        # A process that has ended has none, until its parent has waited for it.
        self.mappings = mappings_of(self._process) or self.mappings
        self._set_code()

    def _set_code(self) -> None:
        self._code = sorted(
            (mapping for mapping, is_code in self.mappings if is_code),
            key=lambda mapping: mapping.start,
        )
        self._begins = [mapping.start for mapping in self._code]
        self._starts = np.array(self._begins, np.uint64)
        self._ends = np.array([mapping.end for mapping in self._code], np.uint64)

    def code(self, address: int) -> Mapping | None:
        """Return the file whose code has an address."""
        index = bisect_right(self._begins, address) - 1
        return self._code[index] if index >= 0 and address < self._code[index].end else None

    def data(self, address: int) -> Mapping | None:
        """Return the file whose variables have an address."""
        return next((each for each, _ in self.mappings if each.start <= address < each.end), None)

    def callers(self, stack: int) -> tuple[int, ...]:
        """Return the addresses on a stack that are behind calls, the innermost first. Some may be
        left from earlier calls. stack: the stack pointer."""
        data = self.read(stack, _STACK)
        words = np.frombuffer(data[: len(data) // 8 * 8], np.uint64)
        if not len(self._code):
            return ()
        places = np.searchsorted(self._starts, words, side="right") - 1
        inside = (places >= 0) & (words < self._ends[np.maximum(places, 0)])
        found = [word for word in words[inside].tolist() if self._is_after_call(word)]
        return tuple(found[:_CALLERS])

    def _is_after_call(self, address: int) -> bool:
        if address not in self.calls:
            before = self.read(address - 7, 7)
            self.calls[address] = self._called(address, before) if _is_call(before) else -1
        return self.calls[address] >= 0

    def _called(self, address: int, before: bytes) -> int:
        """Return the function that the instruction before an address calls; 0 if it is unknown."""
        if platform.machine() != "x86_64":
            return 0
        relative = int.from_bytes(before[3:], "little", signed=True)
        if before[1:3] == _CALL_BY_TABLE:
            return self.number(address + relative)
        if before[2] != _CALL:
            return 0
        stub = self.read(address + relative, 16)
        jump = stub.find(_JUMP_BY_TABLE)
        if jump not in _JUMP_PLACES:
            return address + relative
        after = address + relative + jump + 6
        return self.number(after + int.from_bytes(stub[jump + 2 : jump + 6], "little", signed=True))


def _is_call(before: bytes) -> bool:
    """Return whether an instruction is a call, by the last seven bytes up to its end."""
    if len(before) < 7:
        return False
    if platform.machine() == "aarch64":
        (word,) = struct.unpack("=I", before[3:7])
        return bool(word >> 26 == 0x25 or word & 0xFFFFFC1F == 0xD63F0000)
    return (
        before[2] == _CALL
        or (before[1] == 0xFF and before[2] & 0x38 == 0x10)
        or (before[5] == 0xFF and before[6] & 0x38 == 0x10)
        or (before[4] == 0xFF and before[5] & 0x38 == 0x10)
    )


def mappings_of(process: Path, root: str = "") -> list[tuple[Mapping, bool]]:
    """Return the parts of mapped files, each with a flag for code; the anonymous mapping behind a
    file counts as its data. root: the root directory of the process."""
    mappings: list[tuple[Mapping, bool]] = []
    bases: dict[str, int] = {}
    for line in (process / "maps").read_text(errors="replace").splitlines():
        words = line.split(maxsplit=5)
        start, end = (int(word, 16) for word in words[0].split("-"))
        path = words[5] if len(words) > 5 else ""
        if path.startswith("/"):
            path = root + path
            if path not in bases:
                bases[path] = _base(Path(path), start - int(words[2], 16))
            mappings.append((Mapping(path, start, end, bases[path]), "x" in words[1]))
        elif not path and mappings and mappings[-1][0].end == start and "w" in words[1]:
            # Zero-initialised variables.
            last = mappings[-1][0]
            mappings.append((Mapping(last.path, start, end, last.base), False))
    return mappings


def _base(path: Path, start: int) -> int:
    """Return the address to which a file's addresses are relative, if its first byte is mapped at
    `start`."""
    with contextlib.suppress(OSError):
        header = load(path).header
        if header is not None and not header.shared:
            return 0
    return start
