"""Options for the directories of programs' inputs and files."""

from pathlib import Path
from typing import TYPE_CHECKING

from lockwright_lab.commands.common.grammar import shared

if TYPE_CHECKING:
    from lockwright_lab.study.campaign.local_machine import Folders

CACHE = shared("--cache", "Store the programs' inputs in this directory.")
"""Decorator that adds the option for the directory of inputs."""

WORK = shared("--work", "Put the files of runs into this directory.")
"""Decorator that adds the option for the directory of runs."""


def folders(cache: Path | None, work: Path | None) -> "Folders":
    """Return the directories of inputs and of the files of runs for the values of these options."""
    from lockwright_lab.study.campaign.local_machine import Folders
    from lockwright_lab.study.program.inputs import default_cache

    cache = (cache or default_cache()).absolute()
    return Folders(cache, (work or cache / "work").absolute())
