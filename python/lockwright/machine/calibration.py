"""The calibrated parameters of the locks for this machine: a JSON file.

The value of a parameter is that of the environment, else that of the file, else the default.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lockwright.base.errors import LockwrightError
from lockwright.base.user_folders import user_folder
from lockwright.preload.locks import Lock, Registry, Tunable

VARIABLE = "LOCKWRIGHT_CALIBRATION"
"""The variable that names another file; `none` for no file."""

EVERY_LOCK = "*"
"""Key of the values for all locks."""


def default_path() -> Path:
    """Return the file in the user's configuration directory."""
    folder = user_folder("XDG_CONFIG_HOME", "settings", "name a file with --output")
    return folder / "calibration.json"


def this_machine() -> dict[str, object]:
    """Return the facts with most influence on the measured times."""
    from lockwright.machine.provenance import cpu_model

    return {"processor": cpu_model(), "processors": os.cpu_count()}


@dataclass(frozen=True)
class Calibration:
    """The values of a file, by lock or EVERY_LOCK, and by name of the parameter."""

    path: Path
    values: Mapping[str, Mapping[str, int]]

    def value(self, lock: Lock, each: Tunable) -> int | None:
        """Return the calibrated value of a parameter, clamped to its bounds, or None."""
        values = {**self.values.get(EVERY_LOCK, {}), **self.values.get(lock.name, {})}
        value = values.get(each.name)
        return None if value is None else min(max(value, each.least), each.most)


def load() -> tuple[Calibration | None, str]:
    """Return the calibration in force, and '' or the reason why the file is not used. Raises
    LockwrightError for a file of another format, and for a missing file of VARIABLE."""
    named = os.environ.get(VARIABLE, "")
    if named == "none":
        return None, ""
    path = Path(named) if named else _default_path_or_none()
    if path is None:
        return None, ""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not named:
            return None, ""
        raise LockwrightError(
            f"{VARIABLE} names {path}, which does not exist",
            "unset it, or run 'lockwright calibrate --output' with that path",
        ) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise LockwrightError(
            f"cannot read the calibration {path}: {why}", "remove it, or calibrate again"
        ) from error
    # Its import takes as long as the rest of a start without a calibration.
    from lockwright.base import documents

    todo = "run 'lockwright calibrate' again, or remove it"
    content = documents.decode(_File, text, f"the calibration {path}", todo)
    measured = content.machine
    if vars(measured) != this_machine():
        return None, (
            f"{path} was measured on another machine ({measured.processors} x "
            f"{measured.processor}), so the defaults are used; run 'lockwright calibrate' again"
        )
    return Calibration(path, content.values), ""


def _default_path_or_none() -> Path | None:
    try:
        return default_path()
    except LockwrightError:
        return None


@dataclass(frozen=True)
class _Machine:
    """The machine of this_machine()."""

    processor: str
    processors: int | None


@dataclass(frozen=True)
class _File:
    """The content of a file."""

    format: Literal[1]
    machine: _Machine
    values: dict[str, dict[str, int]]

    def __post_init__(self) -> None:
        if any(value < 0 for numbers in self.values.values() for value in numbers.values()):
            raise ValueError("a value is below 0")


def write(
    path: Path,
    measured: Mapping[str, object],
    values: Mapping[str, Mapping[str, int]],
    noise: float | None,
) -> None:
    """Write the file, and create its directories. Raises LockwrightError on failure."""
    from lockwright import version

    document = {
        "format": 1,
        "lockwright": version(),
        "machine": this_machine(),
        "processor_share_of_others": noise,
        "measured": measured,
        "values": values,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(document, indent=1, default=vars) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "choose another file with --output"
        ) from error


@dataclass(frozen=True)
class Setting:
    """A parameter of a lock and its value. origin: `default`, `calibrated` or a variable."""

    number: Tunable
    value: int
    origin: str


def settings(
    lock: Lock, calibration: Calibration | None, environment: Mapping[str, str]
) -> list[Setting]:
    """Return every parameter of `lock` with its value; `environment` has been checked."""
    parameters = []
    for each in lock.tunables:
        setting = Setting(each, each.default, "default")
        calibrated = calibration.value(lock, each) if calibration else None
        if calibrated is not None:
            setting = Setting(each, calibrated, "calibrated")
        for variable in (each.shared, each.variable):
            if environment.get(variable):
                setting = Setting(each, int(environment[variable]), variable)
        parameters.append(setting)
    return parameters


def variables(
    lock: Lock, calibration: Calibration | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables to set for `lock`: the calibrated parameters that are not yet set."""
    return {
        each.number.variable: str(each.value)
        for each in settings(lock, calibration, environment)
        if each.origin == "calibrated"
    }


def calibrated_variables(
    registry: Registry, names: Iterable[str], environment: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return `variables` of several locks by name; warn on stderr if the file is not used."""
    calibration, remark = load()
    if remark:
        print(f"lockwright: {remark}", file=sys.stderr, flush=True)
    return {name: variables(registry.find(name), calibration, environment) for name in names}
