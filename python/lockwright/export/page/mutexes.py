"""The mutexes of a profile: cards of the worst, a table of all, a section for each."""

from collections.abc import Iterable
from html import escape

from lockwright.base import numbers
from lockwright.page import lists
from lockwright.page.table import grid, row
from lockwright.profile.record import (
    CREATED,
    FIRST_TAKEN,
    OBJECT,
    Distribution,
    Frame,
    Mutex,
    Profile,
    Site,
)

WORST = 5
"""Mutexes with a card, and whose sections are open if they cost as much as this."""

_MUCH = 0.01
"""Share of all waiting."""

SECTIONS = 25
"""Mutexes with a section of their own."""

_ROWS = 500
"""Mutexes in the table."""

_PLACES = 12
"""Call sites, and pairs of them, in the tables of a mutex."""

_BY = {
    OBJECT: "a variable",
    CREATED: "initialised at",
    FIRST_TAKEN: "first taken at",
}

_COLUMNS = (
    "mutex",
    "time lost",
    "acquisitions",
    "contended",
    "wait p50",
    "wait p99",
    "hold p50",
    "hold p99",
    "waiters",
    "threads",
)


def cards(profile: Profile) -> str:
    """The mutexes that cost most."""
    worst = [mutex for mutex in profile.mutexes[:WORST] if mutex.lost > 0]
    return "".join(
        f'<a class="card" href="#mutex-{place}"><div class="where">{_part(mutex, profile)}</div>'
        f'<div class="best">{escape(mutex.name)}</div>'
        f'<div class="gain">{numbers.time(mutex.lost)} lost{_contended(mutex)}</div></a>'
        for place, mutex in enumerate(worst)
    )


def table(profile: Profile) -> str:
    """All mutexes, up to a number of them; the sentence below says how many are left out."""
    if not profile.mutexes:
        return '<p class="quiet">No mutex was seen.</p>'
    rows = [_row(place, mutex) for place, mutex in enumerate(profile.mutexes[:_ROWS])]
    left = profile.mutexes[_ROWS:]
    more = (
        f'<p class="quiet">{len(left):,} more, for which threads waited'
        f" {numbers.time(sum(each.lost for each in left))} in all, are in the profile's JSON file."
        "</p>"
        if left
        else ""
    )
    return grid(_COLUMNS, rows) + more


def _contended(mutex: Mutex) -> str:
    """Nothing where acquisitions were not seen."""
    share = numbers.share(mutex.contended_share)
    return f"; {share} of acquisitions contended" if mutex.acquisitions else ""


def _row(place: int, mutex: Mutex) -> str:
    share, taken = mutex.contended_share, mutex.acquisitions > 0
    name = mutex.name if mutex.instances == 1 else f"{mutex.name} (x{mutex.instances:,})"
    cells = [
        (name, name),
        _time(mutex.lost, bool(mutex.contended)),
        (numbers.count(mutex.acquisitions) if taken else "-", repr(mutex.acquisitions)),
        (numbers.share(share) if taken else "-", repr(share)),
        *_ends(mutex.waiting),
        *_ends(mutex.holding),
        (f"{mutex.waiters_mean:.2g}", repr(mutex.waiters_mean)),
        (str(mutex.threads), str(mutex.threads)),
    ]
    return row(cells, link=f"#mutex-{place}" if place < SECTIONS else "")


def _ends(found: Distribution) -> list[tuple[str, str]]:
    return [_time(value, found.count > 0) for value in (found.p50, found.p99)]


def _time(ns: float, known: bool) -> tuple[str, str]:
    return (numbers.time(ns), repr(ns)) if known else ("-", "")


def _part(mutex: Mutex, profile: Profile) -> str:
    return f"{numbers.share(mutex.lost / profile.lost)} of all waiting" if profile.lost else ""


def sections(profile: Profile) -> str:
    """A section for each, the worst open; the script draws its distributions once it is open."""
    return "".join(
        _section(place, mutex, profile) for place, mutex in enumerate(profile.mutexes[:SECTIONS])
    )


def _section(place: int, mutex: Mutex, profile: Profile) -> str:
    lost = (
        f"{numbers.time(mutex.lost)} lost, {_part(mutex, profile)}" if mutex.lost else "no waiting"
    )
    unfolded = place < WORST and mutex.lost >= _MUCH * profile.lost
    return (
        f'<details class="mutex" id="mutex-{place}"{" open" if unfolded else ""}>'
        f'<summary><h3>{escape(mutex.name)}</h3> <span class="quiet">{lost}</span></summary>'
        f"{lists.terms(_facts(mutex))}"
        f'<div class="panels" data-mutex="{place}"></div>'
        f"{_sites(mutex)}{_blocks(mutex)}</details>"
    )


def _facts(mutex: Mutex) -> dict[str, str]:
    place = mutex.place
    found = {"what it is": _what(mutex), "where": f"{_BY[place.kind]} {_whole(place.frame)}"}
    if place.stack[1:]:
        found["called from"] = " ← ".join(frame.shown for frame in place.stack[1:])
    found["acquisitions"] = (
        f"not seen from outside; {numbers.count(mutex.contended)} waits of {mutex.threads} threads"
        if not mutex.acquisitions
        else f"{numbers.count(mutex.acquisitions)} by {mutex.threads} threads;"
        f" {numbers.count(mutex.contended)} found it held ({numbers.share(mutex.contended_share)})"
    )
    for name, each in (
        ("waiting", mutex.waiting),
        ("holding", mutex.holding),
        ("hand-over", mutex.hand_over),
    ):
        found[name] = _said(each)
    found["waiters"] = (
        f"{mutex.waiters_mean:.2g} on average while it was in use, {mutex.waiters_most} at most;"
        f" looked at {mutex.sampled_times:,} times"
        if mutex.sampled_times
        else "not looked at from outside"
    )
    if mutex.acquisitions:
        found["another thread had it last"] = numbers.share(mutex.owner_changes)
        found["holder lost its processor"] = f"in {numbers.share(mutex.preempted_holds)} of holds"
    if mutex.trylocks:
        found["trylock"] = (
            f"{numbers.count(mutex.trylocks)} calls, {numbers.count(mutex.failed_trylocks)} failed"
        )
    if mutex.cond_waits or mutex.cond_signals:
        found["condition variables"] = (
            f"{numbers.count(mutex.cond_waits)} waits, {numbers.count(mutex.cond_signals)} signals,"
            f" {numbers.count(mutex.futile_wakeups)} wake-ups in vain"
        )
    return found


def _what(mutex: Mutex) -> str:
    said = f"{mutex.type} mutex"
    if mutex.instances > 1:
        return f"{mutex.instances:,} of one place; {said}"
    return f"{said}, at {mutex.address:#x}"


def _said(found: Distribution) -> str:
    if not found.count:
        return "none seen"
    return (
        f"{numbers.time(found.total)} in all; p50 {numbers.time(found.p50)},"
        f" p90 {numbers.time(found.p90)}, p99 {numbers.time(found.p99)},"
        f" at most {numbers.time(found.most)}; {found.samples:,} timed"
    )


def _whole(frame: Frame) -> str:
    return f"{frame.shown} in {frame.module}" if frame.module else frame.shown


def _sites(mutex: Mutex) -> str:
    if not mutex.sites:
        return '<p class="quiet">From where it was taken is not known.</p>'
    worst = sorted(mutex.sites, key=lambda each: -each.waited)
    columns = ("taken at", "waited", "held", "acquisitions", "contended")
    rows = [
        row(
            [
                (_caller(site), _caller(site)),
                _time(site.waited, True),
                _time(site.held, True),
                (
                    numbers.count(site.acquisitions) if mutex.acquisitions else "-",
                    repr(site.acquisitions),
                ),
                (numbers.count(site.contended), repr(site.contended)),
            ]
        )
        for site in worst[:_PLACES]
    ]
    left = len(worst) - _PLACES
    more = f'<p class="quiet">{left:,} more places.</p>' if left > 0 else ""
    whole = "".join(
        f"<li><pre>{escape(_stack(site.stack))}</pre></li>" for site in worst[:3] if site.stack[1:]
    )
    stacks = f"<details><summary>Whole stacks</summary><ol>{whole}</ol></details>" if whole else ""
    return grid(columns, rows) + more + stacks


def _caller(site: Site) -> str:
    return site.shown or "unknown"


def _stack(frames: Iterable[Frame]) -> str:
    return "\n".join(frame.shown for frame in frames)


def _blocks(mutex: Mutex) -> str:
    if not mutex.blocks:
        return ""
    worst = sorted(mutex.blocks, key=lambda each: -each.waited)
    rows = []
    for block in worst[:_PLACES]:
        holder = mutex.holder(block) or "unknown"
        waiter = mutex.waiter(block) or "unknown"
        cells = [(holder, holder), (waiter, waiter), _time(block.waited, True)]
        rows.append(row([*cells, (numbers.count(block.times), repr(block.times))]))
    left = len(worst) - _PLACES
    more = f'<p class="quiet">{left:,} more pairs.</p>' if left > 0 else ""
    return grid(("held at", "waited for at", "waited", "times"), rows) + more
