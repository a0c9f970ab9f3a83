"""The plan of a tour: the cases of its figures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from lockwright.run.bench_program import LIBC

from lockwright_lab.bench.cases import Case, case
from lockwright_lab.bench.claims.claim import Claim, all_cases

LOCKS = (
    "pthread",
    "adaptive",
    "futex",
    "ttas",
    "ticket",
    "mcs-spin",
    "mcs-stp",
    "malth-stp",
    "mutexee",
    "mutable",
)
"""The default locks: those of the papers' figures, with each kind of handover and of waiting."""

DELAYS = (0, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
"""Cycles of sleep in the figure on futexes (Falsafi et al., ATC 2016, figure 6)."""

SECTION_CYCLES = 1000
"""Length of the sections of the contended lock (ibidem, figure 11)."""

WANTED_ROUNDS = 7
"""Number of rounds from which the time of a run is computed."""

_LONGEST, _SHORTEST = 0.3, 0.05
"""Longest and shortest measured time of a run, in seconds."""

_OVERHEAD = 0.09
"""Seconds of a run without its measurement: warm-up, start and end."""

WARM_UP = 0.03


@dataclass(frozen=True)
class Plan:
    """The plan. locks: `libc` first. threads: the numbers of threads. metered: those with which
    times and admissions are measured, too. claims: those that can be shown on this machine."""

    locks: tuple[str, ...]
    threads: tuple[int, ...]
    metered: tuple[int, ...]
    claims: tuple[Claim, ...] = field(default=())

    def contended(self, lock: str, threads: int) -> Case:
        """Return the case in which all threads contend for one lock."""
        return case("single-lock", lock, {"section-cycles": SECTION_CYCLES, "threads": threads})

    def timed(self, lock: str, threads: int) -> Case:
        """Return the contended case with each acquisition timed and admissions recorded."""
        meters = {"latency": 1, "admissions": 1}
        options = {"section-cycles": SECTION_CYCLES, "threads": threads, **meters}
        return case("single-lock", lock, options)

    def uncontested(self, lock: str) -> Case:
        """Return the case of one thread with an uncontended lock."""
        return case("uncontested", lock, {})

    def nap(self, cycles: int) -> Case:
        """Return the case of a thread that sleeps on a futex for `cycles`, without a lock."""
        return case("futex-latency", LIBC, {"delay-cycles": cycles})

    def cases(self) -> list[Case]:
        """Return all cases, each once."""
        cases = [
            *(self.contended(lock, n) for lock in self.locks for n in self.threads),
            *(self.timed(lock, n) for lock in self.locks for n in self.metered),
            *(self.uncontested(lock) for lock in self.locks),
            *(self.nap(cycles) for cycles in DELAYS),
        ]
        return list(dict.fromkeys([*cases, *all_cases(self.claims)]))


def make(locks: Sequence[str], processors: int, claims: Sequence[Claim]) -> Plan:
    """Return the plan for a machine: from one thread to sixteen for each processor."""
    threads = tuple(sorted({1, *(factor * processors for factor in (1, 2, 4, 16))}))
    metered = tuple(factor * processors for factor in (1, 4, 16))
    return Plan(tuple(locks), threads, metered, tuple(claims))


def seconds_of_a_run(budget: float, cases: int) -> float:
    """Return the measured time of a run with which WANTED_ROUNDS fit into a budget of seconds."""
    return min(_LONGEST, max(_SHORTEST, budget / (WANTED_ROUNDS * cases) - _OVERHEAD))
