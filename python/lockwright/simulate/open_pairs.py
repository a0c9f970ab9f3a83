"""Pairs of locks whose order is open, since it changes within the ranges of a machine's figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from lockwright.simulate import report
from lockwright.simulate.report import OpenPair
from lockwright.simulate.run import Cell, Interrupted, Orders, Results, run


def simulate_ends(
    orders: Orders,
    cells: Sequence[Cell],
    timeout: float,
    on_end: Callable[[Cell], None],
    found: dict[str, Results],
) -> None:
    """Simulates the cells at each end of each range of the machine, and adds the results to `found`
    by the end's label. An interrupt leaves what was simulated by then."""
    for label, machine in orders.machine.ends():
        at_end = replace(orders, machine=machine, trace=None)
        try:
            found[label] = run(at_end, cells, timeout, on_end)
        except Interrupted as interrupt:
            found[label] = interrupt.results
            raise


def open_pairs(middle: Results, ends: Mapping[str, Results]) -> list[OpenPair]:
    """Return the pairs of locks with as many threads whose order is not the same at all ends, by
    threads and then by throughput. Locks that are equal in the middle have no order."""
    rates = _rates(middle)
    at_ends = {label: _rates(results) for label, results in ends.items()}
    pairs = []
    for one, other in combinations(sorted(rates, key=lambda cell: -rates[cell]), 2):
        if one.threads != other.threads or rates[one] == rates[other]:
            continue
        labels = tuple(
            label
            for label, rate in at_ends.items()
            if one in rate and other in rate and rate[one] <= rate[other]
        )
        if labels:
            pairs.append(OpenPair(one.threads, one.lock, other.lock, labels))
    return sorted(pairs, key=lambda pair: pair.threads)


def _rates(results: Results) -> dict[Cell, float]:
    return {
        cell: report.figures(line)["operations_per_second"] for cell, line in results.lines.items()
    }


def summary(pairs: Sequence[OpenPair], ends: int, most: int = 10) -> list[str]:
    """Return lines that name the pairs, at most so many, and how many there are."""
    if not pairs:
        return [f"The order of the locks is the same at all {ends} ends of the machine's ranges."]
    count = "1 pair" if len(pairs) == 1 else f"{len(pairs)} pairs"
    lines = [
        f"Open: the order of {count} of locks changes within the ranges of the machine's figures."
    ]
    lines += [f"  {pair.text}" for pair in pairs[:most]]
    if len(pairs) > most:
        lines.append(f"  and {len(pairs) - most} more, which --json and --html have")
    return lines
