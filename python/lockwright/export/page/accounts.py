"""The account of the threads and the waits for objects other than locks, for account.html."""

from collections.abc import Iterator

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
    mean = of.waited / of.waits
    resuming = of.resuming / of.resumed if of.resumed else 0.0
    return Row(
        [
            (of.name, of.name),
            (of.kind_label, of.kind_label),
            (numbers.time(of.waited), repr(of.waited)),
            (numbers.count(of.waits), repr(of.waits)),
            (numbers.time(mean), repr(mean)),
            (numbers.count(of.given_up), repr(of.given_up)),
            (numbers.time(resuming) if of.resumed else "", repr(resuming)),
            (waiter, waiter),
            (waker, waker),
        ]
    )
