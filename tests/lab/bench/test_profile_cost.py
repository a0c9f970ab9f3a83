"""`bench profile-cost`: rounds of which a run has no figure."""

from dataclasses import replace

import pytest
from lockwright.experiment import TIMEOUT, Outcome, Runs, carry_out
from lockwright_lab.bench import profile_cost, runs
from lockwright_lab.bench.profile_cost import PROFILE_COST, PROFILED
from lockwright_lab.bench.runs import Call, Common
from lockwright_lab.bench.settings import settings


def _measured(monkeypatch: pytest.MonkeyPatch, broken: Outcome) -> Runs:
    """Return the runs of three rounds. In the setting "saturated", the profiled runs of the first
    two have the outcome `broken`, and in the second the run beside it, too."""

    made: dict[tuple[str, str], int] = {}

    def outcome_of(call: Call) -> Outcome:
        key = call.contender.name, f"{call.workload} {call.options}"
        made[key] = number = made.get(key, 0) + 1
        is_profiled = call.contender.name == PROFILED
        if call.workload == "lockbench" and call.options["preset"] == "short-short":
            is_saturated = call.options["threads"] == runs.processors()
            if is_saturated and number in {PROFILED: (1, 2), "libc": (2,)}.get(key[0], ()):
                return broken
        time = 11.0 if is_profiled else 10.0
        fields = {"operations_per_second": 1e9 / time, "reads_per_second": 1e9 / time}
        fields |= dict.fromkeys(
            ("median_ns_per_pair", "read_pair_ns", "write_pair_ns", "trip_ns"), time
        )
        fields |= {"seconds": 1e-9 * time, "operations": 1}
        kind = "result" if call.workload == "uncontended" else "measured"
        return Outcome(details={"lines": [{"kind": kind, **fields}], "others": None})

    monkeypatch.setattr(profile_cost, "measure", outcome_of)
    measurement = replace(PROFILE_COST, first=dict)
    given = measurement.given(Common([], 3, 1.0), {"seconds": 0.1})
    return carry_out(measurement.experiment(given))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Outcome(TIMEOUT, note="killed after 20 s"), "killed after 20 s"),
        (
            Outcome(details={"lines": [{"kind": "measured", "operations_per_second": 0}]}),
            "no operation",
        ),
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
    for name in settings("costs"):
        costs = made.values("Cost of profiling", name, "cost_percent")
        assert len(costs) == (1 if name == "saturated" else 3)
        assert list(costs.values()) == pytest.approx([10] * len(costs))
