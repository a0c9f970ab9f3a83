"""The files of a grid: JSON with all figures, CSV with a line for each cell."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lockwright import version
from lockwright.stats.inference import Ratio

from lockwright_lab.bench.regret.tables import COLUMNS, ablation
from lockwright_lab.bench.regret.verdict import Summary, Verdict

_CSV = (
    "cell",
    "load",
    "threads",
    "lock",
    "rounds",
    "survives",
    "regret",
    "regret_low",
    "regret_high",
    "best_even",
    "best_odd",
    "unbounded",
    "to_pthread",
    "to_pthread_low",
    "to_pthread_high",
    "longest_wait_s",
    "pthread_longest_wait_s",
    "processor_time_to_pthread",
    "settled_s",
    "others",
    "simulated",
)


def as_row(verdict: Verdict, lock: str, *, simulated: bool) -> dict[str, object]:
    """Return the figures of a verdict by the names of the CSV file, None if missing."""
    regret, base = verdict.regret, verdict.to_baseline
    best = ("", "") if regret is None else regret.best
    return {
        "cell": verdict.cell.name,
        "load": verdict.cell.row,
        "threads": verdict.cell.threads,
        "lock": lock,
        "rounds": verdict.rounds,
        "survives": int(verdict.survives),
        "regret": None if regret is None else regret.value,
        "regret_low": None if regret is None else regret.low,
        "regret_high": None if regret is None else regret.high,
        "best_even": best[0],
        "best_odd": best[1],
        "unbounded": int(verdict.unbounded),
        "to_pthread": None if base is None else base.value,
        "to_pthread_low": None if base is None else base.low,
        "to_pthread_high": None if base is None else base.high,
        "longest_wait_s": verdict.longest,
        "pthread_longest_wait_s": verdict.baseline_longest,
        "processor_time_to_pthread": verdict.processors and verdict.processors.value,
        "settled_s": verdict.settled,
        "others": verdict.others,
        "simulated": int(simulated),
    }


def as_csv(verdicts: Sequence[Verdict], lock: str, *, simulated: bool) -> str:
    """Return a line for each cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_row(each, lock, simulated=simulated) for each in verdicts)
    return text.getvalue()


def as_json(
    verdicts: Sequence[Verdict],
    summary: Summary,
    settings: Mapping[str, Any],
    remarks: Sequence[str],
    *,
    complete: bool,
) -> str:
    """Return all figures as JSON. settings: the first line of the file of runs."""
    lock, simulated = str(settings["lock"]), settings["machine"] is not None
    document = {
        "version": version(),
        "simulated": simulated,
        "complete": complete,
        "settings": dict(settings),
        "columns": {each.heading: each.definition for each in COLUMNS},
        "cells": [as_row(each, lock, simulated=simulated) for each in verdicts],
        "summary": {
            "cells": summary.cells,
            "failed": summary.failed,
            "within_5_percent": summary.close,
            "within_15_percent": summary.near,
            "shown_above_5_percent": summary.shown,
            "worst": None if summary.worst is None else summary.worst.cell.name,
            "shown_slower_than_pthread": summary.slower,
            "lost": dict(summary.lost),
            "longest_wait_to_pthread": summary.waits,
            "processor_time_to_pthread": summary.times,
            "shown_costly": summary.costly,
        },
        "ablation": {
            name: {cell: _figures(ratio) for cell, ratio in ratios.items()}
            for name, ratios in ablation(verdicts).items()
        },
        "remarks": list(remarks),
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _figures(ratio: Ratio) -> dict[str, object]:
    return {name: getattr(ratio, name) for name in ("value", "low", "high", "rounds")}
