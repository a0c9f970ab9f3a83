"""The description of a simulated machine: a checked TOML file, and the simulator's input."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lockwright.base import documents, extensions
from lockwright.base.documents import Table
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

_Number = Annotated[int, Meta(ge=1, le=_MOST_PROCESSORS)]
"""A number of parts of a part of the machine."""

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

_DEFAULTS = dict.fromkeys(
    (
        "kernel.interrupt_ns",
        "kernel.interrupt_latency_ns",
        "kernel.tick_us",
        "kernel.fair",
        "kernel.cache_hot_us",
        "line.keep_ns",
        "line.migratory",
    ),
    0.0,
)
"""The default values of optional figures."""

_SUBSTITUTES = {"data.miss_ns": "memory.node_ns"}
"""Figures that are optional, too, and those whose values they have by default."""

_ACCESSES = ("load", "store", "rmw")

_TABLES = (*_ACCESSES, "memory")
"""Sections of costs by distance."""


class _Shape(Table, frozen=True):
    """The section [shape]. two_hops: pairs of nodes that are two hops apart."""

    source: str
    packages: _Number
    nodes_per_package: _Number
    caches_per_node: _Number
    cores_per_cache: _Number
    threads_per_core: _Number
    two_hops: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        processors = self.cores * self.threads_per_core
        if processors > _MOST_PROCESSORS:
            raise ValueError(
                f"the machine has {processors} processors; at most {_MOST_PROCESSORS} can be"
                " simulated"
            )
        nodes = self.packages * self.nodes_per_package
        for pair in self.two_hops:
            if max(pair) >= nodes or min(pair) < 0 or pair[0] == pair[1]:
                raise ValueError(
                    f"two_hops has {list(pair)}, and the nodes are 0 to {nodes - 1}; name two of"
                    " them"
                )

    @property
    def cores(self) -> int:
        return math.prod(getattr(self, name) for name in _SHAPE[:-1])


def _figure(section: str = "", name: str = "") -> Any:
    """Return the type of a figure: a number, true or false, or a range."""
    limits = {"ge": 0.0, "lt": 1e18}
    if name.endswith("_share"):
        # Those of hardware threads and slow cores are factors of time.
        limits |= {"ge": 1.0} if section in _OPTIONAL else {"lt": 1.0}
    elif name in ("ghz", "slice_us"):
        limits = {"gt": 0.0, "lt": 1e18}
    elif name == "slow_cores":
        return Annotated[int, Meta(ge=0)]
    number = Annotated[float, Meta(**limits)]
    # A tuple of fixed length in a union with a limited number crashes msgspec.
    return number | bool | Annotated[tuple[number, ...], Meta(min_length=2, max_length=2)]


def _section(name: str) -> type[msgspec.Struct]:
    """Return the type of a section; None stands for a figure that is not given."""
    fields: list[Any] = [("source", str)]
    for figure in _FIGURES[name]:
        kind, key = _figure(name, figure), f"{name}.{figure}"
        is_optional = key in _DEFAULTS or key in _SUBSTITUTES
        fields.append((figure, kind | None, _DEFAULTS.get(key)) if is_optional else (figure, kind))
    return msgspec.defstruct(name, fields, bases=(Table,), frozen=True, kw_only=True)


_COSTS = msgspec.defstruct(
    "costs",
    [("source", str), *((f"{level}_ns", _figure() | None, None) for level in _LEVELS[1:])],
    bases=(Table,),
    frozen=True,
)

_SECTIONS = {name: _section(name) for name in _FIGURES} | dict.fromkeys(_TABLES, _COSTS)

_File = msgspec.defstruct(
    "machine",
    [
        ("title", str),
        ("shape", _Shape),
        *((name, kind) for name, kind in _SECTIONS.items() if name not in _OPTIONAL),
        *((name, _SECTIONS[name] | None, None) for name in _OPTIONAL),
    ],
    bases=(Table,),
    frozen=True,
)


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
        if "shape" in documents.read_toml(path)
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
    document = documents.read_toml(path, "check the path of the machine")
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
    content: Any = documents.convert(_File, document, label, f"see {PAGE}")
    figures = {f"shape.{each}": float(getattr(content.shape, each)) for each in _SHAPE}
    ranges: dict[str, tuple[float, float]] = {}
    sources = {"shape": content.shape.source}
    with documents.named(label):
        for section, kind in _SECTIONS.items():
            table = getattr(content, section)
            if table is None:
                if section == "smt" and content.shape.threads_per_core > 1:
                    raise LockwrightError("section [smt] is missing", f"see {PAGE}")
                figures |= _OPTIONAL[section]
                continue
            sources[section] = table.source
            for figure in kind.__struct_fields__[1:]:
                _add(f"{section}.{figure}", getattr(table, figure), figures, ranges)
        _check_costs(content.shape, figures)
        if figures["hybrid.slow_cores"] > content.shape.cores:
            raise LockwrightError(
                f"hybrid.slow_cores is {figures['hybrid.slow_cores']:g}, and there are "
                f"{content.shape.cores} cores",
                "give a number of them",
            )
    return Machine(name, content.title, figures, content.shape.two_hops, sources, ranges)


def _add(
    name: str,
    value: float | tuple[float, float] | None,
    figures: dict[str, float],
    ranges: dict[str, tuple[float, float]],
) -> None:
    """Add a figure that a file may have, and its range if it is one."""
    if isinstance(value, tuple):
        low, high = value
        if low >= high:
            raise LockwrightError(f"{name} is {[low, high]}", "write [low, high], the lower first")
        ranges[name] = value
        figures[name] = (low + high) / 2
    elif value is not None:
        figures[name] = float(value)


def _check_costs(shape: _Shape, figures: Mapping[str, float]) -> None:
    """Check that there are the costs over each distance that the machine has."""
    for table in _TABLES:
        required = {
            "cache_ns": shape.cores_per_cache > 1 and table != "memory",
            "node_ns": shape.caches_per_node > 1 or table == "memory",
            "package_ns": shape.nodes_per_package > 1,
            "far_ns": shape.packages > 1,
            "two_hops_ns": bool(shape.two_hops),
        }
        for name, is_required in required.items():
            if is_required and f"{table}.{name}" not in figures:
                raise LockwrightError(
                    f"{table}.{name} is missing", "measure it, or give an estimate"
                )
