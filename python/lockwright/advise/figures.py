"""Figures with their units, for people."""

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"))
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def figure(value: float | None, unit: str) -> str:
    """A value of one of the units of Evidence; "not measurable here" for None."""
    if value is None:
        return "not measurable here"
    match unit:
        case "share":
            return f"{100 * value:.{0 if value >= 0.1 else 1}f} %"
        case "ns":
            return _scaled(value, _TIMES, "ns")
        case "bytes":
            return _scaled(value, _SIZES, "bytes")
        case "bytes/cpu s":
            return f"{_scaled(value, _SIZES, 'bytes')} a second of processor time"
        case "1/s":
            return f"{_number(value)} a second"
        case "1/cpu s":
            return f"{_number(value)} a second of processor time"
        case "threads":
            return f"{_number(value)} threads"
        case _:
            return _number(value)


def _scaled(value: float, units: tuple[tuple[float, str], ...], least: str) -> str:
    for size, name in units:
        if value >= size:
            return f"{_number(value / size)} {name}"
    return f"{_number(value)} {least}"


def _number(value: float) -> str:
    if value == int(value) or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"
