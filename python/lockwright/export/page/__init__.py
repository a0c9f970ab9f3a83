"""The report of a profile: one HTML file that needs no other file and no network.

Its scripts: page.js draws the distributions, flame.js the stacks of waiters, blocking.js the
holders and waiters, and timeline.js the threads.
"""

import shlex
from pathlib import Path
from typing import Any

from lockwright.advise import Advice, advise, show
from lockwright.base import files, numbers, wording
from lockwright.export.page import accounts, mutexes, process, rwlocks, script_data
from lockwright.page import templates
from lockwright.preload.locks import BASELINE
from lockwright.profile import summary
from lockwright.profile.record import Profile


def write(profile: Profile, path: Path, option: str = "-o", advice: Advice | None = None) -> None:
    """Write the report to a file, which `option` named. advice: on the profile, as in render().
    Raises LockwrightError on failure."""
    files.write(path, render(profile, advice), option)


def render(profile: Profile, advice: Advice | None = None) -> str:
    """Return the file as text. advice: on the profile, by default without predictions. Raises
    LockwrightError if the registry of locks is missing."""
    return templates.fill(
        "export/page/page.html",
        _data(profile),
        title=f"Profile of {Path(profile.command[0]).name}" if profile.command else "Profile",
        profile=profile,
        accounts=accounts,
        advice=advice or advise(profile),
        provenance=_provenance(profile),
        mutexes=mutexes,
        process=process,
        summary=summary,
        sentence=wording.sentence(summary.sentence(profile)),
        rwlocks=rwlocks,
        show=show,
    )


def _data(profile: Profile) -> dict[str, Any]:
    """Return the data that the scripts draw. A mutex is its index in the profile."""
    return {
        "locks": [],
        "baseline": BASELINE,
        "mutexes": [mutex.name for mutex in profile.mutexes],
        "distributions": [
            script_data.distributions(mutex) for mutex in profile.mutexes[: mutexes.SECTIONS]
        ],
        "stacks": script_data.stacks(profile),
        "blocks": script_data.blocks(profile),
        "timeline": script_data.timeline(profile),
    }


def _provenance(profile: Profile) -> dict[str, str]:
    facts = {
        "started": profile.started,
        "command": shlex.join(profile.command),
        "process": str(profile.pid),
        "mechanism": profile.mechanism,
        "duration": numbers.time(profile.process.duration),
    }
    if profile.exit_status is not None:
        facts["exit status"] = str(profile.exit_status)
    return facts | {name: str(value) for name, value in profile.provenance.items()}
