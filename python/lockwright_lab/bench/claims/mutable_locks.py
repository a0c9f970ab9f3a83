"""Claims of Mutable Locks."""

from dataclasses import replace

from lockwright_lab.bench.claims.claim import Aggregate, Claim, Options, Side, lock

_PAPER = "Marotta et al., Mutable Locks, CCPE 2020"
_SHORT, _LONG = 3700, 366000
COMBINATIONS: dict[str, Options] = {
    "short-short": {"section-max-ns": _SHORT, "gap-max-ns": _SHORT},
    "long-short": {"section-max-ns": _LONG, "gap-max-ns": _SHORT},
    "short-long": {"section-max-ns": _SHORT, "gap-max-ns": _LONG},
    "long-long": {"section-max-ns": _LONG, "gap-max-ns": _LONG},
}
"""Longest sections and gaps of LOCKBENCH; lengths are drawn uniformly from 0."""

_ALONE, _SHARED = "1/cpu", "2/cpu"
"""As many threads as processors, and twice as many, the paper's largest number."""

_SHORT_SHORT = Claim(
    name="short-short-mutable",
    text="With short sections and gaps and no more threads than processors, the mutable lock is at "
    "most 8 % below TTAS.",
    source=f"{_PAPER}, section 4.1",
    published="at most 8 % below, 1 to 20 threads on 20 cores",
    ratio=0.92,
    workload="lockbench",
    points=({"threads": _ALONE, **COMBINATIONS["short-short"]},),
    numerator=lock("mutable"),
    denominator=lock("ttas"),
    least=0.92,
)


def _lengths(combination: str) -> str:
    section, gap = combination.split("-")
    return f"{section} sections and {gap} gaps"


def _processor_time(combination: str, published: str, ratio: float) -> Claim:
    return Claim(
        name=f"processor-time-{combination}",
        text=f"With {_lengths(combination)} and more threads than processors, the mutable lock "
        "takes less processor time for synchronisation than a spin lock.",
        source=f"{_PAPER}, figure 3",
        published=f"{published}, more than 10 threads on 20 cores",
        ratio=ratio,
        workload="lockbench",
        points=({"threads": _SHARED, **COMBINATIONS[combination]},),
        numerator=lock("mutable"),
        denominator=lock("ttas"),
        statistic="sync cpus",
        most=1,
    )


_TABLE_1 = {
    "lockbench": {
        "ttas": (1.00, 0.75),
        "mcs-spin": (1.00, 0.14),
        "mcs-stp": (0.79, 0.62),
        "malth-stp": (0.85, 0.74),
        "pthread": (0.90, 0.93),
        "pthreadadapt": (0.93, 0.98),
        "mutexee": (0.90, 0.92),
    },
    "hash-set": {
        "ttas": (1.06, 0.48),
        "mcs-spin": (0.33, 0.17),
        "mcs-stp": (0.68, 0.46),
        "malth-stp": (0.69, 0.46),
        "pthread": (1.04, 1.04),
        "pthreadadapt": (1.03, 1.04),
        "mutexee": (1.04, 1.05),
    },
    "lazy-list": {
        "ttas": (1.02, 0.77),
        "mcs-spin": (1.01, 0.54),
        "mcs-stp": (0.66, 0.38),
        "malth-stp": (0.66, 0.39),
        "pthread": (1.04, 1.07),
        "pthreadadapt": (1.04, 1.07),
        "mutexee": (1.04, 1.07),
    },
}
"""Throughput relative to the mutable lock: with at most as many threads as cores, and with up to
twice as many. LOCKBENCH is the average over its four combinations."""

_BAND = 0.05
"""Largest difference that the paper's colours show as none."""


def _ratio_to_mutable(name: str, workload: str, ratio: float, threads: str) -> Claim:
    crowded = threads == _SHARED
    points: tuple[Options, ...] = ({"threads": threads},)
    if workload == "lockbench":
        points = tuple({"threads": threads, **each} for each in COMBINATIONS.values())
    alike = abs(ratio - 1) < _BAND
    amount = "about as much (5 %)" if alike else "less" if ratio < 1 else "more"
    return Claim(
        name=f"{workload}-{'shared' if crowded else 'alone'}-{name}",
        text=f"With {'more' if crowded else 'no more'} threads than processors, {name} has "
        f"{amount} throughput {'as' if alike else 'than'} the mutable lock in {workload}.",
        source=f"{_PAPER}, table 1",
        published=f"{ratio:.2f} times, average over {'48 to 96' if crowded else '1 to 48'} threads "
        "on 48 cores",
        ratio=ratio,
        workload=workload,
        points=points,
        numerator=lock(name),
        denominator=lock("mutable"),
        least=1 - _BAND if alike else 1 if ratio > 1 else None,
        most=1 + _BAND if alike else 1 if ratio < 1 else None,
    )


CLAIMS = [
    _SHORT_SHORT,
    *(
        replace(
            _SHORT_SHORT,
            name=f"short-short-{name}",
            text="With short sections and gaps and no more threads than processors, the C "
            f"library's {mutex} is below TTAS.",
            published=f"{100 * (1 - ratio):.0f} % below, 1 to 20 threads on 20 cores",
            ratio=ratio,
            numerator=lock(name),
            least=None,
            most=1,
        )
        for name, mutex, ratio in (
            ("pthread", "mutex", 0.75),
            ("pthreadadapt", "adaptive mutex", 0.88),
        )
    ),
    _processor_time("long-short", "an order of magnitude less", 0.1),
    _processor_time("long-long", "two orders of magnitude less than TTAS", 0.01),
    *(
        Claim(
            name=f"best-lock-{combination}",
            text=f"With {_lengths(combination)}, the mutable lock reaches 93 % of the lock that is "
            "best for each number of threads.",
            source=f"{_PAPER}, figure 3 and section 4.1",
            published="at least 99 % in 6 of 12 cases, 93 to 97 % in the others; 1 to 40 threads "
            "on 20 cores",
            workload="lockbench",
            points=tuple({"threads": n, **lengths} for n in (_ALONE, _SHARED)),
            numerator=lock("mutable"),
            denominator=Side(("ttas", "mcs-spin", "pthread", "pthreadadapt")),
            of_averages=True,
            least=0.93,
        )
        for combination, lengths in COMBINATIONS.items()
    ),
    *(
        Claim(
            name=f"better-than-chance-{combination}",
            text=f"With {_lengths(combination)}, the mutable lock has more throughput than the "
            "mean of TTAS and the C library's mutex.",
            source=f"{_PAPER}, figure 3 and section 4.1",
            published="in 11 of 12 cases, by 23 % at most; 1 to 40 threads on 20 cores",
            workload="lockbench",
            points=tuple({"threads": n, **lengths} for n in (_ALONE, _SHARED)),
            numerator=lock("mutable"),
            denominator=Side(("ttas", "pthread"), aggregate=Aggregate.MEAN),
            least=1,
        )
        for combination, lengths in COMBINATIONS.items()
    ),
    *(
        _ratio_to_mutable(name, workload, ratio, threads)
        for workload, by_lock in _TABLE_1.items()
        for name, ratios in by_lock.items()
        for threads, ratio in zip((_ALONE, _SHARED), ratios, strict=True)
    ),
    Claim(
        name="upscaledb",
        text="In upscaledb with more threads than processors, every lock but the adaptive mutex is "
        "below the mutable lock.",
        source=f"{_PAPER}, table 1",
        published="0.19 (mcs) to 1.01 (pt-adaptive) times",
        elsewhere="it is about a program; 'lockwright compare' runs programs",
    ),
]
