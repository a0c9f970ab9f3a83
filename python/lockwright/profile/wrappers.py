"""The search for functions that lock a mutex for their callers, such as `my_lock(m)` or
`Mutex::Lock()`.

A function counts as a wrapper if it is known by its name, or if it returns with the mutex held:
another function released the mutex. Where releases were not recorded, and for functions that call
another wrapper, it is a function that locks several mutexes at a single place and has several
callers.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lockwright.profile.frames import Frame
from lockwright.profile.function_names import function
from lockwright.profile.lock_functions import is_known

Key = tuple[str, str]
"""A function: its file and its name."""

_LEVELS = 6
_SYSTEM = ("libc.so", "libc-2", "libpthread", "ld-linux", "libstdc++", "libc++.")


@dataclass(frozen=True)
class Call:
    """A stack from which a mutex was taken. releases: frames of the calls that released it."""

    mutex: int
    stack: tuple[Frame, ...]
    releases: tuple[Frame, ...] = ()


def function_key(frame: Frame) -> Key | None:
    """Return the function of a frame by its symbol alone."""
    return (frame.module, function(frame.symbol)) if frame.symbol else None


def wrapper_counts(
    calls: Sequence[Call], function_of: Callable[[Frame], Key | None] = function_key
) -> list[int]:
    """Return the number of innermost frames of each stack that are wrappers; the last never is.
    function_of: the function of a frame, None if unknown."""
    depths = [_past_known(call.stack, 0) for call in calls]
    for level in range(_LEVELS):
        groups: defaultdict[Key, list[int]] = defaultdict(list)
        for i, call in enumerate(calls):
            if (
                _can_pass(call.stack, depths[i])
                and (key := function_of(call.stack[depths[i]])) is not None
            ):
                groups[key].append(i)
        advanced = False
        for key, members in groups.items():
            of_members = [calls[i] for i in members], [depths[i] for i in members]
            if _is_wrapper(key, *of_members, level, function_of):
                for i in members:
                    depths[i] = _past_known(calls[i].stack, depths[i] + 1)
                advanced = True
        if not advanced:
            break
    return depths


def is_left_locked(
    taking: Sequence[Frame], releasing: Sequence[Frame], function_of: Callable[[Frame], Key | None]
) -> bool:
    """Return whether a function that locks a mutex leaves it to another one to release it. taking,
    releasing: the callers of the lock and the unlock function, each with the functions inlined into
    it; library functions that do so for any caller do not count."""
    takers, releasers = (
        {function_of(frame) for frame in frames if not is_known(frame.symbol)} - {None}
        for frames in (taking, releasing)
    )
    return bool(takers and releasers) and takers.isdisjoint(releasers)


def _is_wrapper(
    key: Key,
    calls: list[Call],
    depths: list[int],
    level: int,
    function_of: Callable[[Frame], Key | None],
) -> bool:
    releases = {function_of(frame) for call in calls for frame in call.releases} - {None}
    if key in releases:
        return False
    releasing_functions = {
        function_of(frame)
        for call in calls
        for frame in call.releases
        if not is_known(frame.symbol)
    } - {None}
    if level == 0 and releasing_functions and all(depth == 0 for depth in depths):
        return True
    sites = {
        call.stack[i].source or call.stack[i].offset for call, i in zip(calls, depths, strict=True)
    }
    callers = {function_of(call.stack[i + 1]) for call, i in zip(calls, depths, strict=True)}
    mutexes = {call.mutex for call in calls}
    return len(sites) == 1 and len(callers) >= 2 and len(mutexes) >= 2


def _past_known(stack: tuple[Frame, ...], index: int) -> int:
    begin = index
    while index < len(stack) and is_known(stack[index].symbol):
        index += 1
    # A stack of nothing else remains unchanged.
    return (
        index if index < len(stack) and (index == begin or _is_of_program(stack[index])) else begin
    )


def _can_pass(stack: tuple[Frame, ...], index: int) -> bool:
    return index + 1 < len(stack) and _is_of_program(stack[index + 1])


def _is_of_program(frame: Frame) -> bool:
    name = frame.module.rpartition("/")[2]
    return bool(frame.module) and not name.startswith(_SYSTEM)
