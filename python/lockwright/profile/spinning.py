"""Threads that spin: they run, but wait until another thread changes a word that they read."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace

from lockwright.profile.sampled_waits import with_more
from lockwright.profile.spin_samples import Spins
from lockwright.profile.symbols import Symbols
from lockwright.profile.thread_states import ThreadKind
from lockwright.profile.waiting import Account, Role, WaitObject, WaitSite
from lockwright.profile.waits import with_inlined

_ENOUGH = 10
"""Least number of samples of running threads of a role from which the time of spinning is known."""


def with_spins(
    account: Account, spins: Spins, role_of: Callable[[ThreadKind], str], symbols: Symbols
) -> tuple[Account, list[WaitObject]]:
    """Return an account in which the time of spinning is waiting, and the loops, one for each
    function: of the time for which the threads of a role ran, the same share as of the samples."""
    met: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for (thread, place), times in spins.items():
        met[role_of(thread)][place] += times
    loops: defaultdict[str, list[WaitSite]] = defaultdict(list)
    roles, every = [], 0.0
    for role in account.roles:
        of_role = met[role.name]
        seconds = 0.0
        for place, times in of_role.items():
            if place and times > 1 and of_role.total() >= _ENOUGH:
                spun = role.times.running * times / of_role.total()
                stack = with_inlined((place + 1,), symbols)
                name = f"loop in {stack[-1].short_label}"
                loops[name].append(WaitSite(stack, times, spun * 1e9))
                seconds += spun
        roles.append(Role(role.name, with_more(role.times, {"spin": seconds}, "running")))
        every += seconds
    if not every:
        return account, []
    objects = [
        WaitObject(
            kind="spin",
            name=name,
            library="",
            address=0,
            waits=0,
            waited=sum(site.waited for site in sites),
            samples=sum(site.times for site in sites),
            waiters=tuple(
                replace(site, times=0) for site in sorted(sites, key=lambda site: -site.waited)
            ),
        )
        for name, sites in loops.items()
    ]
    return Account(with_more(account.all, {"spin": every}, "running"), tuple(roles)), objects
