"""Names of mutexes, source lines of their frames, and their wrappers."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from lockwright.profile import wrappers
from lockwright.profile.frames import Frame, via
from lockwright.profile.function_names import brief
from lockwright.profile.record import CREATED, FIRST_TAKEN, OBJECT, Mutex, Place, Site
from lockwright.profile.symbols import Symbols
from lockwright.profile.wrappers import Call

_KNOWN_VARIABLES = {"_PyRuntime": "Python's interpreter lock"}
"""What the mutexes in the variables of widely used libraries are."""


def with_lines(
    mutexes: Sequence[Mutex], symbols: Symbols, releases: Callable[[int], dict[int, Frame]]
) -> list[Mutex]:
    """Return the mutexes with source lines, wrappers and names. releases: by the index of a mutex
    and the number of its site, the frame that released the acquisitions of that site."""
    released = [releases(index) for index in range(len(mutexes))]
    frames = {frame for mutex in mutexes for site in mutex.sites for frame in site.stack}
    frames |= {frame for mutex in mutexes for frame in (mutex.place.frame, *mutex.place.stack)}
    frames |= {frame for of_mutex in released for frame in of_mutex.values()}
    frames -= {mutex.place.frame for mutex in mutexes if mutex.place.kind == OBJECT}
    lines = symbols.with_lines(frames)

    def with_inlined(stack: Sequence[Frame]) -> tuple[Frame, ...]:
        return tuple(part for frame in stack for part in lines.get(frame, (frame,)))

    calls = [
        Call(
            index,
            with_inlined(site.stack),
            with_inlined([released[index][i]] if i in released[index] else []),
        )
        for index, mutex in enumerate(mutexes)
        for i, site in enumerate(mutex.sites)
    ]
    releasers: defaultdict[Frame, set[Frame]] = defaultdict(set)
    for mutex, of_mutex in zip(mutexes, released, strict=True):
        for i, frame in of_mutex.items():
            releasers[mutex.sites[i].stack[0]].add(frame)
    skipped = iter(zip(calls, wrappers.wrapper_counts(calls, symbols.function), strict=True))
    sited = [
        replace(
            mutex,
            sites=tuple(
                replace(
                    site,
                    stack=call.stack,
                    wrappers=count,
                    is_left_locked=wrappers.is_left_locked(
                        with_inlined(site.stack[:1]),
                        with_inlined([*releasers[site.stack[0]]]) if site.stack else (),
                        symbols.function,
                    ),
                )
                for site, (call, count) in zip(mutex.sites, skipped, strict=False)
            ),
        )
        if mutex.sites
        else mutex
        for mutex in mutexes
    ]
    return _with_names(
        [replace(mutex, place=_stacked(mutex, with_inlined)) for mutex in sited], symbols
    )


def taken_at(symbols: Symbols, caller: int) -> Site:
    """Return the site of which only the caller of the lock function is known."""
    stack = symbols.inlined(caller)
    (count,) = wrappers.wrapper_counts([Call(0, stack)])
    return Site(stack, 0.0, 0, 0.0, 0.0, count)


def _stacked(mutex: Mutex, with_inlined: Callable[[Sequence[Frame]], tuple[Frame, ...]]) -> Place:
    """Return a mutex's place with its stack; for FIRST_TAKEN, the stack of the same caller's site
    with most waiting."""
    place = mutex.place
    if place.kind == OBJECT:
        return place
    stack = with_inlined(place.stack or (place.frame,))
    count = 0
    if place.kind == FIRST_TAKEN:
        for site in mutex.sites:
            if site.stack and site.stack[0] == stack[0]:
                stack, count = site.stack, site.wrappers
                break
    # The symbol stays unchanged: it identifies the mutex across runs.
    source = with_inlined((place.frame,))[-1].source
    return replace(place, frame=replace(place.frame, source=source), stack=stack, wrappers=count)


def _with_names(mutexes: list[Mutex], symbols: Symbols) -> list[Mutex]:
    """Find the wrappers of initialisations, as those of lock functions but without releases."""
    created = [i for i, mutex in enumerate(mutexes) if mutex.place.kind == CREATED]
    counts = wrappers.wrapper_counts(
        [Call(i, mutexes[i].place.stack) for i in created], symbols.function
    )
    for i, count in zip(created, counts, strict=True):
        mutexes[i] = replace(mutexes[i], place=replace(mutexes[i].place, wrappers=count))
    named = [replace(mutex, name=name_of(mutex.place, mutex.instances == 1)) for mutex in mutexes]
    return _numbered(_distinguished(named))


def _distinguished(mutexes: list[Mutex]) -> list[Mutex]:
    """Add the line, or otherwise the offset, to the names of mutexes of one function."""
    addresses: dict[str, set[tuple[str, int]]] = {}
    for mutex in mutexes:
        frame = _caller_of_wrappers(mutex.place)
        addresses.setdefault(mutex.name, set()).add((frame.module, frame.offset))
    distinguished = []
    for mutex in mutexes:
        if len(addresses[mutex.name]) > 1 and mutex.place.kind != OBJECT:
            frame = _caller_of_wrappers(mutex.place)
            line = frame.source or f"+{frame.offset:#x}"
            mutex = replace(mutex, name=f"{mutex.name} ({line})")
        distinguished.append(mutex)
    return distinguished


def _numbered(mutexes: list[Mutex]) -> list[Mutex]:
    """Number the mutexes that one caller of a wrapper created, which have the same name."""
    by_name: dict[str, list[int]] = {}
    for i, mutex in enumerate(mutexes):
        if mutex.place.wrappers and mutex.instances == 1:
            by_name.setdefault(mutex.name, []).append(i)
    for name, members in by_name.items():
        members.sort(key=lambda i: mutexes[i].place.ordinal)
        for number, i in enumerate(members[1:], 1):
            mutexes[i] = replace(mutexes[i], name=f"{name} #{number}")
    return mutexes


def _caller_of_wrappers(place: Place) -> Frame:
    return place.stack[place.wrappers] if place.stack else place.frame


def name_of(place: Place, is_single: bool) -> str:
    """Return the name of a lock. is_single: whether the place is of a single mutex. Behind
    wrappers, a name has no ordinal, since that counts the mutexes of all callers."""
    if place.kind == OBJECT:
        return variable_name(place.frame)
    name = short_name(place.frame)
    if 0 < place.wrappers < len(place.stack):
        name = short_name(place.stack[place.wrappers]) + via(place.stack, place.wrappers)
    elif place.stack:
        name = short_name(place.stack[0])
    if not is_single:
        how = "created in" if place.kind == CREATED else "first taken in"
        return f"locks {how} {name}"
    number = f" #{place.ordinal}" if place.ordinal > 0 and not place.wrappers else ""
    return f"{name}{number}" if place.kind == CREATED else f"lock taken in {name}{number}"


def variable_name(frame: Frame, inside: int = 0) -> str:
    """Return the name of a variable, or of the place in it that is more than `inside` bytes from
    its beginning."""
    name = short_name(frame)
    name = f"{name}+{frame.symbol_offset}" if frame.symbol_offset > inside else name
    known = _KNOWN_VARIABLES.get(frame.symbol)
    return f"{known} ({name})" if known else name


def short_name(frame: Frame) -> str:
    """Return a symbol without the function's parameters, or file and offset."""
    if not frame.symbol:
        return f"{frame.module.rpartition('/')[2] or 'unknown code'}+{frame.offset:#x}"
    return brief(frame.symbol)
