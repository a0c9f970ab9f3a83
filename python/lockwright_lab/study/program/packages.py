"""The Debian packages of programs: which are installed, and how to install the others."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from lockwright.base import tool
from lockwright.base.errors import LockwrightError

from lockwright_lab.study.program.entry import Program


def installed(packages: Sequence[str]) -> set[str]:
    """Return the packages that dpkg has installed; none without dpkg."""
    if not packages or shutil.which("dpkg-query") is None:
        return set()
    query = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages]
    rows = (line.split() for line in tool.call(query).output.splitlines())
    return {row[0] for row in rows if row[1:] == ["installed"]}


def commands(packages: Sequence[str]) -> list[list[str]]:
    """Return the commands that install packages. Raises LockwrightError without apt-get, or with
    neither root nor sudo."""
    if shutil.which("apt-get") is None:
        raise LockwrightError(
            f"there is no apt-get here to install {' '.join(packages)}",
            "install what your distribution has in their place",
        )
    as_root = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None:
            raise LockwrightError(
                "installing packages takes root, and there is no sudo",
                f"as root, run: apt-get install {' '.join(packages)}",
            )
        as_root = ["sudo"]
    # RUNLEVEL=1: servers that packages start as services would disturb every measurement.
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"]
    apt = [*as_root, *quiet, "apt-get", "-o", "DPkg::Lock::Timeout=300"]
    return [[*apt, "update"], [*apt, "install", "-y", "--no-install-recommends", *packages]]


def install(packages: Sequence[str]) -> None:
    """Install packages, with the output of apt-get. Raises LockwrightError if that fails."""
    update, installation = commands(packages)
    # A failed update is not fatal yet: the packages may be known already.
    subprocess.run(update, check=False)
    if subprocess.run(installation, check=False).returncode != 0:
        raise LockwrightError(
            f"apt-get could not install {' '.join(packages)}",
            "see what it printed above; is there a network?",
        )


def how_to_get(programs: Sequence[Program]) -> str:
    """Return how to install missing programs, as text."""
    packages = dict.fromkeys(word for program in programs for word in program.packages)
    steps = [f"apt-get install {' '.join(packages)}"] if packages else []
    steps += [
        f"needs {program.install}"
        for program in programs
        if program.install and not program.packages
    ]
    return "; ".join(steps)
