"""The prediction of the best lock: what `lockwright predict` shows and writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from lockwright.base import files
from lockwright.predict import page, ranking, show
from lockwright.predict.header import Header
from lockwright.predict.prepare import Request
from lockwright.predict.ranking import Prediction
from lockwright.predict.reason import reason
from lockwright.predict.simulations import Outcomes
from lockwright.simulate.run import Cell


@dataclass(frozen=True)
class LockPrediction:
    """ranked: the locks by threads and rank; reasons: a text for each number of threads."""

    header: Header
    ranked: Sequence[Prediction]
    reasons: Mapping[int, str]
    failures: Sequence[str]

    def show(self, console: Console) -> None:
        console.print(self.header.title, style="bold", soft_wrap=True)
        for count, text in self.reasons.items():
            of_count = [each for each in self.ranked if each.threads == count]
            console.print(show.ranking_table(of_count))
            console.print(text, soft_wrap=True)
        show.print_notes(console, self.header, self.failures)

    def write(self, json_file: Path | None, csv_file: Path | None, html_file: Path | None) -> None:
        header, ranked, reasons = self.header, self.ranked, self.reasons
        if json_file is not None:
            files.write(json_file, show.ranking_json(header, ranked, reasons), "--json")
        if csv_file is not None:
            files.write(csv_file, show.ranking_csv(header, ranked), "--csv")
        if html_file is not None:
            text = page.ranking_page(header, ranked, reasons, self.failures)
            files.write(html_file, text, "--html")


def predict(
    request: Request, header: Header, locks: Sequence[str], threads: Sequence[int]
) -> LockPrediction:
    """Predict the rank of each lock for these numbers of threads; () for that of the profile."""
    derived = header.derived
    counts = threads or [header.threads]
    points = request.points(header)
    jobs = ranking.jobs(points, locks, counts, request.seconds)
    outcomes = request.simulate(jobs, lambda key: key[1])
    ranked: list[Prediction] = []
    reasons = {}
    for count in counts:
        if of_count := ranking.rank(outcomes, points, count):
            ranked += of_count
            why = reason(derived.model, header.machine, of_count)
            reasons[count] = f"{why} {show.tied(of_count)}"
    return LockPrediction(header, ranked, reasons, _failures(outcomes))


def _failures(outcomes: Outcomes[tuple[int, Cell]]) -> list[str]:
    return sorted(
        {
            f"{cell.lock} with {cell.threads} threads: {what}"
            for (_, cell), what in outcomes.failures.items()
        }
    )
