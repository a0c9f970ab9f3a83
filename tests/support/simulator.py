"""Runs of lockwright-simulate on machines like A-64."""

import os
import subprocess
from pathlib import Path

from lockwright.run import tools
from lockwright.simulate import machine

from support.processes import captured

#: Packages, caches and cores in a cache, by number of processors.
SIZES = {1: (1, 1, 1), 2: (1, 1, 2), 64: (4, 8, 2), 512: (8, 32, 2)}


def machine_file(folder: Path, processors: int = 64, keep_ps: int = 0) -> Path:
    """Write a machine like A-64 of another size. keep_ps: its line.keep_ns, in picoseconds."""
    packages, per_package, cores = SIZES[processors]
    changed = {
        "packages": packages,
        "nodes_per_package": 2 if processors > 2 else 1,
        "caches_per_node": per_package // 2 if processors > 2 else 1,
        "cores_per_cache": cores,
        "keep": keep_ps,
    }
    lines = []
    for line in machine.load("a-64").simulator_input().splitlines():
        name = line.split()[0]
        if name in changed:
            line = f"{name} {changed[name]}"
        if name != "two_hops" or processors == 64:
            lines.append(line)
    path = folder / "machine"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(path: Path, *words: str, program: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the simulator, or another build of it, on the machine of a file."""
    simulator = program or tools.find("lockwright-simulate", "simulating")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKWRIGHT_")}
    return captured([simulator, "run", "--machine", path, *words], timeout=300, env=environment)
