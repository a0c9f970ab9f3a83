"""The figures of the process as a whole."""

from lockwright.base import numbers
from lockwright.profile.record import Creation, Process, Profile


def sentence(profile: Profile) -> str:
    """Return the time lost to waiting and the number of mutexes, as a sentence."""
    process = profile.process
    if not profile.mutexes:
        if not profile.is_preloaded:
            return "No sample found a thread asleep for a mutex."
        return "The program took no mutex that can be profiled."
    waited = [mutex for mutex in profile.mutexes if mutex.lost > 0]
    if not waited:
        return (
            f"No thread waited for any of the {numbers.count(len(profile.mutexes))} mutexes taken."
        )
    many = "one mutex" if len(waited) == 1 else f"{numbers.count(len(waited))} mutexes"
    total = f"Threads waited {numbers.time(profile.lost)} in all for {many}"
    given = process.threads_mean * process.duration
    if given <= 0:
        return f"{total}."
    return (
        f"{total}: {numbers.share(min(1.0, profile.lost / given))} of the time that"
        f" {numbers.count(process.threads_mean)} threads had in {numbers.time(process.duration)}."
    )


_KNOWN_FROM_OUTSIDE = ("threads", "processors", "processor time", "page faults")


def facts(profile: Profile) -> dict[str, str]:
    """Return the figures of the process by their names."""
    process = profile.process
    found = _activity(process) | _creation(process)
    if not profile.is_preloaded:
        found = {name: found[name] for name in _KNOWN_FROM_OUTSIDE}
    return found


def _activity(process: Process) -> dict[str, str]:
    seconds = process.duration / 1e9

    def rate(number: float, what: str = "") -> str:
        total = f"{numbers.count(number)}{what}"
        return f"{total}, {numbers.count(number / seconds)} a second" if seconds > 0 else total

    found = {
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
    unseen = {
        "reader-writer locks": process.rwlock_calls,
        "spin locks": process.spin_calls,
        "shared, robust and priority mutexes": process.unprofiled_calls,
    }
    for what, calls in unseen.items():
        if calls:
            found[what] = f"{rate(calls, ' calls')}, not profiled"
    return found


def _creation(process: Process) -> dict[str, str]:
    created: Creation = process.creation
    if not created.created:
        return {"mutexes created by calls": "none"}
    total = (
        f"{numbers.count(created.created)} created, {numbers.count(created.destroyed)} destroyed,"
        f" {numbers.count(created.alive_most)} at one time"
    )
    by = (
        f"{created.creators} thread{'s' if created.creators != 1 else ''}; the busiest made"
        f" {numbers.share(created.by_most)}"
    )
    return {
        "mutexes created by calls": total,
        "created by": by,
        "created in the first tenth": numbers.share(created.early),
    }
