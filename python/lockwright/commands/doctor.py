"""`lockwright doctor`: the disturbances of a measurement of locks on this machine."""

from pathlib import Path

from lockwright.commands.common import brief, grammar


@brief.command("doctor")
@grammar.seconds(1.0, least=0.1, of=" the load of other programs")
@grammar.shared("--all", "Also explain the findings that are ok.", "every")
@grammar.json_file("the findings, and the facts about the machine,")
def command(seconds: float, every: bool, json_file: Path | None) -> None:
    """Report what on this machine disturbs a measurement of locks, and the remedies.

    Nothing is changed. Each line is one finding: ok; warn, if it disturbs a measurement or
    prevents one; or absent, if the machine does not have it or does not report it.
    Below these two are the effect on a measurement and, after an arrow, the remedy.

    The findings are stored with the results of compare and bench, too.
    """
    import json

    from lockwright.base import files
    from lockwright.base.terminal import output
    from lockwright.doctor import examine
    from lockwright.doctor.findings_table import print_findings
    from lockwright.machine import provenance

    findings = examine.examine_this_machine(seconds)
    if json_file is not None:
        document = provenance.machine() | {provenance.FINDINGS: provenance.as_facts(findings)}
        files.write(json_file, json.dumps(document, indent=1) + "\n", "--json")
    print_findings(output(), findings, every)
