"""Starting a program with a lock, or with several by a plan: what `lockwright run` does."""

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from lockwright.base.errors import LockwrightError, warn
from lockwright.machine import calibration
from lockwright.preload import binary
from lockwright.preload.locks import (
    APPEND,
    DEFAULT,
    DEFAULT_RWLOCK,
    KEPT,
    METRICS,
    RWLOCK,
    SHARES,
    Registry,
    check_plan_replacements,
    preload,
    registry,
    set_replacements,
)
from lockwright.run.foreground import PYTHON_IGNORES

# What only some starts need is imported when they need it: the command is started before each run.
if TYPE_CHECKING:
    from lockwright.plan.read import Entry, Plan
    from lockwright.run.settings import Settings


@dataclass(frozen=True)
class Request:
    """The options. lock, plan: exclude each other; stats: print the counts afterwards; metrics: let
    the program count its waits; cond, sem: words of SHARES; rwlock, spin: what replaces these
    locks; None everywhere for what the environment or a default says. keep: words of KEPT."""

    lock: str | None
    plan: Path | None
    stats: bool
    metrics: bool
    cond: str | None
    sem: str | None
    rwlock: str | None
    spin: str | None
    keep: Sequence[str]
    settings: "Settings"
    arguments: Sequence[str]


@dataclass
class Subject:
    """The lock or plan to put in place. locks: their names; path: that of the preloaded library;
    plan: None for a single lock; entries: those of the compiled plan in the order of its counts,
    None for a default entry."""

    name: str
    locks: list[str]
    path: Path
    plan: "Plan | None" = None
    entries: "Sequence[Entry | None]" = ()

    def compile_plan(self, program: Path) -> dict[str, str]:
        """Compile the plan for the program, and return its environment variable."""
        from lockwright.plan import compiled

        assert self.plan is not None
        compiled_plan = compiled.compile_for(self.plan, program)
        self.entries = compiled_plan.entries
        return {compiled.VARIABLE: compiled_plan.text}


@dataclass(frozen=True)
class Launch:
    """A checked start. environment: of the program, without the library of the locks."""

    subject: Subject
    program: Path
    arguments: Sequence[str]
    environment: dict[str, str]


def prepare(request: Request) -> Launch:
    """Check the options, and return the start. The settings are applied to this process, which the
    program inherits. Raises LockwrightError."""
    locks = registry()
    subject = _subject(locks, request.lock, request.plan, request.stats)
    chosen = _with_replacements(request, subject)
    for name in subject.locks:
        locks.check_environment(name, chosen)
    arguments = list(request.arguments)
    program = binary.find(arguments[0])
    if doubt := binary.check(program, subject.path, arguments[1:]):
        warn(doubt)
    environment = chosen
    for variables in calibration.calibrated_variables(locks, subject.locks, chosen).values():
        environment = environment | variables
    if subject.plan is not None:
        environment = environment | subject.compile_plan(program)
    if request.settings:
        environment = _apply(request.settings, program, arguments, environment, subject.path)
    return Launch(subject, program, arguments, environment)


def _with_replacements(request: Request, subject: Subject) -> dict[str, str]:
    """Return the environment with what replaces everything but the mutexes."""
    chosen = dict(os.environ)
    for option, kind in (("cond", request.cond), ("sem", request.sem)):
        if kind is not None:
            chosen[APPEND[option]] = SHARES[kind]
    for piece in request.keep:
        if getattr(request, piece) is not None:
            raise LockwrightError(
                f"--keep {piece} and --{piece} exclude each other", "leave one of them out"
            )
        variable, value = KEPT[piece]
        chosen[variable] = value
    if request.metrics:
        chosen[METRICS] = "1"
    rwlock = request.rwlock
    if rwlock is None and subject.plan is not None:
        rwlock = subject.plan.rwlock
    if rwlock is None and subject.plan is None and request.lock in (None, DEFAULT):
        chosen.setdefault(RWLOCK, DEFAULT_RWLOCK)
    set_replacements(chosen, {"rwlock": rwlock, "spin": request.spin})
    if subject.plan is not None:
        check_plan_replacements(chosen, "give one lock for all with --lock")
    return chosen


def _subject(locks: Registry, lock: str | None, plan: Path | None, counting: bool) -> Subject:
    if lock is not None and plan is not None:
        raise LockwrightError(
            "--lock and --plan exclude each other",
            "give --lock LOCK, or --plan FILE for several; see 'lockwright run --help'",
        )
    if plan is None:
        if lock is None or lock == DEFAULT:
            lock = locks.default.name
        return Subject(lock, [lock], locks.path_of(lock, counting=counting))
    from lockwright.plan.read import read

    assignment = read(plan, locks)
    # The baseline has no parameters, and may not have been built.
    known = [name for name in assignment.all_locks if name in locks.names]
    return Subject(str(plan), known, locks.path_of_mixed(counting=counting), assignment)


def _apply(
    settings: "Settings",
    program: Path,
    argv: list[str],
    environment: dict[str, str],
    library: Path,
) -> dict[str, str]:
    """Apply the settings to this process, which the program inherits, and return its environment
    without the lock's library. Raises LockwrightError."""
    from lockwright.preload import allocators
    from lockwright.run import inherited
    from lockwright.run.settings import BATCH, SMALL

    settings.check(binary.executed(program, argv[1:]), environment)
    environment = settings.environment(environment)
    if (allocator := settings.chosen_allocator) is not None:
        loaded = preload(library, environment, program)
        allocators.check_order(allocator, program, loaded, library)
    try:
        inherited.pass_on(settings.processors, settings.scheduler == BATCH, settings.pages == SMALL)
    except OSError as error:
        raise LockwrightError(
            f"the system refuses {' '.join(settings.options)}: {error.strerror}",
            "leave out that option, or check what the container or service allows",
        ) from error
    return environment


def become(launch: Launch) -> NoReturn:
    """Replace this process by the program. Raises LockwrightError if it cannot be started."""
    for number in PYTHON_IGNORES:
        signal.signal(number, signal.SIG_DFL)
    loaded = preload(launch.subject.path, launch.environment, launch.program)
    try:
        os.execve(launch.program, list(launch.arguments), loaded)
    except OSError as error:
        raise cannot_start(launch.program, error) from error


def cannot_start(program: Path, error: OSError) -> LockwrightError:
    """Return the error of a program that the system refuses."""
    return LockwrightError(
        f"cannot run '{program}': {error.strerror}", "check the program and its arguments"
    )
