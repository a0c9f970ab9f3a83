"""The processor time of other programs and of the host of a virtual machine."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.base import numbers
from lockwright.machine.finding import Finding, Subject
from lockwright.machine.procfs import Tree

BUSY = 0.10
"""Share of all processors used by others above which a measurement counts as disturbed: run-to-run
differences of that size are common."""

STOLEN = 0.01
"""Tolerated share of the processors' time that a host takes: it may preempt a lock holder."""

_NAMED = 3
"""Number of the busiest programs to name."""


def warning(shares: Sequence[float | None]) -> str | None:
    """Return the warning about runs that other programs have disturbed; None if there are none.
    shares: of all processors that they used during each run, None where it is not known."""
    known = [share for share in shares if share is not None]
    disturbed = [share for share in known if share > BUSY]
    if not disturbed:
        return None
    return (
        f"other processes took more than {numbers.percent(BUSY)} of the machine during "
        f"{len(disturbed)} of {len(known)} runs, "
        f"at most {numbers.percent(max(disturbed))}; repeat on a quiet machine"
    )


@dataclass(frozen=True)
class Times:
    """Processor seconds of the machine since boot. stolen: those taken by a host, part of busy."""

    busy: float
    total: float
    stolen: float


def processor_times(tree: Tree) -> Times | None:
    """Return the sums of /proc/stat, see proc(5); None if it is not readable."""
    words = (tree.text("/proc/stat") or "").partition("\n")[0].split()[1:9]
    if len(words) < 8 or not all(word.isdecimal() for word in words):
        return None
    per_second = os.sysconf("SC_CLK_TCK")
    user, nice, system, idle, iowait, irq, softirq, steal = (int(w) / per_second for w in words)
    busy = user + nice + system + irq + softirq + steal
    return Times(busy, busy + idle + iowait, steal)


@dataclass(frozen=True)
class Program:
    """A process. started: clock ticks after boot, which distinguish it from a later process with
    the same id. seconds: its processor time."""

    pid: int
    started: int
    name: str
    seconds: float


def programs(tree: Tree) -> list[Program]:
    """Return all processes, see proc(5)."""
    processes = []
    for file in tree.match("/proc/[0-9]*/stat"):
        # The name may contain any character, also a parenthesis: split after the last one.
        head, _, rest = (tree.text(file) or "").rpartition(")")
        pid, _, name = head.partition("(")
        words = rest.split()
        if len(words) > 19 and pid.strip().isdecimal():
            ticks = int(words[11]) + int(words[12])
            seconds = ticks / os.sysconf("SC_CLK_TCK")
            processes.append(Program(int(pid), int(words[19]), name, seconds))
    return processes


@dataclass(frozen=True)
class Load:
    """The load over a period, as shares of all processors. busiest: programs and their shares."""

    others: float
    stolen: float
    busiest: tuple[tuple[str, float], ...] = ()


def load_between(
    before: Times,
    after: Times,
    own: float,
    earlier: Sequence[Program] = (),
    later: Sequence[Program] = (),
) -> Load | None:
    """Return the load between two samples; None if no time passed. own: processor seconds of the
    sampling process. earlier, later: the processes at both samples."""
    total = after.total - before.total
    if total <= 0:
        return None
    others = max(0.0, after.busy - before.busy - own)
    used = {(each.pid, each.started): each.seconds for each in earlier}
    shares: dict[str, float] = {}
    for each in later:
        if each.pid != os.getpid():
            spent = each.seconds - used.get((each.pid, each.started), 0.0)
            shares[each.name] = shares.get(each.name, 0.0) + spent / total
    ranked = sorted(shares.items(), key=lambda item: -item[1])[:_NAMED]
    return Load(
        others / total,
        (after.stolen - before.stolen) / total,
        tuple(each for each in ranked if each[1] >= 0.01),
    )


_OTHERS = Subject(
    "other load",
    "threads wait for processors instead of locks, and a holder is stopped in the middle of its "
    "section, which stops the waiters of some locks and not of others",
    "stop the other programs, or measure when they have ended",
)
_STEAL = Subject(
    "steal time",
    "the host stops a processor unknown to the kernel, perhaps while its thread holds a lock; "
    "times then have outliers of milliseconds",
    "use a host, or a kind of machine, whose processors are yours alone",
)


def others_finding(load: Load | None) -> Finding:
    """Return the finding about other programs during the examination."""
    if load is None:
        return _OTHERS.absent("/proc/stat is not readable", "mount /proc")
    share = f"{numbers.percent(load.others)} of the processors"
    busiest = ", ".join(f"{name} {numbers.percent(part)}" for name, part in load.busiest)
    if load.others > BUSY:
        return _OTHERS.warn(f"{share}{f' ({busiest})' if busiest else ''}")
    return _OTHERS.ok(share, "too little to change a figure")


def steal_finding(tree: Tree, load: Load | None) -> Finding:
    """Return the finding about the time that the host of a virtual machine took."""
    since = processor_times(tree)
    if since is None or not since.total:
        return _STEAL.absent("/proc/stat is not readable", "mount /proc")
    boot = since.stolen / since.total
    share = load.stolen if load is not None else boot
    shares = f"{numbers.percent(share, 1)} now, {numbers.percent(boot, 1)} since boot"
    if max(share, boot) > STOLEN:
        return _STEAL.warn(shares)
    return _STEAL.ok(shares, "no host takes processor time from this machine")
