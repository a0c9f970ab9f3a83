"""Replays of recorded runs: how often, and by how much, each search misses the best lock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lockwright.base import numbers
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import Display
from lockwright.experiment.report import Grid, text_grid
from lockwright.tune import knowledge, priors
from lockwright.tune.knowledge import Array
from lockwright.tune.priors import Values

from lockwright_lab.bench.replay.records import (
    Recorded,
    family,
    read_values,
    sample_of,
    sensitive_programs,
)
from lockwright_lab.bench.replay.searches import SEARCHES

WITHIN = 0.05
"""Loss up to which a lock counts as found: its mean figure is within 5 % of the best one's."""

MOST = 100
SHOWN = (5, 10, 14, 20, 30, 50, 80, 100)
"""Numbers of runs in the table; the files have all up to MOST."""

_SUCCESS = 0.9
_RESAMPLES = 1000


@dataclass(frozen=True)
class Replayed:
    """Losses of each search behind the best lock: programs x numbers of runs x seeds."""

    machine: str
    programs: tuple[str, ...]
    seeds: int
    losses: Mapping[str, Array]

    def success(self, search: str) -> Array:
        """Return the share of programs and seeds within 5 % after each number of runs."""
        share: Array = (self.losses[search] <= WITHIN).mean(axis=(0, 2))
        return share

    def mean_loss(self, search: str) -> Array:
        """Return the mean loss after each number of runs."""
        mean: Array = self.losses[search].mean(axis=(0, 2))
        return mean

    def interval(self, search: str, runs: int) -> tuple[float, float]:
        """Return the 90 % interval of the share over the choice of programs (bootstrap)."""
        of_programs = (self.losses[search][:, runs - 1] <= WITHIN).mean(axis=1)
        random = np.random.default_rng(0)
        drawn = random.choice(of_programs, (_RESAMPLES, len(of_programs))).mean(axis=1)
        low, high = np.quantile(drawn, [0.05, 0.95])
        return float(low), float(high)

    def runs_needed(self, search: str) -> int | None:
        """Return the runs from which on 90 % are within 5 %; None if MOST are not enough."""
        missed = np.flatnonzero(self.success(search) < _SUCCESS)
        needed = int(missed[-1]) + 2 if len(missed) else 1
        return needed if needed <= MOST else None


def replay(path: Path, prior_files: Sequence[Path], seeds: int) -> Replayed:
    """Replay the runs of a machine to every search. prior_files: recorded runs of other machines,
    or of this one, from which the prior is learnt; without any, the published table. A program and
    its versions are left out of its own prior. Raises LockwrightError for files without enough
    runs."""
    sample = sample_of(path)
    programs = sensitive_programs(sample)
    if not programs:
        raise LockwrightError(f"no program in {path} is lock-sensitive", "give other runs")
    known = read_values(prior_files) if prior_files else priors.read(priors.PUBLISHED)
    cases = [(program, _prior(program, known)) for program in programs]
    losses: dict[str, Array] = {}
    with Display(len(cases) * len(SEARCHES), 0) as display:
        for name, search in SEARCHES.items():
            of_search = []
            for program, prior in cases:
                display.announce(f"{name}, {program.program}", "", None)
                loss = 1 - program.truth / program.truth.max()
                of_search.append(loss[search(program, prior, MOST, seeds)])
                display.advance()
            losses[name] = np.array(of_search)
    return Replayed(sample.machine, tuple(each.program for each in programs), seeds, losses)


def _prior(program: Recorded, known: Sequence[Values]) -> knowledge.Prior:
    others = [each for each in known if family(each.program) != family(program.program)]
    values = [[each.values.get(lock, np.nan) for lock in program.locks] for each in others]
    try:
        return knowledge.prior_of(np.array(values).reshape(-1, len(program.locks)))
    except ValueError as error:
        raise LockwrightError(f"{error}, besides {program.program}", "add --prior files") from error


def table(replayed: Replayed) -> Grid:
    """Return the shares and the losses of each search."""
    lines = []
    for search in replayed.losses:
        success, loss = replayed.success(search), replayed.mean_loss(search)
        needed = replayed.runs_needed(search)
        cells = [
            f"{numbers.share(success[runs - 1])} ({numbers.share(loss[runs - 1])})"
            for runs in SHOWN
        ]
        lines.append([search, str(needed) if needed else f"> {MOST}", *cells])
    headings = ["search", "90 % after", *(f"{runs} runs" for runs in SHOWN)]
    return text_grid(
        f"{replayed.machine}: {len(replayed.programs)} lock-sensitive programs, {replayed.seeds}"
        " seeds; shares within 5 % of the best lock, and mean losses",
        headings,
        lines,
    )


def as_json(replayed: Replayed) -> dict[str, Any]:
    """Return the figures of the guided search, and those of all searches."""
    searches = {name: _figures(replayed, name) for name in replayed.losses}
    first, *_ = searches
    return {
        "format": "lockwright replay 1",
        "machine": replayed.machine,
        "programs": list(replayed.programs),
        "seeds": replayed.seeds,
        "within": WITHIN,
        **searches[first],
        "searches": searches,
    }


def _figures(replayed: Replayed, search: str) -> dict[str, Any]:
    success, loss = replayed.success(search), replayed.mean_loss(search)
    return {
        "success_after": {str(n): round(float(x), 4) for n, x in enumerate(success, 1)},
        "success_interval_after": {
            str(n): [round(x, 4) for x in replayed.interval(search, n)] for n in SHOWN
        },
        "mean_loss_after": {str(n): round(float(x), 5) for n, x in enumerate(loss, 1)},
        "runs_needed": replayed.runs_needed(search),
    }


def page(replayed: Replayed) -> str:
    """Return a page with the curves of all searches, which needs no other file."""
    from plotly import graph_objects
    from plotly.subplots import make_subplots

    titles = ("share of programs within 5 % of the best lock", "mean loss")
    figure = make_subplots(rows=1, cols=2, subplot_titles=titles)
    runs = list(range(1, MOST + 1))
    for number, name in enumerate(replayed.losses):
        colour = f"hsl({72 * number}, 60%, 45%)"
        for column, values in enumerate((replayed.success(name), replayed.mean_loss(name)), 1):
            line = graph_objects.Scatter(
                x=runs,
                y=values,
                name=name,
                line={"color": colour},
                legendgroup=name,
                showlegend=column == 1,
            )
            figure.add_trace(line, row=1, col=column)
    figure.update_xaxes(title="runs")
    figure.update_yaxes(tickformat=".0%")
    title = f"{replayed.machine}: {len(replayed.programs)} programs, {replayed.seeds} seeds"
    figure.update_layout(title=title, template="plotly_white")
    text: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return text
