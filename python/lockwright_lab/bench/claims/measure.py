"""The runs of claims, and their evaluation."""

from collections.abc import Sequence

from lockwright.calibrate.report import Report, processors, progress, watching_others
from lockwright.machine.energy import find
from lockwright.machine.meters import TREE
from lockwright.preload import locks
from lockwright.run.bench_program import LIBC, subjects

from lockwright_lab.bench.cases import Case
from lockwright_lab.bench.claims.claim import Claim, all_cases
from lockwright_lab.bench.claims.evaluate import Finding, Machine, evaluate, obstacle
from lockwright_lab.bench.rounds import RoundResults, RunLengths, run_rounds


def this_machine() -> Machine:
    """Return the properties of this machine."""
    sources = find.find(TREE)
    built = frozenset([LIBC, *locks.registry().names])
    return Machine(processors(), built, "" if sources.domains else sources.why())


def possible(claims: Sequence[Claim], machine: Machine) -> list[Claim]:
    """Return the claims that can be shown on the machine."""
    return [claim for claim in claims if not obstacle(claim, machine)]


def measure(
    report: Report,
    claims: Sequence[Claim],
    machine: Machine,
    rounds: int,
    lengths: RunLengths,
    results: RoundResults,
) -> None:
    """Run every case of the claims in each round, and add the runs to `report` and `results`."""
    cases = all_cases(possible(claims, machine))
    by_name = {each.name: each for each in subjects("all", None)}
    with watching_others(report), progress("claims", rounds * len(cases)) as steps:

        def show_step(case: Case, _round: int) -> bool:
            steps.step(case.label())
            return True

        run_rounds(report, cases, by_name, lengths, results, range(rounds), before=show_step)


def findings(claims: Sequence[Claim], results: RoundResults, machine: Machine) -> list[Finding]:
    """Return the finding on each claim."""
    return [evaluate(claim, results, machine) for claim in claims]
