"""The laboratory: studies of locks over programs and machines, and what developers of locks need.

Its commands are part of `lockwright` where both packages are installed.
"""

from pathlib import Path

PACKAGE = Path(__file__).parent
"""The folder of the package's data."""

MACHINES = PACKAGE / "machines"
"""The folder of machines that have a name."""

PROGRAMS = PACKAGE / "bin"
"""The folder of the built programs."""

COMMANDS = {
    "bench": "Measure what each lock costs.",
    "corpus": "Replay fixes of lock bottlenecks, and compare them with the advice.",
    "study": "Run and analyse studies over many programs and locks.",
    "simulate": "Run the locks on a machine that a file describes.",
    "check": "Try every interleaving of small programs over a lock.",
    "torture": "Try to break a lock.",
}
"""Name and one-line help of each subcommand; `lockwright_lab.commands.<name>` defines `command`."""
