"""Debian's packages of programs: which of them are here, and how the others get here."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from lockwright.base import tool
from lockwright.base.errors import LockwrightError
from lockwright.study.program.entry import Program


def installed(packages: Sequence[str]) -> set[str]:
    """Those of them that dpkg has installed; none where there is no dpkg."""
    if not packages or shutil.which("dpkg-query") is None:
        return set()
    query = ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *packages]
    rows = (line.split() for line in tool.call(query).output.splitlines())
    return {row[0] for row in rows if row[1:] == ["installed"]}


def commands(packages: Sequence[str]) -> list[list[str]]:
    """What installs packages, command by command.

    Raises LockwrightError where that cannot be done: no apt-get, or neither root nor sudo.
    """
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
    # Servers that a package would start with the system would disturb every measurement.
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1"]
    apt = [*as_root, *quiet, "apt-get", "-o", "DPkg::Lock::Timeout=300"]
    return [[*apt, "update"], [*apt, "install", "-y", "--no-install-recommends", *packages]]


def install(packages: Sequence[str]) -> None:
    """Installs packages; what apt-get prints is seen. Raises LockwrightError if it cannot."""
    update, last = commands(packages)
    # Lists that cannot be refreshed are no failure yet: the packages may be known already.
    subprocess.run(update, check=False)
    if subprocess.run(last, check=False).returncode != 0:
        raise LockwrightError(
            f"apt-get could not install {' '.join(packages)}",
            "see what it printed above; is there a network?",
        )


def how_to_get(programs: Sequence[Program]) -> str:
    """How programs that are not here get here."""
    packages = dict.fromkeys(word for each in programs for word in each.packages)
    ways = [f"apt-get install {' '.join(packages)}"] if packages else []
    ways += [f"needs {each.install}" for each in programs if each.install and not each.packages]
    return "; ".join(ways)
