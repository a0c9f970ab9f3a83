"""A tour with made-up runs, and the parts of its report."""

from lockwright.run.bench_program import LIBC, Outcome
from lockwright_lab.bench.claims.evaluate import Machine
from lockwright_lab.bench.claims.measure import findings
from lockwright_lab.bench.claims.table import choose
from lockwright_lab.bench.rounds import RoundResults
from lockwright_lab.bench.tour import store, tour_figures, tour_plan
from lockwright_lab.bench.tour.page import Tour

LOCKS = (LIBC, "fast", "slow")
PLAN = tour_plan.make(LOCKS, 2, [])
HEADER = store.Header("then", list(LOCKS), [], 2, 0.1, 900.0, {"cpu": "A <processor>"})
HERE = Machine(2, frozenset(LOCKS), "there is no <counter>")


def outcome(rate: float, *more: dict[str, object]) -> Outcome:
    line = {"kind": "measured", "operations_per_second": rate, "gini": 0.25}
    return Outcome([line, *more], seconds=0.2)


def timed(rate: float) -> Outcome:
    percentiles = {f"{name}_ns": 10.0**n for n, name in enumerate(tour_figures.PERCENTILES)}
    return outcome(
        rate,
        {"kind": "latency", "what": "acquisition", **percentiles},
        {"kind": "admissions", "average_lwss": 1.5, "mttr": 0},
    )


def made(rounds: int = 3) -> RoundResults:
    """Return runs: `fast` is twice as fast as libc, and `slow` collapses with many threads."""
    results = RoundResults()
    for round_number in range(rounds):
        for threads in PLAN.threads:
            for lock, rate in zip(LOCKS, (1e6, 2e6, 5e5 / threads), strict=True):
                results.add(
                    PLAN.contended(lock, threads), round_number, outcome(rate + round_number)
                )
        for threads in PLAN.metered:
            for lock in LOCKS:
                results.add(PLAN.timed(lock, threads), round_number, timed(1e6))
        for lock, rate in zip(LOCKS, (1e6, 2e6, 5e5), strict=True):
            results.add(PLAN.uncontested(lock), round_number, outcome(rate))
        for delay in tour_plan.DELAYS:
            line = {"kind": "measured", "turnaround_ns": 5.0, "wake_ns": 2.0, "sleep_ns": 1.0}
            results.add(PLAN.nap(delay), round_number, Outcome([line]))
    return results


def tour(results: RoundResults, names: str | None = None) -> Tour:
    claims = choose(names) if names else []
    remarks = ["Failed: </script><b>bad</b>"]
    return Tour(
        HEADER, PLAN, results, findings(claims, results, HERE), remarks, "again", HERE.no_energy
    )
