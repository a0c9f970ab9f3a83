"""Generic programs, of which the fitter chooses for each application. docs/predicting.md has the
protocol."""

from collections.abc import Iterator
from itertools import product

from lockwright.predict.skeletons.files import Skeletons
from lockwright.simulate.model import Buckets, Model, ModelMutex, Role, gamma

ONE, MANY, BARRIER, CROWDED = "one-lock", "many-locks", "barrier", "crowded"
"""The families: a mutex of all threads; many mutexes; barriers; more threads than processors."""

_SECTION_VARIATION = 0.5
_GAP_VARIATION = 1.0
"""Coefficients of variation: estimates."""

_SCALE = 64
"""Threads of the models as they are written; a simulation changes the number."""


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
    data_lines: int = 1,
    barrier_every: int = 0,
    threads_per_processor: float = 1.0,
) -> tuple[str, Model]:
    mutex = ModelMutex(
        "mutex", _gamma(section_ns, _SECTION_VARIATION), instances, data_lines=data_lines
    )
    role = Role(
        "worker",
        _SCALE,
        _gamma(gap_ns, _GAP_VARIATION),
        ((0, 1.0),),
        barrier_every=barrier_every,
    )
    return name, Model(
        name,
        (mutex,),
        (role,),
        "generic, of no program",
        threads_per_processor=threads_per_processor,
    )


def _programs() -> Iterator[tuple[str, Model]]:
    for gap, instances in product((2000, 20_000, 200_000), (1, 1024)):
        name = f"{BARRIER}-{gap}-{instances}-1"
        yield _program(name, 100, gap, instances=instances, barrier_every=1)
    one_lock = [
        *product((50,), (0, 7, 31, 63, 127), (1, 6)),
        *product((300,), (0, 7), (1, 6)),
        (300, 31, 1),
        *product((50, 1500), (7, 31), (30,)),
    ]
    for section, gaps, lines in one_lock:
        name = f"{ONE}-{section}-{gaps}-{lines}"
        yield _program(name, section, section * gaps, data_lines=lines)
    for gap in (200, 2000):
        yield _program(f"{MANY}-8-50-{gap}", 50, gap, instances=8)
    yield _program(f"{CROWDED}-1.05-31", 300, 300 * 31, threads_per_processor=1.05)


def library() -> Skeletons:
    """Return the generic programs by name, which begins with the family."""
    return {name: (model,) for name, model in _programs()}


def family(name: str) -> str:
    """Return the family of a generic program."""
    families = (ONE, MANY, BARRIER, CROWDED)
    return next((each for each in families if name.startswith(f"{each}-")), name)
