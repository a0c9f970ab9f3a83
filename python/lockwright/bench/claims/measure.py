"""The runs of claims, and their evaluation."""

from collections.abc import Sequence

from lockwright.bench.cases import Case
from lockwright.bench.claims.claim import Claim, all_cases
from lockwright.bench.claims.evaluate import Finding, Machine, evaluate, obstacle
from lockwright.bench.report import Report, processors, progress, watching_others
from lockwright.bench.rounds import Pace, RoundResults, run_rounds
from lockwright.machine.energy import find
from lockwright.machine.meters import TREE
from lockwright.preload import locks
from lockwright.run.bench_program import LIBC, subjects


def machine() -> Machine:
    """Return the properties of this machine."""
    sources = find.find(TREE)
    built = frozenset([LIBC, *locks.registry().names])
    return Machine(processors(), built, "" if sources.domains else sources.why())


def possible(claims: Sequence[Claim], here: Machine) -> list[Claim]:
    """Return the claims that can be shown on the machine `here`."""
    return [claim for claim in claims if not obstacle(claim, here)]


def measure(
    report: Report,
    claims: Sequence[Claim],
    here: Machine,
    rounds: int,
    pace: Pace,
    results: RoundResults,
) -> None:
    """Run every case of the claims in each round, and add the runs to `report` and `results`."""
    cases = all_cases(possible(claims, here))
    by_name = {each.name: each for each in subjects("all", None)}
    with watching_others(report), progress("claims", rounds * len(cases)) as steps:

        def say(one: Case, _turn: int) -> bool:
            steps.step(one.label())
            return True

        run_rounds(report, cases, by_name, pace, results, range(rounds), before=say)


def findings(claims: Sequence[Claim], results: RoundResults, here: Machine) -> list[Finding]:
    """Return the finding on each claim."""
    return [evaluate(claim, results, here) for claim in claims]
