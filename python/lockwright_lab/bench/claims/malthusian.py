"""Claims of Malthusian Locks, on restricting how many threads circulate over a lock."""

from dataclasses import replace

from lockwright_lab.bench.claims.claim import Claim, lock

_PAPER = "Dice, Malthusian Locks, EuroSys 2017"
_THIRTY_TWO = "32 threads on 128 hardware threads, 10 s"

_RESTRICTION = Claim(
    name="restriction",
    text="",
    source=f"{_PAPER}, figure 4",
    published="",
    workload="random-array",
    points=({"threads": "16/cpu"},),
    numerator=lock("malth-stp"),
    denominator=lock("mcs-stp"),
)
"""The comparison of which each of these claims states one statistic."""

_FAST_FLOW = replace(
    _RESTRICTION,
    name="fast-flow",
    text="Between producers and consumers, restriction lets a message through with fewer "
    "acquisitions, since fewer threads come back from waiting in vain.",
    source=f"{_PAPER}, figure 10",
    published="2 acquisitions for a message with restriction, 3 with FIFO locks",
    ratio=2 / 3,
    workload="producer-consumer",
    points=({"threads": "8/cpu"},),
    statistic="acquisitions per message",
    most=1,
)

CLAIMS = [
    Claim(
        name="oversubscription-collapse",
        text="With more threads than processors, a FIFO lock whose waiters only spin collapses, "
        "and one whose waiters park does not.",
        source=f"{_PAPER}, figure 3",
        published="MCS-STP has 120 times the throughput of MCS-S, 256 threads on 128 hardware "
        "threads",
        ratio=1 / 120,
        workload="random-array",
        points=({"threads": "2/cpu"},),
        numerator=lock("mcs-spin"),
        denominator=lock("mcs-stp"),
        most=1,
    ),
    Claim(
        name="oversubscription-cliff",
        text="The throughput of a lock that spins falls abruptly when threads outnumber "
        "processors: with twice as many it is less than with as many.",
        source=f"{_PAPER}, figure 3",
        published="an abrupt fall at 128 threads on 128 hardware threads",
        workload="random-array",
        numerator=lock("mcs-spin", threads="2/cpu"),
        denominator=lock("mcs-spin", threads="1/cpu"),
        most=1,
    ),
    replace(
        _RESTRICTION,
        name="restriction-working-set",
        text="Restriction excludes most threads: fewer different ones are admitted in 1000 "
        "admissions.",
        published=f"average LWSS 5.1 with MCSCR-STP, 32 with MCS-STP, {_THIRTY_TWO}",
        ratio=5.1 / 32,
        statistic="lwss",
        most=1,
    ),
    replace(
        _RESTRICTION,
        name="restriction-reacquire",
        text="With restriction, the threads that circulate reacquire the lock sooner.",
        published=f"MTTR 3 with MCSCR-STP, 31 with MCS-STP, {_THIRTY_TWO}",
        ratio=3 / 31,
        statistic="mttr",
        most=1,
    ),
    replace(
        _RESTRICTION,
        name="restriction-switches",
        text="With restriction, there are fewer voluntary context switches for each operation.",
        published="6,000 at 1.6 M op/s with MCSCR-STP, 798,000 at 0.1 M op/s with MCS-STP, "
        f"{_THIRTY_TWO}",
        ratio=(6 / 1.6) / (798 / 0.1),
        statistic="voluntary",
        most=1,
    ),
    replace(
        _RESTRICTION,
        name="restriction-throughput",
        text="With restriction, there is more throughput.",
        published=f"1.6 M op/s with MCSCR-STP, 0.1 M with MCS-STP, {_THIRTY_TWO}",
        ratio=16,
        least=1,
    ),
    replace(
        _RESTRICTION,
        name="restriction-fairness",
        text="Restriction costs fairness in the short term.",
        published=f"Gini coefficient 0.078 with MCSCR-STP, 0.001 with MCS-STP, {_THIRTY_TWO}",
        ratio=78,
        statistic="gini",
        least=1,
    ),
    _FAST_FLOW,
    replace(
        _FAST_FLOW,
        name="fast-flow-throughput",
        text="With restriction, more messages pass between producers and consumers.",
        published="more messages with restriction; the figure's values are not printed",
        ratio=None,
        statistic="rate",
        least=1,
        most=None,
    ),
]
