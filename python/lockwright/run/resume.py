"""When a file of results may be gone on with: the rules of compare, tune, study and the tour.

A run has one place in a plan (of a comparison: threads, round, lock; of a study: line,
configuration, round; of the tour: case, round). A file has at most one record for each place,
written as soon as the run has ended, and whatever has one is not run again. To go on, the plan has
to be the same, the machine and the libraries have to be (`MUST_MATCH`), and no other process may
still be at it.
"""

import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from lockwright.base import invocation
from lockwright.base.errors import LockwrightError
from lockwright.base.results import is_alive, this_process
from lockwright.machine.provenance import MUST_MATCH


def check_owner(owner: str, what: str) -> None:
    """Raise LockwrightError if another process, named as by `this_process`, is still at it."""
    if owner != this_process() and is_alive(owner):
        raise LockwrightError(
            f"that {what} is still being carried out by process {owner.partition(' ')[0]}",
            "wait for it, or stop it first",
        )


def check_facts(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    what: str,
    todo: str,
    more: Iterable[str] = (),
) -> None:
    """Raise LockwrightError if the runs of `what` were made on or with something else.

    more: names of facts that have to match, too. todo: what to do then.
    """
    for name in (*MUST_MATCH, *more):
        if before.get(name) != now.get(name):
            raise LockwrightError(
                f"{what} was begun with another {name} ({before.get(name)}, now {now.get(name)})",
                todo,
            )


def line_to_resume(*added: str) -> str:
    """Return the line that goes on with what this command line began: its own words, and the
    options `added` after the one that names the command."""
    command, *rest = sys.argv[1:]
    return shlex.join([*invocation.command_words(), command, *added, *rest])


def interrupted(line: str) -> str:
    """What is said after an interrupt. line: that which goes on."""
    return f"interrupted, what was measured is kept; go on with: {line}"
