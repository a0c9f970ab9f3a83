"""Open pairs: pairs of locks whose order changes within the ranges of a machine's figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from lockwright.simulate.run import Cell, Interrupted, Results, Setup, run

from lockwright_lab.simulate import report
from lockwright_lab.simulate.report import OpenPair


def simulate_ends(
    setup: Setup,
    cells: Sequence[Cell],
    timeout: float,
    on_end: Callable[[Cell], None],
    results: dict[str, Results],
) -> None:
    """Simulate the cells at each end of each range of the machine, and add the results, also those
    before an interrupt, to `results` by the end's label."""
    for label, machine in setup.machine.range_ends():
        at_end = replace(setup, machine=machine, trace=None)
        try:
            results[label] = run(at_end, cells, timeout, on_end)
        except Interrupted as interrupt:
            results[label] = interrupt.results
            raise


def open_pairs(middle: Results, ends: Mapping[str, Results]) -> list[OpenPair]:
    """Return the pairs of locks, with equally many threads, whose order is not the same at all
    ends, by threads and then by throughput. Locks that are equal in the middle have no order."""
    rates = report.rates(middle)
    at_ends = {label: report.rates(results) for label, results in ends.items()}
    pairs = []
    for faster, slower in combinations(sorted(rates, key=lambda cell: -rates[cell]), 2):
        if faster.threads != slower.threads or rates[faster] == rates[slower]:
            continue
        labels = tuple(
            label
            for label, rate in at_ends.items()
            if faster in rate and slower in rate and rate[faster] <= rate[slower]
        )
        if labels:
            pairs.append(OpenPair(faster.threads, faster.lock, slower.lock, labels))
    return sorted(pairs, key=lambda pair: pair.threads)


def summary(pairs: Sequence[OpenPair], ends: int, most: int = 10) -> list[str]:
    """Return lines with the number of pairs and the first `most` of them."""
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
