"""The processes of a run that took mutexes, other than the profiled one."""

from dataclasses import dataclass

from lockwright.base import numbers
from lockwright.base.process_numbers import is_running
from lockwright.base.wording import counted
from lockwright.profile.buffer import Buffer, Buffers, table_size


@dataclass(frozen=True)
class OtherProcesses:
    """Sums over these processes. taken: acquisitions; is_exact: whether that is exact or an upper
    bound. waited: ns, summed over their threads. unseen: processes with many acquisitions or waits
    but without a buffer; alive: processes that still run."""

    count: int
    taken: float
    is_exact: bool
    waited: float
    unseen: tuple[int, ...] = ()
    alive: tuple[int, ...] = ()

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Remarks on them for the user, in a few words each."""
        if not self.count:
            return ()
        subject = (
            "one other process that took mutexes is"
            if self.count == 1
            else f"{self.count} other processes that took mutexes are"
        )
        most = "" if self.is_exact else "at most "
        lost = f"{numbers.time(self.waited)} lost waiting" if self.waited else "no waiting"
        if not self.unseen:
            summary = f"{subject} not included ({most}{counted(self.taken, 'acquisition')}, {lost})"
            return (summary, *self._still_running)
        more = f" and {len(self.unseen) - 1} more" if self.unseen[1:] else ""
        return (
            f"{subject} not included",
            f"process {self.unseen[0]}{more} may be relevant, but could not create a file",
            *self._still_running,
        )

    @property
    def _still_running(self) -> tuple[str, ...]:
        if not self.alive:
            return ()
        return (
            f"process {self.alive[0]} still runs in the background: profile it in the foreground,"
            " or with --pid",
        )


def other_processes(run_buffers: Buffers, profiled: Buffer) -> OtherProcesses:
    """Return all processes but the chosen one."""
    buffers = {
        buffer.process: buffer
        for buffer in run_buffers.all()
        if buffer.is_claimed and buffer.taken and buffer is not profiled
    }
    with_buffer = {*buffers, *([profiled.process] if profiled.is_claimed else [])}
    noted = [note for note in run_buffers.first.other_processes if note.process not in with_buffer]
    processes = {*buffers, *(note.process for note in noted if note.process)}
    without_entry = max(0, int(run_buffers.first["others"]) - (table_size("other_processes") - 1))
    return OtherProcesses(
        count=len(processes) + without_entry,
        taken=sum(process.taken for process in buffers.values())
        + sum(note.taken for note in noted),
        is_exact=all(note.taken <= 1 for note in noted),
        waited=sum(buffer.waited * buffer.nanoseconds for buffer in buffers.values()),
        unseen=tuple(
            note.process.number or note.process.pid
            for note in noted
            if note.is_unseen and note.process
        ),
        alive=tuple(sorted(each.number for each in processes if is_running(each.number))),
    )
