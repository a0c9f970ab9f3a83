"""Examines everything about the machine that changes a measurement of locks."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.doctor import access, cgroup, clock, frequency, memory, scheduler, system
from lockwright.machine import load, processors
from lockwright.machine.energy import find
from lockwright.machine.energy.find import Sources
from lockwright.machine.finding import WARN, Finding
from lockwright.machine.procfs import Tree

BRIEF = 0.25
"""Seconds over which the load is measured before a measurement: a hundredth of that is a clock tick
of /proc/stat on four processors, and the load is measured all through the measurement anyway."""


@dataclass(frozen=True)
class Observations:
    """What files do not show: it is measured, or asked of the system.

    watched: the load over some seconds; clock_ns: of a clock read; resolution_ns: of the
    kernel's timers; hardware: why cycles cannot be counted, "" if they can; libc, compiler: as
    they name themselves; preload: the variable LD_PRELOAD. None where unknown. sources:
    the counters of energy.
    """

    watched: load.Load | None = None
    clock_ns: float | None = None
    resolution_ns: int | None = None
    hardware: str | None = None
    libc: str | None = None
    compiler: str | None = None
    preload: str | None = None
    sources: Sources = field(default_factory=Sources)


def examine(tree: Tree, looked: Observations) -> list[Finding]:
    """All findings, those that spoil most figures first within their subject."""
    return [
        processors.count_finding(tree),
        processors.smt_finding(tree),
        processors.numa_finding(tree),
        cgroup.cgroup(tree),
        scheduler.isolated(tree),
        frequency.governor(tree),
        frequency.scaling(tree),
        frequency.turbo(tree),
        frequency.idle(tree),
        load.others_finding(looked.watched),
        load.steal_finding(tree, looked.watched),
        system.virtualisation(tree),
        scheduler.policy(tree),
        scheduler.slices(tree),
        scheduler.autogroup(tree),
        scheduler.bandwidth(tree),
        memory.huge_pages(tree),
        memory.balancing(tree),
        system.randomisation(tree),
        clock.source(tree),
        clock.cost(looked.clock_ns),
        clock.resolution(tree, looked.resolution_ns),
        access.rapl(looked.sources),
        access.perf(tree, looked.hardware),
        access.ptrace(tree),
        system.preloaded(tree, looked.preload),
        system.kernel(tree),
        system.libc(looked.libc),
        system.compiler(looked.compiler),
    ]


def observe(tree: Tree, seconds: float) -> Observations:
    """Measures and asks the system what files do not tell; measures the load for so many
    seconds."""
    from lockwright.machine import provenance
    from lockwright.machine.perf.event import hardware_refusal

    sources = find.find(tree)
    sources.close()
    return Observations(
        watched=_watch(tree, seconds),
        clock_ns=_clock_read_ns(),
        resolution_ns=round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9),
        hardware=hardware_refusal(),
        libc=provenance.libc(),
        compiler=provenance.compiler(),
        preload=os.environ.get("LD_PRELOAD"),
        sources=sources,
    )


def examine_this_machine(seconds: float = BRIEF) -> list[Finding]:
    """All findings on this machine, which takes so many seconds and little more."""
    tree = Tree(Path("/"))
    return examine(tree, observe(tree, seconds))


def doubts(findings: Sequence[Finding]) -> str:
    """What disturbs a measurement here, in one line; "" if nothing does."""
    return ", ".join(
        f"{each.name} ({each.found})"
        for each in findings
        if each.level == WARN and each.name not in access.NAMES
    )


def _watch(tree: Tree, seconds: float) -> load.Load | None:
    before, earlier, own = load.times(tree), load.programs(tree), time.process_time()
    time.sleep(seconds)
    after, later = load.times(tree), load.programs(tree)
    if before is None or after is None:
        return None
    return load.between(before, after, time.process_time() - own, earlier, later)


def _clock_read_ns() -> float | None:
    from lockwright.base.errors import LockwrightError
    from lockwright.run.bench_program import LIBC, Subject, run

    try:
        outcome = run(Subject(LIBC), "pause", {"steps": 200}, timeout=10)
    except LockwrightError:
        return None
    line = outcome.line("result")
    value = None if line is None or outcome.failure else line.get("clock_ns")
    return float(value) if isinstance(value, int | float) else None
