"""Claims of Unlocking Energy."""

from lockwright.bench.claims.claim import Claim, Side, lock

_PAPER = "Falsafi et al., Unlocking Energy, ATC 2016"
_ON = "one thread on a processor of 40 hardware threads"
_FORTY = "40 threads on 40 hardware threads"
_SYSTEMS = "it is about six programs, such as MySQL; 'lockwright compare' runs programs"

_UNCONTESTED = (
    "M acquisitions/s, MUTEX 11.88, TAS 16.88, TTAS 16.98, TICKET 16.97, MCS 12.04, MUTEXEE 13.32, "
    f"{_ON}"
)
_TIMEOUTS = "20 threads on 40 hardware threads, 2000 cycles"
_CONTENTION = tuple(
    {"threads": "1/cpu", "mutexes": mutexes, "section-cycles": cycles}
    for mutexes in (1, 16, 512)
    for cycles in (0, 2000, 8000)
)


def _uncontested(own: str, other: str, says: str, ratio: float) -> Claim:
    return Claim(
        name=f"uncontested-{own}-{other}",
        says=says,
        source=f"{_PAPER}, table 2",
        published=_UNCONTESTED,
        ratio=ratio,
        workload="uncontested",
        own=lock(own),
        other=lock(other),
        least=1,
    )


def _by_section(
    name: str,
    says: str,
    cycles: tuple[int, ...],
    least: float | None = None,
    most: float | None = None,
) -> Claim:
    return Claim(
        name=f"mutexee-{name}",
        says=says,
        source=f"{_PAPER}, figure 8",
        published="clearly better up to 4000 cycles, 10 to 60 threads on 40 hardware threads; the "
        "figure's values are not printed",
        workload="single-lock",
        points=tuple({"threads": "1/cpu", "section-cycles": each} for each in cycles),
        own=lock("mutexee"),
        other=lock("pthread"),
        least=least,
        most=most,
    )


def _timeout(label: str, nanoseconds: int) -> Side:
    """MUTEXEE with that time-out of its sleeps."""
    return Side(
        ("mutexee-timeout",),
        environment={"LOCKWRIGHT_MUTEXEE_TIMEOUT_TIMEOUT_NS": str(nanoseconds)},
        label=f"mutexee-timeout ({label})",
    )


def _with_timeout(
    name: str,
    says: str,
    published: str,
    ratio: float,
    own: Side,
    other: Side,
    statistic: str = "rate",
    least: float | None = None,
    most: float | None = None,
) -> Claim:
    return Claim(
        name=name,
        says=says,
        source=f"{_PAPER}, section 5.1 and figure 10",
        published=published,
        ratio=ratio,
        workload="single-lock",
        points=({"threads": "4/cpu", "section-cycles": 2000},),
        own=own,
        other=other,
        statistic=statistic,
        least=least,
        most=most,
    )


CLAIMS = [
    _uncontested(
        "ttas",
        "pthread",
        "A lock that nobody else wants costs less as TTAS than as the C library's mutex.",
        16.98 / 11.88,
    ),
    _uncontested("ticket", "pthread", "The same of a ticket lock.", 16.97 / 11.88),
    _uncontested("mutexee", "pthread", "The same of MUTEXEE.", 13.32 / 11.88),
    _uncontested("mcs-spin", "pthread", "The same of MCS, by little.", 12.04 / 11.88),
    _uncontested("ttas", "mutexee", "TTAS costs less than MUTEXEE.", 16.98 / 13.32),
    _uncontested("mutexee", "mcs-spin", "MUTEXEE costs less than MCS.", 13.32 / 12.04),
    Claim(
        name="uncontested-simple-alike",
        says="TTAS and a ticket lock cost the same.",
        source=f"{_PAPER}, table 2",
        published=_UNCONTESTED,
        ratio=16.98 / 16.97,
        workload="uncontested",
        own=lock("ttas"),
        other=lock("ticket"),
        least=0.95,
        most=1.05,
    ),
    Claim(
        name="uncontested-energy",
        says="An acquisition without competitors takes less energy with TTAS than with the C "
        "library's mutex.",
        source=f"{_PAPER}, table 2",
        published="K acquisitions per joule: TTAS 249.41, MUTEX 174.31",
        ratio=249.41 / 174.31,
        workload="uncontested",
        own=lock("ttas"),
        other=lock("pthread"),
        statistic="per joule",
        least=1,
    ),
    Claim(
        name="ticket-beats-mutex",
        says="One lock that as many threads as processors want: the C library's mutex has less "
        "throughput than a ticket lock.",
        source=f"{_PAPER}, figure 11",
        published=f"63 % less, {_FORTY}, 1000 cycles",
        ratio=0.37,
        workload="single-lock",
        points=({"threads": "1/cpu", "section-cycles": 1000},),
        own=lock("pthread"),
        other=lock("ticket"),
        most=1,
    ),
    Claim(
        name="ticket-beats-mutex-energy",
        says="The same of operations per joule.",
        source=f"{_PAPER}, figure 11",
        published=f"73 % less, {_FORTY}, 1000 cycles",
        ratio=0.27,
        workload="single-lock",
        points=({"threads": "1/cpu", "section-cycles": 1000},),
        own=lock("pthread"),
        other=lock("ticket"),
        statistic="per joule",
        most=1,
    ),
    Claim(
        name="mcs-is-best",
        says="As long as there are no more threads than processors, MCS has the most throughput.",
        source=f"{_PAPER}, figure 11",
        published="best up to 40 threads on 40 hardware threads, 1000 cycles",
        workload="single-lock",
        points=({"threads": "1/cpu", "section-cycles": 1000},),
        own=lock("mcs-spin"),
        other=Side(("pthread", "spinlock", "ttas", "ticket", "mutexee")),
        least=1,
    ),
    *(
        Claim(
            name=f"fair-locks-collapse-{fair}",
            says=f"With more threads than processors, a fair lock that spins, here {fair}, falls "
            "behind the C library's mutex.",
            source=f"{_PAPER}, figure 11",
            published="fair locks are the worst beyond 40 threads on 40 hardware threads",
            workload="single-lock",
            points=({"threads": "4/cpu", "section-cycles": 1000},),
            own=lock(fair),
            other=lock("pthread"),
            most=1,
        )
        for fair in ("ticket", "mcs-spin")
    ),
    Claim(
        name="mutexee-is-unfair",
        says="MUTEXEE's tail latency is far above that of the C library's mutex.",
        source=f"{_PAPER}, section 5.1",
        published=f"80 times its p99.9, {_FORTY}, 1000 cycles",
        ratio=80,
        workload="single-lock",
        points=({"threads": "1/cpu", "section-cycles": 1000},),
        own=lock("mutexee"),
        other=lock("pthread"),
        statistic="p99.9",
        least=1,
    ),
    _by_section(
        "1000",
        "MUTEXEE has more throughput than the C library's mutex: sections of 1000 cycles.",
        (1000,),
        least=1,
    ),
    _by_section("4000", "The same, sections of 4000 cycles.", (4000,), least=1),
    _by_section(
        "16000", "No longer clearly (5 %) with sections of 16000 cycles.", (16000,), most=1.05
    ),
    Claim(
        name="mutexee-on-average",
        says="Over many degrees of contention, MUTEXEE has more throughput than the C library's "
        "mutex.",
        source=f"{_PAPER}, figure 12",
        published="25 % more over 2084 settings: 1 to 16 threads on 40 hardware threads, 1 to 512 "
        "mutexes, sections up to 8000 cycles",
        ratio=1.25,
        workload="variable-contention",
        points=_CONTENTION,
        own=lock("mutexee"),
        other=lock("pthread"),
        least=1,
    ),
    Claim(
        name="mutexee-on-average-energy",
        says="The same of operations per joule.",
        source=f"{_PAPER}, figure 12",
        published="32 % more over 2084 settings",
        ratio=1.32,
        workload="variable-contention",
        points=_CONTENTION,
        own=lock("mutexee"),
        other=lock("pthread"),
        statistic="per joule",
        least=1,
    ),
    _with_timeout(
        "timeout-throughput",
        "MUTEXEE's throughput is above that of the C library's mutex where threads sleep.",
        f"855 against 317 K acquisitions/s, {_TIMEOUTS}",
        855 / 317,
        lock("mutexee"),
        lock("pthread"),
        least=1,
    ),
    _with_timeout(
        "timeout-costs-throughput",
        "A time-out of 4 ms on its sleeps costs MUTEXEE throughput.",
        f"474 against 855 K acquisitions/s, {_TIMEOUTS}",
        474 / 855,
        _timeout("4 ms", 4_000_000),
        lock("mutexee"),
        most=1,
    ),
    _with_timeout(
        "timeout-short",
        "A time-out of 8 microseconds costs most of it.",
        "up to 14 times less throughput",
        1 / 14,
        _timeout("8 us", 8_000),
        lock("mutexee"),
        most=1,
    ),
    _with_timeout(
        "timeout-longest-wait",
        "A time-out of 4 ms shortens the longest wait.",
        f"12.0 against 206.5 M cycles, {_TIMEOUTS}",
        12.0 / 206.5,
        _timeout("4 ms", 4_000_000),
        lock("mutexee"),
        statistic="longest",
        most=1,
    ),
    Claim(
        name="throughput-decides-energy",
        says="The lock with the most throughput is mostly the one with the most operations per "
        "joule.",
        source=f"{_PAPER}, figure 12",
        published="in 85 % of 2084 settings; in the others the gap is 8 and 5 %",
        elsewhere="it is about 2084 settings of six locks, which take hours; 'lockwright bench "
        "tour' draws energy against throughput where there are energy counters",
    ),
    Claim(
        name="systems",
        says="Another lock improves throughput and energy of real systems.",
        source=f"{_PAPER}, section 6",
        published="throughput +31 %, operations per joule +33 % on average over 17 experiments; "
        "SQLite with 64 connections sleeps 472 instead of 913 microseconds",
        elsewhere=_SYSTEMS,
    ),
]
