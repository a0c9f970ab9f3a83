"""Where waiting ends, in words."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lockwright.base import numbers
from lockwright.profile import long_holds
from lockwright.profile.chain import Chain, EndState, Link
from lockwright.profile.record import Profile
from lockwright.profile.waiting import KINDS

_WORTH_NAMING = 0.05
"""Least share of the waiting of a place that a sentence names."""

_ENOUGH = 20
"""Least number of samples of which shares are named."""

_LINKS: Mapping[str, str] = {"mutex": "mutex", "rwlock": "reader-writer lock"} | dict[str, str](
    KINDS.items()
)
"""What the kinds of a link are called."""

_STATES: Mapping[EndState, str] = {
    "running": "runs",
    "runnable": "without a processor",
    "handover": "has it, and has not continued yet",
    "unknown": "is not known",
}
"""What the thread at the end of a chain does, unless it sleeps."""


@dataclass(frozen=True)
class EndPlace:
    """A place where waiting ends. most: the chain with most of it; share: of all waiting."""

    most: Chain
    share: float


def end_places(chains: Iterable[Chain]) -> list[EndPlace]:
    """Return the places at which chains end, those with most waiting first."""
    places: defaultdict[tuple[str, ...], list[Chain]] = defaultdict(list)
    for chain in chains:
        is_found = chain.state not in ("handover", "unknown")
        where = (chain.role, chain.site) if is_found else (chain.state, *map(str, chain.path[-1:]))
        places[where].append(chain)
    found = [
        EndPlace(
            most=max(of_place, key=lambda chain: chain.share),
            share=min(1.0, sum(chain.share for chain in of_place)),
        )
        for of_place in places.values()
    ]
    return sorted(found, key=lambda place: -place.share)


def sentences(profile: Profile, most: int) -> list[str]:
    """Return a sentence for each known place at which much of the waiting ends, at most `most`.
    That a thread which is joined runs needs none."""
    if sum(chain.samples for chain in profile.chains) < _ENOUGH:
        return []
    holds = {mutex.name: long_holds.found_hold(mutex) for mutex in profile.mutexes}
    return [
        sentence(place, holds)
        for place in end_places(profile.chains)
        if place.share >= _WORTH_NAMING and not _needs_none(place.most)
    ][:most]


def _needs_none(chain: Chain) -> bool:
    is_join = len(chain.path) == 1 and chain.path[0].kind == "join"
    return chain.state == "unknown" or (is_join and chain.state != "sleeping")


def sentence(place: EndPlace, holds: Mapping[str, float]) -> str:
    """Return where waiting ends, in one line. holds: by the name of a mutex, the ns of the hold
    that a thread finds which comes at any moment."""
    most = place.most
    share = f"{numbers.share(place.share)} of all waiting"
    last = most.path[-1]
    if most.state == "handover":
        return f"{share} is for {_named(last)} after its release"
    where = f"at `{most.site}` in role {most.role}" if most.site else f"in role {most.role}"
    doing = "" if most.state == "running" else f", {state(most)}"
    text = f"{share} ends {where}{doing}, through {path(most)}"
    hold = holds.get(last.name, 0.0) if last.kind == "mutex" else 0.0
    if hold < long_holds.CLOSED or most.state == "sleeping":
        return text
    # The kernel does not tell what a thread executes.
    return f"{text}, held for {numbers.time(hold)} while it runs: it computes, or spins for another"


def path(chain: Chain) -> str:
    """Return the objects of a chain."""
    return ", then ".join(map(_named, chain.path))


def state(chain: Chain) -> str:
    """Return what the thread at the end of a chain does."""
    if chain.state == "sleeping":
        return f"asleep in {chain.call}" if chain.call else "asleep"
    return _STATES[chain.state]


def _named(link: Link) -> str:
    kind = _LINKS.get(link.kind, link.kind)
    # A name that is not a variable's tells the kind.
    return (
        link.name if link.kind == "join" or link.name.startswith(kind) else f"{kind} `{link.name}`"
    )
