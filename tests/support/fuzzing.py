"""Random programs that have to observe the same under every lock as under the C library."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from support import harness, locate

#: Seconds for one program. Its waits for what never comes are what this has to end.
LIMIT = 120


@dataclass(frozen=True)
class Difference:
    """What a program observed under a lock but not under the C library."""

    seed: int
    steps: int
    lock: str
    description: str


def observe(
    setting: harness.Setting, seed: int, steps: int, extra: Mapping[str, str] | None = None
) -> harness.Outcome:
    """The trace of the program that belongs to the seed."""
    argv: list[str | Path] = [locate.program("fuzz", "fuzz"), str(seed), str(steps)]
    return harness.run(argv, harness.environment(setting, extra=extra), LIMIT)


def first_difference(expected: str, observed: str) -> str:
    """Both sides from three lines before the first line that differs."""
    pairs = list(zip_longest(expected.splitlines(), observed.splitlines(), fillvalue="(nothing)"))
    at = next((n for n, (one, other) in enumerate(pairs) if one != other), len(pairs))
    shown = [f"  {one}" for one, _ in pairs[max(0, at - 12) : at]]
    shown += [f"  C library: {one}\n  the lock:  {other}" for one, other in pairs[at : at + 3]]
    return "\n".join(shown)


def compare(
    reference: harness.Outcome,
    setting: harness.Setting,
    seed: int,
    steps: int,
    extra: Mapping[str, str] | None = None,
) -> Difference | None:
    """None if the program observes under the lock what it does by the reference."""
    outcome = observe(setting, seed, steps, extra)
    if (outcome.status, outcome.stdout, outcome.stderr) == (0, reference.stdout, ""):
        return None
    seen = first_difference(reference.stdout, outcome.stdout)
    told = "" if outcome.status == 0 and not outcome.stderr else outcome.describe()
    return Difference(seed, steps, setting.label, f"{seen}\n{told}")
