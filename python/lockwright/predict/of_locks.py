"""The prediction of the best lock: what `lockwright predict` shows and writes."""

from collections.abc import Sequence
from functools import partial

from lockwright.predict import page, ranking, show
from lockwright.predict.header import Header
from lockwright.predict.prepare import Request
from lockwright.predict.ranking import Prediction
from lockwright.predict.reason import reason
from lockwright.predict.show import Shown
from lockwright.predict.simulations import Outcomes
from lockwright.simulate.run import Cell


def predict(
    request: Request, header: Header, locks: Sequence[str], threads: Sequence[int]
) -> Shown:
    """Predict the rank of each lock for these numbers of threads; () for that of the profile."""
    derived = header.derived
    counts = threads or [header.threads]
    points = request.points(header)
    jobs = ranking.jobs(points, locks, counts, request.seconds)
    outcomes = request.simulate(jobs, lambda key: key[1])
    ranked: list[Prediction] = []
    reasons = {}
    tables = []
    for count in counts:
        if of_count := ranking.rank(outcomes, points, count):
            ranked += of_count
            why = reason(derived.model, header.machine, of_count)
            reasons[count] = f"{why} {show.tied(of_count)}"
            title = f"{show.count_of_threads(count)}, predicted"
            tables.append((show.ranking_grid(title, of_count), reasons[count]))
    failures = _failures(outcomes)
    return Shown(
        header,
        tables,
        show.ranking_rows(ranked),
        {"reasons": reasons},
        partial(page.ranking_page, header, ranked, reasons, failures),
        failures,
    )


def _failures(outcomes: Outcomes[tuple[int, Cell]]) -> list[str]:
    return sorted(
        {
            f"{cell.lock} with {cell.threads} threads: {what}"
            for (_, cell), what in outcomes.failures.items()
        }
    )
