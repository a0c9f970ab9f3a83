"""What other installed packages add, by their entry points."""

from functools import cache
from typing import Any

COMMANDS = "lockwright.commands"
"""Group of dictionaries from the names of commands to their one-line helps. The command `a-b` of
package `p` is `p.commands.a_b.command`."""

MACHINES = "lockwright.machines"
"""Group of folders with descriptions of machines."""

PROGRAMS = "lockwright.programs"
"""Group of folders with built programs."""


@cache
def added(group: str) -> dict[str, Any]:
    """Return the objects of a group by the names of the packages that define them."""
    from importlib.metadata import entry_points

    return {each.module.partition(".")[0]: each.load() for each in entry_points(group=group)}
