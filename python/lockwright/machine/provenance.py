"""Facts about the measured program, the machine and the tools."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lockwright import version
from lockwright.machine.finding import ABSENT, WARN, Finding
from lockwright.machine.procfs import Tree

MUST_MATCH = ("lockwright", "revision", "machine", "cpu", "cpus", "kernel", "libc")
"""Facts that must be equal to resume a comparison: else its runs are not comparable."""

FINDINGS = "findings"
"""Key of the findings of `lockwright doctor` before the first run."""


def machine() -> dict[str, Any]:
    """Return the known facts about the machine and the build of the locks."""
    from lockwright.machine import processors

    tree = Tree()
    facts: dict[str, Any] = {
        "lockwright": version(),
        "revision": revision(),
        "machine": platform.machine(),
        "cpu": cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "numa nodes": len(processors.nodes(tree)) or None,
        "memory (GiB)": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "kernel": platform.release(),
        "system": _system(),
        "libc": libc(),
        "compiler": compiler(),
    }
    return {name: value for name, value in facts.items() if value not in (None, "")}


def gather(program: Path, libraries: Path) -> dict[str, Any]:
    """Return facts about the machine, the compared program and the environment."""
    environment = {k: v for k, v in sorted(os.environ.items()) if k.startswith("LOCKWRIGHT_")}
    facts = {"program": str(program.resolve()), "libraries": str(libraries)}
    return machine() | facts | environment


def printable(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return facts as text for a report, with the findings that are warnings or absent."""
    texts = {name: str(value) for name, value in facts.items() if name != FINDINGS}
    for level in (WARN, ABSENT):
        findings = [
            f"{each['name']} ({each['found']})"
            for each in facts.get(FINDINGS, ())
            if each["level"] == level
        ]
        if findings:
            texts[f"lockwright doctor: {level}"] = "; ".join(findings)
    return texts


def as_facts(findings: list[Finding]) -> list[dict[str, str]]:
    """Return findings in their stored form."""
    return [vars(each) for each in findings]


def cpu_model() -> str:
    """Return the processor's name, or else its architecture."""
    for line in (Tree().text("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "cpu model"):
            return value.strip()
    return platform.processor() or platform.machine()


def libc() -> str | None:
    """Return the C library and its version, such as `glibc 2.36`, or None."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        return None


def revision() -> str | None:
    """Return the git revision of the libraries; None if they were built without git."""
    from lockwright.preload import locks

    return Tree(locks.directory()).text("/revision")


def compiler() -> str | None:
    """Return the compiler recorded in the baseline's library; None if there is none."""
    from lockwright.base.errors import LockwrightError
    from lockwright.elf.file import load
    from lockwright.preload import locks

    try:
        library = locks.registry().path_of(locks.BASELINE)
    except LockwrightError:
        return None
    words = load(library).section(".comment").split(b"\0")
    names = [word.decode(errors="replace") for word in words if word]
    # The C library's start-up files also record the compiler of the distribution.
    return "; ".join(dict.fromkeys(names)) or None


def _system() -> str | None:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME")
    except OSError:
        return None
