"""Random programs that have to observe the same under every lock as under the C library."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from support import harness, locate

#: Seconds after which a program counts as hung.
LIMIT = 120


@dataclass(frozen=True)
class Difference:
    """A description of what a program observed under a lock and not under the C library."""

    seed: int
    steps: int
    lock: str
    description: str


def observe(
    setting: harness.Setting, seed: int, steps: int, extra: Mapping[str, str] | None = None
) -> harness.Outcome:
    """Run the program of the seed; its output is the trace."""
    argv: list[str | Path] = [locate.program("fuzz", "fuzz"), str(seed), str(steps)]
    return harness.run(argv, harness.environment(setting, extra=extra), LIMIT)


def first_difference(expected: str, observed: str) -> str:
    """Return both traces around the first line that differs: 12 lines before it, 3 from it on."""
    pairs = list(zip_longest(expected.splitlines(), observed.splitlines(), fillvalue="(nothing)"))
    first = next((n for n, (left, right) in enumerate(pairs) if left != right), len(pairs))
    lines = [f"  {left}" for left, _ in pairs[max(0, first - 12) : first]]
    lines += [f"  C library: {a}\n  the lock:  {b}" for a, b in pairs[first : first + 3]]
    return "\n".join(lines)


def compare(
    reference: harness.Outcome,
    setting: harness.Setting,
    seed: int,
    steps: int,
    extra: Mapping[str, str] | None = None,
) -> Difference | None:
    """Return the difference between the program's trace and the reference, or None."""
    outcome = observe(setting, seed, steps, extra)
    if (outcome.status, outcome.stdout, outcome.stderr) == (0, reference.stdout, ""):
        return None
    traces = first_difference(reference.stdout, outcome.stdout)
    ending = "" if outcome.status == 0 and not outcome.stderr else outcome.describe()
    return Difference(seed, steps, setting.label, f"{traces}\n{ending}")
