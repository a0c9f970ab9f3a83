"""Claims of the studies of 28 locks in 40 applications."""

from lockwright_lab.bench.claims.claim import Claim, lock

_PAPER = "Guerraoui et al., Lock-Unlock, TOCS 2019"
_PROGRAMS = (
    "it is about 35 to 45 programs on machines with 20 to 64 cores in 2 to 8 NUMA nodes; "
    "'lockwright study' computes it from the runs of programs"
)

CLAIMS = [
    Claim(
        name="handover-fifo-preempted",
        text="With more threads than processors, the handover of a FIFO lock that spins takes "
        "much longer than that of a lock that any running thread may take, since the successor "
        "may not be running.",
        source=f"{_PAPER}, section 8.1.2",
        published="ferret: 30 M cycles with MCS, 2 M with a spin lock",
        ratio=15,
        workload="single-lock",
        points=({"threads": "4/cpu", "section-cycles": 1000},),
        numerator=lock("mcs-spin"),
        denominator=lock("spinlock"),
        statistic="handover",
        least=1,
    ),
    Claim(
        name="handover-pinned",
        text="With one thread pinned to each of many processors, an MCS lock is handed over much "
        "faster than a spin lock.",
        source=f"{_PAPER}, section 8.1.2",
        published="460 cycles with MCS, 46,000 with a spin lock, one thread on each of 64 cores",
        ratio=0.01,
        workload="single-lock",
        points=({"threads": "1/cpu"},),
        numerator=lock("mcs-spin"),
        denominator=lock("spinlock"),
        statistic="handover",
        most=1,
        processors=16,
    ),
    Claim(
        name="half-are-lock-sensitive",
        text="About half of the programs depend on the lock.",
        source=f"{_PAPER}, table 8",
        published="49 to 62 % of the programs, by machine; energy 47 to 53 %",
        elsewhere=_PROGRAMS,
    ),
    Claim(
        name="no-lock-is-always-best",
        text="No lock is among the best for more than three quarters of the programs.",
        source=f"{_PAPER}, table 11",
        published="within 5 % of the best: 8 to 75 % of the programs at the best number of nodes "
        "on the machine with 20 cores, 0 to 53 % on that with 48",
        elsewhere=_PROGRAMS,
    ),
    Claim(
        name="every-lock-harms",
        text="Every lock is far from the best in many of the programs.",
        source=f"{_PAPER}, table 12",
        published="the least harmful at all nodes: c-tkt-tkt and hmcs with 14 % of the programs on "
        "20 cores, mcs-timepub with 50 % on 64; the most: clh-stp with 92 to 93 %",
        elsewhere=_PROGRAMS,
    ),
    Claim(
        name="gain-of-the-best",
        text="The best lock makes a program up to many times faster than the worst.",
        source=f"{_PAPER}, tables 7 and 19 to 24",
        published="42 % (fmm) to 2382 % (sqlite) on 64 cores at all nodes",
        elsewhere=_PROGRAMS,
    ),
    Claim(
        name="latency-follows-the-lock",
        text="If an operation is about one section, the lock decides the tail latency, and a lock "
        "with more throughput can have a worse tail latency.",
        source=f"{_PAPER}, section 7.4",
        published="upscaledb: from MCS to HMCS, p99 from 100 to 1000 us, throughput +26 %",
        elsewhere=_PROGRAMS,
    ),
    Claim(
        name="energy-follows-throughput",
        text="Throughput and energy efficiency of the locks of a program correlate.",
        source=f"{_PAPER}, table 16",
        published="Pearson's r of at least 0.87 but for mysqld (0.55), by program",
        elsewhere=f"{_PROGRAMS}, where there are energy counters",
    ),
]
