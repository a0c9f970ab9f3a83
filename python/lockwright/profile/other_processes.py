"""The processes of a run that took mutexes, other than the profiled one."""

from dataclasses import dataclass
from pathlib import Path

from lockwright.base import numbers
from lockwright.profile.buffer import Buffer, Buffers, table_size


@dataclass(frozen=True)
class OtherProcesses:
    """Sums over these processes.

    taken: acquisitions; is_exact: whether that is exact or an upper bound. waited: ns, summed over
    their threads. unseen: processes of interest without a buffer of their own; alive: processes
    that still run.
    """

    count: int
    taken: float
    is_exact: bool
    waited: float
    unseen: tuple[int, ...] = ()
    alive: tuple[int, ...] = ()

    @property
    def descriptions(self) -> tuple[str, ...]:
        """What a user has to know about them, each in a few words."""
        if not self.count:
            return ()
        one = self.count == 1
        are = (
            "one other process that took mutexes is"
            if one
            else (f"{self.count} other processes that took mutexes are")
        )
        most = "" if self.is_exact else "at most "
        lost = f"{numbers.time(self.waited)} lost waiting" if self.waited else "no waiting"
        if not self.unseen:
            said = f"{are} not in it ({most}{_acquisition_count(self.taken)}, {lost})"
            return (said, *self._going_on)
        more = f" and {len(self.unseen) - 1} more" if self.unseen[1:] else ""
        return (
            f"{are} not in it",
            f"process {self.unseen[0]}{more} may be of interest, but could make no file",
            *self._going_on,
        )

    @property
    def _going_on(self) -> tuple[str, ...]:
        if not self.alive:
            return ()
        return (
            f"process {self.alive[0]} goes on in the background: profile it in the foreground, or"
            " with --pid",
        )


def other_processes(family: Buffers, chosen: Buffer) -> OtherProcesses:
    """Return all processes but the chosen one."""
    seen = {buffer.pid: buffer for buffer in family.all() if buffer.taken and buffer is not chosen}
    seen.pop(chosen.pid, None)
    noted = [each for each in family.first.other_processes if each.pid not in {chosen.pid, *seen}]
    pids = sorted({*seen, *(each.pid for each in noted if each.pid)})
    beyond = max(0, int(family.first["others"]) - (table_size("other_processes") - 1))
    return OtherProcesses(
        count=len(pids) + beyond,
        taken=sum(each.taken for each in seen.values()) + sum(each.taken for each in noted),
        is_exact=all(each.taken <= 1 for each in noted),
        waited=sum(buffer.waited * buffer.nanoseconds for buffer in seen.values()),
        unseen=tuple(each.pid for each in noted if each.is_unseen and each.pid),
        alive=tuple(pid for pid in pids if _is_alive(pid)),
    )


def _acquisition_count(number: float) -> str:
    return f"{numbers.count(number)} acquisition{'' if number == 1 else 's'}"


def _is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
