"""Made-up machines: files of /proc and /sys in a directory."""

from collections.abc import Mapping
from pathlib import Path

from lockwright.machine.procfs import Tree

CPU = "/sys/devices/system/cpu"
POWERCAP = "/sys/class/powercap"


def make(root: Path, files: Mapping[str, object]) -> Tree:
    """Write each value to its file, with a newline as the kernel does, and return the tree."""
    for name, value in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    return Tree(root)


def unreadable(root: Path, name: str) -> None:
    """Make a directory in place of the file, so that even root cannot read it."""
    (root / name.lstrip("/")).mkdir(parents=True)


def processors(cores: int, threads: int = 1) -> dict[str, object]:
    """Return the files of cores with so many threads each, numbered first threads first."""
    files: dict[str, object] = {f"{CPU}/online": f"0-{cores * threads - 1}"}
    for processor in range(cores * threads):
        shared = ",".join(str(processor % cores + cores * thread) for thread in range(threads))
        files[f"{CPU}/cpu{processor}/topology/core_cpus_list"] = shared
        files[f"{CPU}/cpu{processor}/topology/physical_package_id"] = 0
    files["/proc/self/status"] = f"Name:\tx\nCpus_allowed_list:\t0-{cores * threads - 1}"
    return files


def zone(number: str, name: str, microjoules: int, range_: int) -> dict[str, object]:
    """Return the files of a RAPL domain, as powercap shows it."""
    folder = f"{POWERCAP}/intel-rapl:{number}"
    return {
        f"{folder}/name": name,
        f"{folder}/energy_uj": microjoules,
        f"{folder}/max_energy_range_uj": range_,
    }
