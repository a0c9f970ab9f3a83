"""A reader of ELF files, sufficient to decide whether a library can be preloaded into a program.

Layouts are those of elf(5). The file is never run. pyelftools is not used, because its import takes
longer than `lockwright run` needs to start a program.
"""

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

MAGIC = b"\x7fELF"
_PT_INTERP = 3
_SHT_NOBITS = 8
_DT_NEEDED = 1
_DT_SONAME = 14
_DT_RPATH, _DT_RUNPATH = 15, 29
_DT_FLAGS_1 = 0x6FFFFFFB
_DF_1_PIE = 0x08000000
_ET_DYN = 3
_MACHINES = {3: "i386", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv", 22: "s390"}
_MACHINES |= {21: "ppc64", 20: "ppc", 8: "mips", 258: "loongarch"}


@dataclass(frozen=True)
class Header:
    """The ELF header. interpreter: the program's dynamic linker, None if it has none. shared: a
    library, or a position-independent program."""

    bits: int
    little_endian: bool
    machine: int
    interpreter: str | None
    shared: bool = False

    @property
    def architecture(self) -> str:
        """Word size, machine and unusual byte order, as text."""
        order = "" if self.little_endian else ", big-endian"
        return f"{self.bits}-bit {_MACHINES.get(self.machine, f'machine {self.machine}')}{order}"


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


class ElfFile:
    """A file that may be ELF. All but the header is for 64-bit files only, and empty for others,
    for unreadable files and for malformed tables."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _head(self) -> bytes:
        # Nobody may write to a pipe of this name.
        if not stat.S_ISREG(self.path.stat().st_mode):
            return b""
        with self.path.open("rb") as file:
            head = file.read(64)
        is_elf = len(head) >= 52 and head[:4] == MAGIC and head[4] in (1, 2) and head[5] in (1, 2)
        return head if is_elf else b""

    @cached_property
    def order(self) -> str:
        """The byte order, as in formats of struct."""
        return ">" if self._head[5:6] == b"\2" else "<"

    @cached_property
    def _is_wide(self) -> bool:
        return self._head[4:5] == b"\2"

    def _bytes(self, offset: int, size: int) -> bytes:
        with self.path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            file.seek(min(offset, length))
            return file.read(min(size, length))

    @cached_property
    def _segments(self) -> list[_Segment]:
        if self._is_wide:
            (table,) = struct.unpack_from(self.order + "Q", self._head, 32)
            size, count = struct.unpack_from(self.order + "HH", self._head, 54)
            row = "I4xQQ8xQ"
        else:
            (table,) = struct.unpack_from(self.order + "I", self._head, 28)
            size, count = struct.unpack_from(self.order + "HH", self._head, 42)
            row = "III4xI"
        rows = self._bytes(table, size * count)
        return [
            _Segment(*struct.unpack_from(self.order + row, rows, start))
            for start in range(0, size * count, size or 1)
        ]

    @cached_property
    def header(self) -> Header | None:
        """The header; None if it is not a well-formed ELF file. Raises OSError if it cannot be
        read."""
        if not self._head:
            return None
        kind, machine = struct.unpack_from(self.order + "HH", self._head, 16)
        try:
            interpreter = None
            for segment in self._segments:
                if segment.kind == _PT_INTERP:
                    text = self._bytes(segment.offset, min(segment.size, 4096))
                    interpreter = text.rstrip(b"\0").decode(errors="replace")
                    break
        except (struct.error, OverflowError, ValueError):
            return None
        bits = 64 if self._is_wide else 32
        return Header(bits, self.order == "<", machine, interpreter, kind == _ET_DYN)

    @cached_property
    def sections(self) -> dict[str, tuple[int, int]]:
        """Offset and size in the file of each named section."""
        sections: dict[str, tuple[int, int]] = {}
        try:
            if len(self._head) < 64 or not self._is_wide:
                return sections
            (table,) = struct.unpack_from(self.order + "Q", self._head, 40)
            size, count, names = struct.unpack_from(self.order + "HHH", self._head, 58)
            rows = self._bytes(table, size * count)
            # Name, type, flags, address, offset, size.
            headers = [
                struct.unpack_from(self.order + "IIQQQQ", rows, size * i)
                for i in range(count)
                if size
            ]
            if not headers:
                return sections
            text = self._bytes(headers[names][4], min(headers[names][5], 1 << 20))
            for name, kind, _, _, offset, length in headers:
                label = text[name:].split(b"\0", 1)[0].decode(errors="replace")
                sections[label] = (offset, 0 if kind == _SHT_NOBITS else length)
        except (struct.error, IndexError, OverflowError, ValueError, OSError):
            return {}
        return sections

    @property
    def has_lines(self) -> bool:
        """True if the file has debug information with source lines."""
        return ".debug_line" in self.sections

    def section(self, name: str, most: int = 1 << 24) -> bytes:
        """Return the content of a section, at most `most` bytes; empty if the file has none."""
        offset, size = self.sections.get(name, (0, 0))
        try:
            return self._bytes(offset, min(size, most)) if size else b""
        except (OverflowError, OSError):
            return b""

    def segment(self, kind: int, most: int = 1 << 24) -> tuple[int, bytes]:
        """Return the address and the bytes of the first segment of a type; 0 and b"" if there is
        none, or it has more than `most` bytes."""
        try:
            if self._is_wide:
                for row in self._segments:
                    if row.kind == kind and row.size <= most:
                        return row.address, self._bytes(row.offset, row.size)
        except (struct.error, OverflowError, ValueError, OSError):
            pass
        return 0, b""

    @cached_property
    def _dynamic(self) -> list[tuple[int, int]]:
        entries = self.section(".dynamic")
        return list(struct.iter_unpack(self.order + "QQ", entries[: len(entries) // 16 * 16]))

    def _names(self, tag_of_names: int) -> list[str]:
        """Return the strings of the dynamic entries with a tag."""
        names = self.section(".dynstr")
        offsets = [value for tag, value in self._dynamic if tag == tag_of_names]
        return [names[offset:].split(b"\0", 1)[0].decode(errors="replace") for offset in offsets]

    @property
    def needed(self) -> list[str]:
        """The names of the libraries that it depends on, in order."""
        return self._names(_DT_NEEDED)

    @property
    def run_paths(self) -> list[str]:
        """The directories in which it wants its libraries to be looked for."""
        paths = self._names(_DT_RPATH) + self._names(_DT_RUNPATH)
        return [each for path in paths for each in path.split(":") if each]

    @property
    def soname(self) -> str | None:
        """Its own library name, None if it has none."""
        return next(iter(self._names(_DT_SONAME)), None)

    @property
    def is_program(self) -> bool:
        """True if it is marked as a program, which the dynamic linker never preloads; a library
        that can be run, such as the C library, is not marked."""
        return any(tag == _DT_FLAGS_1 and value & _DF_1_PIE for tag, value in self._dynamic)

    def symbols(self, table: str) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield the entries of a symbol table (.symtab or .dynsym): offset of the name, kind,
        visibility, section (0 if defined elsewhere), address and size."""
        entries = self.section(table, 1 << 28)
        return struct.iter_unpack(self.order + "IBBHQQ", entries[: len(entries) // 24 * 24])

    def defines(self, name: str) -> bool:
        """Return whether a library defines a name instead of only referring to it."""
        names = self.section(".dynstr")
        text = name.encode() + b"\0"
        return any(
            section != 0 and names[offset : offset + len(text)] == text
            for offset, _, _, section, _, _ in self.symbols(".dynsym")
        )


def load(path: Path) -> ElfFile:
    """Return a file, cached until it changes. A missing file is not an error here."""
    try:
        status = path.stat()
    except OSError:
        return ElfFile(path)
    return _load(path, status.st_ino, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _load(path: Path, *_identity: int) -> ElfFile:
    return ElfFile(path)
