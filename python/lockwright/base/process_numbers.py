"""What the kernel states in /proc of processes and threads: states, and numbers in another PID
namespace."""

import contextlib
from pathlib import Path

PROC = Path("/proc")


def stat_words(task: Path) -> list[str]:
    """Return the words of proc(5)'s `stat` after the name, which may contain any character: the
    state is the first. task: the directory of a process or thread in /proc. Raises OSError if it
    has ended."""
    return (task / "stat").read_text(errors="replace").rpartition(")")[2].split()


def is_running(pid: int) -> bool:
    """Return whether a process exists and has not ended; its parent may not have waited for it."""
    try:
        return stat_words(PROC / str(pid))[0] not in "ZX"
    except OSError:
        return False


def number_inside(task: Path) -> int:
    """Return the number that a process or thread has in its own PID namespace. task: its directory
    in /proc. Raises OSError if it has ended."""
    status = (task / "status").read_text(errors="replace")
    # Kernels before 4.1 do not state it.
    words = status.partition("\nNSpid:")[2].partition("\n")[0].split()
    return int(words[-1]) if words else int(task.name)


def namespace_of(process: Path) -> int:
    """Return the kernel's number of a process's PID namespace; 0 if it may not be read."""
    try:
        return (process / "ns/pid").stat().st_ino
    except OSError:
        return 0


def number_here(number: int, namespace: int) -> int:
    """Return the number, in this process's PID namespace, of a process that has another one in its
    own; 0 if it is not found. namespace: 0 if it is unknown, since the process has no /proc."""
    if namespace == namespace_of(PROC / "self"):
        return number
    found = []
    for process in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if number_inside(process) == number and namespace in (0, namespace_of(process)):
                found.append(int(process.name))
    return found[0] if len(found) == 1 else 0


class ThreadNumbers:
    """The numbers that a process's threads have in its own PID namespace."""

    def __init__(self, process: Path) -> None:
        """process: its directory in /proc."""
        self._process = process
        self._is_nested = namespace_of(process) not in (0, namespace_of(PROC / "self"))
        self._inside: dict[int, int] = {}

    def inside(self, number: int) -> int:
        """Return the number inside of a thread by its number here; 0 if it has ended."""
        if self._is_nested and number not in self._inside:
            with contextlib.suppress(OSError):
                self._inside[number] = number_inside(self._process / "task" / str(number))
        return self._inside.get(number, 0) if self._is_nested else number

    def here(self, number: int) -> int:
        """Return the number here of a thread by its number inside; 0 if it has ended."""
        if not self._is_nested:
            return number
        with contextlib.suppress(OSError):
            for task in (self._process / "task").iterdir():
                if self.inside(int(task.name)) == number:
                    return int(task.name)
        return 0
