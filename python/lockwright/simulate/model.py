"""The model of a program: its mutexes and what its threads do with them; a checked TOML file, and
the simulator's input. docs/models.md describes the file."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field
from msgspec.structs import replace

from lockwright.base import documents
from lockwright.base.documents import Table
from lockwright.base.errors import LockwrightError

FORMAT = "lockwright model 1"

PAGE = "docs/models.md"

_WEIGHTS = 1_000_000
"""Sum of the weights of a distribution or choice in the simulator's input."""

_MOST_INSTANCES = 4096
"""Limit of the simulator, whose memory holds them all."""

_Share = Annotated[float, Meta(ge=0, le=1)]
_Ns = Annotated[float, Meta(ge=0, le=1e12)]
_Weight = Annotated[float, Meta(ge=0, le=1e18)]
_Index = Annotated[int, Meta(ge=0)]

Buckets = tuple[tuple[_Ns, _Ns, _Weight], ...]
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


class ModelMutex(Table, frozen=True, omit_defaults=True):
    """A mutex of a model. section: how long it is held. instances: equal mutexes, of which each
    acquisition takes any one. lock: its algorithm, or "" for that of the simulation. reads: share
    of the acquisitions that only read, under a reader-writer lock; None for a mutex. is_atomic:
    each section is one read-modify-write without a lock. polls: threads wait by trying it. asleep:
    the share of each section in which its holder sleeps. data_lines: cache lines that a section
    changes; None for the number of the simulation."""

    name: str
    section: Buckets = field(default=(), name="section_ns")
    instances: Annotated[int, Meta(ge=1, le=2**31)] = 1
    lock: str = ""
    reads: _Share | None = None
    is_atomic: bool = field(default=False, name="atomic")
    polls: bool = False
    asleep: _Share = 0.0
    data_lines: Annotated[int, Meta(ge=0, le=4096)] | None = None


class Role(Table, frozen=True, omit_defaults=True):
    """Threads that do alike. threads: their number in the source; scales: whether it grows with the
    number of all threads. gap: processor time between two sections. block_share: the share of the
    gaps in which a thread sleeps; block_ns: for how long on average. takes: pairs of a mutex's
    index and its share of the acquisitions. sections: of all its threads in the source, 0 if
    unknown; follows: they mostly wait for threads of other roles. barrier_every: sections of a
    thread after which it waits for the others of the role, at a mutex and a condition variable; 0
    for no barrier."""

    name: str
    threads: Annotated[int, Meta(ge=1, le=65536)]
    gap: Buckets = field(default=(), name="gap_ns")
    takes: tuple[tuple[_Index, _Weight], ...] = ()
    scales: bool = True
    block_share: _Share = 0.0
    block_ns: _Ns = 0.0
    sections: _Weight = 0.0
    follows: bool = False
    barrier_every: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class Model(Table, frozen=True, omit_defaults=True):
    """A program. source: where the model is from. unknown: what it lacks, a line each."""

    title: str
    mutexes: Annotated[tuple[ModelMutex, ...], Meta(min_length=1)] = field(name="mutex")
    roles: Annotated[tuple[Role, ...], Meta(min_length=1)] = field(name="role")
    source: str = ""
    unknown: tuple[str, ...] = ()

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
    return "\n".join(_toml({"format": FORMAT, **msgspec.to_builtins(model)})) + "\n"


def _toml(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the lines of a table: first its values, then the tables in it."""
    tables = []
    for key, value in table.items():
        if isinstance(value, dict):
            tables.append((key, f"[{path}{key}]", value))
        elif isinstance(value, tuple) and value and isinstance(value[0], dict):
            tables += [(key, f"[[{path}{key}]]", each) for each in value]
        else:
            yield f"{key} = {_value(value)}"
    for key, head, value in tables:
        yield from ("", head, *_toml(value, f"{path}{key}."))


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, float):
        return f"{value:.9g}"
    # Other values of JSON are values of TOML, but for DEL in strings.
    return json.dumps(value).replace("\x7f", "\\u007f")


def load(path: Path) -> Model:
    """Return the model in a file. Raises LockwrightError if it contains none."""
    document = documents.read_toml(path, "check the path of the model")
    if document.pop("format", None) != FORMAT:
        raise LockwrightError(
            f"{path} does not have the format '{FORMAT}'",
            "name a file that 'lockwright predict --model' wrote",
        )
    model = documents.convert(Model, document, str(path), f"correct it there; see {PAGE}")
    with documents.named(str(path)):
        for number, mutex in enumerate(model.mutexes, 1):
            with documents.named(f"mutex[{number}]"):
                _check_buckets("section_ns", mutex.section)
        for number, role in enumerate(model.roles, 1):
            with documents.named(f"role[{number}]"):
                _check_buckets("gap_ns", role.gap)
                _check_takes(role, len(model.mutexes))
    return model


def _check_buckets(key: str, buckets: Buckets) -> None:
    for low, high, weight in buckets:
        if high < low:
            what = f"{key} has {[low, high, weight]}"
            raise LockwrightError(what, "give the lower bound first")
    if buckets and not sum(weight for _, _, weight in buckets):
        raise LockwrightError(f"{key}: all weights are 0", "give one above 0")


def _check_takes(role: Role, mutexes: int) -> None:
    for index, _ in role.takes:
        if index >= mutexes:
            what = f"takes names mutex {index}"
            raise LockwrightError(what, f"give a number from 0 to {mutexes - 1}")
    if not sum(share for _, share in role.takes):
        raise LockwrightError("all shares of takes are 0", "give one above 0")
