"""The account of the threads and the waits for objects other than locks, for account.html."""

from collections.abc import Iterator
from dataclasses import dataclass

from lockwright.base import numbers
from lockwright.page.rows import Row
from lockwright.profile import chain_lines
from lockwright.profile.chain import Chain
from lockwright.profile.record import Profile
from lockwright.profile.waiting import KINDS, Times, WaitObject

ROLES = 24
OBJECTS = 100
CHAINS = 24
"""Most rows of each table."""

CARDS = 5
"""Number of objects with a card."""

CHAIN_COLUMNS = ("through", "share of waiting", "ends in", "role", "which")

OBJECT_COLUMNS = (
    "object",
    "kind",
    "waited",
    "waits",
    "mean",
    "deadlines passed",
    "to resume",
    "waits most in",
    "ended in",
)


@dataclass(frozen=True)
class Card:
    """An object for which threads waited long. anchor: of its section."""

    anchor: str
    kind: str
    name: str
    figures: str


def cards(profile: Profile) -> list[Card]:
    """Return the objects of any kind with most waiting, the longest first."""
    found = []
    for index, mutex in enumerate(profile.mutexes[:CARDS]):
        contended = (
            f"; {numbers.share(mutex.contended_share)} of acquisitions contended"
            if mutex.acquisitions
            else ""
        )
        figures = f"{numbers.time(mutex.lost)} lost{contended}"
        found.append((mutex.lost, Card(f"mutex-{index}", "mutex", mutex.name, figures)))
    for lock in profile.rwlocks[:CARDS]:
        figures = f"{numbers.time(lock.lost)} lost; {numbers.share(lock.read_share)} reads"
        found.append((lock.lost, Card("rwlocks", "reader-writer lock", lock.name, figures)))
    for each in profile.waits[:CARDS]:
        figures = f"{numbers.time(each.waited)} waited"
        found.append((each.waited, Card("waits", each.kind_label, each.name, figures)))
    found.sort(key=lambda pair: -pair[0])
    return [card for waited, card in found[:CARDS] if waited]


def role_columns(profile: Profile) -> list[str]:
    """Return the columns of the table of roles."""
    return ["role", "threads", "lived", *(name for name, _, _ in parts(profile, Times()))]


def parts(profile: Profile, times: Times) -> Iterator[tuple[str, str, float]]:
    """Yield the name, the class of the colour and the seconds of each part of threads' lives, with
    the kinds of waiting that any thread of the profile has."""
    yield "running", "running", times.running
    yield "runnable", "runnable", times.runnable
    for kind in profile.account.all.waiting:
        yield KINDS[kind], kind, times.waiting.get(kind, 0.0)
    yield "asleep otherwise", "sleeping", times.sleeping


def role_rows(profile: Profile) -> list[Row]:
    """Return a row for each role: the shares of its threads' lives."""
    rows = []
    for role in profile.account.roles[:ROLES]:
        times = role.times
        shares = [seconds / times.lived for _, _, seconds in parts(profile, times)]
        rows.append(
            Row(
                [
                    (role.name, role.name),
                    (numbers.count(times.threads), repr(times.threads)),
                    (numbers.time(times.lived * 1e9), repr(times.lived)),
                    *((numbers.share(share), repr(share)) for share in shares),
                ]
            )
        )
    return rows


def chain_rows(profile: Profile) -> list[Row]:
    """Return a row for each chain of waits."""
    return [_chain_row(each) for each in profile.chains[:CHAINS]]


def _chain_row(of: Chain) -> Row:
    words = [chain_lines.path(of), of.site, of.role, chain_lines.state(of)]
    cells = [(word, word) for word in words]
    return Row([cells[0], (numbers.share(of.share), repr(of.share)), *cells[1:]])


def object_rows(profile: Profile) -> list[Row]:
    """Return a row for each object."""
    return [_row(each) for each in profile.waits[:OBJECTS]]


def _row(of: WaitObject) -> Row:
    waiter, waker = of.waiter, of.waker
    if of.holders:
        waker = f"held by {of.holders[0].label}"
    resuming = of.resuming / of.resumed if of.resumed else 0.0
    return Row(
        [
            (of.name, of.name),
            (of.kind_label, of.kind_label),
            (numbers.time(of.waited), repr(of.waited)),
            (numbers.count(of.waits) if of.waits else "", repr(of.waits)),
            (numbers.time(of.mean) if of.waits else "", repr(of.mean)),
            (numbers.count(of.given_up), repr(of.given_up)),
            (numbers.time(resuming) if of.resumed else "", repr(resuming)),
            (waiter, waiter),
            (waker, waker),
        ]
    )
