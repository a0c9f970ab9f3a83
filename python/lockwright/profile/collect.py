"""A run of a program under the profiler."""

import os
import resource
from dataclasses import dataclass, replace
from pathlib import Path

from lockwright.base import clock
from lockwright.base.errors import LockwrightError, warn
from lockwright.base.results import now
from lockwright.preload import binary, loads, locks
from lockwright.profile import buffer as buffers
from lockwright.profile import damage
from lockwright.profile.buffer import Buffer, Buffers
from lockwright.profile.other_processes import other_processes
from lockwright.profile.profiled_run import ProfiledRun
from lockwright.profile.record import Profile
from lockwright.profile.watch import OnSample, Watcher
from lockwright.run import foreground
from lockwright.run.unseen import UnseenPrograms

LIBRARY = "probe/liblockwright-probe.so"


def probe_path() -> Path:
    """Return the profiler's library. Raises LockwrightError if it was not built."""
    path = locks.directory() / LIBRARY
    if not path.is_file():
        raise LockwrightError(f"{path} is missing", "build or install Lockwright again")
    locks.check_preloadable(path)
    return path


@dataclass(frozen=True)
class Profiled:
    """A profile, and the wait() status of the program."""

    profile: Profile
    status: int


def profile_command(
    command: list[str],
    environment: dict[str, str] | None = None,
    on_sample: OnSample | None = None,
) -> Profiled:
    """Run a command in the foreground to its end, and profile its mutexes. on_sample: called 25
    times a second. Raises LockwrightError if the command cannot be run under
    the profiler, and DamagedRecords if the program has overwritten the records."""
    from lockwright.profile.convert import to_profile

    program = binary.find(command[0])
    probe = probe_path()
    is_preloaded = _is_preloaded(program, probe, command[1:], on_sample is not None)
    with buffers.new() as path:
        variables = dict(os.environ if environment is None else environment)
        if is_preloaded:
            variables = locks.preload(probe, variables, program)
        variables[buffers.VARIABLE] = str(path)
        run_buffers = Buffers(path)
        buffer, run = _run(program, command, variables, run_buffers, on_sample)
        run = replace(run, is_preloaded=is_preloaded)
        profile = replace(to_profile(buffer, run), rwlock=variables.get(locks.RWLOCK) or "keep")
        return Profiled(profile, run.status)


def _is_preloaded(program: Path, probe: Path, arguments: list[str], must: bool) -> bool:
    """Return whether the profiler's library can be loaded into a program; else it is sampled from
    outside only. Raises LockwrightError if it cannot be profiled at all, or else if it `must`."""
    try:
        doubt = binary.check(program, probe, arguments)
    except binary.NotPreloadable as error:
        if must:
            raise
        warn(f"{error.what}: it is sampled from outside")
        return False
    if doubt is not None:
        warn(doubt)
    return True


def _run(
    program: Path,
    command: list[str],
    environment: dict[str, str],
    run_buffers: Buffers,
    on_sample: OnSample | None,
) -> tuple[Buffer, ProfiledRun]:
    watcher = Watcher(run_buffers, on_sample)
    child = 0

    def started(pid: int) -> None:
        nonlocal child
        child = pid
        watcher.start(pid)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = now()
    try:
        unseen = UnseenPrograms(Path(environment[buffers.VARIABLE]))
        ending = foreground.run(program, command, environment, started, unseen.look)
    except OSError as error:
        raise LockwrightError(
            f"cannot run '{program}': {error.strerror}", "check the program and its arguments"
        ) from error
    ended = clock.monotonic_ns()
    buffer, samples = watcher.stop()
    run_buffers.first.check()
    try:
        damage.check(buffer)
    except damage.DamagedRecords as error:
        error.program_status = ending.status
        raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    usage = resource.struct_rusage(tuple(new - old for new, old in zip(after, before, strict=True)))
    run = ProfiledRun(
        tuple(command),
        str(program),
        began,
        ending.status,
        ended,
        child,
        usage,
        samples,
        other_processes(run_buffers, buffer),
        "" if buffer.took_any else loads.without_library(run_buffers.first.loaded, ending.process),
        bool(run_buffers.first.loaded),
        None if buffer.took_any else unseen.found() or _unreported(run_buffers, ending.process),
        watcher.others(buffer),
        watcher.sampled(),
    )
    return buffer, run


def _unreported(run_buffers: Buffers, ended: loads.Ended) -> loads.Unseen | None:
    """Return the children of the started process, if none of them has reported."""
    is_alone = len(run_buffers.first.loaded) == 1
    return loads.Unseen("") if ended.had_children and is_alone else None
