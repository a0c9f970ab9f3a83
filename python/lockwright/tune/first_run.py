"""The run before the race, which shows that the program works and the cost of its mutexes."""

import os
import tempfile
from pathlib import Path

from lockwright.base import invocation
from lockwright.base.errors import LockwrightError
from lockwright.compare.plan import Plan
from lockwright.compare.probe import check_metric, check_time
from lockwright.compare.runner import Runner
from lockwright.preload import locks
from lockwright.profile import record
from lockwright.profile.record import Profile


def profile_first_run(plan: Plan, runner: Runner) -> Profile | None:
    """Return the profile of one run at the largest number of threads; None if it is empty. Raises
    LockwrightError if the run takes too long, or shows no metric."""
    threads = max(plan.threads)
    with tempfile.TemporaryDirectory(prefix="lockwright-") as folder:
        file = Path(folder) / "profile.json"
        # The profiler has no other replacement of reader-writer locks.
        rwlocks = ("--rwlock", "mutex") if os.environ.get(locks.RWLOCK) == "mutex" else ()
        words = [*invocation.command_words(), "profile", "-o", str(file), *rwlocks, "--"]
        answer = runner.run_through(threads, words)
        check_time(plan, threads, answer)
        if answer.problem is not None:
            return None
        check_metric(plan, threads, answer)
        try:
            profile = record.read(file)
        except LockwrightError:
            return None
    return profile if profile.mutexes or profile.rwlocks else None


def lock_counts(profile: Profile) -> dict[str, int]:
    """Return the counts of the first run that a comparison stores."""
    return {
        "mutexes": sum(mutex.instances for mutex in profile.mutexes),
        "acquisitions": round(profile.process.lock_calls),
    }
