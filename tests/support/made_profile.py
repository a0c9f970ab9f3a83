"""A made-up profile of a server, with every part that a profile can have."""

import math
import random

from lockwright.profile.frames import Frame
from lockwright.profile.record import (
    CREATED,
    FIRST_TAKEN,
    OBJECT,
    Block,
    Creation,
    Distribution,
    Mutex,
    Place,
    Process,
    Profile,
    Site,
    Span,
)

SERVER = "/usr/bin/table-server"
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
DURATION = 2e9

_START = (Frame(SERVER, 0x1200, "worker", 0x1C, "worker.cpp:31"), Frame(LIBC, 0x8905A, "clone3"))


def frame(symbol: str, source: str, offset: int = 0x4000) -> Frame:
    """Return a frame of the server."""
    return Frame(SERVER, offset, symbol, 0x10, source)


def spread_over(count: float, median: float, width: float, samples: int = 400) -> Distribution:
    """Return a log-normal distribution of `count` events in growing buckets; width: sigma."""
    bounds = [median * 1.25**step for step in range(-16, 17)]

    def below(value: float) -> float:
        return 0.5 * (1 + math.erf(math.log(value / median) / (width * math.sqrt(2))))

    shares = [below(b * 1.25) - below(b) for b in bounds]
    buckets = tuple(
        (bound, count * share) for bound, share in zip(bounds, shares, strict=True) if share > 1e-6
    )
    total = sum(weight * low * 1.12 for low, weight in buckets)
    return Distribution(
        sum(weight for _, weight in buckets),
        total,
        samples,
        median,
        median * math.exp(1.2816 * width),
        median * math.exp(2.3263 * width),
        buckets[-1][0] * 1.25,
        buckets,
    )


def _table() -> Mutex:
    """Return the most expensive mutex: all threads take it, and one path holds it for long."""
    waiting = spread_over(90_000, 12_000, 1.1)
    lookup = (frame("Table::lookup(std::string const&)", "table.cpp:84"),)
    insert = (frame("Table::insert(std::string const&, std::string)", "table.cpp:112", 0x4100),)
    expire = (frame("Table::expire()", "table.cpp:150", 0x4200),)
    serve = (frame("serve(Connection&)", "serve.cpp:57", 0x4300), *_START)
    sweep = (frame("Sweeper::run()", "sweeper.cpp:20", 0x4400), *_START)
    total = waiting.total
    return Mutex(
        "Table::mutex",
        Place(OBJECT, Frame(SERVER, 0x9040, "the_table", 0, "")),
        0x55D0_0000_9040,
        "normal",
        300_000,
        90_000,
        waiting,
        spread_over(300_000, 900, 0.7),
        spread_over(60_000, 4_000, 0.8),
        arrivals=(210_000, 61_000, 20_000, 7_000, 1_800, 200),
        waiters_mean=1.7,
        waiters_most=6,
        sampled_times=40,
        threads=8,
        owner_changes=0.6,
        preempted_holds=0.003,
        trylocks=0,
        sites=(
            Site(lookup + serve, 240_000, 60_000, 0.55 * total, 0.4 * 3e8),
            Site(insert + serve, 55_000, 26_000, 0.3 * total, 0.3 * 3e8),
            Site(expire + sweep, 5_000, 4_000, 0.15 * total, 0.3 * 3e8),
        ),
        blocks=(
            Block(2, 0, 30_000, 0.35 * total),
            Block(1, 0, 25_000, 0.15 * total),
            Block(0, 1, 15_000, 0.2 * total),
            Block(2, 1, 10_000, 0.1 * total),
            Block(0, 2, 6_000, 0.12 * total),
            Block(-1, 0, 4_000, 0.08 * total),
        ),
    )


def _queue() -> Mutex:
    """Return the mutex of a queue with a condition variable, some of whose wake-ups are futile."""
    waiting = spread_over(8_000, 6_000, 0.9)
    push = (frame("Queue::push(Task)", "queue.cpp:22", 0x5000), *_START)
    pop = (frame("Queue::pop()", "queue.cpp:40", 0x5100), *_START)
    return Mutex(
        "Queue::Queue() #0",
        Place(CREATED, frame("Queue::Queue()", "queue.cpp:9", 0x5200)),
        0x55D0_0001_0010,
        "normal",
        80_000,
        8_000,
        waiting,
        spread_over(80_000, 400, 0.5),
        spread_over(4_000, 5_000, 0.6),
        arrivals=(72_000, 7_000, 1_000),
        waiters_mean=0.4,
        waiters_most=2,
        sampled_times=40,
        cond_waits=20_000,
        cond_signals=21_000,
        futile_wakeups=4_000,
        threads=8,
        owner_changes=0.8,
        sites=(
            Site(push, 40_000, 3_000, 0.4 * waiting.total, 2e7),
            Site(pop, 40_000, 5_000, 0.6 * waiting.total, 2e7),
        ),
        blocks=(
            Block(0, 1, 5_000, 0.6 * waiting.total),
            Block(1, 0, 3_000, 0.4 * waiting.total),
        ),
    )


def _small(number: int) -> Mutex:
    """Return a mutex that costs little, less with a higher number."""
    contended = 900 // (number + 1)
    waiting = spread_over(contended, 3_000, 0.8, 50)
    stack = (frame(f"Arena::allocate<{number}>()", f"arena.cpp:{30 + number}", 0x6000), *_START)
    return Mutex(
        f"arena.cpp:{30 + number}",
        Place(FIRST_TAKEN, stack[0], number),
        0x55D0_0002_0000 + 64 * number,
        "recursive" if number % 2 else "normal",
        20_000 * (number + 1),
        contended,
        waiting,
        spread_over(20_000 * (number + 1), 120, 0.4),
        Distribution(),
        arrivals=(20_000 * (number + 1) - contended, contended),
        sampled_times=40,
        instances=1 if number < 6 else 120,
        trylocks=500.0 * number,
        failed_trylocks=90 * number,
        threads=4,
        sites=(Site(stack, 20_000 * (number + 1), contended, waiting.total, 4e6),),
        blocks=(Block(0, 0, contended, waiting.total),),
    )


def _timeline(threads: int) -> tuple[Span, ...]:
    """Return waits and holds; the threads take the first mutex in order of arrival."""
    draw = random.Random(1)
    spans = []
    free = 0.0
    ready = [draw.uniform(0, 4e5) for _ in range(threads)]
    for _ in range(400):
        thread = min(range(threads), key=lambda each: ready[each])
        arrived = ready[thread]
        begin = max(free, arrived)
        end = begin + draw.uniform(5e4, 2e5)
        site = draw.choice((0, 0, 0, 1, 1, 2))
        if begin > arrived:
            spans.append(Span(thread, 0, "wait", arrived, begin, site))
        spans.append(Span(thread, 0, "hold", begin, end, site))
        free = end
        other = draw.randrange(1, 4)
        spans.append(Span(thread, other, "hold", end + 1e4, end + 5e4, 0))
        ready[thread] = end + draw.uniform(2e5, 2e6)
    return tuple(sorted(spans, key=lambda span: span.begin))


def made_profile() -> Profile:
    """Return the same profile at each call."""
    threads = 8
    return Profile(
        ("table-server", "--threads", "8", "a value with <html> & 'quotes'"),
        4711,
        "2026-01-02T03:04:05+00:00",
        "preload",
        Process(
            duration=DURATION,
            processors=2,
            threads_most=9,
            threads_mean=8.4,
            lock_calls=1_060_000,
            rwlock_calls=12,
            cond_waits=20_000,
            cpu_user=2.9e9,
            cpu_system=0.6e9,
            voluntary=88_000,
            involuntary=2_100,
            migrations=3_400,
            minor_faults=2_600,
            major_faults=3,
            mmap_calls=48,
            creation=Creation(130, 4, 1, 1.0, 0.98, 128),
        ),
        (_table(), _queue(), *map(_small, range(8))),
        _timeline(threads),
        {str(thread): f"worker {thread}" for thread in range(threads - 1)},
    )
