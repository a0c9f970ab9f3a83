"""The report of a profile: one HTML file that needs nothing else, not even a network.

page.html, mutexes.html and advice.html hold its structure and page.css its looks. The scripts each
draw one thing: page.js the distributions, flame.js the stacks of waiters, blocking.js who blocks
whom, timeline.js the threads.
"""

import shlex
from pathlib import Path
from typing import Any

from lockwright.advise import advise, show
from lockwright.base import files, numbers
from lockwright.export.page import mutexes, process, script_data
from lockwright.page import templates
from lockwright.preload.locks import BASELINE
from lockwright.profile.record import Profile


def write(profile: Profile, path: Path, option: str = "-o") -> None:
    """Put the report into a file. option: what named it. Raises LockwrightError if that fails."""
    files.write(path, render(profile), option)


def render(profile: Profile) -> str:
    """Return the whole file as text. Raises LockwrightError where the locks to advise are not
    known."""
    return templates.fill(
        "export/page/page.html",
        _data(profile),
        title=f"Profile of {Path(profile.command[0]).name}" if profile.command else "Profile",
        profile=profile,
        advice=advise(profile),
        provenance=_provenance(profile),
        mutexes=mutexes,
        process=process,
        show=show,
    )


def _data(profile: Profile) -> dict[str, Any]:
    """What the scripts draw. They know a mutex by its place in the profile."""
    return {
        "locks": [],
        "baseline": BASELINE,
        "mutexes": [mutex.name for mutex in profile.mutexes],
        "shown": [
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
        "seen by": profile.mechanism,
        "duration": numbers.time(profile.process.duration),
    }
    if profile.exit_status is not None:
        facts["exit status"] = str(profile.exit_status)
    return facts | {name: str(value) for name, value in profile.provenance.items()}
