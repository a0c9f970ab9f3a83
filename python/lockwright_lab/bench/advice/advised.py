"""What is known of a cell before its runs: its profile, and the locks that are named for it."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lockwright.base import documents, files
from lockwright.base.errors import LockwrightError
from lockwright.base.progress import print_line
from lockwright.calibrate.machines import HERE, load_machine
from lockwright.preload.locks import BASELINE, registry
from lockwright.preload.rwlocks import parts_of
from lockwright.profile import record

from lockwright_lab.bench.advice.busy import busy_processors
from lockwright_lab.bench.advice.rules import former_names
from lockwright_lab.bench.advice.subjects import Conditions
from lockwright_lab.bench.own_command import output_of
from lockwright_lab.bench.real_program import real_program
from lockwright_lab.bench.validation.first import write_profile
from lockwright_lab.study.campaign.local_machine import Folders

DEFAULT = "adaptive"
"""The lock of `lockwright run` without --lock."""

OTHERS = (DEFAULT, "futex", "ttas", "mcs-stp", "lifo-cr")
"""Locks that run in every cell, for the best of them."""

_CALIBRATION = 30.0
"""Limit of a run of the calibration in seconds."""

_ADVISING = 300.0
"""Limit of `lockwright advise` in seconds."""


@dataclass(frozen=True)
class Advised:
    """The locks that are named for a cell, the first two at most. named: by `lockwright advise`;
    former: by the former rules; problem: why there are none, or empty."""

    named: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    problem: str = ""


def advised_in(known: Mapping[str, Any], cell: str) -> Advised:
    """Return what was asked before the first run, as `Experiment.first` has stored it."""
    stored = known.get(cell)
    if stored is None:
        return Advised(problem="it was not profiled")
    return Advised(tuple(stored["named"]), tuple(stored["former"]), stored["problem"])


def locks_of(advised: Advised) -> list[str]:
    """Return the locks that run in a cell, BASELINE first; none without advice."""
    if advised.problem:
        return []
    wanted = dict.fromkeys([BASELINE, *advised.named[:2], *advised.former[:1], *OTHERS])
    return [name for name in wanted if name in _known()]


@cache
def _known() -> frozenset[str]:
    """The locks of the build; asked for each cell before each run."""
    return frozenset(registry().names)


def names_in(advice: dict[str, Any]) -> list[str]:
    """Return the locks that the output of `lockwright advise FILE --json` names; DEFAULT as its
    lock, whose gain was predicted."""
    return [parts_of(each["lock"])[0] for each in advice["shortlist"]]


def advise_all(cells: Sequence[Conditions], folder: Path, places: Folders) -> dict[str, Any]:
    """Calibrate the machine, profile the programs in their cells, and ask for advice, where the
    folder does not have it yet. Return what `Advised` has by the name of the cell."""
    folder.mkdir(parents=True, exist_ok=True)
    load_machine(HERE, _CALIBRATION)
    return {each.name: asdict(_advised(each, folder, places)) for each in cells}


def _advised(cell: Conditions, folder: Path, places: Folders) -> Advised:
    path = folder / f"{cell.name.replace(', ', '-').replace(' ', '_')}.advised.json"
    if path.exists():
        todo = "remove it, and the program is profiled again"
        return documents.decode(Advised, path.read_bytes(), str(path), todo)
    print_line(f"profile of {cell.name}")
    profile = path.with_suffix("").with_suffix(".profile.json")
    try:
        _profile(cell, profile, places)
        former = former_names(record.read(profile))
        found = Advised(tuple(names_in(ask(profile))[:2]), tuple(former[:2]))
    except LockwrightError as error:
        return Advised(problem=error.what)
    files.write(path, json.dumps(asdict(found)) + "\n", "-o")
    return found


def _profile(cell: Conditions, path: Path, places: Folders) -> None:
    subject = cell.subject
    path.unlink(missing_ok=True)
    with (
        real_program(subject.program, subject.threads, subject.scale, places) as installed,
        busy_processors() if cell.is_busy else nullcontext(),
    ):
        write_profile(installed, path)


def ask(profile: Path) -> dict[str, Any]:
    """Return what `lockwright advise` says of a profile, as its --json. Raises LockwrightError if
    it fails."""
    advice: dict[str, Any] = json.loads(
        output_of("advise", profile, "--json", "-", timeout=_ADVISING)
    )
    return advice
