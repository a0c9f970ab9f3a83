"""The examination of all properties of the machine that affect a measurement of locks."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockwright.doctor import access, cgroup, clock, frequency, memory, scheduler, signals, system
from lockwright.doctor.signals import Signals
from lockwright.machine import load, processors
from lockwright.machine.energy.domains import Sources, find
from lockwright.machine.finding import WARN, Finding
from lockwright.machine.procfs import Tree

BRIEF = 0.25
"""Seconds over which the load is sampled before a measurement; a hundredth of that is a clock tick
of /proc/stat on four processors."""


@dataclass(frozen=True)
class Observations:
    """The properties that are measured or queried, not read from files.

    watched: the load over some seconds; clock_ns: of a clock read; resolution_ns: of the kernel's
    timers; hardware: why cycles cannot be counted, "" if they can; libc, compiler: their own names;
    preload: the variable LD_PRELOAD. None where unknown. signals: of the C library and the kernel.
    sources: the energy counters.
    """

    watched: load.Load | None = None
    clock_ns: float | None = None
    resolution_ns: int | None = None
    hardware: str | None = None
    libc: str | None = None
    compiler: str | None = None
    preload: str | None = None
    signals: Signals = field(default_factory=Signals)
    sources: Sources = field(default_factory=Sources)


def examine(tree: Tree, observed: Observations) -> list[Finding]:
    """Return all findings, by subject and, within it, by their effect on the figures."""
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
        load.others_finding(observed.watched),
        load.steal_finding(tree, observed.watched),
        system.virtualisation(tree),
        scheduler.policy(tree),
        scheduler.slices(tree),
        scheduler.bandwidth(tree),
        memory.huge_pages(tree),
        memory.balancing(tree),
        system.randomisation(tree),
        clock.source(tree),
        clock.cost(observed.clock_ns),
        clock.resolution(tree, observed.resolution_ns),
        signals.current_processor(observed.signals),
        signals.barrier(observed.signals),
        access.rapl(observed.sources),
        access.perf(tree, observed.hardware),
        system.preloaded(tree, observed.preload),
        system.kernel(tree),
        system.libc(observed.libc),
        system.compiler(observed.compiler),
    ]


def observe(tree: Tree, seconds: float) -> Observations:
    """Return the observations, with the load sampled for `seconds`."""
    from lockwright.machine import provenance
    from lockwright.machine.perf.event import hardware_refusal

    return Observations(
        watched=_watch(tree, seconds),
        clock_ns=_clock_read_ns(),
        resolution_ns=round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9),
        hardware=hardware_refusal(),
        libc=provenance.libc(),
        compiler=provenance.compiler(),
        preload=os.environ.get("LD_PRELOAD"),
        signals=signals.query(),
        sources=find(tree),
    )


def examine_this_machine(seconds: float = BRIEF) -> list[Finding]:
    """Return all findings on this machine, after sampling the load for `seconds`."""
    tree = Tree(Path("/"))
    return examine(tree, observe(tree, seconds))


def disturbances(findings: Sequence[Finding]) -> str:
    """Return the disturbances of a measurement, in one line; "" if there are none."""
    return ", ".join(
        f"{finding.name} ({finding.found})"
        for finding in findings
        if finding.level == WARN and finding.name not in access.NAMES
    )


def _watch(tree: Tree, seconds: float) -> load.Load | None:
    before, earlier, own = load.processor_times(tree), load.programs(tree), time.process_time()
    time.sleep(seconds)
    after, later = load.processor_times(tree), load.programs(tree)
    if before is None or after is None:
        return None
    return load.load_between(before, after, time.process_time() - own, earlier, later)


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
