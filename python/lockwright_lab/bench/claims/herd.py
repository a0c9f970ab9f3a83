"""Claims on broadcasts, made for the C library of their time."""

from lockwright_lab.bench.claims.claim import Claim, lock

_BROADCAST = {"waiters": 200, "rounds": 3, "section-ns": 1000}

CLAIMS = [
    Claim(
        name=f"broadcast-{name}",
        text=text,
        source="Guerraoui et al., Lock-Unlock, TOCS 2019, section 4.1",
        published="the C library moves waiters to the mutex, so there is no thundering herd (glibc "
        "2.15); the condition variable under lockwright's 'pthread' does so with any C library",
        workload="herd",
        points=(_BROADCAST,),
        numerator=lock("libc"),
        denominator=lock("pthread"),
        statistic=statistic,
        most=1.05,
    )
    for name, text, statistic in (
        (
            "switches",
            "The C library's broadcast does not wake all waiters at once, so none of them wakes up "
            "only to sleep again on the mutex: there are no more context switches than where "
            "waiters are moved to the mutex.",
            "switches per waiter",
        ),
        (
            "time",
            "The C library's broadcast does not take longer than one that moves waiters.",
            "broadcast",
        ),
    )
]
