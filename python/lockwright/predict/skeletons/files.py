"""The files of skeletons: APPLICATION.NUMBER.toml, each a model that agrees with what is known of
the application."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from lockwright.base.errors import LockwrightError, nearest_hint
from lockwright.simulate import model
from lockwright.simulate.model import Model

SHIPPED = Path(__file__).with_name("applications")
"""The skeletons that are part of Lockwright."""

_NAME = re.compile(r"(?P<application>[\w-]+)\.(?P<number>[1-9][0-9]?)\.toml")

Skeletons = Mapping[str, Sequence[Model]]
"""The models of each application, those that agree best first."""


def file_name(application: str, number: int) -> str:
    """Return the name of a skeleton's file. number: from 1."""
    return f"{application}.{number}.toml"


def load(folder: Path, applications: Sequence[str] | None = None) -> Skeletons:
    """Return the skeletons in a directory, of all applications for None. Raises LockwrightError
    for an application without a skeleton, for a file with another name, and for an invalid one."""
    paths: dict[str, dict[int, Path]] = {}
    if not folder.is_dir():
        raise LockwrightError(
            f"there is no directory '{folder}'", "check the path of the skeletons"
        )
    for path in folder.glob("*.toml"):
        match = _NAME.fullmatch(path.name)
        if match is None:
            raise LockwrightError(
                f"{path} is not named as a skeleton", "call it APPLICATION.1.toml, or move it"
            )
        paths.setdefault(match["application"], {})[int(match["number"])] = path
    if not paths:
        raise LockwrightError(
            f"there are no skeletons in {folder}", "'lockwright bench skeletons' makes some"
        )
    wanted = sorted(paths) if applications is None else list(dict.fromkeys(applications))
    for name in wanted:
        if name not in paths:
            hint = nearest_hint(name, sorted(paths), f"choose from {', '.join(sorted(paths))}")
            raise LockwrightError(f"there is no skeleton of '{name}'", hint)
    return {
        name: tuple(model.load(path) for _, path in sorted(paths[name].items())) for name in wanted
    }
