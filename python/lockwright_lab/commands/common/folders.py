"""Options for the directories of programs' inputs and files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lockwright_lab.study.campaign.local_machine import Folders

_PATH = click.Path(path_type=Path)
OPTIONS = (
    click.option(
        "--cache", type=_PATH, metavar="DIR", help="Store the programs' inputs in this directory."
    ),
    click.option(
        "--work", type=_PATH, metavar="DIR", help="Put the files of runs into this directory."
    ),
)


def folders(cache: Path | None, work: Path | None) -> "Folders":
    """Return the directories of inputs and of the files of runs for the values of these options."""
    from lockwright_lab.study.campaign.local_machine import Folders
    from lockwright_lab.study.program.inputs import default_cache

    cache = (cache or default_cache()).absolute()
    return Folders(cache, (work or cache / "work").absolute())
