"""`lockwright bench claims --simulated`: the claims of the papers on simulated machines."""

from collections.abc import Sequence
from pathlib import Path

import click
from lockwright.base import files, interrupts, terminal
from lockwright.calibrate.report import progress

from lockwright_lab.bench.cases import Case
from lockwright_lab.bench.claims import show, show_simulated
from lockwright_lab.bench.claims.claim import Claim
from lockwright_lab.bench.claims.simulate import Results, experiments, findings, jobs, simulate

SEEDS = 3
"""The default number of seeds. A claim on which they differ is open."""


def run_simulated(
    claims: Sequence[Claim],
    seeds: int,
    only_list: bool,
    timeout: float,
    json_file: Path | None,
    csv_file: Path | None,
) -> int:
    """Simulate the claims, print the results and write the files. Return the exit status.

    An interrupt ends the simulations; the results are then of the completed ones.
    """
    console = terminal.output()
    chosen = experiments(claims)
    if only_list:
        show.print_list(
            console,
            [experiment.claim for experiment in chosen],
            [experiment.claim.elsewhere for experiment in chosen],
        )
        return 0
    results, stopped = Results({}, []), None
    total = len(jobs(chosen, seeds))
    try:
        with interrupts.stop_on_signals(), progress("simulating", total) as steps:

            def on_end(case: Case) -> None:
                steps.step(case.label())

            simulate(chosen, seeds, timeout, results, on_end)
    except interrupts.Stopped as signal:
        stopped = signal
    found = findings(chosen, results)
    show_simulated.print_findings(console, chosen, found)
    console.print()
    console.print(show_simulated.summary(chosen, found))
    console.print(show_simulated.counted(found), markup=False)
    for failure in results.failures:
        console.print(f"Failed: {failure}", markup=False, soft_wrap=True)
    if csv_file is not None:
        files.write(csv_file, show_simulated.to_csv(chosen, found), "--csv")
    if json_file is not None:
        text = show_simulated.to_json(chosen, found, seeds, results.failures, stopped is None)
        files.write(json_file, text, "--json")
    for path in (csv_file, json_file):
        if path is not None:
            console.print(f"Written: {path}", markup=False)
    if stopped is not None:
        click.echo(f"lockwright: stopped after {results.done} of {total} simulations", err=True)
        return stopped.status
    return 1 if results.failures else 0
