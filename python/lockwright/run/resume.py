"""Rules for resuming a results file.

A file has at most one record for each cell, contender and round, written when the run ends, and
recorded runs are not repeated. The plan, the machine and the libraries have to be the same
(`MUST_MATCH`), and no other process may be carrying out the plan.
"""

import shlex
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from lockwright.base import invocation
from lockwright.base.errors import LockwrightError
from lockwright.base.results import is_alive, this_process
from lockwright.machine.provenance import MUST_MATCH


def check_not_running(process: str, what: str) -> None:
    """Raise LockwrightError if `process`, a result of this_process(), is another live one."""
    if process != this_process() and is_alive(process):
        raise LockwrightError(
            f"that {what} is still being carried out by process {process.partition(' ')[0]}",
            "wait for it, or stop it first",
        )


def check_facts(
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    what: str,
    todo: str,
    more: Iterable[str] = (),
) -> None:
    """Raise LockwrightError if `what` was begun on another machine or with another build. more:
    names of further facts that have to match. todo: advice for the message."""
    for name in (*MUST_MATCH, *more):
        if before.get(name) != now.get(name):
            raise LockwrightError(
                f"{what} was begun with another {name} ({before.get(name)}, now {now.get(name)})",
                todo,
            )


_GROUPS = ("bench", "study")
"""Commands that have subcommands."""


def resume_command(*added: str) -> str:
    """Return this command line with the options `added` after the subcommand."""
    words = sys.argv[1:]
    depth = 2 if words[:1] and words[0] in _GROUPS else 1
    return shlex.join([*invocation.command_words(), *words[:depth], *added, *words[depth:]])


def interruption_message(line: str) -> str:
    """Return the message after an interrupt. line: the command line that resumes."""
    return f"interrupted, the results so far are saved; continue with: {line}"
