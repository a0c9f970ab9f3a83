"""Figures of a profile as a person reads them."""


def time(ns: float) -> str:
    """A duration with three significant digits, in the unit that fits it."""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= size * 0.9995:
            return f"{_three(ns / size)} {unit}"
    return f"{_three(ns)} ns"


def count(number: float) -> str:
    """How many: three significant digits, with a letter for thousands, millions and billions."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size * 0.9995:
            return f"{_three(number / (1e3 if letter == 'k' else size))}{letter}"
    return f"{number:,.0f}" if number >= 10 or number == int(number) else _three(number)


def share(of_one: float) -> str:
    """A share between 0 and 1, in per cent."""
    percent = 100 * of_one
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if 0 < percent < 10 else f"{percent:.0f} %"


def _three(value: float) -> str:
    """Three significant digits, without a letter e."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.3g}"
