"""The predicted effect of changes: what `lockwright what-if` shows and writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.predict import changes as kinds
from lockwright.predict import page, show, what_if
from lockwright.predict.changes import Change
from lockwright.predict.estimate import Estimate
from lockwright.predict.header import Header
from lockwright.predict.prepare import Request
from lockwright.predict.show import Shown
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
        number, name = _mutex(profile, header, self.mutex)
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


def _mutex(profile: Path, header: Header, word: str | None) -> tuple[int, str]:
    """Return the index in the model and the name of the mutex of a word, as in Wanted."""
    number = 0
    if word is not None:
        number = kinds.find_mutex(record.read(profile).mutexes, header.derived.indices, word)
    return number, header.derived.model.mutexes[number].name


def shorter_sections(
    request: Request, mutexes: Sequence[str], most: int, shares: Sequence[int]
) -> dict[str, dict[int, Estimate | None]]:
    """Return, by the names of mutexes, the predicted gain of sections that are so many per cent
    shorter. mutexes: words as in Wanted; none for those that cost most, up to `most`."""
    header = request.header()
    chosen = dict(_mutex(request.profile, header, word) for word in mutexes)
    if not mutexes:
        chosen = {n: each.name for n, each in enumerate(header.derived.model.mutexes[:most])}
    changes = {
        kinds.section(number, name, 1 - share / 100, False): (name, share)
        for number, name in chosen.items()
        for share in shares
    }
    found: dict[str, dict[int, Estimate | None]] = {name: {} for name in chosen.values()}
    for effect in what_if.predict(header, list(changes), request.settings):
        name, share = changes[effect.change]
        found[name][share] = effect.throughput
    return found


def predict(request: Request, wanted: Wanted) -> Shown:
    """Predict the effect of each change alone."""
    wanted.check()
    header = request.header()
    changes = wanted.changes(request.profile, header)
    effects = what_if.predict(header, changes, request.settings)
    threads = header.derived.model.threads
    title = f"Predicted change from {threads} threads under {BASELINE}; tail: p99 of an acquisition"
    return Shown(
        header,
        [(show.effects_grid(title, effects), "")],
        show.effect_rows(effects),
        {"lock": BASELINE, "threads": threads},
        partial(page.effects_page, header, effects, BASELINE, threads),
        [f"{each.change.text}: {each.failure}" for each in effects if each.failure],
    )
