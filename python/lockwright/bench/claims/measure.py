"""Runs what claims need, and evaluates them."""

from collections.abc import Sequence

from lockwright.bench.cases import Case
from lockwright.bench.claims.claim import Claim, all_cases
from lockwright.bench.claims.evaluate import Finding, Machine, evaluate, obstacle
from lockwright.bench.report import Report, processors, progress, watching_others
from lockwright.bench.rounds import Pace, Seen, run_rounds
from lockwright.machine.energy import find
from lockwright.machine.meters import TREE
from lockwright.preload import locks
from lockwright.run.bench_program import LIBC, subjects


def machine() -> Machine:
    """What this machine has."""
    sources = find.find(TREE)
    built = frozenset([LIBC, *locks.registry().names])
    return Machine(processors(), built, "" if sources.domains else sources.why())


def possible(claims: Sequence[Claim], here: Machine) -> list[Claim]:
    """Those that can be shown here."""
    return [claim for claim in claims if not obstacle(claim, here)]


def measure(
    report: Report, claims: Sequence[Claim], here: Machine, rounds: int, pace: Pace, seen: Seen
) -> None:
    """Runs every case of the claims in each round, and adds the runs to `report` and `seen`."""
    cases = all_cases(possible(claims, here))
    by_name = {each.name: each for each in subjects("all", None)}
    with watching_others(report), progress("claims", rounds * len(cases)) as steps:

        def say(one: Case, _turn: int) -> bool:
            steps.step(one.label())
            return True

        run_rounds(report, cases, by_name, pace, seen, range(rounds), before=say)


def findings(claims: Sequence[Claim], seen: Seen, here: Machine) -> list[Finding]:
    """What came of each."""
    return [evaluate(claim, seen, here) for claim in claims]
