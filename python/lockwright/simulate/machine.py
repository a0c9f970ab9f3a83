"""The description of a machine: a TOML file, checked, and what the simulator is given of it."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError

PAGE = "docs/simulation.md"

_BUILT_IN = Path(__file__).parent / "machines"

_SHAPE = ("packages", "nodes_per_package", "caches_per_node", "cores_per_cache", "threads_per_core")

_LEVELS = ("core", "cache", "node", "package", "far", "two_hops")
"""How far two cores are apart, as src/simulate/machine.hpp counts it."""

_MOST_PROCESSORS = 1024

_FIGURES: dict[str, dict[str, str]] = {
    "clock": {"ghz": ""},
    "hit": {"load_cycles": "load_hit", "store_cycles": "store_hit", "rmw_cycles": "rmw_hit"},
    "line": {
        "shared_read_ns": "shared_read",
        "invalidate_ns": "invalidate",
        "request_share": "request",
        "jitter_share": "jitter",
        "directory": "directory",
        "nearest_first": "nearest_first",
        "migratory": "migratory",
        "store_buffer": "store_buffer",
    },
    "wait": {"pause_cycles": "pause", "turn_cycles": "turn", "clock_ns": "clock_read"},
    "hybrid": {"slow_cores": "slow_cores", "slow_share": "slow_work"},
    "smt": {"busy_share": "smt_busy", "pausing_share": "smt_pausing"},
    "data": {
        "cache_mib": "cache_bytes",
        "cache_ns": "cache_read",
        "of_node": "data_by_node",
        "tlb_pages": "tlb_pages",
        "tlb_miss_ns": "tlb_miss",
    },
    "kernel": {
        "sleep_ns": "futex_sleep",
        "wake_ns": "futex_wake",
        "miss_ns": "futex_miss",
        "bucket_ns": "futex_bucket",
        "wake_in_bucket": "wake_in_bucket",
        "wake_latency_ns": "wake_latency",
        "interrupt_ns": "interrupt",
        "interrupt_latency_ns": "interrupt_latency",
        "idle_depth_us": "idle_depth",
        "idle_exit_us": "idle_exit",
        "switch_ns": "switch_thread",
        "yield_ns": "yield",
        "membarrier_ns": "membarrier",
        "slice_us": "slice",
        "period_us": "period",
        "wake_preempts_us": "wake_preempts",
        "migration_ns": "migration",
    },
    "energy": {
        "running_watts": "watts_running",
        "pausing_watts": "watts_pausing",
        "idle_watts": "watts_idle",
        "deep_watts": "watts_deep",
        "base_watts": "watts_base",
    },
    "model": {
        "skip_polls": "skip_polls",
        "work_jitter_share": "work_jitter",
        "kernel_jitter_share": "kernel_jitter",
    },
}
"""Each section's figures, and their names for the simulator."""

_OPTIONAL: dict[str, dict[str, float]] = {
    "smt": {"smt.busy_share": 1.0, "smt.pausing_share": 1.0},
    "hybrid": {"hybrid.slow_cores": 0.0, "hybrid.slow_share": 1.0},
}
"""Sections that a machine may lack, with what their figures are then: `smt` if a core has one
hardware thread, `hybrid` if all cores are equally fast."""

_DEFAULTS = {"kernel.interrupt_ns": 0.0, "kernel.interrupt_latency_ns": 0.0, "line.migratory": 0.0}
"""Figures that a file may leave out, with their values then."""

_ACCESSES = ("load", "store", "rmw")

_TABLES = (*_ACCESSES, "memory")
"""Sections of costs by distance."""


@dataclass(frozen=True)
class Machine:
    """A machine that can be simulated.

    name: as the user called it. title: what it is. figures: each one's name in the file, as
    `kernel.wake_ns`, and its value. sources: of each section. ranges: the lowest and the highest
    value of those figures that the file gives as a range; their value is the middle.
    """

    name: str
    title: str
    figures: Mapping[str, float]
    two_hops: tuple[tuple[int, int], ...]
    sources: Mapping[str, str]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def processors(self) -> int:
        """Hardware threads."""
        return math.prod(int(self.figures[f"shape.{name}"]) for name in _SHAPE)

    @property
    def nodes(self) -> int:
        """NUMA nodes."""
        return int(self.figures["shape.packages"] * self.figures["shape.nodes_per_package"])

    def ends(self) -> list[tuple[str, "Machine"]]:
        """The machine with each range at its lowest and at its highest value, the other figures
        unchanged; each with its label, as `kernel.wake_ns = 1200`.

        The costs of loads, stores and read-modify-writes over one distance change together.
        """
        groups: dict[str, list[str]] = {}
        for name in self.ranges:
            section, _, figure = name.partition(".")
            groups.setdefault(figure if section in _ACCESSES else name, []).append(name)
        found = []
        for names in groups.values():
            for end in (0, 1):
                values = {name: self.ranges[name][end] for name in names}
                label = ", ".join(f"{name} = {value:g}" for name, value in values.items())
                found.append((label, replace(self, figures={**self.figures, **values})))
        return found

    def text(self) -> str:
        """The file that the simulator reads: whole numbers, picoseconds and microwatts."""
        lines = [f"{name} {int(self.figures[f'shape.{name}'])}" for name in _SHAPE]
        cycle = 1000 / self.figures["clock.ghz"]
        lines.append(f"cycle {round(cycle)}")
        for section, known in _FIGURES.items():
            for name, given in known.items():
                if given:
                    value = self.figures[f"{section}.{name}"]
                    lines.append(f"{given} {_whole(name, value, cycle)}")
        own = {"load": "hit.load_cycles", "store": "hit.store_cycles", "rmw": "hit.rmw_cycles"}
        for table in _TABLES:
            # A level that the machine does not have costs what the one before it does.
            cost = self.figures[own[table]] * cycle / 1000 if table in own else 0.0
            costs = []
            for level in _LEVELS:
                cost = self.figures.get(f"{table}.{level}_ns", cost)
                costs.append(cost)
            if table == "memory":
                costs[:2] = [costs[2], costs[2]]
            lines.append(" ".join([table, *(str(round(1000 * cost)) for cost in costs)]))
        lines += [f"two_hops {a} {b}" for a, b in self.two_hops]
        return "\n".join(lines) + "\n"


def _whole(name: str, value: float, cycle: float) -> int:
    unit = name.rpartition("_")[2]
    factor = {
        "ns": 1e3,
        "us": 1e6,
        "cycles": cycle,
        "share": 1e3,
        "mib": 2**20,
        "watts": 1e6,
    }.get(unit, 1.0)
    return round(value * factor)


def known() -> list[str]:
    """The machines that come with Lockwright."""
    return sorted(
        path.stem
        for path in _BUILT_IN.glob("*.toml")
        if "shape" in tomllib.loads(path.read_text(encoding="utf-8"))
    )


def load(name: str) -> Machine:
    """A machine of ours, or of a file. Raises LockwrightError for whatever is wrong with it."""
    path = _path(name)
    document = _merged(path, [])
    where = path.name if path.parent == _BUILT_IN else str(path)
    return _checked(name if path.parent == _BUILT_IN else path.stem, document, where)


def _path(name: str, beside: Path | None = None) -> Path:
    if "/" in name or name.endswith(".toml"):
        path = Path(name) if beside is None else beside.parent / name
    else:
        path = _BUILT_IN / f"{name}.toml"
    if not path.is_file():
        if path.parent == _BUILT_IN:
            near = get_close_matches(name, known(), n=1)
            todo = f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(known())}"
            raise LockwrightError(f"no machine is named '{name}'", todo)
        raise LockwrightError(f"there is no file '{path}'", "check the path of the machine")
    return path


def _merged(path: Path, seen: list[Path]) -> dict[str, Any]:
    """The file over the one that it says it is like."""
    path = path.resolve()
    if path in seen:
        circle = " -> ".join(one.name for one in [*seen[seen.index(path) :], path])
        raise LockwrightError(f"the machine is like itself: {circle}", "take one 'like' out")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LockwrightError(f"{path.name} is no TOML: {error}", "correct it there") from error
    like = document.pop("like", None)
    if like is None:
        return document
    if not isinstance(like, str):
        raise LockwrightError(f"{path.name}: 'like' is no name", "name a machine or a file")
    below = _merged(_path(like, path), [*seen, path])
    merged = {**below, **document}
    for name, section in below.items():
        if isinstance(section, dict) and isinstance(document.get(name), dict):
            merged[name] = {**section, **document[name]}
    return merged


def _checked(name: str, document: Mapping[str, Any], where: str) -> Machine:
    sections: dict[str, tuple[str, ...]] = {"shape": (*_SHAPE, "two_hops")}
    sections |= {section: tuple(known) for section, known in _FIGURES.items()}
    sections |= {table: tuple(f"{level}_ns" for level in _LEVELS[1:]) for table in _TABLES}
    _refuse_unknown(document, {"title", *sections}, where, "section")
    title = document.get("title")
    if not isinstance(title, str):
        raise LockwrightError(f"{where}: 'title' is missing", "say what the machine is")
    figures: dict[str, float] = dict(_DEFAULTS)
    ranges: dict[str, tuple[float, float]] = {}
    sources = {}
    pairs: tuple[tuple[int, int], ...] = ()
    for section, names in sections.items():
        given = document.get(section)
        if not isinstance(given, dict):
            if section == "hybrid" or (section == "smt" and figures["shape.threads_per_core"] == 1):
                figures |= _OPTIONAL[section]
                continue
            raise LockwrightError(f"{where}: section [{section}] is missing", f"see {PAGE}")
        _refuse_unknown(given, {"source", *names}, f"{where}: [{section}]", "figure")
        if not isinstance(given.get("source"), str):
            raise LockwrightError(
                f"{where}: [{section}] has no 'source'", "say where its figures are from"
            )
        sources[section] = given["source"]
        for figure, value in given.items():
            if figure == "two_hops":
                pairs = _pairs(value, where)
            elif isinstance(value, list) and section != "shape":
                low, high = _range(value, f"{where}: {section}.{figure}")
                ranges[f"{section}.{figure}"] = (low, high)
                figures[f"{section}.{figure}"] = (low + high) / 2
            elif figure != "source":
                figures[f"{section}.{figure}"] = _number(value, f"{where}: {section}.{figure}")
        if section == "shape":
            _check_shape(figures, where)
        _require(section, names, figures, bool(pairs), where)
    _check_values(figures, pairs, where)
    machine = Machine(name, title, figures, pairs, sources, ranges)
    for _, end in machine.ends():
        _check_values(end.figures, pairs, where)
    return machine


def _refuse_unknown(given: Mapping[str, Any], known: set[str], where: str, what: str) -> None:
    for key in given:
        if key not in known:
            near = get_close_matches(key, sorted(known), n=1)
            todo = f"did you mean '{near[0]}'?" if near else f"{PAGE} lists them"
            raise LockwrightError(f"{where}: there is no {what} '{key}'", todo)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise LockwrightError(f"{where} is no number from 0 up", "give one")
    return float(value)


def _range(value: list[object], where: str) -> tuple[float, float]:
    ends = [_number(end, where) for end in value if not isinstance(end, bool)]
    if len(ends) != 2 or len(value) != 2 or ends[0] >= ends[1]:
        raise LockwrightError(
            f"{where} is no range", "write [low, high] with two numbers, the lower one first"
        )
    return ends[0], ends[1]


def _pairs(value: object, where: str) -> tuple[tuple[int, int], ...]:
    good = isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
        for pair in value
    )
    if not good:
        raise LockwrightError(
            f"{where}: shape.two_hops is no list of pairs of nodes", "write [[0, 3], [1, 2]]"
        )
    assert isinstance(value, list)
    return tuple((int(a), int(b)) for a, b in value)


def _check_shape(figures: Mapping[str, float], where: str) -> None:
    for name in _SHAPE:
        value = figures.get(f"shape.{name}")
        if value is None:
            raise LockwrightError(f"{where}: shape.{name} is missing", "give a whole number")
        if value != int(value) or value < 1:
            if name == "cores_per_cache":
                raise LockwrightError(
                    f"{where}: shape.{name} is {value:g}, so there are more nodes than processors",
                    "give each node at least one core",
                )
            raise LockwrightError(f"{where}: shape.{name} is {value:g}", "give 1 or more")
    processors = math.prod(int(figures[f"shape.{name}"]) for name in _SHAPE)
    if processors > _MOST_PROCESSORS:
        raise LockwrightError(
            f"{where}: the machine has {processors} processors",
            f"at most {_MOST_PROCESSORS} can be simulated",
        )


def _require(
    section: str, names: tuple[str, ...], figures: Mapping[str, float], hops: bool, where: str
) -> None:
    """Every figure of the section is there that the machine's shape asks for."""
    asked: Mapping[str, bool] = dict.fromkeys(names, True)
    if section == "shape":
        return
    if section in _TABLES:
        shape = {name: figures[f"shape.{name}"] > 1 for name in _SHAPE}
        asked = {
            "cache_ns": shape["cores_per_cache"] and section != "memory",
            "node_ns": shape["caches_per_node"] or section == "memory",
            "package_ns": shape["nodes_per_package"],
            "far_ns": shape["packages"],
            "two_hops_ns": hops,
        }
    for name, needed in asked.items():
        if needed and f"{section}.{name}" not in figures:
            raise LockwrightError(
                f"{where}: {section}.{name} is missing", "measure it, or give an estimate"
            )


def _check_values(
    figures: Mapping[str, float], pairs: tuple[tuple[int, int], ...], where: str
) -> None:
    if figures["clock.ghz"] == 0:
        raise LockwrightError(f"{where}: clock.ghz is 0", "give the frequency")
    for name in (
        "line.request_share",
        "line.jitter_share",
        "model.work_jitter_share",
        "model.kernel_jitter_share",
    ):
        if figures[name] >= 1:
            raise LockwrightError(f"{where}: {name} is {figures[name]:g}", "give less than 1")
    for name in ("smt.busy_share", "smt.pausing_share"):
        if figures[name] < 1:
            raise LockwrightError(
                f"{where}: {name} is {figures[name]:g}", "it is a factor of time: give 1 or more"
            )
    if figures["hybrid.slow_share"] < 1:
        raise LockwrightError(
            f"{where}: hybrid.slow_share is {figures['hybrid.slow_share']:g}",
            "it is a factor of time: give 1 or more",
        )
    cores = math.prod(int(figures[f"shape.{name}"]) for name in _SHAPE[:-1])
    slow = figures["hybrid.slow_cores"]
    if slow != int(slow) or slow > cores:
        raise LockwrightError(
            f"{where}: hybrid.slow_cores is {slow:g}, and there are {cores} cores",
            "give a whole number of them",
        )
    if figures["kernel.slice_us"] == 0:
        raise LockwrightError(f"{where}: kernel.slice_us is 0", "give the time slice")
    nodes = int(figures["shape.packages"] * figures["shape.nodes_per_package"])
    for pair in pairs:
        if max(pair) >= nodes or min(pair) < 0 or pair[0] == pair[1]:
            raise LockwrightError(
                f"{where}: shape.two_hops has {list(pair)}, and the nodes are 0 to {nodes - 1}",
                "name two of them",
            )
