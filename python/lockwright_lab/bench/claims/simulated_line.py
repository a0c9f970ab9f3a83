"""A line of the simulator as the lines that the measuring program prints."""

from lockwright.experiment import Outcome
from lockwright.machine.meters import TOTAL, WINDOWED, joules_key
from lockwright.simulate.figures import figures as figures_of
from lockwright.simulate.run import Line


def outcome_of(line: Line) -> Outcome:
    """Return a simulation as a run of the measuring program, so that the same statistics apply."""
    known = {name: float(value) for name, value in line.items() if isinstance(value, int | float)}
    figures = figures_of(line)
    seconds, operations = known["picoseconds"] / 1e12, known["operations"]
    measured = {
        "kind": "measured",
        "seconds": seconds,
        "operations": operations,
        "operations_per_second": operations / seconds,
        "voluntary": known["sleeps"],
        "gini": figures["gini"],
        "synchronisation_seconds": (known["running_ps"] - known["working_ps"]) / 1e12,
    }
    if operations:
        measured["acquisitions_per_message"] = known["acquisitions"] / operations
    acquisition = {
        "kind": "latency",
        "what": "acquisition",
        "p99.9_ns": known["wait_p999_ps"] / 1e3,
        "max_ns": known["wait_max_ps"] / 1e3,
    }
    admissions = {"kind": "admissions", "mttr": figures["mttr"]}
    if known["lwss_windows"]:
        admissions["average_lwss"] = figures["lwss"]
    lines = [measured, acquisition, admissions]
    if known["handed_over"]:
        mean = known["handover_ps"] / known["handed_over"] / 1e3
        lines.append({"kind": "latency", "what": "handover", "mean_ns": mean})
    meters = {WINDOWED: 1.0, joules_key(TOTAL[0]): known["picojoules"] / 1e12}
    return Outcome(details={"lines": lines, "meters": meters})
