"""The figures of the process."""

from lockwright.base import numbers
from lockwright.base.wording import counted
from lockwright.profile.record import Creation, Process, Profile

_KNOWN_FROM_OUTSIDE = ("threads", "processors", "processor time", "page faults")


def facts(profile: Profile) -> dict[str, str]:
    """Return the figures of the process by their names."""
    process = profile.process
    figures = _activity(process) | _creation(process)
    if not profile.is_preloaded:
        figures = {name: figures[name] for name in _KNOWN_FROM_OUTSIDE}
    return figures


def _activity(process: Process) -> dict[str, str]:
    seconds = process.duration / 1e9

    def rate(number: float, what: str = "") -> str:
        total = f"{numbers.count(number)}{what}"
        return f"{total}, {numbers.count(number / seconds)} a second" if seconds > 0 else total

    figures = {
        "threads": f"{process.threads_most} at most, {process.threads_mean:.3g} on average",
        "processors": str(process.processors),
        "processor time": f"{numbers.time(process.cpu_user)} in the program,"
        f" {numbers.time(process.cpu_system)} in the kernel",
        "acquisitions of mutexes": rate(process.lock_calls),
        "waits on condition variables": rate(process.cond_waits),
        "blocking calls (voluntary switches)": rate(process.voluntary),
        "involuntary switches": rate(process.involuntary),
        "migrations": rate(process.migrations),
        "page faults": f"{rate(process.minor_faults)}; {numbers.count(process.major_faults)} from"
        " a disk",
        "mappings made and removed": rate(process.mmap_calls),
    }
    unprofiled = {
        "process-shared reader-writer locks": process.rwlock_calls,
        "spin locks": process.spin_calls,
        "shared, robust and priority mutexes": process.unprofiled_calls,
    }
    for what, calls in unprofiled.items():
        if calls:
            figures[what] = f"{rate(calls, ' calls')}, not profiled"
    return figures


def _creation(process: Process) -> dict[str, str]:
    creation: Creation = process.creation
    if not creation.created:
        return {"mutexes created by calls": "none"}
    total = (
        f"{numbers.count(creation.created)} created, {numbers.count(creation.destroyed)} destroyed,"
        f" {numbers.count(creation.alive_most)} at one time"
    )
    busiest = f"the busiest made {numbers.share(creation.by_most)}"
    return {
        "mutexes created by calls": total,
        "created by": f"{counted(creation.creators, 'thread')}; {busiest}",
        "created in the first tenth": numbers.share(creation.early),
    }
