"""`bench profile-cost`: rounds of which a run has no figure."""

from collections.abc import Mapping

import pytest
from lockwright.calibrate.report import Report
from lockwright.run.bench_program import LIBC, Outcome
from lockwright_lab.bench import profile_cost
from lockwright_lab.bench.profile_cost import Form, Results, Setting

SECONDS = 0.1


def _measured(monkeypatch: pytest.MonkeyPatch, broken: Outcome) -> tuple[Report, list[str]]:
    """Return the report of three rounds, and the remarks. In the setting "saturated", the profiled
    runs of the first two have the outcome `broken`, and in the second the run beside it, too."""
    plain_runs = []
    profiled_runs = []

    def outcome_of(form: Form, setting: Setting, *_: object) -> Outcome:
        if form.is_profiled and setting.name == "saturated":
            profiled_runs.append(form)
            if len(profiled_runs) <= 2:
                return broken
        if form.subject.name == LIBC and setting.name == "saturated":
            plain_runs.append(form)
            if len(plain_runs) == 2:
                return broken
        time = 11.0 if form.is_profiled else 10.0
        value = time if setting.is_time else 1e9 / time
        return Outcome(lines=[{"kind": setting.kind, setting.metric: value}])

    monkeypatch.setattr(profile_cost, "_run", outcome_of)
    report = Report("profile-cost", ["lockwright"], {}, profile_cost.COLUMNS)
    results: dict[tuple[str, str], Results] = {}
    options: Mapping[str, object] = {}
    profile_cost.measure(report, 3, SECONDS, options, 1.0, results)
    profile_cost.tables(report, results)
    return report, profile_cost.remarks(results)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Outcome(failure="killed after 20 s", timed_out=True), "killed after 20 s"),
        (
            Outcome(lines=[{"kind": "measured", "operations_per_second": 0.0}]),
            "no operation in 0.1 s",
        ),
    ],
)
def test_a_round_without_a_figure_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, broken: Outcome, reason: str
) -> None:
    report, remarks = _measured(monkeypatch, broken)
    expected = [
        f"saturated: round 1 is left out; the run of profiled: {reason}",
        f"saturated: round 2 is left out; the run of libc: {reason}; the run of profiled: {reason}",
    ]
    assert remarks == expected
    for row in report.rows:
        is_broken = row["setting"] == "saturated" and row["cost"] == "Cost of profiling"
        assert row["rounds"] == (1 if is_broken else 3)
        assert row["left_out"] == (expected if is_broken else [])
        if row["cost"] == "Cost of profiling":
            assert row["cost_percent"] == pytest.approx(10)
