"""Where the threads of a Python program wait: the Python functions that they are in, read from the
memory of a process with CPython 3.11 to 3.13. The layouts are those of the headers in
Include/internal of each release (pycore_runtime.h, pycore_interp.h, pycore_frame.h)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lockwright.elf.file import load
from lockwright.preload import loads
from lockwright.profile.buffer import Buffer
from lockwright.profile.outside.memory import Memory
from lockwright.profile.waiting import INTERPRETER

_HELPERS: Final = ("threading.py", "queue.py", "synchronize.py", "queues.py", "popen_fork.py")
"""The files of the standard library whose functions wait on behalf of their callers."""

_MOST = 64
"""Limit on the frames of a thread that are read."""

_MOST_THREADS = 512

_LONGEST = 200
"""Limit on the letters of a name that are read."""

_FREE_THREADED = 16
"""Offset in _PyRuntime of a word that is not 0 in a free-threaded interpreter, since 3.13."""


@dataclass(frozen=True)
class _Layout:
    """Offsets in bytes: of the first interpreter in _PyRuntime, of the first thread in that, of the
    frame in a thread, and in a frame; text: of the letters of a string of ASCII. control: a thread
    has a pointer to one to the frame, which is at this offset; None if it has the frame."""

    interpreter: int
    thread: int
    number: int
    frame: int
    control: int | None
    code: int
    before: int
    owner: int
    text: int


_NEXT, _FILE, _NAME, _LENGTH = 8, 112, 128, 16
"""Offsets of the next thread in a thread, of file and name in a code object, of a string's length;
in all these releases."""
_OWNED_BY_C = 3

_LAYOUTS: Final = {
    (3, 11): _Layout(40, 16, 160, 56, 8, 32, 48, 69, 48),
    (3, 12): _Layout(40, 72, 144, 56, 0, 0, 8, 70, 40),
    (3, 13): _Layout(632, 7344, 160, 72, None, 0, 8, 70, 40),
}


class PythonFrames:
    """The Python functions of a process's threads."""

    def __init__(self, buffer: Buffer, memory: Memory) -> None:
        """memory: of the process."""
        self._buffer, self._memory = buffer, memory
        self._modules = -1
        self._runtime, self._layout = 0, _LAYOUTS[3, 11]
        self._labels: dict[int, tuple[str, str]] = {}

    def labels(self) -> dict[int, str]:
        """Return where the threads are, by their numbers in the process: the innermost function
        outside of the standard library's locks and queues; {} if it has no known interpreter."""
        if not self._has_runtime():
            return {}
        layout, found = self._layout, {}
        thread = self._pointer(self._pointer(self._runtime + layout.interpreter) + layout.thread)
        for _ in range(_MOST_THREADS):
            if not thread:
                break
            if label := self._label(thread):
                found[self._pointer(thread + layout.number)] = label
            thread = self._pointer(thread + _NEXT)
        return found

    def _has_runtime(self) -> bool:
        """Look for the interpreter in the modules of which the program's library knows."""
        modules = self._buffer.modules
        if self._runtime or len(modules) == self._modules:
            return bool(self._runtime)
        self._modules = len(modules)
        for module in modules:
            path = os.fsdecode(
                self._buffer.path_of(module) or loads.bytes_of(self._buffer["program"])
            )
            if INTERPRETER.fullmatch(path):
                self._look_in(Path(path), int(module["base"]))
        return bool(self._runtime)

    def _look_in(self, path: Path, base: int) -> None:
        addresses = _addresses(path, ("_PyRuntime", "Py_Version"))
        if len(addresses) < 2:
            return
        version = self._pointer(base + addresses["Py_Version"])
        layout = _LAYOUTS.get((version >> 24 & 0xFF, version >> 16 & 0xFF))
        runtime = base + addresses["_PyRuntime"]
        is_free = version >> 16 & 0xFF >= 13 and self._pointer(runtime + _FREE_THREADED)
        if layout is not None and not is_free:
            self._runtime, self._layout = runtime, layout

    def _label(self, thread: int) -> str:
        """Return where a thread is; "" if unknown."""
        inside = ""
        for name, file in self._functions(thread):
            if Path(file).name not in _HELPERS:
                return f"{name} ({Path(file).name})" + (f" (via {inside})" if inside else "")
            inside = name
        return inside

    def _functions(self, thread: int) -> Iterator[tuple[str, str]]:
        """Yield the names and files of the functions of a thread, the innermost first."""
        layout = self._layout
        frame = self._pointer(thread + layout.frame)
        if layout.control is not None and frame:
            frame = self._pointer(frame + layout.control)
        for _ in range(_MOST):
            if not frame:
                return
            owner = self._memory.number(frame + layout.owner, 1)
            code = self._pointer(frame + layout.code)
            if owner != _OWNED_BY_C and code:
                if code not in self._labels:
                    self._labels[code] = self._text(code + _NAME), self._text(code + _FILE)
                if all(self._labels[code]):
                    yield self._labels[code]
            frame = self._pointer(frame + layout.before)

    def _pointer(self, address: int) -> int:
        """Return the word at an address; 0 if it cannot be read."""
        return self._memory.number(address) if address > _LONGEST else 0

    def _text(self, address: int) -> str:
        """Return the string to which an address has a pointer, up to a letter that is not ASCII."""
        string = self._pointer(address)
        length = min(self._pointer(string + _LENGTH), _LONGEST) if string else 0
        text = self._memory.read(string + self._layout.text, length).decode("latin-1")
        return text if text.isascii() and text.isprintable() else ""


def _addresses(path: Path, names: tuple[str, ...]) -> dict[str, int]:
    """Return the addresses in a file of the symbols that it exports."""
    file = load(path)
    texts = file.section(".dynstr")
    wanted = {name.encode() for name in names}
    found = {}
    for offset, _, _, section, address, _ in file.symbols(".dynsym"):
        name = texts[offset : texts.find(b"\0", offset)] if section else b""
        if name in wanted:
            found[name.decode()] = address
    return found
