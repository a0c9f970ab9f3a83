"""The description of a simulated machine: a checked TOML file, and the simulator's input."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lockwright.base import extensions
from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.simulate import measurement

PAGE = "docs/lab/simulation.md"

_BUILT_IN = Path(__file__).parent / "machines"


def _folders() -> list[Path]:
    """Return the folders of machines that have a name."""
    return [_BUILT_IN, *extensions.added(extensions.MACHINES).values()]


_LONGEST_NAME = 4096
"""Characters of a path, as the kernel limits it."""

_SHAPE = ("packages", "nodes_per_package", "caches_per_node", "cores_per_cache", "threads_per_core")

_LEVELS = ("core", "cache", "node", "package", "far", "two_hops")
"""Distances between two cores, as in src/simulate/machine.hpp."""

_MOST_PROCESSORS = 1024

_FIGURES: dict[str, dict[str, str]] = {
    "clock": {"ghz": ""},
    "hit": {"load_cycles": "load_hit", "store_cycles": "store_hit", "rmw_cycles": "rmw_hit"},
    "call": {"least_ns": "call"},
    "line": {
        "shared_read_ns": "shared_read",
        "invalidate_ns": "invalidate",
        "request_share": "request",
        "jitter_share": "jitter",
        "directory": "directory",
        "nearest_first": "nearest_first",
        "keep_ns": "keep",
        "migratory": "migratory",
        "store_buffer": "store_buffer",
    },
    "wait": {"pause_cycles": "pause", "turn_cycles": "turn", "clock_ns": "clock_read"},
    "hybrid": {"slow_cores": "slow_cores", "slow_share": "slow_work"},
    "smt": {"busy_share": "smt_busy", "pausing_share": "smt_pausing"},
    "data": {
        "cache_mib": "cache_bytes",
        "cache_ns": "cache_read",
        "miss_ns": "cache_miss",
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
        "tick_us": "tick",
        "fair": "fair",
        "migration_ns": "migration",
        "cache_hot_us": "cache_hot",
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
"""The figures of each section, and their names in the simulator's input."""

_OPTIONAL: dict[str, dict[str, float]] = {
    "smt": {"smt.busy_share": 1.0, "smt.pausing_share": 1.0},
    "hybrid": {"hybrid.slow_cores": 0.0, "hybrid.slow_share": 1.0},
    "call": {"call.least_ns": 0.0},
}
"""The default figures of optional sections: `smt` if a core has one hardware thread, `hybrid`,
`call`."""

_DEFAULTS = {
    "kernel.interrupt_ns": 0.0,
    "kernel.interrupt_latency_ns": 0.0,
    "kernel.tick_us": 0.0,
    "kernel.fair": 0.0,
    "kernel.cache_hot_us": 0.0,
    "line.keep_ns": 0.0,
    "line.migratory": 0.0,
}
"""The default values of optional figures."""

_SUBSTITUTES = {"data.miss_ns": "memory.node_ns"}
"""Figures that are optional, too, and those whose values they have by default."""

_ACCESSES = ("load", "store", "rmw")

_TABLES = (*_ACCESSES, "memory")
"""Sections of costs by distance."""


@dataclass(frozen=True)
class Machine:
    """A simulated machine. figures: values by names such as `kernel.wake_ns`. sources: of each
    section's figures. ranges: the lowest and the highest value of the figures that are ranges;
    `figures` has their middle."""

    name: str
    title: str
    figures: Mapping[str, float]
    two_hops: tuple[tuple[int, int], ...]
    sources: Mapping[str, str]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def processors(self) -> int:
        """The number of hardware threads."""
        return math.prod(int(self.figures[f"shape.{name}"]) for name in _SHAPE)

    @property
    def nodes(self) -> int:
        return int(self.figures["shape.packages"] * self.figures["shape.nodes_per_package"])

    @property
    def cores(self) -> int:
        return self.processors // int(self.figures["shape.threads_per_core"])

    def with_nodes(self, nodes: int) -> "Machine":
        """Return the part of the machine with its first nodes, from 1 to all. A package that would
        be cut is whole, unless it is the only one."""
        of_package = int(self.figures["shape.nodes_per_package"])
        shape = {
            "shape.packages": float(math.ceil(nodes / of_package)),
            "shape.nodes_per_package": float(min(nodes, of_package)),
        }
        part = replace(self, figures={**self.figures, **shape})
        return replace(part, two_hops=tuple(p for p in self.two_hops if max(p) < part.nodes))

    def range_ends(self) -> list[tuple[str, "Machine"]]:
        """Return the machine at the lowest and the highest value of each range, with labels such as
        `kernel.wake_ns = 1200`. The costs of all accesses over one distance change together."""
        groups: dict[str, list[str]] = {}
        for name in self.ranges:
            section, _, figure = name.partition(".")
            groups.setdefault(figure if section in _ACCESSES else name, []).append(name)
        machines = []
        for names in groups.values():
            for end in (0, 1):
                values = {name: self.ranges[name][end] for name in names}
                label = ", ".join(f"{name} = {value:g}" for name, value in values.items())
                machines.append((label, replace(self, figures={**self.figures, **values})))
        return machines

    def simulator_input(self) -> str:
        """Return the text that the simulator reads: integers, picoseconds and microwatts."""
        lines = [f"{name} {int(self.figures[f'shape.{name}'])}" for name in _SHAPE]
        cycle = 1000 / self.figures["clock.ghz"]
        lines.append(f"cycle {round(cycle)}")
        for section, input_names in _FIGURES.items():
            for name, input_name in input_names.items():
                if input_name:
                    figure = f"{section}.{name}"
                    if figure not in self.figures:
                        figure = _SUBSTITUTES[figure]
                    value = self.figures[figure]
                    lines.append(f"{input_name} {_in_input_unit(name, value, cycle)}")
        hits = {"load": "hit.load_cycles", "store": "hit.store_cycles", "rmw": "hit.rmw_cycles"}
        for table in _TABLES:
            # A level that the machine does not have costs as much as the level before it.
            cost = self.figures[hits[table]] * cycle / 1000 if table in hits else 0.0
            costs = []
            for level in _LEVELS:
                cost = self.figures.get(f"{table}.{level}_ns", cost)
                costs.append(cost)
            if table == "memory":
                costs[:2] = [costs[2], costs[2]]
            lines.append(" ".join([table, *(str(round(1000 * cost)) for cost in costs)]))
        lines += [f"two_hops {a} {b}" for a, b in self.two_hops]
        return "\n".join(lines) + "\n"


def _in_input_unit(name: str, value: float, cycle: float) -> int:
    factors = {"ns": 1e3, "us": 1e6, "cycles": cycle, "share": 1e3, "mib": 2**20, "watts": 1e6}
    return round(value * factors.get(name.rpartition("_")[2], 1.0))


def built_in_names() -> list[str]:
    """Return the names of the machines that are part of Lockwright."""
    return sorted(
        path.stem
        for folder in _folders()
        for path in folder.glob("*.toml")
        if "shape" in tomllib.loads(path.read_text(encoding="utf-8"))
    )


def load(name: str) -> Machine:
    """Return a built-in machine, or that of a file. Raises LockwrightError if it is invalid."""
    path = _path(name)
    document = _merged(path, [])
    is_built_in = path.parent in _folders()
    label = path.name if is_built_in else str(path)
    return _checked(name if is_built_in else path.stem, document, label)


def _path(name: str, beside: Path | None = None) -> Path:
    if "/" in name or name.endswith(".toml"):
        path = Path(name) if beside is None else beside.parent / name
    else:
        files = [folder / f"{name}.toml" for folder in _folders()]
        path = next((file for file in files if _is_file(file)), files[0])
    if not _is_file(path):
        if path.parent == _BUILT_IN:
            hint = nearest_hint(name, built_in_names())
            raise LockwrightError(f"no machine is named '{name}'", hint)
        raise LockwrightError(f"there is no file '{path}'", "check the path of the machine")
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def _merged(path: Path, includers: list[Path]) -> dict[str, Any]:
    """Return the content of a file, merged over that of the machine which its `like` names."""
    path = path.resolve()
    if path in includers:
        circle = " -> ".join(file.name for file in [*includers[includers.index(path) :], path])
        raise LockwrightError(f"the machine is like itself: {circle}", "remove one 'like'")
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LockwrightError(f"{path.name} is not TOML: {error}", "correct it there") from error
    measurement.check(document, str(path))
    document.pop(measurement.KEY, None)
    like = document.pop("like", None)
    if like is None:
        return document
    if not isinstance(like, str) or len(like) > _LONGEST_NAME:
        raise LockwrightError(f"{path.name}: 'like' is not a name", "name a machine or a file")
    base = _merged(_path(like, path), [*includers, path])
    merged = {**base, **document}
    for name, section in base.items():
        if isinstance(section, dict) and isinstance(document.get(name), dict):
            merged[name] = {**section, **document[name]}
    return merged


def _checked(name: str, document: Mapping[str, Any], label: str) -> Machine:
    sections: dict[str, tuple[str, ...]] = {"shape": (*_SHAPE, "two_hops")}
    sections |= {section: tuple(names) for section, names in _FIGURES.items()}
    sections |= {table: tuple(f"{level}_ns" for level in _LEVELS[1:]) for table in _TABLES}
    _check_keys(document, {"title", *sections}, label, "section")
    title = document.get("title")
    if not isinstance(title, str):
        raise LockwrightError(f"{label}: 'title' is missing", "describe the machine in a line")
    figures: dict[str, float] = dict(_DEFAULTS)
    ranges: dict[str, tuple[float, float]] = {}
    sources = {}
    pairs: tuple[tuple[int, int], ...] = ()
    for section, names in sections.items():
        table = document.get(section)
        if not isinstance(table, dict):
            if section in ("hybrid", "call") or (
                section == "smt" and figures["shape.threads_per_core"] == 1
            ):
                figures |= _OPTIONAL[section]
                continue
            raise LockwrightError(f"{label}: section [{section}] is missing", f"see {PAGE}")
        _check_keys(table, {"source", *names}, f"{label}: [{section}]", "figure")
        if not isinstance(table.get("source"), str):
            raise LockwrightError(
                f"{label}: [{section}] has no 'source'", "name the source of its figures"
            )
        sources[section] = table["source"]
        for figure, value in table.items():
            if figure == "two_hops":
                pairs = _pairs(value, label)
            elif isinstance(value, list) and section != "shape":
                low, high = _range(value, f"{label}: {section}.{figure}")
                ranges[f"{section}.{figure}"] = (low, high)
                figures[f"{section}.{figure}"] = (low + high) / 2
            elif figure != "source":
                figures[f"{section}.{figure}"] = _number(value, f"{label}: {section}.{figure}")
        if section == "shape":
            _check_shape(figures, label)
        _require(section, names, figures, bool(pairs), label)
    _check_values(figures, pairs, label)
    machine = Machine(name, title, figures, pairs, sources, ranges)
    for _, end in machine.range_ends():
        _check_values(end.figures, pairs, label)
    return machine


def _check_keys(table: Mapping[str, Any], known: set[str], label: str, what: str) -> None:
    for key in table:
        if key not in known:
            hint = nearest_hint(key, sorted(known), f"{PAGE} lists them")
            raise LockwrightError(f"{label}: there is no {what} '{key}'", hint)


def _number(value: object, label: str) -> float:
    if isinstance(value, bool):
        return float(value)
    if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise LockwrightError(f"{label} is not a number from 0 up", "give a number")
    return float(value)


def _range(value: list[object], label: str) -> tuple[float, float]:
    ends = [_number(end, label) for end in value if not isinstance(end, bool)]
    if len(ends) != 2 or len(value) != 2 or ends[0] >= ends[1]:
        raise LockwrightError(
            f"{label} is not a range", "write [low, high] with two numbers, the lower one first"
        )
    return ends[0], ends[1]


def _pairs(value: object, label: str) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(type(node) is int for node in pair)
        for pair in value
    ):
        raise LockwrightError(
            f"{label}: shape.two_hops is not a list of pairs of nodes", "write [[0, 3], [1, 2]]"
        )
    return tuple((first, second) for first, second in value)


def _check_shape(figures: Mapping[str, float], label: str) -> None:
    for name in _SHAPE:
        value = figures.get(f"shape.{name}")
        if value is None:
            raise LockwrightError(f"{label}: shape.{name} is missing", "give a whole number")
        if value != int(value) or value < 1:
            if name == "cores_per_cache":
                raise LockwrightError(
                    f"{label}: shape.{name} is {value:g}, so there are more nodes than processors",
                    "give each node at least one core",
                )
            raise LockwrightError(f"{label}: shape.{name} is {value:g}", "give 1 or more")
    processors = math.prod(int(figures[f"shape.{name}"]) for name in _SHAPE)
    if processors > _MOST_PROCESSORS:
        raise LockwrightError(
            f"{label}: the machine has {processors} processors",
            f"at most {_MOST_PROCESSORS} can be simulated",
        )


def _require(
    section: str, names: tuple[str, ...], figures: Mapping[str, float], hops: bool, label: str
) -> None:
    """Check a section for the figures that the machine's shape requires."""
    required: Mapping[str, bool] = dict.fromkeys(names, True)
    if section == "shape":
        return
    if section in _TABLES:
        shape = {name: figures[f"shape.{name}"] > 1 for name in _SHAPE}
        required = {
            "cache_ns": shape["cores_per_cache"] and section != "memory",
            "node_ns": shape["caches_per_node"] or section == "memory",
            "package_ns": shape["nodes_per_package"],
            "far_ns": shape["packages"],
            "two_hops_ns": hops,
        }
    for name, is_required in required.items():
        figure = f"{section}.{name}"
        if is_required and figure not in figures and figure not in _SUBSTITUTES:
            raise LockwrightError(
                f"{label}: {section}.{name} is missing", "measure it, or give an estimate"
            )


def _check_values(
    figures: Mapping[str, float], pairs: tuple[tuple[int, int], ...], label: str
) -> None:
    if figures["clock.ghz"] == 0:
        raise LockwrightError(f"{label}: clock.ghz is 0", "give the frequency")
    for name in (
        "line.request_share",
        "line.jitter_share",
        "model.work_jitter_share",
        "model.kernel_jitter_share",
    ):
        if figures[name] >= 1:
            raise LockwrightError(f"{label}: {name} is {figures[name]:g}", "give less than 1")
    for name in ("smt.busy_share", "smt.pausing_share", "hybrid.slow_share"):
        if figures[name] < 1:
            raise LockwrightError(
                f"{label}: {name} is {figures[name]:g}", "it is a factor of time: give 1 or more"
            )
    cores = math.prod(int(figures[f"shape.{name}"]) for name in _SHAPE[:-1])
    slow = figures["hybrid.slow_cores"]
    if slow != int(slow) or slow > cores:
        raise LockwrightError(
            f"{label}: hybrid.slow_cores is {slow:g}, and there are {cores} cores",
            "give a whole number of them",
        )
    if figures["kernel.slice_us"] == 0:
        raise LockwrightError(f"{label}: kernel.slice_us is 0", "give the time slice")
    nodes = int(figures["shape.packages"] * figures["shape.nodes_per_package"])
    for pair in pairs:
        if max(pair) >= nodes or min(pair) < 0 or pair[0] == pair[1]:
            raise LockwrightError(
                f"{label}: shape.two_hops has {list(pair)}, and the nodes are 0 to {nodes - 1}",
                "name two of them",
            )
