"""`lockwright predict`: the best lock of a profiled program, also on another machine."""

from pathlib import Path

import click

from lockwright.commands.common import grammar
from lockwright.commands.common.machines import simulations
from lockwright.commands.common.options import number_list
from lockwright.commands.common.prediction import begin, shared_options


@click.command("predict")
@click.argument("profile", type=click.Path(path_type=Path, dir_okay=False))
@grammar.locks("those that the simulator has")
@click.option(
    "--threads",
    metavar="N,...",
    help="Numbers of threads.  [default: that of the profile]",
)
@shared_options
@click.option(
    "--model",
    "model_file",
    type=grammar.FILE,
    metavar="FILE",
    callback=grammar.writable,
    help="Also write the program's model to FILE, for 'lockwright simulate --workload model:FILE'.",
)
@grammar.json_file("the prediction and the model")
@grammar.csv_file("the table")
@grammar.html_file()
def command(
    profile: Path,
    locks: str | None,
    threads: str | None,
    machine_name: str,
    runs: int,
    seconds: float | None,
    seed: int,
    timeout: float,
    model_file: Path | None,
    json_file: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
) -> int:
    """Predict which lock is best for a profiled program on a machine.

    PROFILE is a file that 'lockwright profile -o' wrote. Its sections, the time between them and
    its threads become a model, which the simulator runs under each lock. Nothing is measured: each
    figure is the median over the models that agree with the profile, several seeds and the ends of
    the machine's ranges, and its range is over all of them. docs/predicting.md compares predictions
    with measurements.
    """
    from lockwright.base import terminal
    from lockwright.base.files import write
    from lockwright.predict import page, ranking, show
    from lockwright.predict.reason import reason
    from lockwright.predict.simulations import points, simulate
    from lockwright.simulate import model as models
    from lockwright.simulate.run import choose_locks

    chosen = choose_locks(locks)
    counts = None
    if threads is not None:
        counts = sorted({int(count) for count in number_list(threads, "--threads", 1)})
    header = begin(profile, machine_name, runs, seed, timeout)
    derived, machine = header.derived, header.machine
    if model_file is not None:
        write(model_file, models.as_toml(derived.model), "--model")
    counts = counts or [derived.model.threads]
    at = points(derived.variants, machine, runs, seed)
    jobs = ranking.jobs(at, chosen, counts, seconds)
    outcomes = simulate(jobs, timeout, simulations, lambda key: key[1])
    console = terminal.output()
    console.print(header.title, style="bold", soft_wrap=True)
    ranked, reasons = [], {}
    for count in counts:
        of_count = ranking.rank(outcomes, at, count)
        if not of_count:
            continue
        ranked += of_count
        reasons[count] = f"{reason(derived.model, machine, of_count)} {show.tied(of_count)}"
        console.print(show.ranking_table(of_count))
        console.print(reasons[count], soft_wrap=True)
    for note in header.notes:
        console.print(note, style="dim", soft_wrap=True)
    failures = sorted(
        {
            f"{cell.lock} with {cell.threads} threads: {what}"
            for (_, cell), what in outcomes.failures.items()
        }
    )
    for text in failures:
        console.print(f"FAILED: {text}", style="bold red", soft_wrap=True)
    if json_file is not None:
        write(json_file, show.ranking_json(header, ranked, reasons), "--json")
    if csv_file is not None:
        write(csv_file, show.ranking_csv(header, ranked), "--csv")
    if html_file is not None:
        write(html_file, page.ranking_page(header, ranked, reasons, failures), "--html")
    return 1 if failures else 0
