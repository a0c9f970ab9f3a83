"""Generic programs, of which the fitter chooses for each application. docs/predicting.md has the
protocol."""

from collections.abc import Iterator
from itertools import product

from lockwright.predict.skeletons.files import Skeletons
from lockwright.simulate.model import Buckets, Model, ModelMutex, Role, gamma

ONE, MANY, SKEWED, BARRIER, CROWDED, BURST, BLOCKING, TRYING = (
    "one-lock",
    "many-locks",
    "skewed-locks",
    "barrier",
    "crowded",
    "burst",
    "blocking",
    "trying",
)
"""The families: a mutex of all threads; many mutexes; many, of which one is taken more often;
barriers; more threads than processors; sections one after the other, then a long gap; threads that
sleep between sections; threads that wait by trying."""

FAMILIES = (ONE, MANY, SKEWED, BARRIER, CROWDED, BURST, BLOCKING, TRYING)

_SECTION_VARIATION = 0.5
_GAP_VARIATION = 1.0
"""Coefficients of variation: estimates."""

_SCALE = 64
"""Threads of the models as they are written; a simulation changes the number."""

_BURST = 16
"""Sections in a burst."""

_SLEEP = 100_000.0
"""ns of a sleep of a thread between sections, as of a server between requests."""


def _gamma(ns: float, variation: float) -> Buckets:
    """Return gamma-distributed durations, with as many digits as a file has of them."""
    return tuple(
        (float(f"{low:.6g}"), float(f"{high:.6g}"), weight)
        for low, high, weight in gamma(ns, variation, 16)
    )


def _program(
    name: str,
    section_ns: float,
    gap_ns: float,
    *,
    instances: int = 1,
    hot_share: float = 0.0,
    data_lines: int = 1,
    polls: bool = False,
    bursts: bool = False,
    block_share: float = 0.0,
    barrier_every: int = 0,
    threads_per_processor: float = 1.0,
) -> tuple[str, Model]:
    """Return a program of one role. hot_share: of the sections under a mutex of their own, beside
    the others. bursts: gaps are short but for one of _BURST; gap_ns is their mean."""
    section = _gamma(section_ns, _SECTION_VARIATION)
    mutexes = [ModelMutex("mutex", section, instances, polls=polls, data_lines=data_lines)]
    takes = [(0, 1.0)]
    if hot_share:
        mutexes.append(ModelMutex("hot mutex", section, data_lines=data_lines))
        takes = [(0, 1 - hot_share), (1, hot_share)]
    gap = _gamma(gap_ns, _GAP_VARIATION)
    if bursts:
        gap = ((0.0, section_ns, _BURST - 1.0), *_long(gap_ns * _BURST))
    role = Role(
        "worker",
        _SCALE,
        gap,
        tuple(takes),
        block_share=block_share,
        block_ns=_SLEEP if block_share else 0.0,
        barrier_every=barrier_every,
    )
    return name, Model(
        name,
        tuple(mutexes),
        (role,),
        "generic, of no program",
        threads_per_processor=threads_per_processor,
    )


def _long(ns: float) -> Buckets:
    """Return the long gaps between bursts, with a weight of 1 together."""
    buckets = _gamma(ns, _GAP_VARIATION)
    return tuple((low, high, weight / len(buckets)) for low, high, weight in buckets)


def _programs() -> Iterator[tuple[str, Model]]:
    for gap, instances, every in product((2000, 20_000, 200_000), (1, 1024), (1, 8)):
        name = f"{BARRIER}-{gap}-{instances}-{every}"
        yield _program(name, 100, gap, instances=instances, barrier_every=every)
    one_lock = [
        *product((50, 300), (0, 3, 7, 15, 31, 63, 127), (1, 6)),
        *product((50, 1500), (7, 31, 127), (30,)),
        *product((3000, 20_000), (3, 31, 127), (1,)),
    ]
    for section, gaps, lines in one_lock:
        name = f"{ONE}-{section}-{gaps}-{lines}"
        yield _program(name, section, section * gaps, data_lines=lines)
    for instances, gap, lines in product((8, 128), (200, 2000), (1, 6)):
        name = f"{MANY}-{instances}-50-{gap}-{lines}"
        yield _program(name, 50, gap, instances=instances, data_lines=lines)
    for share, gap in product((0.05, 0.2), (200, 2000, 10_000)):
        name = f"{SKEWED}-{share:g}-{gap}"
        yield _program(name, 100, gap, instances=256, hot_share=share)
    for crowd, gaps in product((1.05, 1.5), (7, 31, 127)):
        name = f"{CROWDED}-{crowd:g}-{gaps}"
        yield _program(name, 300, 300 * gaps, threads_per_processor=crowd)
    yield _program(f"{CROWDED}-1.5-{BARRIER}", 100, 20_000, barrier_every=8,
                   threads_per_processor=1.5)  # fmt: skip
    for section, gaps in product((50, 300), (15, 63, 255)):
        yield _program(f"{BURST}-{section}-{gaps}", section, section * gaps, bursts=True)
    for section, share, crowd in product((300, 3000), (0.02, 0.2), (1.0,)):
        name = f"{BLOCKING}-{section}-{share:g}-{crowd:g}"
        yield _program(name, section, 15 * section, block_share=share, threads_per_processor=crowd)
    for section, gaps in product((50, 300), (7, 63)):
        yield _program(f"{TRYING}-{section}-{gaps}", section, section * gaps, polls=True)


def library() -> Skeletons:
    """Return the generic programs by name, which begins with the family."""
    return {name: (model,) for name, model in _programs()}


def family(name: str) -> str:
    """Return the family of a generic program."""
    return next((each for each in FAMILIES if name.startswith(f"{each}-")), name)
