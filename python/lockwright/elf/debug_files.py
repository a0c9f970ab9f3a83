"""Separate files with the symbols and lines of a stripped program or library.

A file is found, first, by the build-id in a directory of debug files, where the distribution's
-dbgsym packages are; second, by the name in .gnu_debuglink, whose checksum has to match; third,
from a debuginfod server, if the user has named one and its client is installed. The first two are
as in the GDB manual, "Debugging Information in Separate Files".
"""

import os
import shutil
import struct
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from lockwright.base import tool
from lockwright.elf.file import ElfFile, load

DIRECTORIES = "LOCKWRIGHT_DEBUG_DIRS"
"""The variable with directories of debug files, separated by colons, searched before SYSTEM."""

SYSTEM = Path("/usr/lib/debug")
"""The directory of the distribution's debug files."""

SERVERS = "DEBUGINFOD_URLS"
"""The variable of debuginfod-find(1) with the servers to ask; no server is asked without it."""

_SECONDS = 30
"""Time limit for a download; after one that exceeds it, no other is begun."""

_NOTE_BUILD_ID = 3
_LONGEST_BUILD_ID = 64
"""Bytes; linkers write 8 to 20, and a file name has room for 124."""

_CHUNK = 1 << 20


class _Client:
    """The client of debuginfod, asked once for each build-id."""

    def __init__(self) -> None:
        self._answers: dict[str, Path | None] = {}
        self._is_slow = False

    def find(self, identity: str) -> Path | None:
        """Return the debug file of a build-id; None without server, client or file."""
        if identity not in self._answers:
            self._answers[identity] = self._ask(identity)
        return self._answers[identity]

    def _ask(self, identity: str) -> Path | None:
        client = shutil.which("debuginfod-find")
        if self._is_slow or client is None or not os.environ.get(SERVERS, "").strip():
            return None
        answer = tool.call([client, "debuginfo", identity], seconds=_SECONDS)
        self._is_slow = answer.status is None
        path = Path(answer.output.strip())
        return path if answer.status == 0 and path.is_file() else None


_client = _Client()


def build_id(file: ElfFile) -> str:
    """Return the build-id in hexadecimal; "" if the file has none, or one that is too long."""
    note = file.section(".note.gnu.build-id", _CHUNK)
    while len(note) >= 12:
        name_size, size, kind = struct.unpack_from(f"{file.order}III", note)
        begin = 12 + _aligned(name_size)
        if kind == _NOTE_BUILD_ID and note[12 : 12 + name_size] == b"GNU\0":
            return note[begin : begin + size].hex() if size <= _LONGEST_BUILD_ID else ""
        note = note[begin + _aligned(size) :]
    return ""


def _aligned(size: int) -> int:
    """Return a size rounded up to a multiple of 4."""
    return -(-size // 4) * 4


def debug_file(path: Path, *, ask_servers: bool) -> Path | None:
    """Return the separate debug file of a program or library; None if there is none. ask_servers:
    also ask debuginfod servers, which takes up to half a minute."""
    file = load(path)
    identity = build_id(file)
    found = _local(path, identity, os.environ.get(DIRECTORIES, ""))
    if found is None and ask_servers and identity:
        found = _client.find(identity)
    return found


def file_with_lines(path: Path, *, ask_servers: bool) -> Path | None:
    """Return the file itself or its separate debug file, whichever has source lines; None if
    neither has. ask_servers: as in debug_file."""
    if load(path).has_lines:
        return path
    separate = debug_file(path, ask_servers=ask_servers)
    return separate if separate is not None and load(separate).has_lines else None


@lru_cache(maxsize=256)
def _local(path: Path, identity: str, directories: str) -> Path | None:
    return next(_candidates(path, identity, [*_listed(directories), SYSTEM]), None)


def _listed(directories: str) -> list[Path]:
    return [Path(name) for name in directories.split(":") if name]


def _candidates(path: Path, identity: str, directories: list[Path]) -> Iterator[Path]:
    if len(identity) > 2:
        for directory in directories:
            candidate = directory / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
            if candidate.is_file():
                yield candidate
    name, checksum = _link(load(path))
    if name:
        folder = path.resolve().parent
        places = [folder, folder / ".debug"]
        places += [directory / str(folder).lstrip("/") for directory in directories]
        for place in places:
            candidate = place / name
            if candidate.is_file() and _checksum(candidate) == checksum:
                yield candidate


def _link(file: ElfFile) -> tuple[str, int]:
    """Return the name of the debug file in .gnu_debuglink, and its checksum; "" without one. The
    name ends with a zero byte, and the checksum is in the next aligned word."""
    section = file.section(".gnu_debuglink", _CHUNK)
    name, end, _ = section.partition(b"\0")
    begin = _aligned(len(name) + 1)
    # A name with a directory would lead outside the places above.
    if not end or not name or b"/" in name or len(section) < begin + 4:
        return "", 0
    (checksum,) = struct.unpack_from(f"{file.order}I", section, begin)
    return os.fsdecode(name), checksum


def _checksum(path: Path) -> int | None:
    """Return the CRC-32 of a file; None if it cannot be read."""
    sum_ = 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                sum_ = zlib.crc32(chunk, sum_)
    except OSError:
        return None
    return sum_
