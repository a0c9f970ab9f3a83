"""Reads /proc, /sys and /etc below a root directory, which a test may replace."""

from glob import glob
from pathlib import Path


class Tree:
    """The system files of a machine, by absolute names. root: the directory that stands for `/`."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Return the file's path on this machine."""
        return self.root / name.lstrip("/")

    def text(self, name: str) -> str | None:
        """Return the file's text without surrounding space; None if it is absent or unreadable."""
        try:
            return self.path(name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        """Return the integer in a file; None if it contains none."""
        try:
            return int(self.text(name) or "")
        except ValueError:
            return None

    def exists(self, name: str) -> bool:
        """Return whether a file of that name exists, readable or not."""
        return self.path(name).exists()

    def match(self, pattern: str) -> list[str]:
        """Return the absolute names that match a glob pattern, sorted."""
        # Path.glob fails with ESRCH where a process ends between its directory and its file.
        names = glob(pattern.lstrip("/"), root_dir=self.root)  # noqa: PTH207
        return sorted(f"/{name}" for name in names)


def numbers_of(listed: str | None) -> set[int]:
    """Return the numbers of a list such as `0-3,8`, the kernel's format for processors and nodes.
    Malformed parts are skipped."""
    numbers: set[int] = set()
    for part in (listed or "").split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            numbers.update(range(int(first), int(last or first) + 1))
    return numbers
