"""Just enough of the ELF format to say whether a library can be preloaded into a program.

Layouts are those of elf(5). Nothing here runs the file.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAGIC = b"\x7fELF"
_PT_INTERP = 3
_SHT_NOBITS = 8
_DT_NEEDED = 1
_DT_SONAME = 14
_DT_FLAGS_1 = 0x6FFFFFFB
_DF_1_PIE = 0x08000000
_ET_DYN = 3
_MACHINES = {3: "i386", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv", 22: "s390"}
_MACHINES |= {21: "ppc64", 20: "ppc", 8: "mips", 258: "loongarch"}


@dataclass(frozen=True)
class Elf:
    """What the header says. interpreter: the program's dynamic linker, None if it has none.

    shared: it is a library, or a program that can lie anywhere in memory.
    """

    bits: int
    little_endian: bool
    machine: int
    interpreter: str | None
    shared: bool = False

    @property
    def architecture(self) -> str:
        """Word size, machine and unusual byte order, for a person."""
        order = "" if self.little_endian else ", big-endian"
        return f"{self.bits}-bit {_MACHINES.get(self.machine, f'machine {self.machine}')}{order}"


def read(path: Path) -> Elf | None:
    """The ELF header and interpreter of `path`; None if it is not a well-formed ELF file.

    Raises OSError if the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(64)
        if len(head) < 52 or head[:4] != MAGIC or head[4] not in (1, 2) or head[5] not in (1, 2):
            return None
        wide, little = head[4] == 2, head[5] == 1
        order = "<" if little else ">"
        kind, machine = struct.unpack_from(order + "HH", head, 16)
        try:
            if wide:
                (table,) = struct.unpack_from(order + "Q", head, 32)
                size, count = struct.unpack_from(order + "HH", head, 54)
            else:
                (table,) = struct.unpack_from(order + "I", head, 28)
                size, count = struct.unpack_from(order + "HH", head, 42)
            interpreter = None
            file.seek(table)
            entries = file.read(size * count)
            for start in range(0, size * count, size or 1):
                if struct.unpack_from(order + "I", entries, start)[0] != _PT_INTERP:
                    continue
                if wide:
                    (offset,) = struct.unpack_from(order + "Q", entries, start + 8)
                    (length,) = struct.unpack_from(order + "Q", entries, start + 32)
                else:
                    (offset,) = struct.unpack_from(order + "I", entries, start + 4)
                    (length,) = struct.unpack_from(order + "I", entries, start + 16)
                file.seek(offset)
                interpreter = file.read(min(length, 4096)).rstrip(b"\0").decode(errors="replace")
                break
        except (struct.error, OverflowError, ValueError):
            return None
    return Elf(64 if wide else 32, little, machine, interpreter, kind == _ET_DYN)


def sections(path: Path) -> dict[str, tuple[int, int]]:
    """Where in the file each named section of a 64-bit ELF file lies: offset and size.

    Empty where the file has no table of them, or one that cannot be right.
    """
    found: dict[str, tuple[int, int]] = {}
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:4] != MAGIC or head[4] != 2:
                return found
            order = "<" if head[5] == 1 else ">"
            (table,) = struct.unpack_from(order + "Q", head, 40)
            size, count, names = struct.unpack_from(order + "HHH", head, 58)
            file.seek(table)
            rows = file.read(size * count)
            # Name, type, flags, address, offset, size: as far as anybody asks.
            headers = [
                struct.unpack_from(order + "IIQQQQ", rows, size * i) for i in range(count) if size
            ]
            if not headers:
                return found
            file.seek(headers[names][4])
            text = file.read(min(headers[names][5], 1 << 20))
            for name, kind, _, _, offset, length in headers:
                label = text[name:].split(b"\0", 1)[0].decode(errors="replace")
                found[label] = (offset, 0 if kind == _SHT_NOBITS else length)
    except (struct.error, IndexError, OverflowError, ValueError, OSError):
        return {}
    return found


def section(path: Path, name: str, most: int = 1 << 24) -> bytes:
    """What stands in a section, at most `most` bytes of it; nothing if there is no such section."""
    offset, size = sections(path).get(name, (0, 0))
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(min(size, most))
    except (OverflowError, OSError):
        return b""


def segment(path: Path, kind: int, most: int = 1 << 24) -> tuple[int, bytes]:
    """The address and the bytes of the first segment of a type, of a 64-bit ELF file of this byte
    order; 0 and nothing where there is none, or one of more than `most` bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:4] != MAGIC or head[4] != 2:
                return 0, b""
            (table,) = struct.unpack_from("=Q", head, 32)
            size, count = struct.unpack_from("=HH", head, 54)
            file.seek(table)
            rows = file.read(size * count)
            for i in range(count):
                found, _, offset, address, _, length = struct.unpack_from("=IIQQQQ", rows, size * i)
                if found == kind and length <= most:
                    file.seek(offset)
                    return int(address), file.read(length)
    except (struct.error, OverflowError, ValueError, OSError):
        pass
    return 0, b""


def _dynamic(path: Path) -> list[tuple[int, int]]:
    """The tags and values that a 64-bit program or library has for the dynamic linker."""
    entries = section(path, ".dynamic")
    entries = entries[: len(entries) // 16 * 16]
    order = "<" if (read(path) or Elf(64, True, 0, None)).little_endian else ">"
    return list(struct.iter_unpack(order + "QQ", entries))


def needed(path: Path) -> list[str]:
    """The names of the libraries that a 64-bit program or library asks for, in its order."""
    names = section(path, ".dynstr")
    found = [value for tag, value in _dynamic(path) if tag == _DT_NEEDED]
    return [names[at:].split(b"\0", 1)[0].decode(errors="replace") for at in found]


def soname(path: Path) -> str | None:
    """The name by which others ask for a 64-bit library, if it says one."""
    names = section(path, ".dynstr")
    found = [value for tag, value in _dynamic(path) if tag == _DT_SONAME]
    return names[found[0] :].split(b"\0", 1)[0].decode(errors="replace") if found else None


def symbols(path: Path, table: str) -> Iterator[tuple[int, int, int, int, int, int]]:
    """The entries of a table of symbols (.symtab or .dynsym) of a 64-bit file.

    Each is where its name begins in the table's text, kind, visibility, section (0 where it lies
    elsewhere), address and size.
    """
    entries = section(path, table, 1 << 28)
    order = "<" if (read(path) or Elf(64, True, 0, None)).little_endian else ">"
    return struct.iter_unpack(order + "IBBHQQ", entries[: len(entries) // 24 * 24])


def defines(path: Path, name: str) -> bool:
    """Whether a 64-bit library defines a name for others, and not only asks for it."""
    names = section(path, ".dynstr")
    wanted = name.encode() + b"\0"
    return any(
        where != 0 and names[at : at + len(wanted)] == wanted
        for at, _, _, where, _, _ in symbols(path, ".dynsym")
    )


def is_program(path: Path) -> bool:
    """Whether a shared object is marked as a program, which the dynamic linker preloads nowhere.

    A library may be runnable, as the C library is, and yet be none.
    """
    return any(tag == _DT_FLAGS_1 and value & _DF_1_PIE for tag, value in _dynamic(path))
