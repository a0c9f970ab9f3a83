"""Which lock Valgrind's DRD names first: that with most long sections, since it has no waits."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from lockwright_lab.corpus.case import Case

THRESHOLD_MS = 1
"""Sections from this length on are reported; DRD counts in whole milliseconds."""

RIGHT, WRONG, NONE, SLOW = "yes", "no", "none", "too slow"
"""What DRD says of a case: its lock first, another one, no lock; or its run took too long."""

_TIMES = re.compile(r"(\d+) errors? in context")
_HELD = re.compile(r"Lock on .+? (0x[0-9a-fA-F]+) was held during \d+ ms")
_FRAME = re.compile(r"(?:at|by) 0x[0-9a-fA-F]+: (.+?) \((?:in )?([^)]*)\)$")
_OWN = "pthread_create@"
"""A function of DRD that has a lock of its own."""


def words(log: Path) -> list[str]:
    """Return the words of a command that runs its arguments under DRD. log: a file for each
    process, `%p` being its number."""
    return [
        *("valgrind", "-s", "--tool=drd", f"--exclusive-threshold={THRESHOLD_MS}"),
        *("--check-stack-var=no", "--first-race-only=yes", "--trace-children=yes"),
        f"--log-file={log}",
    ]


def said(case: Case, logs: Iterable[Path], *, has_ended: bool) -> str:
    """Return what the logs of a run say of a case."""
    reports: Counter[tuple[Path, str]] = Counter()
    names: defaultdict[tuple[Path, str], set[str]] = defaultdict(set)
    for log in logs:
        for block in re.split(r"\n==\d+== ?(?=\n)", log.read_text(errors="replace")):
            times, held = _TIMES.search(block), _HELD.search(block)
            if times is None or held is None or _OWN in block:
                continue
            lock = (log, held[1])
            reports[lock] += int(times[1])
            for frame in filter(None, map(_FRAME.search, block.splitlines())):
                names[lock] |= {frame[1], Path(frame[2].partition(":")[0]).name}
    if not reports:
        return NONE if has_ended else SLOW
    first = reports.most_common(1)[0][0]
    return RIGHT if any(re.search(case.lock, name) for name in names[first]) else WRONG
