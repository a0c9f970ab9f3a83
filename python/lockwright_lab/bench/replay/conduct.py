"""A replay from its files to its output."""

import json
from collections.abc import Sequence
from pathlib import Path

from lockwright.base import files
from lockwright.base.errors import LockwrightError
from lockwright.base.terminal import output
from lockwright.experiment.request import Request
from lockwright.experiment.terminal import print_grid
from lockwright.tune import priors

from lockwright_lab.bench.replay import records, report


def conduct(
    request: Request,
    runs: Path | None,
    prior_files: Sequence[Path],
    seeds: int,
    prior_table: Path | None,
) -> None:
    """Replay the runs, if any, and write the files. prior_table: for what is learnt from
    prior_files. Raises LockwrightError if there are none of these."""
    if prior_table is not None:
        if not prior_files:
            raise LockwrightError("--write-prior learns from no file", "add --prior RUNS.csv")
        text = priors.as_text(records.read_values(prior_files))
        files.write(prior_table, text, "--write-prior")
    if runs is None:
        return
    replayed = report.replay(runs, prior_files, seeds)
    print_grid(output(), report.table(replayed))
    if request.json_file is not None:
        text = json.dumps(report.as_json(replayed), indent=1)
        files.write(request.json_file, text + "\n", "--json")
    if request.html_file is not None:
        files.write(request.html_file, report.page(replayed), "--html")
