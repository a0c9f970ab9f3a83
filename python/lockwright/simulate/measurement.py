"""Which measurement the figures of a machine file are from."""

from collections.abc import Mapping
from typing import Any

from lockwright.base.errors import LockwrightError

CURRENT = 2
"""Increased when `lockwright calibrate --machine-file` measures a figure otherwise, so that
earlier files are wrong. Files without a number are from the first, which measured wakes with both
threads on one processor."""

KEY = "measurement"
"""The key of the number. Only measured files have it."""

SOURCE = "measured by lockwright calibrate"
"""The first words of the sources of measured figures."""


def check(document: Mapping[str, Any], label: str) -> None:
    """Raise LockwrightError if figures of a machine file are from another measurement than the
    current one. Figures of other sources, as those of a file written by hand, are accepted."""
    if KEY not in document and not any(_is_measured(section) for section in document.values()):
        return
    found = document.get(KEY, 1)
    if found == CURRENT:
        return
    raise LockwrightError(
        f"{label} has figures that another version of 'lockwright calibrate' measured otherwise "
        f"({KEY} {found!r:.20}, not {CURRENT})",
        "measure the machine again with 'lockwright calibrate --machine-file FILE'",
    )


def _is_measured(section: object) -> bool:
    source = section.get("source") if isinstance(section, dict) else None
    return isinstance(source, str) and source.startswith(SOURCE)
