"""Names mutexes."""

from lockwright.profile.function_names import brief
from lockwright.profile.record import CREATED, OBJECT, Frame, Place, via


def name_of(place: Place, is_one: bool) -> str:
    """The name of a mutex.

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
    """A symbol without the function's parameters, or file and offset."""
    if not frame.symbol:
        return f"{frame.module.rpartition('/')[2] or 'unknown code'}+{frame.offset:#x}"
    return brief(frame.symbol)
