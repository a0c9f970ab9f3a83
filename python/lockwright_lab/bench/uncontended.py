"""The cost of an uncontended lock."""

from collections.abc import Mapping

from lockwright.experiment import Column, Experiment, Figure, Summary, TableOf
from lockwright.experiment import columns as make

from lockwright_lab.bench import runs

BOUNDS = {"ttas": 1.0, "ticket": 1.0, "mcs-spin": 1.6}
"""The largest ratio to the C library's cost that Lockwright promises, by lock."""

_cost = runs.field("result", "min_ns_per_pair")

COST = Figure(
    "ns_per_pair",
    "ns",
    lower_is_better=True,
    definition="nanoseconds for one pthread_mutex_lock and one pthread_mutex_unlock of a mutex that"
    " no other thread uses, called in a loop. A run times batches of pairs and reports its fastest "
    "batch; median over the rounds.",
    heading="ns per pair",
    value=_cost,
)
RATIO = Figure(
    "ratio",
    "",
    lower_is_better=True,
    definition="per round, this lock's figure divided by that of a libc run right before or after "
    "it; median over the rounds. Lower is better. libc against itself shows the effect of noise.",
    heading="ratio to libc",
    value=runs.to_libc(_cost),
)


def _bound(row: Summary) -> str:
    most, ratio = BOUNDS.get(row.contender), row.over_rounds("ratio")
    if most is None or ratio is None:
        return ""
    return f"<= {most:.2f} {'holds' if ratio.median <= most else 'MISSED'}"


COLUMNS = [
    make.name(definition=runs.LOCK),
    make.with_spread(COST),
    make.own_ratio(RATIO),
    Column(
        "bound", "the largest allowed ratio of this lock; MISSED if the median is above.", _bound
    ),
]


def uncontended(common: runs.Common, options: Mapping[str, object]) -> Experiment:
    """Return the experiment. options: of the measuring program."""
    tables = [TableOf(COLUMNS, lambda _: "One thread, no contention")]
    figures = [COST, RATIO]
    return runs.experiment("uncontended", common, figures, tables, options, make=runs.beside_libc)
