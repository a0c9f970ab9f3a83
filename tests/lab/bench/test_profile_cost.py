"""`bench profile-cost`: rounds of which a run has no figure."""

import pytest
from lockwright.experiment import Runs, carry_out
from lockwright.run.bench_program import LIBC, Outcome
from lockwright_lab.bench import profile_cost, runs
from lockwright_lab.bench.profile_cost import Form, Setting
from lockwright_lab.bench.runs import Common


def _measured(monkeypatch: pytest.MonkeyPatch, broken: Outcome) -> Runs:
    """Return the runs of three rounds. In the setting "saturated", the profiled runs of the first
    two have the outcome `broken`, and in the second the run beside it, too."""
    made = {"saturated": 0, LIBC: 0}

    def outcome_of(form: Form, setting: Setting, *_: object) -> Outcome:
        if form.is_profiled and setting.name == "saturated":
            made["saturated"] += 1
            if made["saturated"] <= 2:
                return broken
        if form.subject.name == LIBC and setting.name == "saturated":
            made[LIBC] += 1
            if made[LIBC] == 2:
                return broken
        time = 11.0 if form.is_profiled else 10.0
        value = time if setting.is_time else 1e9 / time
        return Outcome(lines=[{"kind": setting.kind, setting.metric: value}])

    monkeypatch.setattr(profile_cost, "_run", outcome_of)
    monkeypatch.setattr(runs, "pinned", dict)
    return carry_out(profile_cost.profile_cost(Common([], 3, 1.0), 0.1))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Outcome(failure="killed after 20 s", timed_out=True), "killed after 20 s"),
        (Outcome(lines=[{"kind": "measured", "operations_per_second": 0.0}]), "no operation"),
    ],
)
def test_a_round_without_a_figure_is_left_out_and_named(
    monkeypatch: pytest.MonkeyPatch, broken: Outcome, reason: str
) -> None:
    made = _measured(monkeypatch, broken)
    assert [line for run in made for line in run.details.get("remarks", ())] == [
        f"saturated: round 1 is left out; the run of profiled: {reason}",
        f"saturated: round 2 is left out; the run of libc: {reason}; the run of profiled: {reason}",
    ]
    for setting in profile_cost.SETTINGS:
        costs = made.values("Cost of profiling", setting.name, "cost_percent")
        assert len(costs) == (1 if setting.name == "saturated" else 3)
        assert list(costs.values()) == pytest.approx([10] * len(costs))
