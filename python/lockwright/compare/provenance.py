"""On what, with what and how a comparison was measured."""

import os
import platform
from pathlib import Path
from typing import Any

from lockwright import version

MUST_MATCH = ("lockwright", "machine", "cpu", "cpus", "kernel", "libc")
"""Facts that must be the same when a comparison is resumed: else its runs do not compare."""


def gather(program: Path, libraries: Path) -> dict[str, Any]:
    """Facts about the machine and the program; a fact that cannot be had is left out."""
    facts: dict[str, Any] = {
        "lockwright": version(),
        "machine": platform.machine(),
        "cpu": _cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "numa nodes": _numa_nodes(),
        "memory (GiB)": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "governor": _line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "kernel": platform.release(),
        "system": _system(),
        "libc": os.confstr("CS_GNU_LIBC_VERSION"),
        "program": str(program.resolve()),
        "libraries": str(libraries),
    }
    for name, value in sorted(os.environ.items()):
        if name.startswith("LOCKWRIGHT_"):
            facts[name] = value
    return {name: value for name, value in facts.items() if value not in (None, "")}


def _line(path: str) -> str | None:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def _cpu_model() -> str | None:
    for line in (_line("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.processor() or None


def _numa_nodes() -> int | None:
    nodes = list(Path("/sys/devices/system/node").glob("node[0-9]*"))
    return len(nodes) or None


def _system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
