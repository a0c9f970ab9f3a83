"""RAPL by the files of the kernel's powercap class: microjoules in /sys/class/powercap."""

from functools import partial
from pathlib import Path

from lockwright.machine.energy.domain import KINDS, Domain
from lockwright.machine.procfs import Tree

FOLDER = "/sys/class/powercap"


def find(tree: Tree) -> tuple[list[Domain], dict[str, str]]:
    """Return the readable domains, and the reasons for the others, by name. Zones of
    `intel-rapl-mmio` are left out: they count the same packages again."""
    domains, refused = [], {}
    for zone in tree.match(f"{FOLDER}/intel-rapl:*"):
        name = tree.text(f"{zone}/name") or ""
        kind = name.partition("-")[0]
        if kind not in KINDS:
            continue
        parent = Path(zone).name.rpartition(":")[0]
        if kind not in ("package", "psys"):
            name = f"{name} of {tree.text(f'{FOLDER}/{parent}/name') or parent}"
        file = tree.path(f"{zone}/energy_uj")
        try:
            _count(file)
        except OSError as error:
            refused[name] = error.strerror or str(error)
            continue
        range_ = tree.number(f"{zone}/max_energy_range_uj")
        if not range_:
            refused[name] = "its range is unknown (max_energy_range_uj)"
            continue
        domains.append(Domain(kind, name, "powercap", 1e-6, range_, partial(_count, file)))
    return domains, refused


def _count(file: Path) -> int:
    try:
        return int(file.read_text(encoding="ascii"))
    except ValueError as error:
        raise OSError(5, "it contains no number") from error
