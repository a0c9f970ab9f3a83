"""The figures of the process."""

from lockwright.base import numbers
from lockwright.profile import long_holds
from lockwright.profile.record import Creation, Process, Profile
from lockwright.profile.time_lost import OF_WHICH_TIME


def sentence(profile: Profile) -> str:
    """Return a sentence on the time lost by waiting, and the number of mutexes."""
    if not profile.mutexes and profile.rwlocks:
        return (
            f"Threads lost {numbers.time(profile.rwlocks_lost)} waiting for reader-writer locks:"
            f" {numbers.share(profile.lost_share_of(profile.rwlocks_lost))} {OF_WHICH_TIME}."
        )
    if not profile.mutexes:
        if not profile.is_preloaded:
            return "No sample found a thread asleep for a mutex."
        return "The program took no mutex that can be profiled."
    waited = [mutex for mutex in profile.mutexes if mutex.lost > 0]
    if not waited:
        return (
            f"No thread waited for any of the {numbers.count(len(profile.mutexes))} mutexes taken."
        )
    contended = "one mutex" if len(waited) == 1 else f"{numbers.count(len(waited))} mutexes"
    return (
        f"Threads lost {numbers.time(profile.lost)} waiting for {contended}:"
        f" {numbers.share(profile.lost_share)} {OF_WHICH_TIME}"
        f"{', ' if (parts := long_holds.parts(profile)) else ''}{parts}."
    )


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
    creators = (
        f"{creation.creators} thread{'s' if creation.creators != 1 else ''}; the busiest made"
        f" {numbers.share(creation.by_most)}"
    )
    return {
        "mutexes created by calls": total,
        "created by": creators,
        "created in the first tenth": numbers.share(creation.early),
    }
