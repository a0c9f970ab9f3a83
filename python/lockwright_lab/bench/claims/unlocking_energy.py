"""Claims of Unlocking Energy."""

from dataclasses import replace

from lockwright_lab.bench.claims.claim import Claim, Side, lock

_PAPER = "Falsafi et al., Unlocking Energy, ATC 2016"
_FORTY = "40 threads on 40 hardware threads"

_UNCONTESTED = (
    "M acquisitions/s, MUTEX 11.88, TAS 16.88, TTAS 16.98, TICKET 16.97, MCS 12.04, MUTEXEE 13.32, "
    "one thread on a processor of 40 hardware threads"
)
_TIMEOUTS = "20 threads on 40 hardware threads, 2000 cycles"
_CONTENTION = tuple(
    {"threads": "1/cpu", "mutexes": mutexes, "section-cycles": cycles}
    for mutexes in (1, 16, 512)
    for cycles in (0, 2000, 8000)
)

_SINGLE_LOCK = Claim(
    name="ticket-beats-mutex",
    text="If as many threads as processors contend for one lock, the C library's mutex has less "
    "throughput than a ticket lock.",
    source=f"{_PAPER}, figure 11",
    published=f"63 % less, {_FORTY}, 1000 cycles",
    ratio=0.37,
    workload="single-lock",
    points=({"threads": "1/cpu", "section-cycles": 1000},),
    numerator=lock("pthread"),
    denominator=lock("ticket"),
    most=1,
)
_BY_SECTION = replace(
    _SINGLE_LOCK,
    source=f"{_PAPER}, figure 8",
    published="clearly better up to 4000 cycles, 10 to 60 threads on 40 hardware threads; the "
    "figure's values are not printed",
    ratio=None,
    numerator=lock("mutexee"),
    denominator=lock("pthread"),
)
_AVERAGE = Claim(
    name="mutexee-on-average",
    text="Over many degrees of contention, MUTEXEE has more throughput than the C library's mutex.",
    source=f"{_PAPER}, figure 12",
    published="25 % more over 2084 settings: 1 to 16 threads on 40 hardware threads, 1 to 512 "
    "mutexes, sections up to 8000 cycles",
    ratio=1.25,
    workload="variable-contention",
    points=_CONTENTION,
    numerator=lock("mutexee"),
    denominator=lock("pthread"),
    least=1,
)


_NAMES = {
    "pthread": "the C library's mutex",
    "ttas": "TTAS",
    "ticket": "a ticket lock",
    "mutexee": "MUTEXEE",
    "mcs-spin": "MCS",
}


def _uncontested(name: str, other: str, ratio: float) -> Claim:
    return Claim(
        name=f"uncontested-{name}-{other}",
        text=f"Uncontended, {_NAMES[name]} costs less than {_NAMES[other]}.",
        source=f"{_PAPER}, table 2",
        published=_UNCONTESTED,
        ratio=ratio,
        workload="uncontested",
        numerator=lock(name),
        denominator=lock(other),
        least=1,
    )


def _timeout(label: str, nanoseconds: int) -> Side:
    """Return MUTEXEE with a time-out of its sleeps."""
    return Side(
        ("mutexee-timeout",),
        environment={"LOCKWRIGHT_MUTEXEE_TIMEOUT_TIMEOUT_NS": str(nanoseconds)},
        label=f"mutexee-timeout ({label})",
    )


_TIMEOUT = Claim(
    name="timeout-costs-throughput",
    text="A time-out of 4 ms on its sleeps costs MUTEXEE throughput.",
    source=f"{_PAPER}, section 5.1 and figure 10",
    published=f"474 against 855 K acquisitions/s, {_TIMEOUTS}",
    ratio=474 / 855,
    workload="single-lock",
    points=({"threads": "4/cpu", "section-cycles": 2000},),
    numerator=_timeout("4 ms", 4_000_000),
    denominator=lock("mutexee"),
    most=1,
)

CLAIMS = [
    _uncontested("ttas", "pthread", 16.98 / 11.88),
    _uncontested("ticket", "pthread", 16.97 / 11.88),
    _uncontested("mutexee", "pthread", 13.32 / 11.88),
    _uncontested("mcs-spin", "pthread", 12.04 / 11.88),
    _uncontested("ttas", "mutexee", 16.98 / 13.32),
    _uncontested("mutexee", "mcs-spin", 13.32 / 12.04),
    replace(
        _uncontested("ttas", "ticket", 16.98 / 16.97),
        name="uncontested-simple-alike",
        text="Uncontended, TTAS and a ticket lock cost the same.",
        least=0.95,
        most=1.05,
    ),
    replace(
        _uncontested("ttas", "pthread", 249.41 / 174.31),
        name="uncontested-energy",
        text="An uncontended acquisition takes less energy with TTAS than with the C library's "
        "mutex.",
        published="K acquisitions per joule: TTAS 249.41, MUTEX 174.31",
        statistic="per joule",
    ),
    _SINGLE_LOCK,
    replace(
        _SINGLE_LOCK,
        name="ticket-beats-mutex-energy",
        text="If as many threads as processors contend for one lock, the C library's mutex has "
        "fewer operations per joule than a ticket lock.",
        published=f"73 % less, {_FORTY}, 1000 cycles",
        ratio=0.27,
        statistic="per joule",
    ),
    replace(
        _SINGLE_LOCK,
        name="mcs-is-best",
        text="As long as there are no more threads than processors, MCS has the most throughput.",
        published="best up to 40 threads on 40 hardware threads, 1000 cycles",
        ratio=None,
        numerator=lock("mcs-spin"),
        denominator=Side(("pthread", "spinlock", "ttas", "ticket", "mutexee")),
        least=1,
        most=None,
    ),
    *(
        replace(
            _SINGLE_LOCK,
            name=f"fair-locks-collapse-{fair}",
            text=f"With more threads than processors, a fair lock that spins, here {fair}, has "
            "less throughput than the C library's mutex.",
            published="fair locks are the worst beyond 40 threads on 40 hardware threads",
            ratio=None,
            points=({"threads": "4/cpu", "section-cycles": 1000},),
            numerator=lock(fair),
            denominator=lock("pthread"),
        )
        for fair in ("ticket", "mcs-spin")
    ),
    replace(
        _SINGLE_LOCK,
        name="mutexee-is-unfair",
        text="MUTEXEE's tail latency is far above that of the C library's mutex.",
        source=f"{_PAPER}, section 5.1",
        published=f"80 times its p99.9, {_FORTY}, 1000 cycles",
        ratio=80,
        numerator=lock("mutexee"),
        denominator=lock("pthread"),
        statistic="p99.9",
        least=1,
        most=None,
    ),
    *(
        replace(
            _BY_SECTION,
            name=f"mutexee-{cycles}",
            text="MUTEXEE has more throughput than the C library's mutex, with sections of "
            f"{cycles} cycles.",
            points=({"threads": "1/cpu", "section-cycles": cycles},),
            least=1,
            most=None,
        )
        for cycles in (1000, 4000)
    ),
    replace(
        _BY_SECTION,
        name="mutexee-16000",
        text="With sections of 16000 cycles, MUTEXEE's throughput is not clearly (5 %) above that "
        "of the C library's mutex.",
        points=({"threads": "1/cpu", "section-cycles": 16000},),
        most=1.05,
    ),
    _AVERAGE,
    replace(
        _AVERAGE,
        name="mutexee-on-average-energy",
        text="Over many degrees of contention, MUTEXEE has more operations per joule than the C "
        "library's mutex.",
        published="32 % more over 2084 settings",
        ratio=1.32,
        statistic="per joule",
    ),
    replace(
        _TIMEOUT,
        name="timeout-throughput",
        text="If threads sleep, MUTEXEE has more throughput than the C library's mutex.",
        published=f"855 against 317 K acquisitions/s, {_TIMEOUTS}",
        ratio=855 / 317,
        numerator=lock("mutexee"),
        denominator=lock("pthread"),
        least=1,
        most=None,
    ),
    _TIMEOUT,
    replace(
        _TIMEOUT,
        name="timeout-short",
        text="A time-out of 8 microseconds costs MUTEXEE most of its throughput.",
        published="up to 14 times less throughput",
        ratio=1 / 14,
        numerator=_timeout("8 us", 8_000),
    ),
    replace(
        _TIMEOUT,
        name="timeout-longest-wait",
        text="A time-out of 4 ms shortens MUTEXEE's longest wait.",
        published=f"12.0 against 206.5 M cycles, {_TIMEOUTS}",
        ratio=12.0 / 206.5,
        statistic="longest",
    ),
    Claim(
        name="throughput-decides-energy",
        text="The lock with the most throughput mostly has the most operations per joule too.",
        source=f"{_PAPER}, figure 12",
        published="in 85 % of 2084 settings; in the others the gap is 8 and 5 %",
        elsewhere="it is about 2084 settings of six locks, which take hours; '--energy' of "
        "'lockwright bench' shows the energy of each lock if there are energy counters",
    ),
    Claim(
        name="systems",
        text="Another lock improves throughput and energy of real systems.",
        source=f"{_PAPER}, section 6",
        published="throughput +31 %, operations per joule +33 % on average over 17 experiments; "
        "SQLite with 64 connections sleeps 472 instead of 913 microseconds",
        elsewhere="it is about six programs, such as MySQL; 'lockwright compare' runs programs",
    ),
]
