"""`lockwright doctor`: what on this machine disturbs a measurement of locks."""

from pathlib import Path

import click

from lockwright.commands.common.options import check_writable


@click.command("doctor")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.1, max=600),
    default=1.0,
    show_default=True,
    help="How long the load of other programs is watched.",
)
@click.option("--all", "every", is_flag=True, help="Also explain what is in order.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=check_writable,
    help="Also write the findings, and the facts about the machine, to this file.",
)
def command(seconds: float, every: bool, json_file: Path | None) -> None:
    """Say what on this machine disturbs a measurement of locks, and what to do about it.

    Nothing is changed. Each line is one finding: ok; warn, where it disturbs a measurement or
    keeps one from being made; or absent, where the machine does not have it or does not say.
    Below a warning stands what it does to a measurement, and after an arrow what to do.

    The findings are stored with the results of compare and bench, too.
    """
    import json

    from lockwright.base.errors import LockwrightError
    from lockwright.base.terminal import output
    from lockwright.doctor import examine
    from lockwright.doctor.show import show
    from lockwright.machine import provenance

    findings = examine.here(seconds)
    if json_file is not None:
        document = provenance.machine() | {provenance.FINDINGS: provenance.as_facts(findings)}
        try:
            json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise LockwrightError(
                f"cannot write {json_file}: {error.strerror}", "choose another file with --json"
            ) from error
    show(output(), findings, every)
