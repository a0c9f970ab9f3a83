"""The machine, threads and times of each simulated claim, or the reason why it is not simulated."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lockwright_lab.bench.cases import PER_PROCESSOR
from lockwright_lab.bench.claims.claim import Claim, Options, Side
from lockwright_lab.bench.claims.mutable_locks import COMBINATIONS

_SHORTEST = 0.01
"""Simulated seconds of a run: some thousand acquisitions."""

_SLICES = 0.06
"""Simulated seconds if threads outnumber processors: some twenty time slices of Linux."""

_LONG_SECTIONS = 0.08
"""Simulated seconds with sections or gaps of more than 100 µs: some hundred of them."""

_PREEMPTED_HOLDERS = 0.5
"""Simulated seconds if threads outnumber processors and only gaps are long: some ten times a second
a holder loses its processor."""

_LONG_NS = 100_000


@dataclass(frozen=True)
class Setting:
    """A machine that represents the paper's, with the threads and times of the runs.

    machine: a value of `lockwright simulate --machine`. nearest: how it differs from the paper's,
    "" if it does not. threads: the paper's numbers of threads for a number of the claim such as
    `16/cpu`, each of which is a point; numbers without an entry are multiplied by the processors.
    seconds: simulated time of each run; None for a time by its threads and lengths. warm_up:
    simulated time before that, None for a tenth. gap_cycles: of work after each section, for each
    of several threads. without_data: the workloads whose sections touch no shared data.
    """

    machine: str
    nearest: str = ""
    threads: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seconds: float | None = None
    warm_up: float | None = None
    gap_cycles: int = 0
    without_data: tuple[str, ...] = ()


_STUDY = Setting("a-64")
_T5 = Setting(
    "t5-2",
    "the eight hardware threads of a core share it without its two pipelines",
    {"16/cpu": (32,), "8/cpu": (32,)},
    0.1,
)
_ENERGY = Setting(
    "xeon-e5-2680v2x2",
    # DEFAULT_FAIR_DELAY of bmarks/stress_one_in.c and stress_test_in.c of the authors' lockin.
    gap_cycles=30,
    # DEFAULT_CL_ACCESS of the same; but stress_test_in.c counts in its sections.
    without_data=("single-lock",),
)
_MUTABLE_20 = Setting(
    "xeon-e5-2640v4x2",
    # src/test.c of the authors' lockbench: its sections count in variables of the thread.
    without_data=("lockbench",),
)
_AVERAGES_20 = replace(
    _MUTABLE_20,
    # script/thread_conf/20.conf of the authors' lockbench, up to twice as many as processors.
    threads={"1/cpu": (1, 2, 5, 8, 10, 12, 15, 18, 20), "2/cpu": (24, 28, 30, 40)},
)
_MUTABLE_48 = replace(
    _MUTABLE_20,
    machine="xeon-8260x2",
    # script/thread_conf/48.conf of the authors' lockbench, up to twice as many as processors.
    threads={"1/cpu": (1, 3, 6, 12, 18, 24, 30, 36, 42, 48), "2/cpu": (52, 58, 60, 70, 80, 90)},
)

_PAPERS = (
    ("Guerraoui", _STUDY),
    ("Dice", _T5),
    ("Falsafi", _ENERGY),
    ("Marotta", _MUTABLE_20),
)
"""The first word of a source, and the setting of its claims."""

_OWN: dict[str, Setting] = {
    "handover-fifo-preempted": replace(_STUDY, seconds=0.1),
    "oversubscription-collapse": replace(_T5, threads={"2/cpu": (256,)}, seconds=0.2),
    "oversubscription-cliff": replace(_T5, threads={"2/cpu": (256,), "1/cpu": (128,)}, seconds=0.2),
    "mutexee-is-unfair": replace(_ENERGY, seconds=0.1),
    "mutexee-on-average": replace(_ENERGY, threads={"1/cpu": (16,)}),
    "mutexee-on-average-energy": replace(_ENERGY, threads={"1/cpu": (16,)}),
    # The queue of 10,000 messages has to be full before the producers wait.
    "fast-flow": replace(_T5, seconds=0.5, warm_up=1.0),
    "fast-flow-throughput": replace(_T5, seconds=0.5, warm_up=1.0),
    **{
        f"{claim}-{lengths}": _AVERAGES_20
        for claim in ("best-lock", "better-than-chance")
        for lengths in COMBINATIONS
    },
    **{
        f"timeout-{name}": replace(_ENERGY, threads={"4/cpu": (20,)}, seconds=0.2)
        for name in ("throughput", "costs-throughput", "short", "longest-wait")
    },
}
"""Claims whose setting differs from that of their paper."""

_TABLE_1 = ("lockbench-", "hash-set-", "lazy-list-")
"""Claims of Mutable Locks that were measured on the machine with 48 cores."""

_SETS = (
    "the simulator has no sets of lists: a mutex in each of thousands of nodes is nearly always "
    "free, and the throughput depends on instructions, the size of a mutex and the library that "
    "the paper loads, none of which is simulated"
)
_HERD = "the simulator has the preload libraries' condition variables, and not the C library's"


def inexpressible(claim: Claim) -> str:
    """Return why the claim cannot be simulated, or ""."""
    if claim.elsewhere:
        return claim.elsewhere
    if claim.workload in ("hash-set", "lazy-list"):
        return _SETS
    return _HERD if claim.workload == "herd" else ""


def setting_of(claim: Claim) -> Setting:
    """Return the setting of a claim that can be simulated."""
    if claim.name in _OWN:
        return _OWN[claim.name]
    if claim.name.startswith(_TABLE_1):
        return _MUTABLE_48
    return next(setting for paper, setting in _PAPERS if claim.source.startswith(paper))


def for_machine(claim: Claim, setting: Setting, processors: int) -> Claim:
    """Return the claim with numbers of threads and simulated seconds for a machine of that size."""

    def resolved_side(side: Side | None) -> Side | None:
        if side is None:
            return None
        return replace(side, options=_resolved(side.options, setting, processors)[0])

    sides = [resolved_side(claim.numerator), resolved_side(claim.denominator)]
    points = []
    for unresolved in claim.points:
        for point in _resolved(unresolved, setting, processors):
            options = [{**point, **side.options} for side in sides if side is not None]
            seconds = setting.seconds or max(_seconds(each, processors) for each in options)
            timed: dict[str, object] = {**point, "seconds": seconds}
            threads = int(str(point.get("threads", 1)))
            if setting.gap_cycles and threads > 1:
                timed["gap-cycles"] = setting.gap_cycles * threads
            if setting.warm_up is not None:
                timed["warm-up"] = setting.warm_up
            if claim.workload in setting.without_data:
                timed["data-lines"] = 0
            points.append(timed)
    return replace(
        claim, points=tuple(points), numerator=sides[0], denominator=sides[1], processors=1
    )


def _resolved(options: Options, setting: Setting, processors: int) -> list[Options]:
    """Return the options once for each number of threads that `4/cpu` and the like represent."""
    text = str(options.get("threads", ""))
    if text in setting.threads:
        return [{**options, "threads": threads} for threads in setting.threads[text]]
    if text.endswith(PER_PROCESSOR):
        threads = max(1, round(float(text.removesuffix(PER_PROCESSOR)) * processors))
        return [{**options, "threads": threads}]
    return [options]


def _seconds(options: Options, processors: int) -> float:
    section, gap = (int(str(options.get(f"{what}-max-ns", 0))) for what in ("section", "gap"))
    crowded = int(str(options.get("threads", 1))) > processors
    if crowded and section <= _LONG_NS < gap:
        return _PREEMPTED_HOLDERS
    is_long = max(section, gap) > _LONG_NS
    return max(_SHORTEST, _SLICES if crowded else 0, _LONG_SECTIONS if is_long else 0)
