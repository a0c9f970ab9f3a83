"""The predicted effect of changes: what `lockwright what-if` shows and writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from lockwright.base import files
from lockwright.base.errors import LockwrightError
from lockwright.predict import changes as kinds
from lockwright.predict import page, show, what_if
from lockwright.predict.changes import Change
from lockwright.predict.header import Header
from lockwright.predict.prepare import Request
from lockwright.predict.what_if import Effect
from lockwright.profile import record
from lockwright.simulate.figures import BASELINE
from lockwright.simulate.run import choose_locks


@dataclass(frozen=True)
class Wanted:
    """The changes that were asked for. mutex: rank or part of a name, None for the one that costs
    most; section: factor of its sections' length; moved: the rest of them is done outside; reads:
    share of the sections that only read, with a reader-writer lock."""

    mutex: str | None
    section: float | None
    moved: bool
    shards: int | None
    lock: str | None
    atomic: bool
    reads: float | None
    threads: Sequence[int]

    def check(self) -> None:
        """Raise LockwrightError if it is nothing, or contradictory."""
        if self.moved and self.section is None:
            raise LockwrightError("--moved needs --section", "give the new length of the sections")
        if self.lock is not None:
            choose_locks(self.lock)
        given = (self.section, self.shards, self.lock, self.reads, self.threads or None)
        if given.count(None) == len(given) and not self.atomic:
            raise LockwrightError(
                "no change is given",
                "give --section, --shards, --lock, --threads, --atomic or --reads",
            )

    def changes(self, profile: Path, header: Header) -> list[Change]:
        """Return the changes. profile: the file, in which the mutex is searched."""
        number = 0
        if self.mutex is not None:
            number = kinds.find_mutex(record.read(profile), header.derived.indices, self.mutex)
        name = header.derived.model.mutexes[number].name
        changes: list[Change] = []
        if self.section is not None:
            changes.append(kinds.section(number, name, self.section, self.moved))
        if self.shards is not None:
            changes.append(kinds.shards(number, name, self.shards))
        if self.atomic:
            changes.append(kinds.atomic(number, name))
        if self.reads is not None:
            changes.append(kinds.rwlock(number, name, self.reads))
        if self.lock is not None:
            of_one = kinds.lock_of(number, name, self.lock)
            changes.append(kinds.lock_of_all(self.lock) if self.mutex is None else of_one)
        changes += [kinds.thread_count(count) for count in self.threads]
        return changes


@dataclass(frozen=True)
class ChangePrediction:
    """effects: of each change, the largest throughput first; threads: those of the profile."""

    header: Header
    effects: Sequence[Effect]
    threads: int

    @property
    def failures(self) -> list[str]:
        """A line for each change whose simulation failed."""
        return [f"{each.change.text}: {each.failure}" for each in self.effects if each.failure]

    def show(self, console: Console) -> None:
        console.print(self.header.title, style="bold", soft_wrap=True)
        console.print(show.effects_table(self.effects, BASELINE, self.threads))
        show.print_notes(console, self.header, self.failures)

    def write(self, json_file: Path | None, csv_file: Path | None, html_file: Path | None) -> None:
        header, effects, threads = self.header, self.effects, self.threads
        if json_file is not None:
            text = show.effects_json(header, effects, BASELINE, threads)
            files.write(json_file, text, "--json")
        if csv_file is not None:
            files.write(csv_file, show.effects_csv(header, effects), "--csv")
        if html_file is not None:
            files.write(html_file, page.effects_page(header, effects, BASELINE, threads), "--html")


def predict(request: Request, wanted: Wanted) -> ChangePrediction:
    """Predict the effect of each change alone."""
    wanted.check()
    header = request.header()
    changes = wanted.changes(request.profile, header)
    effects = what_if.predict(header, changes, request.settings)
    return ChangePrediction(header, effects, header.derived.model.threads)
