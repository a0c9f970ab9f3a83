"""The user's directories, by the XDG Base Directory Specification."""

import os
from pathlib import Path

from lockwright.base.errors import LockwrightError

_DEFAULTS = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_STATE_HOME": ".local/state",
}


def user_folder(variable: str, content: str, todo: str) -> Path:
    """Return the directory of Lockwright below that of a variable, as `XDG_STATE_HOME`. Raises
    LockwrightError, with the content of the directory and the advice, without a home directory."""
    value = os.environ.get(variable, "")
    # The specification requires that a relative path is ignored.
    if value.startswith("/"):
        return Path(value) / "lockwright"
    try:
        return Path.home() / _DEFAULTS[variable] / "lockwright"
    except RuntimeError as error:
        raise LockwrightError(f"there is no home directory for the {content}", todo) from error
