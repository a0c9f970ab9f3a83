"""Tests of the torture: locks pass, and each library with a planted fault fails."""

import os
import re
from dataclasses import replace

import pytest
from lockwright.preload.locks import RWLOCK, registry
from lockwright_lab.torture import plan
from lockwright_lab.torture.run import READERS, Finding, Options, torture
from support import locate, tiers

EMULATOR = locate.emulator()

SEED = 3

#: A lock of each category, the default lock among them; all locks in an emulator, where `lockwright
#: torture` does not run.
CLEAN = locate.lock_names() if EMULATOR else ["pthread", "futex", "mcs-stp", "hmcs", "adaptive"]

#: Phases without a meaning in an emulator, whose own memory grows.
EXCLUDED_PHASES = ["memory"] if EMULATOR else []

#: Faults, the checks that may find each, and the kind of phases for it.
FAULTS = [
    ("rare_entry", {"exclusion", "result", "progress"}, "crowd"),
    ("wake_lost", {"progress", "starvation"}, "crowd"),
    ("trylock_takes_held", {"exclusion", "result"}, "crowd"),
    ("deadline_too_soon", {"deadline"}, "crowd"),
    ("deadline_keeps", {"progress", "starvation", "deadline", "result"}, "crowd"),
    ("deadline_overslept", {"deadline"}, "crowd"),
    ("signal_lost", {"progress"}, "rings"),
    ("broadcast_wakes_one", {"progress"}, "herd"),
    ("timeout_without_mutex", {"exclusion", "result"}, "crowd"),
    ("cancel_without_mutex", {"cancellation", "exclusion", "result"}, "producers"),
    ("cancel_takes_signal", {"progress"}, "producers"),
    ("starves", {"starvation", "progress"}, "crowd"),
    ("out_of_order", {"order"}, "order"),
    ("leak", {"memory"}, "memory"),
    ("leak_of_thread", {"memory"}, "memory"),
    ("fork_finds_locked", {"fork"}, "forks"),
    ("touch_after_unlock", {"reuse"}, "reuse"),
    ("crashes", {"crash"}, "crowd"),
    ("writer_beside_readers", {"exclusion"}, "readers"),
    ("writer_forgotten", {"progress"}, "readers"),
    ("reader_deadline_too_soon", {"deadline"}, "readers"),
    ("destroy_hangs", {"progress"}, "crowd"),
    ("end_of_thread_hangs", {"progress"}, "memory"),
]


QUICKLY_FOUND = [
    each
    for each in FAULTS
    if each[0] not in ("destroy_hangs", "end_of_thread_hangs", "signal_lost", "cancel_takes_signal")
]

#: Those of phases that run for every lock.
OF_ALL_PHASES = [fault for fault, _, only in FAULTS if only not in ("order", READERS)]


def broken(fault: str, only: str | None, seconds: float, patience: float) -> Finding:
    options = Options(seed=SEED, patience=patience, only=[only] if only else [])
    library = locate.program("lab/torture", f"broken_{fault}.so")
    return torture(
        library,
        dict(os.environ),
        options,
        seconds,
        parks=True,
        fifo=only == "order",
        emulator=EMULATOR,
    )


@pytest.mark.parametrize(
    ("fault", "checks", "only"),
    tiers.short(FAULTS, QUICKLY_FOUND, "takes long, and another fault is found by the same check"),
)
def test_fault_is_found(fault: str, checks: set[str], only: str) -> None:
    """The intended check finds the fault within a minute."""
    if only in EXCLUDED_PHASES:
        pytest.skip("the emulator's own memory grows")
    # Too little patience must not find a fault that another check has to find.
    patience = 1 if checks & {"progress", "deadline", "fork"} else 10
    finding = broken(fault, only, seconds=60, patience=patience)
    assert finding.failure is not None
    assert finding.failure["check"] in checks, finding
    assert finding.seconds < 60
    assert finding.failure["in"].startswith(only)
    assert f"in phase {finding.failure['phase']} of seed {SEED}" in finding.state
    # The state for a diagnosis.
    assert "sections, inside: " in finding.state
    assert "  bytes:  " in finding.state
    if fault == "wake_lost":
        assert "stack of thread" in finding.state
        assert "waits in lock, mutex" in finding.state
        assert "pthread_mutex_lock" in finding.state
    if fault == "destroy_hangs":
        assert "the main thread makes no progress" in finding.failure["what"]
        assert re.search(
            r"stack of the main thread:\n(?:/.*\n)*/.*pthread_mutex_destroy", finding.state
        )


@pytest.mark.full("each fault is found in its own phases, in seconds")
@pytest.mark.parametrize("fault", OF_ALL_PHASES)
def test_fault_is_found_among_all_phases(fault: str) -> None:
    """All kinds of phases run, as in the command."""
    finding = broken(fault, None, seconds=60, patience=10)
    assert finding.failure is not None
    assert finding.seconds < 80


@pytest.mark.parametrize("lock", CLEAN)
def test_lock_passes(lock: str) -> None:
    known = registry()
    if lock not in known.names:
        pytest.skip("not built")
    # In an emulator, all runs that `lockwright torture` would make.
    seconds = 60 if locate.all_tests() else 10 if EMULATOR else 2
    runs = plan.planned_runs([known.find(lock)], seconds)
    for run in runs if EMULATOR else [replace(runs[0], seconds=seconds)]:
        finding = torture(
            known.path_of(lock),
            {**os.environ, **run.variables},
            Options(seed=1, patience=20, without=EXCLUDED_PHASES),
            run.seconds,
            parks=run.lock.parking,
            fifo=plan.is_fifo(run.lock),
            handovers_aside=plan.most_handovers_aside(run.lock, run.variables),
            emulator=EMULATOR,
        )
        assert finding.failure is None, (run.label, finding)
        assert finding.final is not None
        assert finding.final["sections"] > (50 if EMULATOR else 1000)
        if not EMULATOR:
            # On a busy machine phases take longer, and some kinds do not run.
            assert len({line["what"].split(",")[0] for line in finding.phases}) >= 4


@pytest.mark.parametrize(
    "rwlock",
    tiers.short(
        ["keep", *locate.rwlock_names()],
        ("keep", "futex-rw", "c-rw-np", "mcs-rw", "adaptive-rw"),
        "each has its unit tests, its model check and two programs",
    ),
)
def test_reader_writer_lock_passes(rwlock: str) -> None:
    library = locate.preload("pthread")
    environment = {**os.environ, RWLOCK: rwlock}
    seconds = 10 if locate.all_tests() or EMULATOR else 1
    options = Options(seed=1, patience=20, only=[READERS])
    finding = torture(
        library, environment, options, seconds, parks=True, fifo=False, emulator=EMULATOR
    )
    assert finding.failure is None, finding
    assert finding.final is not None
    assert finding.final["sections"] > (50 if EMULATOR else 1000)


def test_the_seed_determines_the_plan() -> None:
    """The same seed gives the same phases, and another seed others."""

    def phases(seed: int) -> list[str]:
        library = locate.preload("pthread")
        options = Options(seed, patience=20, without=["memory"])
        finding = torture(
            library, dict(os.environ), options, 0.5, parks=True, fifo=False, emulator=EMULATOR
        )
        assert finding.failure is None, finding
        return [line["what"] for line in finding.phases][:2]

    assert phases(3) == phases(3) != phases(4)
