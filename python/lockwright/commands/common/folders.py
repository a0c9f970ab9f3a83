"""Options that say where the inputs and the files of programs are."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lockwright.study.campaign.site import Folders

_PATH = click.Path(path_type=Path)
OPTIONS = (
    click.option(
        "--cache", type=_PATH, metavar="DIR", help="Keep the programs' inputs in this directory."
    ),
    click.option(
        "--work", type=_PATH, metavar="DIR", help="Put the files of runs into this directory."
    ),
)


def folders(cache: Path | None, work: Path | None) -> "Folders":
    """Where inputs and the files of runs are, if these options of a command are given or not."""
    from lockwright.study.campaign.site import Folders
    from lockwright.study.program.inputs import default_cache

    cache = (cache or default_cache()).absolute()
    return Folders(cache, (work or cache / "work").absolute())
