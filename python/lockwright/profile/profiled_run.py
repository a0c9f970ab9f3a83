"""Metadata of a profiled run."""

import resource
from dataclasses import dataclass

from lockwright.preload.loads import Unseen
from lockwright.profile.buffer import Buffer
from lockwright.profile.other_processes import OtherProcesses
from lockwright.profile.outside.process import SampledProcess
from lockwright.profile.watch import Samples


@dataclass(frozen=True)
class ProfiledRun:
    """Facts about a run that are not in its buffer. status: of wait(); ended_ns: monotonic; usage:
    of the program and the children that it waited for; became: the last program of the process, if
    that did not load the profiler and no mutex was recorded; was_loaded: whether the profiler was
    loaded at all; unseen: a program that could not report, if no mutex was recorded; beside: the
    other processes with a buffer; sampled: the processes that were also sampled from outside;
    is_preloaded: whether the library was to be loaded, not only the samples taken."""

    command: tuple[str, ...]
    program: str
    started: str
    status: int
    ended_ns: int
    child: int
    usage: resource.struct_rusage
    samples: Samples
    others: OtherProcesses
    became: str
    was_loaded: bool
    unseen: Unseen | None = None
    beside: tuple[tuple[Buffer, Samples], ...] = ()
    sampled: tuple[SampledProcess, ...] = ()
    is_preloaded: bool = True
