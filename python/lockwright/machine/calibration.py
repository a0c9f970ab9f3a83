"""What `lockwright calibrate` found out for the locks of this machine, and who uses it.

The settings are a JSON file. A number of a lock is, in this order: what the user's environment
says, what the file says, the lock's own default.
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import Lock, Registry, Tunable

VARIABLE = "LOCKWRIGHT_CALIBRATION"
"""Names the file instead of the one in the user's configuration; `none` for no file."""

EVERY = "*"
"""Key of the values for every lock that has a number of the name."""

_FORMAT = 1


def default_path() -> Path:
    """The file in the user's configuration directory."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    # The base directory specification tells to ignore a relative path.
    if base.startswith("/"):
        return Path(base) / "lockwright" / "calibration.json"
    try:
        return Path.home() / ".config" / "lockwright" / "calibration.json"
    except RuntimeError as error:
        raise LockwrightError(
            "there is no home directory to keep the settings in", "name a file with --output"
        ) from error


def this_machine() -> dict[str, object]:
    """What the measured times depend on most."""
    from lockwright.machine.provenance import cpu_model

    return {"processor": cpu_model(), "processors": os.cpu_count()}


@dataclass(frozen=True)
class Calibration:
    """The values of a file: by lock, or by EVERY, and by the name of the number."""

    path: Path
    values: Mapping[str, Mapping[str, int]]

    def value(self, lock: Lock, each: Tunable) -> int | None:
        """What was found for it, kept within its bounds; None if nothing was."""
        own = self.values.get(lock.name, {}).get(each.name)
        found = self.values.get(EVERY, {}).get(each.name) if own is None else own
        return None if found is None else min(max(found, each.least), each.most)


def load() -> tuple[Calibration | None, str]:
    """The calibration in force, and a remark for the user: '' or why there is none although
    there is a file.

    Raises LockwrightError for a file that is none of ours, and for one that was named and is
    not there.
    """
    named = os.environ.get(VARIABLE, "")
    if named == "none":
        return None, ""
    path = Path(named) if named else _default_or_nowhere()
    if path is None:
        return None, ""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if not named:
            return None, ""
        raise LockwrightError(
            f"{VARIABLE} names {path}, which is not there",
            "unset it, or run 'lockwright calibrate --output' with that path",
        ) from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise LockwrightError(
            f"cannot read the calibration {path}: {why}", "remove it, or calibrate again"
        ) from error
    machine, values = _parse(text, path)
    if machine != this_machine():
        return None, (
            f"{path} was measured on another machine ({machine['processors']} x "
            f"{machine['processor']}), so the defaults are used; run 'lockwright calibrate' again"
        )
    return Calibration(path, values), ""


def _default_or_nowhere() -> Path | None:
    try:
        return default_path()
    except LockwrightError:
        return None


def _parse(text: str, path: Path) -> tuple[dict[str, Any], dict[str, dict[str, int]]]:
    try:
        document = json.loads(text)
        if document["format"] != _FORMAT:
            raise LockwrightError(
                f"{path} is a calibration of another version of Lockwright",
                "run 'lockwright calibrate' again, or remove it",
            )
        machine = {name: document["machine"][name] for name in ("processor", "processors")}
        values = {
            str(lock): {str(name): _whole_number(value) for name, value in numbers.items()}
            for lock, numbers in document["values"].items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise LockwrightError(
            f"{path} is not a calibration of Lockwright",
            "run 'lockwright calibrate' again, or remove it",
        ) from error
    return machine, values


def _whole_number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no whole number")
    return value


def write(
    path: Path,
    measured: Mapping[str, object],
    values: Mapping[str, Mapping[str, int]],
    noise: float | None,
) -> None:
    """Writes the file, and its directories. Raises LockwrightError if it cannot be."""
    from lockwright import version

    document = {
        "format": _FORMAT,
        "lockwright": version(),
        "machine": this_machine(),
        "processor_share_of_others": noise,
        "measured": measured,
        "values": values,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(json.dumps(document, indent=1, default=vars) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise LockwrightError(
            f"cannot write {path}: {error.strerror}", "choose another file with --output"
        ) from error


@dataclass(frozen=True)
class Setting:
    """A number of a lock as it is in force. origin: `default`, `calibrated` or a variable."""

    number: Tunable
    value: int
    origin: str


def settings(
    lock: Lock, calibration: Calibration | None, environment: Mapping[str, str]
) -> list[Setting]:
    """Every number of `lock`; `environment` has been checked."""
    found = []
    for each in lock.tunables:
        setting = Setting(each, each.default, "default")
        calibrated = calibration.value(lock, each) if calibration else None
        if calibrated is not None:
            setting = Setting(each, calibrated, "calibrated")
        for variable in (each.shared, each.variable):
            if environment.get(variable):
                setting = Setting(each, int(environment[variable]), variable)
        found.append(setting)
    return found


def variables(
    lock: Lock, calibration: Calibration | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """The variables to set for `lock`: its calibrated numbers that the user has not set."""
    return {
        each.number.variable: str(each.value)
        for each in settings(lock, calibration, environment)
        if each.origin == "calibrated"
    }


def all_in_force(
    registry: Registry, names: Iterable[str], environment: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """The same for locks by their names; a file that does not fit is said on stderr, once."""
    calibration, remark = load()
    if remark:
        print(f"lockwright: {remark}", file=sys.stderr, flush=True)
    return {name: variables(registry.find(name), calibration, environment) for name in names}
