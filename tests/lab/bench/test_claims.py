"""The figures and verdicts of claims, and the command that tests them."""

import csv
import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lockwright.experiment import FINISHED, TIMEOUT, Run, Runs
from lockwright.experiment.model import Slot
from lockwright_lab.bench.cases import Case, Results, resolved
from lockwright_lab.bench.catalogue import catalogue
from lockwright_lab.bench.claims.claim import Aggregate, Claim, Side, all_cases, lock
from lockwright_lab.bench.claims.evaluate import Finding, Machine, Verdict, evaluate
from lockwright_lab.bench.claims.table import CLAIMS
from lockwright_lab.bench.runs import processors
from support import locate
from support.processes import captured

MACHINE = Machine(processors=2, locks=frozenset({"a", "b", "c"}), no_energy="there is no counter")
CLAIM = Claim(
    name="made-up",
    text="a is better than b.",
    source="nowhere",
    published="twice as good",
    workload="single-lock",
    numerator=lock("a"),
    denominator=lock("b"),
    least=1,
)


def add(
    runs: Runs, case: Case, number: int, figure: float, name: str = "operations_per_second",
    ended: str = FINISHED,
) -> None:  # fmt: skip
    """Add a run of a case with a figure. number: of its round, from 0."""
    details = {"lines": [{"kind": "measured", name: figure}]}
    runs.add(Run(ended, details=details, slot=Slot(case.cell, case.contender, number + 1)))


def finding_on(claim: Claim, rates: dict[str, list[float]], machine: Machine = MACHINE) -> Finding:
    """Return the finding on a claim with these rates of each lock by round, at every point."""
    runs = Runs()
    for case in all_cases([claim]):
        for round_number, rate in enumerate(rates.get(case.lock, [])):
            add(runs, case, round_number, rate)
    return evaluate(claim, Results(runs), machine)


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ({"least": 1.0}, Verdict.HOLDS),
        ({"most": 3.0}, Verdict.HOLDS),
        ({"least": 1.9, "most": 2.1}, Verdict.HOLDS),
        ({"least": 3.0}, Verdict.FAILS),
        ({"most": 1.0}, Verdict.FAILS),
        ({"least": 1.0, "most": 1.5}, Verdict.FAILS),
        ({"least": 2.0}, Verdict.OPEN),
        ({"most": 2.0}, Verdict.OPEN),
    ],
)
def test_the_interval_decides(bounds: dict[str, Any], verdict: Verdict) -> None:
    """a is twice as good as b, within a per cent."""
    finding = finding_on(
        replace(CLAIM, **{"least": None, "most": None, **bounds}),
        {"a": [198.0, 200.0, 202.0] * 2, "b": [100.0] * 6},
    )
    assert finding.verdict == verdict
    assert finding.median == pytest.approx(2)
    assert finding.low is not None
    assert finding.high is not None
    assert 1.9 < finding.low < 2 < finding.high < 2.1
    assert "a 200 op/s, b 100 op/s" in finding.reason


@pytest.mark.parametrize(("rounds", "rank"), [(6, 1), (8, 1), (9, 2), (12, 3), (13, 3), (15, 4)])
def test_the_interval_is_that_of_the_median(rounds: int, rank: int) -> None:
    """The k-th smallest and largest figure, with k from the tables of the sign test."""
    figures = [float(figure) for figure in range(1, rounds + 1)]
    finding = finding_on(CLAIM, {"a": figures[::-1], "b": [1.0] * rounds})
    assert finding.low == pytest.approx(rank)
    assert finding.high == pytest.approx(rounds + 1 - rank)


def test_an_outlier_does_not_change_the_interval() -> None:
    finding = finding_on(CLAIM, {"a": [2.0] * 8 + [1e-6], "b": [1.0] * 9})
    assert finding.low == finding.high == pytest.approx(2)
    assert finding.verdict == Verdict.HOLDS
    twice = finding_on(CLAIM, {"a": [2.0] * 7 + [1e-6] * 2, "b": [1.0] * 9})
    assert twice.verdict == Verdict.OPEN
    assert "neither within nor outside" in twice.reason


def test_a_ratio_is_taken_within_a_round() -> None:
    """A drift of the machine from round to round is not in the ratio."""
    drifting = [float(2**round_number) for round_number in range(6)]
    finding = finding_on(CLAIM, {"a": [2 * rate for rate in drifting], "b": drifting})
    assert finding.low == pytest.approx(2)
    assert finding.high == pytest.approx(2)
    assert finding.verdict == Verdict.HOLDS


def test_several_points_are_one_geometric_mean() -> None:
    """The mean of 4 at one point and 9 at another is 6."""
    points = ({"threads": 1}, {"threads": 2})
    claim = replace(CLAIM, points=points)
    runs = Runs()
    for point, rate in zip(points, (400.0, 900.0), strict=True):
        for round_number in range(2):
            add(runs, claim.cases_of(lock("a"), point)[0], round_number, rate)
            add(runs, claim.cases_of(lock("b"), point)[0], round_number, 100.0)
    assert evaluate(claim, Results(runs), MACHINE).values == pytest.approx((6.0, 6.0))


def test_a_claim_about_averages_compares_those() -> None:
    """650 to 200, while the geometric mean of the quotients 4 and 3 is 3.46."""
    points = ({"threads": 1}, {"threads": 2})
    claim = replace(CLAIM, points=points, of_averages=True)
    runs = Runs()
    for point, upper, lower in zip(points, (400.0, 900.0), (100.0, 300.0), strict=True):
        for round_number in range(2):
            add(runs, claim.cases_of(lock("a"), point)[0], round_number, upper)
            add(runs, claim.cases_of(lock("b"), point)[0], round_number, lower)
    assert evaluate(claim, Results(runs), MACHINE).values == pytest.approx((3.25, 3.25))


def test_the_best_of_several_is_the_best_by_its_median() -> None:
    """c has the best round, b the best median; with lower_is_better, the lowest median is best."""
    rates = {"a": [100.0] * 3, "b": [50.0, 50.0, 50.0], "c": [10.0, 10.0, 400.0]}
    claim = replace(CLAIM, denominator=Side(("b", "c")))
    assert finding_on(claim, rates).values == pytest.approx((2.0, 2.0, 2.0))
    mean = replace(CLAIM, denominator=Side(("b", "c"), aggregate=Aggregate.MEAN))
    assert finding_on(mean, rates).values == pytest.approx((100 / 30, 100 / 30, 100 / 225))
    fewer = replace(CLAIM, denominator=Side(("b", "c")), statistic="acquisitions per message")
    runs = Runs()
    for name, figure in (("a", 3.0), ("b", 4.0), ("c", 2.0)):
        for case in fewer.cases_of(lock(name), {}):
            for number in (0, 1):
                add(runs, case, number, figure, "acquisitions_per_message")
    assert evaluate(fewer, Results(runs), MACHINE).values == pytest.approx((1.5, 1.5))


def test_a_figure_without_a_denominator_is_the_statistic_itself() -> None:
    claim = replace(CLAIM, denominator=None, least=150, most=None)
    assert finding_on(claim, {"a": [200, 201]}).median == pytest.approx(200.5)


def test_too_few_rounds_leave_the_verdict_open() -> None:
    five = finding_on(CLAIM, {"a": [200] * 5, "b": [100] * 5})
    assert (five.verdict, five.median, five.low) == (Verdict.OPEN, 2.0, None)
    assert "5 rounds gave a figure, and an interval needs six." in five.reason
    single = finding_on(CLAIM, {"a": [200], "b": [100]})
    assert (single.verdict, single.median, single.low) == (Verdict.OPEN, 2.0, None)
    assert "One round gave a figure" in single.reason
    none = finding_on(CLAIM, {"a": [200, 200]})
    assert (none.verdict, none.median) == (Verdict.OPEN, None)
    assert "No run gave 'op/s': single-lock, b." in none.reason
    unpaired = finding_on(CLAIM, {"a": [200, 200], "b": [0.0, 100]})
    assert len(unpaired.values) == 1, "0 has no ratio"


def test_the_figures_of_a_killed_run_count() -> None:
    """A lock that collapses may not end in time; its measurement was printed before."""
    runs = Runs()
    for case in all_cases([CLAIM]):
        for round_number in range(6):
            if case.lock == "a":
                add(runs, case, round_number, 1, ended=TIMEOUT)
            else:
                add(runs, case, round_number, 1000)
    finding = evaluate(replace(CLAIM, least=None, most=1), Results(runs), MACHINE)
    assert finding.verdict == Verdict.HOLDS


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"processors": 3}, "It needs 3 processors, and there are 2 here."),
        ({"statistic": "per joule"}, "Energy is not measurable here: there is no counter."),
        ({"numerator": lock("z")}, "Not built: z."),
        ({"elsewhere": "it is about programs"}, "It is about programs."),
    ],
)
def test_a_claim_that_cannot_be_shown_has_a_reason(change: dict[str, Any], reason: str) -> None:
    finding = finding_on(replace(CLAIM, **change), {"a": [200, 200], "b": [100, 100]})
    assert (finding.verdict, finding.reason) == (Verdict.ELSEWHERE, reason)


def test_every_claim_has_a_source_and_bounds_or_a_reason() -> None:
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.text.endswith("."), claim.name
        assert claim.source, claim.name
        assert claim.published, claim.name
        assert bool(claim.elsewhere) != bool(claim.workload), claim.name
        if claim.workload:
            assert claim.numerator is not None, claim.name
            assert claim.least is not None or claim.most is not None, claim.name
            inside = claim.ratio is None or (
                (claim.least or 0) <= claim.ratio <= (claim.most or math.inf)
            )
            assert inside, f"{claim.name}: the paper's figure is outside the bounds"


def test_every_claim_has_an_existing_workload_and_options() -> None:
    known = catalogue().workloads
    common = {"threads", "admissions", "latency"}
    for case in all_cases([claim for claim in CLAIMS if claim.workload]):
        if case.workload == "herd":
            continue
        assert case.workload in known, case
        parameters = {parameter.name for parameter in known[case.workload].parameters} | common
        assert {name for name, _ in case.options} <= parameters, case
        if dict(case.options).get("admissions"):
            assert known[case.workload].one_mutex, case


def test_threads_per_processor_are_resolved() -> None:
    assert resolved("4/cpu") == str(4 * processors())
    assert resolved(4) == "4"


def call(lockwright: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return captured([lockwright, "bench", "claims", *words])


def test_the_command_prints_and_writes_the_findings(lockwright: Path, tmp_path: Path) -> None:
    """A claim that is run and one that cannot be, on the terminal and in both files."""
    if not {"ttas", "pthread"} <= set(locate.lock_names()):
        pytest.skip("ttas or pthread is not built")
    files = {kind: tmp_path / f"claims.{kind}" for kind in ("json", "csv")}
    options = ["--claims", "uncontested-ttas-pthread,systems", "--runs", "6", "--seconds", "0.02"]
    done = call(lockwright, *options, "--json", files["json"], "--csv", files["csv"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "systems: cannot be shown here" in done.stdout
    assert "Of 2 claims" in done.stdout
    with files["csv"].open(newline="") as file:
        ran, other = csv.DictReader(file)
    assert ran["verdict"] in [str(verdict) for verdict in Verdict]
    # On a busy machine a run of 20 ms may get no processor.
    assert int(ran["rounds"]) <= 6
    assert bool(ran["median"]) == (int(ran["rounds"]) > 0)
    assert (other["median"], other["verdict"]) == ("", "cannot be shown here")
    document = json.loads(files["json"].read_text())
    assert [row["claim"] for row in document["rows"]] == ["uncontested-ttas-pthread", "systems"]
    runs = [(run["lock"], run["round"]) for run in document["runs"]]
    assert sorted(runs) == [
        (name, round_number) for name in ("pthread", "ttas") for round_number in range(1, 7)
    ]


def test_the_list_names_every_claim(lockwright: Path) -> None:
    listed = call(lockwright, "--list").stdout.splitlines()
    assert [line for line in listed if line and not line.startswith(" ")] == [
        claim.name for claim in CLAIMS
    ]
