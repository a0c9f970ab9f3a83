"""No wake-up is lost wherever a thread is stopped at the first contention for a mutex and a
condition variable. `stops.cpp` stops a thread before each instruction of the library in turn.

`stops LIMIT SECONDS`, with a library preloaded, searches on: it stops both threads at random.
"""

import os
import platform
from pathlib import Path

import pytest
from support import harness, locate

pytestmark = [
    locate.native,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="breakpoints are for x86-64"),
]


def stop_under(library: Path, limit: float) -> harness.Outcome:
    """Return how the program ends; limit: seconds after which it counts a round as hung."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKWRIGHT_")}
    env["LD_PRELOAD"] = str(library)
    return harness.run([locate.program("posix", "stops"), str(limit)], env)


@pytest.mark.full("takes a minute; the model checker stops the same threads anywhere")
@pytest.mark.parametrize(
    "lock", [name for name in locate.lock_names() if locate.traits(name)["is_default"]]
)
def test_no_wake_up_is_lost(lock: str) -> None:
    outcome = stop_under(locate.preload(lock), 60)
    assert outcome.status == 0, outcome.describe()
    assert outcome.stdout.count("ok: ") == 6, outcome.describe()


def test_a_wait_that_begins_too_late_is_found() -> None:
    outcome = stop_under(locate.program("posix", "broken_waits_too_late.so"), 3)
    assert outcome.status == 1, outcome.describe()
    assert "does not end" in outcome.stderr, outcome.describe()
