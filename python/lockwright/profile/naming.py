"""What a mutex is called."""

from lockwright.profile.record import CREATED, OBJECT, Frame, Place


def name_of(place: Place, is_one: bool) -> str:
    """is_one: it is one mutex, and not all of that place."""
    frame = place.frame
    name = _short(frame)
    if place.kind == OBJECT:
        return name if not frame.symbol_offset else f"{name}+{frame.symbol_offset}"
    if not is_one:
        how = "created in" if place.kind == CREATED else "first taken in"
        return f"mutexes {how} {name}"
    number = f" #{place.ordinal}" if place.ordinal > 0 else ""
    return f"{name}{number}" if place.kind == CREATED else f"taken in {name}{number}"


def _short(frame: Frame) -> str:
    """A symbol without the parameters of a function, or file and offset."""
    if not frame.symbol:
        return f"{frame.module.rpartition('/')[2] or 'unknown code'}+{frame.offset:#x}"
    symbol = frame.symbol.removesuffix(" const")
    if not symbol.endswith(")"):
        return frame.symbol
    depth = 0
    for at in range(len(symbol) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(symbol[at], 0)
        if depth == 0:
            return symbol[:at]
    return frame.symbol
