"""A claim holds where the interval lies within its bounds, and only there; its figure is right."""

import csv
import json
import math
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lockwright.bench.cases import resolved
from lockwright.bench.catalogue import catalogue
from lockwright.bench.claims import show
from lockwright.bench.claims.claim import Claim, Of, Side, all_cases, lock
from lockwright.bench.claims.evaluate import Finding, Machine, Verdict, evaluate
from lockwright.bench.claims.table import CLAIMS
from lockwright.bench.report import processors
from lockwright.bench.rounds import RoundResults
from lockwright.run.bench_program import Outcome
from support import locate
from support.processes import assert_refused, captured

HERE = Machine(processors=2, locks=frozenset({"a", "b", "c"}), no_energy="there is no counter")
CLAIM = Claim(
    name="made-up",
    says="a is better than b.",
    source="nowhere",
    published="twice as good",
    workload="single-lock",
    own=lock("a"),
    other=lock("b"),
    least=1,
)


def measured(rate: float) -> Outcome:
    return Outcome([{"kind": "measured", "operations_per_second": rate}])


def found(claim: Claim, rates: dict[str, list[float]], machine: Machine = HERE) -> Finding:
    """Return the finding on a claim if each lock has these rates in each round, at every point."""
    results = RoundResults()
    for one in all_cases([claim]):
        for round_number, rate in enumerate(rates.get(one.lock, [])):
            results.add(one, round_number, measured(rate))
    return evaluate(claim, results, machine)


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
    """a is twice as good as b, give or take a per cent."""
    finding = found(
        replace(CLAIM, **{"least": None, "most": None, **bounds}),
        {"a": [198.0, 200.0, 202.0] * 2, "b": [100.0] * 6},
    )
    assert finding.verdict == verdict
    assert finding.median == pytest.approx(2)
    assert finding.low is not None
    assert finding.high is not None
    assert 1.9 < finding.low < 2 < finding.high < 2.1
    assert "a 200 op/s, b 100 op/s" in finding.why


@pytest.mark.parametrize(("rounds", "rank"), [(6, 1), (8, 1), (9, 2), (12, 3), (13, 3), (15, 4)])
def test_the_interval_is_that_of_the_median(rounds: int, rank: int) -> None:
    """The k-th smallest and largest figure, k as in the tables of the sign test."""
    figures = [float(figure) for figure in range(1, rounds + 1)]
    finding = found(CLAIM, {"a": figures[::-1], "b": [1.0] * rounds})
    assert finding.low == pytest.approx(rank)
    assert finding.high == pytest.approx(rounds + 1 - rank)


def test_one_wild_round_changes_nothing() -> None:
    """Somebody else's program took the processor away once."""
    finding = found(CLAIM, {"a": [2.0] * 8 + [1e-6], "b": [1.0] * 9})
    assert finding.low == finding.high == pytest.approx(2)
    assert finding.verdict == Verdict.HOLDS
    twice = found(CLAIM, {"a": [2.0] * 7 + [1e-6] * 2, "b": [1.0] * 9})
    assert twice.verdict == Verdict.OPEN
    assert "neither within nor outside" in twice.why


def test_a_ratio_is_taken_within_a_round() -> None:
    """The machine gets slower by half from round to round, which must not be results."""
    falling = [float(2**round_number) for round_number in range(6)]
    finding = found(CLAIM, {"a": [2 * rate for rate in falling], "b": falling})
    assert finding.low == pytest.approx(2)
    assert finding.high == pytest.approx(2)
    assert finding.verdict == Verdict.HOLDS


def test_several_points_are_one_geometric_mean() -> None:
    """4 at one point and 9 at another are 6."""
    points = ({"threads": 1}, {"threads": 2})
    claim = replace(CLAIM, points=points)
    results = RoundResults()
    for point, rate in zip(points, (400.0, 900.0), strict=True):
        for round_number in range(2):
            results.add(claim.cases_of(lock("a"), point)[0], round_number, measured(rate))
            results.add(claim.cases_of(lock("b"), point)[0], round_number, measured(100.0))
    assert evaluate(claim, results, HERE).values == pytest.approx((6.0, 6.0))


def test_the_best_of_several_is_the_best_by_its_median() -> None:
    """c has the luckiest round, b the best median; with times, the lowest is the best."""
    rates = {"a": [100.0] * 3, "b": [50.0, 50.0, 50.0], "c": [10.0, 10.0, 400.0]}
    claim = replace(CLAIM, other=Side(("b", "c")))
    assert found(claim, rates).values == pytest.approx((2.0, 2.0, 2.0))
    mean = replace(CLAIM, other=Side(("b", "c"), of=Of.MEAN))
    assert found(mean, rates).values == pytest.approx((100 / 30, 100 / 30, 100 / 225))
    fewer = replace(CLAIM, other=Side(("b", "c")), statistic="acquisitions per message")
    results = RoundResults()
    for name, figure in (("a", 3.0), ("b", 4.0), ("c", 2.0)):
        for one in fewer.cases_of(lock(name), {}):
            line = {"kind": "measured", "acquisitions_per_message": figure}
            results.add(one, 0, Outcome([line]))
            results.add(one, 1, Outcome([line]))
    assert evaluate(fewer, results, HERE).values == pytest.approx((1.5, 1.5))


def test_a_figure_without_another_side_is_the_statistic_itself() -> None:
    """The claim states a number of one lock."""
    claim = replace(CLAIM, other=None, least=150, most=None)
    assert found(claim, {"a": [200, 201]}).median == pytest.approx(200.5)


def test_too_few_runs_show_nothing_and_say_so() -> None:
    """Five rounds have no interval, a killed run no figure."""
    five = found(CLAIM, {"a": [200] * 5, "b": [100] * 5})
    assert (five.verdict, five.median, five.low) == (Verdict.OPEN, 2.0, None)
    assert "5 rounds gave a figure, and an interval takes six." in five.why
    one = found(CLAIM, {"a": [200], "b": [100]})
    assert (one.verdict, one.median, one.low) == (Verdict.OPEN, 2.0, None)
    assert "One round gave a figure" in one.why
    none = found(CLAIM, {"a": [200, 200]})
    assert (none.verdict, none.median) == (Verdict.OPEN, None)
    assert "No run gave 'op/s': single-lock, b." in none.why
    unpaired = found(CLAIM, {"a": [200, 200], "b": [0.0, 100]})
    assert len(unpaired.values) == 1, "what is 0 has no ratio"


def test_what_a_run_had_said_before_it_was_killed_counts() -> None:
    """A lock that collapses may not end in time; how little it did was told before."""
    results = RoundResults()
    for one in all_cases([CLAIM]):
        slow = Outcome(measured(1).lines, failure="killed", timed_out=True)
        for round_number in range(6):
            results.add(one, round_number, slow if one.lock == "a" else measured(1000))
        assert results.gave_up(one) == (one.lock == "a")
    finding = evaluate(replace(CLAIM, least=None, most=1), results, HERE)
    assert finding.verdict == Verdict.HOLDS


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"processors": 3}, "It takes 3 processors, and there are 2 here."),
        ({"statistic": "per joule"}, "Energy is not measurable here: there is no counter."),
        ({"own": lock("z")}, "Not built: z."),
        ({"elsewhere": "it is about programs"}, "It is about programs."),
    ],
)
def test_what_cannot_be_shown_here_says_why(change: dict[str, Any], reason: str) -> None:
    """Also where there are figures, by chance."""
    finding = found(replace(CLAIM, **change), {"a": [200, 200], "b": [100, 100]})
    assert (finding.verdict, finding.why) == (Verdict.ELSEWHERE, reason)


def test_every_claim_can_be_told_and_can_fail() -> None:
    """A name of its own, a paper, figures, and bounds, or a reason why it is not run."""
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.says.endswith("."), claim.name
        assert claim.source, claim.name
        assert claim.published, claim.name
        assert bool(claim.elsewhere) != bool(claim.workload), claim.name
        if claim.workload:
            assert claim.own is not None, claim.name
            assert claim.least is not None or claim.most is not None, claim.name
            inside = claim.ratio is None or (
                (claim.least or 0) <= claim.ratio <= (claim.most or math.inf)
            )
            assert inside, f"{claim.name}: the paper's own figure is against it"


def test_every_claim_runs_what_there_is() -> None:
    """Workloads of the measuring program, with options that they take."""
    known = catalogue().workloads
    common = {"threads", "admissions", "latency"}
    for one in all_cases([claim for claim in CLAIMS if claim.workload]):
        if one.workload == "herd":
            continue
        assert one.workload in known, one
        takes = {parameter.name for parameter in known[one.workload].parameters} | common
        assert {name for name, _ in one.options} <= takes, one
        if dict(one.options).get("admissions"):
            assert known[one.workload].one_mutex, one


def test_threads_are_by_the_processor() -> None:
    """`4/cpu` is four for each that may be used."""
    assert resolved("4/cpu") == str(4 * processors())
    assert resolved(4) == "4"


def call(lockwright: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return captured([lockwright, "bench", "claims", *words])


def test_the_command_runs_and_writes_what_it_found(lockwright: Path, tmp_path: Path) -> None:
    """A claim that is run and one that cannot be, on the screen and in both files."""
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
    # On a busy machine a run of 20 ms may have got no processor.
    assert int(ran["rounds"]) <= 6
    assert bool(ran["median"]) == (int(ran["rounds"]) > 0)
    assert (other["median"], other["verdict"]) == ("", "cannot be shown here")
    document = json.loads(files["json"].read_text())
    assert [row["claim"] for row in document["rows"]] == ["uncontested-ttas-pthread", "systems"]
    made = [(run["lock"], run["round"]) for run in document["runs"]]
    assert sorted(made) == [
        (name, round_number) for name in ("pthread", "ttas") for round_number in range(6)
    ]


def test_the_list_names_every_claim(lockwright: Path) -> None:
    """Without running any of it."""
    listed = call(lockwright, "--list").stdout.splitlines()
    assert [line for line in listed if line and not line.startswith(" ")] == [
        claim.name for claim in CLAIMS
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--claims", "no-such"], "no claim 'no-such'"),
        (["--claims", ","], "--claims names no claim"),
        (["--runs", "5"], "--runs"),
        (["--csv", "/proc/x"], "--csv"),
        (["--csv", "same", "--json", "same"], "same file"),
    ],
)
def test_bad_input_gets_one_line(lockwright: Path, words: list[str], message: str) -> None:
    """Before anything is run."""
    done = call(lockwright, *words)
    assert_refused(done.returncode, done.stdout, done.stderr, message)


def test_findings_are_counted() -> None:
    """One sentence counts the findings by verdict."""
    findings = [Finding(CLAIM, Verdict.HOLDS, ""), Finding(CLAIM, Verdict.FAILS, "")]
    assert show.counted(findings) == (
        "Of 2 claims 1 hold, 1 do not hold, 0 are not shown, 0 cannot be shown here."
    )
