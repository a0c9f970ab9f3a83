"""The formats of profiles, by file name."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lockwright.base import files
from lockwright.base.errors import LockwrightError
from lockwright.export import firefox, folded, pprof
from lockwright.profile.record import Profile


def _html(profile: Profile) -> str:
    from lockwright.export import page

    return page.render(profile)


@dataclass(frozen=True)
class Format:
    """A format: the endings of its files, the program that opens them, and its converter."""

    endings: tuple[str, ...]
    opened_by: str
    convert: Callable[[Profile], str | bytes]


FORMATS = {
    "html": Format((".html", ".htm"), "any browser", _html),
    "firefox": Format((".firefox.json",), "https://profiler.firefox.com", firefox.firefox_json),
    "pprof": Format((".pb.gz", ".pprof"), "go tool pprof", pprof.pprof_bytes),
    "folded": Format((".folded", ".collapsed"), "flamegraph.pl", folded.folded_stacks),
}


def format_of(path: Path) -> str:
    """Return the format of a file by its ending. Raises LockwrightError if it is unknown."""
    for name, form in FORMATS.items():
        if path.name.lower().endswith(form.endings):
            return name
    endings = ", ".join(form.endings[0] for form in FORMATS.values())
    raise LockwrightError(
        f"the name {path.name} does not say which format is wanted",
        f"choose one with --format, or let the name end in one of {endings}",
    )


def write(profile: Profile, path: Path, name: str, option: str = "-o") -> None:
    """Write a profile to a file in the format of that name. Raises LockwrightError on failure."""
    files.write(path, FORMATS[name].convert(profile), option)
