"""The report of a profile: one HTML file that needs nothing else, not even a network.

page.html holds its structure and page.css its looks. The scripts each draw one thing: page.js the
distributions, flame.js the stacks of waiters, blocking.js who blocks whom, timeline.js the threads.
"""

import shlex
from html import escape
from pathlib import Path
from typing import Any

from lockwright.advise import advise
from lockwright.base import files, numbers
from lockwright.export.page import advice, drawn, mutexes, process
from lockwright.page import assemble, lists
from lockwright.preload.locks import BASELINE
from lockwright.profile.record import Profile

_HERE = Path(__file__).parent
_DRAWN = ("flame", "blocking", "timeline")


def write(profile: Profile, path: Path, option: str = "-o") -> None:
    """Puts the report into a file. option: what named it. Raises LockwrightError if that fails."""
    files.write(path, render(profile), option)


def render(profile: Profile) -> str:
    """The whole file as text. Raises LockwrightError where the locks to advise are not known."""
    advised = advise(profile)
    parts = {
        "title": escape(
            f"Profile of {Path(profile.command[0]).name}" if profile.command else "Profile"
        ),
        "command": escape(shlex.join(profile.command)),
        "partial": f'<p class="absent">{escape(profile.partial)}</p>' if profile.partial else "",
        "verdict": escape(advised.sentence),
        "summary": escape(process.sentence(profile)),
        "advice": advice.section(profile, advised),
        "cards": mutexes.cards(profile),
        "table": mutexes.table(profile),
        "sections": mutexes.sections(profile),
        "process": process.facts(profile),
        "provenance": lists.terms(_provenance(profile)),
    }
    return assemble.fill(_HERE, parts, _data(profile), [_HERE / name for name in _DRAWN])


def _data(profile: Profile) -> dict[str, Any]:
    """What the scripts draw. They know a mutex by its place in the profile."""
    return {
        "locks": [],
        "baseline": BASELINE,
        "mutexes": [mutex.name for mutex in profile.mutexes],
        "shown": [drawn.distributions(mutex) for mutex in profile.mutexes[: mutexes.SECTIONS]],
        "stacks": drawn.stacks(profile),
        "blocks": drawn.blocks(profile),
        "timeline": drawn.timeline(profile),
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
