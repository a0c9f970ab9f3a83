"""The model of a program: its mutexes and what its threads do with them; a checked TOML file, and
the simulator's input. docs/models.md describes the file."""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError, nearest_hint

FORMAT = "lockwright model 1"

PAGE = "docs/models.md"

_WEIGHTS = 1_000_000
"""Sum of the weights of a distribution or choice in the simulator's input."""

_MOST_INSTANCES = 4096
"""Limit of the simulator, whose memory holds them all."""

_MOST_NS = 1e12

Buckets = tuple[tuple[float, float, float], ...]
"""A histogram of durations: lower and upper bounds in ns, and weights. Empty stands for 0 ns."""


def mean(buckets: Buckets) -> float:
    """Return the mean in ns, with the durations of a bucket spread evenly."""
    weight = sum(bucket[2] for bucket in buckets)
    return sum((low + high) / 2 * part for low, high, part in buckets) / weight if weight else 0.0


def scaled(buckets: Buckets, factor: float) -> Buckets:
    """Return the histogram of durations that are `factor` times as long."""
    return tuple((low * factor, high * factor, weight) for low, high, weight in buckets)


def exactly(ns: float) -> Buckets:
    """Return the histogram of durations that are all alike."""
    return ((ns, ns, 1.0),) if ns > 0 else ()


def gamma(ns: float, variation: float, buckets: int = 64) -> Buckets:
    """Return the histogram of gamma-distributed durations with that mean and coefficient of
    variation (1: exponential, 0: all alike), in buckets of equal weight."""
    if ns <= 0 or variation == 0:
        return exactly(ns)
    from scipy.stats import gamma as distribution

    shape = variation**-2
    quantiles = distribution.ppf([i / buckets for i in range(buckets)], shape, scale=1 / shape)
    bounds = [float(value) for value in quantiles]
    # The last bucket is as long as it has to be for the exact mean.
    others = sum(low + high for low, high in pairwise(bounds))
    bounds.append(max(bounds[-1], 2 * buckets - others - bounds[-1]))
    return scaled(tuple((low, high, 1.0) for low, high in pairwise(bounds)), ns)


@dataclass(frozen=True)
class ModelMutex:
    """A mutex of a model. section: how long it is held. instances: equal mutexes, of which each
    acquisition takes any one. lock: its algorithm, or "" for that of the simulation. reads: share
    of the acquisitions that only read, under a reader-writer lock; None for a mutex. is_atomic:
    each section is one read-modify-write without a lock. polls: threads wait by trying it. asleep:
    the share of each section in which its holder sleeps. data_lines: cache lines that a section
    changes; None for the number of the simulation."""

    name: str
    section: Buckets
    instances: int = 1
    lock: str = ""
    reads: float | None = None
    is_atomic: bool = False
    polls: bool = False
    asleep: float = 0.0
    data_lines: int | None = None


@dataclass(frozen=True)
class Role:
    """Threads that do alike. threads: their number in the source; scales: whether it grows with the
    number of all threads. gap: processor time between two sections. block_share: the share of the
    gaps in which a thread sleeps; block_ns: for how long on average. takes: pairs of a mutex's
    index and its share of the acquisitions. sections: of all its threads in the source, 0 if
    unknown; follows: they mostly wait for threads of other roles. barrier_every: sections of a
    thread after which it waits for the others of the role, at a mutex and a condition variable; 0
    for no barrier."""

    name: str
    threads: int
    gap: Buckets
    takes: tuple[tuple[int, float], ...]
    scales: bool = True
    block_share: float = 0.0
    block_ns: float = 0.0
    sections: float = 0.0
    follows: bool = False
    barrier_every: int = 0


@dataclass(frozen=True)
class Operation:
    """An operation of a program, of which its throughput is a number per second. sections: those
    of all threads in an operation. parallel_ns: processor time of an operation beside that, which
    all processors share and in which no thread waits."""

    sections: float = 1.0
    parallel_ns: float = 0.0

    def rate(self, sections_per_second: float, processors: int) -> float:
        """Return the operations per second on so many processors."""
        parallel = self.parallel_ns / 1e9 / processors
        return 1 / (self.sections / sections_per_second + parallel)


@dataclass(frozen=True)
class Estimate:
    """What is known of a program under some locks beside its model. machine, nodes: where.
    throughputs: by lock, the estimated operations per second there, and those of the model.
    weight: the exponent of a change that the model predicts."""

    machine: str
    nodes: int
    weight: float
    throughputs: Mapping[str, tuple[float, float]]

    def corrected(self, lock: str, rate: float) -> float:
        """Return the operations per second for those that the model has elsewhere; the same under
        a lock of which nothing is known."""
        if lock not in self.throughputs:
            return rate
        estimated, modelled = self.throughputs[lock]
        return estimated * float((rate / modelled) ** self.weight)


@dataclass(frozen=True)
class Model:
    """A program. source: where the model is from. unknown: what it lacks, a line each. operation:
    None if the throughput is that of sections. threads_per_processor: threads that the program
    starts for each processor that it is given. fitted_locks: those whose throughputs the model was
    fitted to. estimate: a correction of its throughputs."""

    title: str
    mutexes: tuple[ModelMutex, ...]
    roles: tuple[Role, ...]
    source: str = ""
    unknown: tuple[str, ...] = field(default_factory=tuple)
    operation: Operation | None = None
    threads_per_processor: float = 1.0
    fitted_locks: tuple[str, ...] = ()
    estimate: Estimate | None = None

    @property
    def threads(self) -> int:
        return sum(role.threads for role in self.roles)

    def with_threads(self, threads: int) -> "Model":
        """Return the model with that number of threads, divided among the roles that scale in
        proportion to theirs; each role keeps one at least, if there are enough."""
        counts = _divided(self.roles, threads)
        roles = (replace(role, threads=n) for role, n in zip(self.roles, counts, strict=True))
        return replace(self, roles=tuple(role for role in roles if role.threads))

    def times_the_threads(self, factor: float) -> int:
        """Return the number of all threads if that of each role that scales is multiplied."""
        scales = any(role.scales for role in self.roles)
        return sum(
            max(1, round(role.threads * factor)) if role.scales or not scales else role.threads
            for role in self.roles
        )

    def simulator_input(self) -> str:
        """Return the text that the simulator reads: integers, and picoseconds."""
        lines = []
        for mutex in self.mutexes:
            lines.append(f"mutex {min(mutex.instances, _MOST_INSTANCES)}")
            if mutex.is_atomic:
                lines.append("atomic")
            if mutex.reads is not None:
                lines.append(f"reads {round(mutex.reads * 1e6)}")
            if mutex.lock:
                lines.append(f"lock {mutex.lock}")
            if mutex.polls:
                lines.append("polls")
            if mutex.asleep:
                lines.append(f"asleep {round(mutex.asleep * 1e6)}")
            if mutex.data_lines is not None:
                lines.append(f"data {mutex.data_lines}")
            lines += _bucket_lines("section", mutex.section)
        for role in self.roles:
            lines.append(f"role {role.threads}")
            lines += _bucket_lines("gap", role.gap)
            if role.block_share:
                share, length = round(role.block_share * 1e6), round(role.block_ns * 1000)
                lines.append(f"block {share} {length}")
            if role.barrier_every:
                lines.append(f"meet {role.barrier_every}")
            indices, shares = zip(*role.takes, strict=True)
            lines += [
                f"take {index} {weight}"
                for index, weight in zip(indices, _weights(shares), strict=True)
            ]
        return "\n".join(lines) + "\n"


def _divided(roles: Sequence[Role], threads: int) -> list[int]:
    fixed = [0 if role.scales else role.threads for role in roles]
    if not any(role.scales for role in roles) or sum(fixed) >= threads:
        # Too few threads for all: in proportion, whether a role scales or not.
        fixed = [0] * len(roles)
        weights = [float(role.threads) for role in roles]
    else:
        weights = [float(role.threads) if role.scales else 0.0 for role in roles]
    free = threads - sum(fixed)
    ideal = [free * weight / sum(weights) for weight in weights]
    counts = [math.floor(number) for number in ideal]
    # The largest remainders, those of roles without a thread first.
    order = sorted(range(len(roles)), key=lambda i: (counts[i] > 0, counts[i] - ideal[i]))
    for i in order[: free - sum(counts)]:
        counts[i] += 1
    return [count + more for count, more in zip(counts, fixed, strict=True)]


def _weights(shares: Sequence[float]) -> list[int]:
    """Return integers in proportion to shares; those above 0 stay above 0."""
    total = sum(shares)
    return [max(1, round(share / total * _WEIGHTS)) if share > 0 else 0 for share in shares]


def _bucket_lines(name: str, buckets: Buckets) -> list[str]:
    if not buckets:
        return []
    weights = _weights([weight for _, _, weight in buckets])
    return [
        f"{name} {round(low * 1000)} {round(high * 1000)} {weight}"
        for (low, high, _), weight in zip(buckets, weights, strict=True)
    ]


def as_toml(model: Model) -> str:
    """Return the file of a model."""
    lines = [
        f"format = {_text(FORMAT)}",
        f"title = {_text(model.title)}",
        f"source = {_text(model.source)}",
        f"unknown = [{', '.join(map(_text, model.unknown))}]",
    ]
    if model.fitted_locks:
        lines.append(f"fitted_locks = [{', '.join(map(_text, model.fitted_locks))}]")
    if model.threads_per_processor != 1:
        lines.append(f"threads_per_processor = {model.threads_per_processor:.6g}")
    if model.operation is not None:
        lines += [
            "",
            "[operation]",
            f"sections = {model.operation.sections:.6g}",
            f"parallel_ns = {model.operation.parallel_ns:.6g}",
        ]
    if model.estimate is not None:
        lines += _estimate_lines(model.estimate)
    for mutex in model.mutexes:
        lines += ["", "[[mutex]]", f"name = {_text(mutex.name)}", f"instances = {mutex.instances}"]
        if mutex.lock:
            lines.append(f"lock = {_text(mutex.lock)}")
        if mutex.reads is not None:
            lines.append(f"reads = {mutex.reads:.6g}")
        if mutex.is_atomic:
            lines.append("atomic = true")
        if mutex.polls:
            lines.append("polls = true")
        if mutex.asleep:
            lines.append(f"asleep = {mutex.asleep:.6g}")
        if mutex.data_lines is not None:
            lines.append(f"data_lines = {mutex.data_lines}")
        lines.append(f"section_ns = {_rows(mutex.section)}")
    for role in model.roles:
        lines += ["", "[[role]]", f"name = {_text(role.name)}", f"threads = {role.threads}"]
        lines.append(f"scales = {str(role.scales).lower()}")
        if role.sections:
            lines.append(f"sections = {role.sections:.6g}")
        if role.follows:
            lines.append("follows = true")
        if role.block_share:
            lines.append(f"block_share = {role.block_share:.6g}")
            lines.append(f"block_ns = {role.block_ns:.6g}")
        if role.barrier_every:
            lines.append(f"barrier_every = {role.barrier_every}")
        lines.append(f"takes = {_rows(role.takes)}")
        lines.append(f"gap_ns = {_rows(role.gap)}")
    return "\n".join(lines) + "\n"


def _estimate_lines(estimate: Estimate) -> list[str]:
    return [
        "",
        "[estimate]",
        f"machine = {_text(estimate.machine)}",
        f"nodes = {estimate.nodes}",
        f"weight = {estimate.weight:.6g}",
        "",
        "[estimate.throughputs]",
        *(
            f"{lock} = [{pair[0]:.6g}, {pair[1]:.6g}]"
            for lock, pair in estimate.throughputs.items()
        ),
    ]


def _text(text: str) -> str:
    # A string of JSON is one of TOML, but for DEL.
    return json.dumps(text).replace("\x7f", "\\u007f")


def _rows(rows: Sequence[tuple[float, ...]]) -> str:
    return "[" + ", ".join(f"[{', '.join(f'{x:.9g}' for x in row)}]" for row in rows) + "]"


def load(path: Path) -> Model:
    """Return the model in a file. Raises LockwrightError if it contains none."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockwrightError(
            f"cannot read {path}: {error.strerror}", "check the path of the model"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LockwrightError(f"{path} is not TOML: {error}", "correct it there") from error
    if document.get("format") != FORMAT:
        raise LockwrightError(
            f"{path} does not have the format '{FORMAT}'",
            "name a file that 'lockwright predict --model' wrote",
        )
    return _checked(document, str(path))


_MODEL_KEYS = {
    "format",
    "title",
    "source",
    "unknown",
    "fitted_locks",
    "threads_per_processor",
    "operation",
    "estimate",
    "mutex",
    "role",
}
_ESTIMATE_KEYS = {"machine", "nodes", "weight", "throughputs"}
_OPERATION_KEYS = {"sections", "parallel_ns"}
_MUTEX_KEYS = {
    "name",
    "instances",
    "section_ns",
    "data_lines",
    "lock",
    "reads",
    "atomic",
    "polls",
    "asleep",
}
_ROLE_KEYS = {
    "name",
    "threads",
    "scales",
    "gap_ns",
    "block_share",
    "block_ns",
    "barrier_every",
    "takes",
    "sections",
    "follows",
}


def _checked(document: Mapping[str, Any], label: str) -> Model:
    _check_keys(document, _MODEL_KEYS, label)
    tables = {key: document.get(key) for key in ("mutex", "role")}
    for key, value in tables.items():
        if not isinstance(value, list) or not value or not all(isinstance(t, dict) for t in value):
            raise LockwrightError(f"{label}: there is no [[{key}]]", f"see {PAGE}")
    mutexes = [
        _mutex(table, f"{label}: mutex {index}") for index, table in enumerate(document["mutex"])
    ]
    roles = [
        _role(table, f"{label}: role {index}", len(mutexes))
        for index, table in enumerate(document["role"])
    ]
    return Model(
        _string(document, "title", label),
        tuple(mutexes),
        tuple(roles),
        _string(document, "source", label, ""),
        _texts(document, "unknown", label),
        _operation(document.get("operation"), f"{label}: operation"),
        _number(
            document.get("threads_per_processor", 1), f"{label}: threads_per_processor", 0.001, 1024
        ),
        _texts(document, "fitted_locks", label),
        _estimate(document.get("estimate"), f"{label}: estimate"),
    )


def _operation(table: object, label: str) -> Operation | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise LockwrightError(f"{label} is not a table", "write [operation] above its keys")
    _check_keys(table, _OPERATION_KEYS, label)
    return Operation(
        _number(table.get("sections"), f"{label}: sections", 1e-12, 1e18),
        _number(table.get("parallel_ns", 0), f"{label}: parallel_ns", 0, 1e18),
    )


def _estimate(table: object, label: str) -> Estimate | None:
    if table is None:
        return None
    if not isinstance(table, dict):
        raise LockwrightError(f"{label} is not a table", "write [estimate] above its keys")
    _check_keys(table, _ESTIMATE_KEYS, label)
    rows = table.get("throughputs")
    if not isinstance(rows, dict):
        raise LockwrightError(f"{label}: there are no throughputs", f"see {PAGE}")
    pairs = {}
    for lock, pair in rows.items():
        if not isinstance(pair, list) or len(pair) != 2:
            raise LockwrightError(f"{label}: {lock} has {pair!r}", "write [estimated, modelled]")
        first, second = (_number(each, f"{label}: {lock}", 1e-18, 1e18) for each in pair)
        pairs[lock] = first, second
    return Estimate(
        _string(table, "machine", label),
        int(_number(table.get("nodes"), f"{label}: nodes", 1, 65536)),
        _number(table.get("weight"), f"{label}: weight", 0, 1),
        pairs,
    )


def _mutex(table: Mapping[str, Any], label: str) -> ModelMutex:
    _check_keys(table, _MUTEX_KEYS, label)
    instances = _number(table.get("instances", 1), f"{label}: instances", 1, 2**31)
    reads = table.get("reads")
    lines = table.get("data_lines")
    return ModelMutex(
        _string(table, "name", label),
        _buckets(table.get("section_ns", []), f"{label}: section_ns"),
        int(instances),
        _string(table, "lock", label, ""),
        None if reads is None else _number(reads, f"{label}: reads", 0, 1),
        table.get("atomic", False) is True,
        table.get("polls", False) is True,
        _number(table.get("asleep", 0), f"{label}: asleep", 0, 1),
        None if lines is None else int(_number(lines, f"{label}: data_lines", 0, 4096)),
    )


def _role(table: Mapping[str, Any], label: str, mutexes: int) -> Role:
    _check_keys(table, _ROLE_KEYS, label)
    takes = table.get("takes")
    if not isinstance(takes, list) or not takes:
        raise LockwrightError(f"{label}: 'takes' names no mutex", "write [[0, 1.0]]")
    pairs = []
    for row in takes:
        if not isinstance(row, list) or len(row) != 2:
            raise LockwrightError(f"{label}: takes has {row!r}", "write [mutex, share]")
        index = _number(row[0], f"{label}: takes: a mutex", 0, mutexes - 1)
        pairs.append((int(index), _number(row[1], f"{label}: takes: a share", 0, 1e9)))
    if not sum(share for _, share in pairs):
        raise LockwrightError(f"{label}: all shares of 'takes' are 0", "give one above 0")
    return Role(
        _string(table, "name", label, ""),
        int(_number(table.get("threads"), f"{label}: threads", 1, 65536)),
        _buckets(table.get("gap_ns", []), f"{label}: gap_ns"),
        tuple(pairs),
        table.get("scales", True) is not False,
        _number(table.get("block_share", 0), f"{label}: block_share", 0, 1),
        _number(table.get("block_ns", 0), f"{label}: block_ns", 0, _MOST_NS),
        _number(table.get("sections", 0), f"{label}: sections", 0, 1e18),
        table.get("follows", False) is True,
        int(_number(table.get("barrier_every", 0), f"{label}: barrier_every", 0, 1e6)),
    )


def _check_keys(table: Mapping[str, Any], known: set[str], label: str) -> None:
    for key in table:
        if key not in known:
            hint = nearest_hint(key, sorted(known), f"{PAGE} lists them")
            raise LockwrightError(f"{label}: there is no '{key}' in a model", hint)


def _string(table: Mapping[str, Any], key: str, label: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str):
        raise LockwrightError(f"{label}: '{key}' is not a text", "give one in quotes")
    return value


def _texts(table: Mapping[str, Any], key: str, label: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise LockwrightError(f"{label}: '{key}' is not a list of texts", "correct it there")
    return tuple(value)


def _number(value: object, label: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        raise LockwrightError(
            f"{label} is not a number from {least:g} to {most:g}", "correct it there"
        )
    return float(value)


def _buckets(rows: object, label: str) -> Buckets:
    if not isinstance(rows, list):
        raise LockwrightError(f"{label} is not a list", "write [[low, high, weight]]")
    buckets = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 3:
            raise LockwrightError(f"{label} has {row!r}", "write [low, high, weight]")
        low, high = (_number(each, f"{label}: a bound", 0, _MOST_NS) for each in row[:2])
        weight = _number(row[2], f"{label}: a weight", 0, 1e18)
        if high < low:
            raise LockwrightError(f"{label} has {row!r}", "give the lower bound first")
        buckets.append((low, high, weight))
    if buckets and not sum(weight for _, _, weight in buckets):
        raise LockwrightError(f"{label}: all weights are 0", "give one above 0")
    return tuple(buckets)
