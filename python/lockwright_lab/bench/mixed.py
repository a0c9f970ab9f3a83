"""The cost of an algorithm per mutex: the library of all algorithms, with one for every mutex,
against the library of that algorithm."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lockwright.experiment import Experiment, Figure, Outcome, Summary, TableOf
from lockwright.experiment import columns as make
from lockwright.plan.compiled import VARIABLE
from lockwright.preload.locks import registry
from lockwright.stats.spread import spread

from lockwright_lab.bench import runs, settings
from lockwright_lab.bench.catalogue import RATE
from lockwright_lab.bench.settings import SETTINGS, Setting

OWN, MIXED = "own", "mixed"

USUAL = tuple(SETTINGS[name] for name in ("empty", "uncontested", "short-short"))
"""The default settings: two without and one with contention."""

_own, _mixed = (runs.of(form, runs.field("measured", RATE.field)) for form in (OWN, MIXED))

FIGURES = [
    Figure(
        OWN,
        "1/s",
        definition="acquisitions per second with the library of this algorithm; median over the "
        "rounds.",
        heading="own op/s",
        value=_own,
    ),
    Figure(
        MIXED,
        "1/s",
        definition="the same with the library of all algorithms.",
        heading="mixed op/s",
        value=_mixed,
    ),
]
RATIO = Figure(
    "ratio",
    "",
    definition="mixed divided by own, of the two runs of a round, which follow one another; median "
    "over the rounds. Below 1: the mixed library is slower.",
    value=runs.quotient(_mixed, _own),
)

COLUMNS = [
    make.name(definition="the algorithm that every mutex has."),
    *map(make.median, FIGURES),
    make.own_ratio(RATIO),
    settings.ns_more(
        OWN,
        MIXED,
        "nanoseconds that an acquisition and its release take more with one thread; from the "
        "medians.",
    ),
]


def _remarks(cells: Sequence[Sequence[Summary]]) -> list[str]:
    texts = []
    for rows in cells:
        medians = [ratio.median for row in rows if (ratio := row.over_rounds("ratio"))]
        if (over_locks := spread(medians)) is not None:
            texts.append(
                f"{rows[0].cell}: median ratio over {over_locks.count} locks "
                f"{over_locks.median:.3f}, from {min(medians):.3f} to {max(medians):.3f}."
            )
    return texts


def _run(call: runs.Call) -> Outcome:
    call = settings.of_setting(call)
    own = replace(call.contender, environment={VARIABLE: f"D {call.contender.name}\n"})
    mixed = replace(own, subject=replace(own.subject, plain=registry().path_of_mixed()))
    return runs.in_pair(
        call.round,
        {
            OWN: call.under(own).run,
            MIXED: call.under(mixed).run,
        },
    )


def mixed(
    common: runs.Common, options: Mapping[str, float], chosen: Sequence[Setting]
) -> Experiment:
    """Return the experiment. options: of the measuring program."""
    return runs.experiment(
        "mixed",
        common,
        [RATIO, *FIGURES],
        [TableOf(COLUMNS, settings.title)],
        options,
        settings.cells(chosen),
        make=_run,
        first=runs.pinned,
        remarks=_remarks,
    )
