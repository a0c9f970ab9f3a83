"""Formats numbers for people, and parses those that programs print."""

import math
import re

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")

LEAST, MOST = 0.01, 100.0
"""Limits beyond which the end of a confidence interval carries no information."""

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def number(text: str | None) -> float | None:
    """Return the finite number in `text`, which may have commas between thousands, or None."""
    if text is None:
        return None
    word = text.strip()
    if _THOUSANDS.fullmatch(word):
        word = word.replace(",", "")
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def plain(value: float) -> str:
    """Return a number with three significant digits, commas between thousands and no exponent."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3g}" if size >= 0.0001 else f"{value:.1e}"


def figure(value: float) -> str:
    """Return a measured value with four significant digits, or all digits before the point."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def ratio(value: float) -> str:
    """Return a ratio with two decimals: more below 0.1, fewer from 10 on."""
    if value < 0.0001:
        return "<0.0001"
    if value >= 10_000:
        return ">10,000"
    for limit, decimals in ((100.0, 0), (10.0, 1), (0.1, 2), (0.01, 3), (0.001, 4)):
        if value >= limit:
            return f"{value:,.{decimals}f}"
    return f"{value:.5f}"


def interval(low: float | None, high: float | None) -> str:
    """Return the confidence interval of a ratio; `-` without one."""
    if low is None or high is None:
        return "-"
    begin, end = _interval_end(low), _interval_end(high)
    # A limit that both ends exceed is printed once.
    return begin if begin == end and begin[0] in "<>" else f"{begin} to {end}"


def time(ns: float) -> str:
    """Return a duration in nanoseconds with three significant digits, in a suitable unit."""
    for size, unit in _TIMES:
        if ns >= size * 0.9995:
            return f"{_three_digits(ns / size)} {unit}"
    return f"{_three_digits(ns)} ns"


def count(number: float) -> str:
    """Return a count with three significant digits, and k, M or G for large ones."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size * 0.9995:
            return f"{_three_digits(number / (1e3 if letter == 'k' else size))}{letter}"
    return f"{number:,.0f}" if number >= 10 or number == int(number) else _three_digits(number)


def share(of_one: float) -> str:
    """Return a share between 0 and 1 in per cent."""
    percent = 100 * of_one
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def percent(of_one: float, decimals: int = 0) -> str:
    """Return a fraction in per cent, with `decimals` decimals."""
    return f"{100 * of_one:.{decimals}f} %"


def bytes_of_memory(size: float) -> str:
    """Return an amount of memory in a suitable unit."""
    for unit, name in _SIZES:
        if size >= unit:
            return f"{_short_number(size / unit)} {name}"
    return f"{_short_number(size)} bytes"


def with_unit(value: float | None, unit: str) -> str:
    """Return a value with its unit of evidence; "not measurable here" for None."""
    if value is None:
        return "not measurable here"
    match unit:
        case "share":
            return share(value)
        case "ns":
            return time(value)
        case "bytes":
            return bytes_of_memory(value)
        case "bytes/cpu s":
            return f"{bytes_of_memory(value)} a second of processor time"
        case "1/s":
            return f"{_short_number(value)} a second"
        case "1/cpu s":
            return f"{_short_number(value)} a second of processor time"
        case "threads":
            return f"{_short_number(value)} threads"
        case _:
            return _short_number(value)


_LONG_UNITS = {"1/s": "", "1/cpu s": "", "threads": "", "bytes/cpu s": "bytes"}


def with_short_unit(value: float | None, unit: str) -> str:
    """Return a value beside another one that has the same unit in full."""
    return with_unit(value, _LONG_UNITS.get(unit, unit))


def _interval_end(value: float) -> str:
    if value < LEAST:
        return f"<{LEAST:g}"
    return f">{MOST:g}" if value > MOST else ratio(value)


def _three_digits(value: float) -> str:
    """Return a number with three significant digits and no exponent."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def _short_number(value: float) -> str:
    """Return a whole number unchanged, any other with two or three digits and no exponent."""
    if value == int(value) or value >= 100:
        return f"{value:,.0f}"
    if 0 < value < 0.001:
        return "<0.001"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"
