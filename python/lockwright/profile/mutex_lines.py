"""Names mutexes, adds source lines to their frames, and separates wrappers from callers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from lockwright.profile import wrappers
from lockwright.profile.function_names import brief
from lockwright.profile.record import CREATED, FIRST_TAKEN, OBJECT, Frame, Mutex, Place, via
from lockwright.profile.symbols import Symbols
from lockwright.profile.wrappers import Call


def with_lines(
    mutexes: Sequence[Mutex], symbols: Symbols, releases: Callable[[int], dict[int, Frame]]
) -> list[Mutex]:
    """Return the mutexes with source lines, wrappers and names.

    releases: by the index of a mutex and the number of its site, the frame that released the
    acquisitions of that site.
    """
    released = [releases(index) for index in range(len(mutexes))]
    frames = {frame for each in mutexes for site in each.sites for frame in site.stack}
    frames |= {frame for each in mutexes for frame in (each.place.frame, *each.place.stack)}
    frames |= {frame for each in released for frame in each.values()}
    frames -= {each.place.frame for each in mutexes if each.place.kind == OBJECT}
    lines = symbols.with_lines(frames)

    def with_inlined(stack: Sequence[Frame]) -> tuple[Frame, ...]:
        return tuple(part for frame in stack for part in lines.get(frame, (frame,)))

    calls = [
        Call(
            index,
            with_inlined(site.stack),
            with_inlined([released[index][i]] if i in released[index] else []),
        )
        for index, each in enumerate(mutexes)
        for i, site in enumerate(each.sites)
    ]
    skipped = iter(zip(calls, wrappers.wrapper_counts(calls, symbols.function), strict=True))
    sited = [
        replace(
            each,
            sites=tuple(
                replace(site, stack=call.stack, wrappers=count)
                for site, (call, count) in zip(each.sites, skipped, strict=False)
            ),
        )
        if each.sites
        else each
        for each in mutexes
    ]
    return _with_names(
        [replace(each, place=_stacked(each, with_inlined)) for each in sited], symbols
    )


def _stacked(mutex: Mutex, with_inlined: Callable[[Sequence[Frame]], tuple[Frame, ...]]) -> Place:
    """Return a mutex's place with its stack. For a mutex found when it was first taken, it is the
    stack of the same caller's site with most waiting."""
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
    """Find wrappers of initialisations as those of lock functions, but without releases."""
    created = [i for i, each in enumerate(mutexes) if each.place.kind == CREATED]
    counts = wrappers.wrapper_counts(
        [Call(i, mutexes[i].place.stack) for i in created], symbols.function
    )
    for i, count in zip(created, counts, strict=True):
        mutexes[i] = replace(mutexes[i], place=replace(mutexes[i].place, wrappers=count))
    named = [replace(each, name=name_of(each.place, each.instances == 1)) for each in mutexes]
    return _numbered(_distinguished(named))


def _distinguished(mutexes: list[Mutex]) -> list[Mutex]:
    """Add the line, or else the offset, to the names of mutexes of one function."""
    places: dict[str, set[tuple[str, int]]] = {}
    for each in mutexes:
        places.setdefault(each.name, set()).add(_position(each.place))
    return [
        replace(each, name=f"{each.name} ({_where(each.place)})")
        if len(places[each.name]) > 1 and each.place.kind != OBJECT
        else each
        for each in mutexes
    ]


def _numbered(mutexes: list[Mutex]) -> list[Mutex]:
    """Number mutexes with the same name, which one caller of a wrapper created."""
    same: dict[str, list[int]] = {}
    for i, each in enumerate(mutexes):
        if each.place.wrappers and each.instances == 1:
            same.setdefault(each.name, []).append(i)
    for name, members in same.items():
        members.sort(key=lambda i: mutexes[i].place.ordinal)
        for number, i in enumerate(members[1:], 1):
            mutexes[i] = replace(mutexes[i], name=f"{name} #{number}")
    return mutexes


def _position(place: Place) -> tuple[str, int]:
    frame = place.stack[place.wrappers] if place.stack else place.frame
    return frame.module, frame.offset


def _where(place: Place) -> str:
    frame = place.stack[place.wrappers] if place.stack else place.frame
    return frame.source or f"+{frame.offset:#x}"


def name_of(place: Place, is_one: bool) -> str:
    """Return the name of a mutex.

    is_one: the place stands for a single mutex, not for all of that place. A place reached through
    wrappers has no ordinal in its name: the ordinal counts the mutexes of all callers.
    """
    frame = place.frame
    name = _short(frame)
    if place.kind == OBJECT:
        return name if not frame.symbol_offset else f"{name}+{frame.symbol_offset}"
    if 0 < place.wrappers < len(place.stack):
        name = _short(place.stack[place.wrappers]) + via(place.stack, place.wrappers)
    elif place.stack:
        name = _short(place.stack[0])
    if not is_one:
        how = "created in" if place.kind == CREATED else "first taken in"
        return f"mutexes {how} {name}"
    number = f" #{place.ordinal}" if place.ordinal > 0 and not place.wrappers else ""
    return f"{name}{number}" if place.kind == CREATED else f"taken in {name}{number}"


def _short(frame: Frame) -> str:
    """Return a symbol without the function's parameters, or file and offset."""
    if not frame.symbol:
        return f"{frame.module.rpartition('/')[2] or 'unknown code'}+{frame.offset:#x}"
    return brief(frame.symbol)
