"""Claims of Malthusian Locks, on restricting how many threads circulate over a lock."""

from lockwright.bench.claims.claim import Claim, lock

_PAPER = "Dice, Malthusian Locks, EuroSys 2017"
_THIRTY_TWO = "32 threads on 128 hardware threads, 10 s"
_MANY = ({"threads": "16/cpu"},)


def _restricted(
    name: str,
    says: str,
    published: str,
    ratio: float,
    statistic: str,
    least: float | None = None,
    most: float | None = None,
) -> Claim:
    return Claim(
        name=f"restriction-{name}",
        says=says,
        source=f"{_PAPER}, figure 4",
        published=f"{published}, {_THIRTY_TWO}",
        ratio=ratio,
        workload="random-array",
        points=_MANY,
        own=lock("malth-stp"),
        other=lock("mcs-stp"),
        statistic=statistic,
        least=least,
        most=most,
    )


CLAIMS = [
    Claim(
        name="oversubscription-collapse",
        says="With more threads than processors, a FIFO lock whose waiters only spin collapses, "
        "and one whose waiters park does not.",
        source=f"{_PAPER}, figure 3",
        published="MCS-STP has 120 times the throughput of MCS-S, 256 threads on 128 hardware "
        "threads",
        ratio=1 / 120,
        workload="random-array",
        points=({"threads": "2/cpu"},),
        own=lock("mcs-spin"),
        other=lock("mcs-stp"),
        most=1,
    ),
    Claim(
        name="oversubscription-cliff",
        says="A lock that spins falls off a cliff where threads outnumber processors: with twice "
        "as many it has less throughput than with as many.",
        source=f"{_PAPER}, figure 3",
        published="a cliff at 128 threads on 128 hardware threads",
        workload="random-array",
        own=lock("mcs-spin", threads="2/cpu"),
        other=lock("mcs-spin", threads="1/cpu"),
        most=1,
    ),
    _restricted(
        "working-set",
        "Restriction keeps most threads out: fewer different ones are admitted in 1000 admissions.",
        "average LWSS 5.1 with MCSCR-STP, 32 with MCS-STP",
        5.1 / 32,
        "lwss",
        most=1,
    ),
    _restricted(
        "reacquire",
        "Those that circulate get the lock again soon.",
        "MTTR 3 with MCSCR-STP, 31 with MCS-STP",
        3 / 31,
        "mttr",
        most=1,
    ),
    _restricted(
        "switches",
        "So threads leave the processor less often (switches for each operation).",
        "6,000 at 1.6 M op/s with MCSCR-STP, 798,000 at 0.1 M op/s with MCS-STP",
        (6 / 1.6) / (798 / 0.1),
        "voluntary",
        most=1,
    ),
    _restricted(
        "throughput",
        "And there is more throughput.",
        "1.6 M op/s with MCSCR-STP, 0.1 M with MCS-STP",
        16,
        "rate",
        least=1,
    ),
    _restricted(
        "fairness",
        "What it costs is fairness in the short term.",
        "Gini coefficient 0.078 with MCSCR-STP, 0.001 with MCS-STP",
        78,
        "gini",
        least=1,
    ),
    Claim(
        name="fast-flow",
        says="Between producers and consumers, restriction lets a message through with fewer "
        "acquisitions, since fewer threads come back from waiting in vain.",
        source=f"{_PAPER}, figure 10",
        published="2 acquisitions for a message with restriction, 3 with FIFO locks",
        ratio=2 / 3,
        workload="producer-consumer",
        points=({"threads": "8/cpu"},),
        own=lock("malth-stp"),
        other=lock("mcs-stp"),
        statistic="acquisitions per message",
        most=1,
    ),
    Claim(
        name="fast-flow-throughput",
        says="And so more messages.",
        source=f"{_PAPER}, figure 10",
        published="more messages with restriction; the figure's values are not printed",
        workload="producer-consumer",
        points=({"threads": "8/cpu"},),
        own=lock("malth-stp"),
        other=lock("mcs-stp"),
        least=1,
    ),
]
