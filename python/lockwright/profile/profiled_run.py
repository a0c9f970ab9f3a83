"""What is known of a profiled run."""

import resource
from dataclasses import dataclass

from lockwright.profile.other_processes import OtherProcesses
from lockwright.profile.watch import Seen


@dataclass(frozen=True)
class ProfiledRun:
    """What is known of a run besides its buffer.

    status: of wait(); ended_ns: monotonic; usage: of the program and the children that it waited
    for; became: the program that the process ran last, if the profiler was not loaded into that one
    and nothing was seen; was_loaded: whether the profiler was loaded at all.
    """

    command: tuple[str, ...]
    program: str
    started: str
    status: int
    ended_ns: int
    child: int
    usage: resource.struct_rusage
    seen: Seen
    others: OtherProcesses
    became: str
    was_loaded: bool
