"""Run random programs under locks and under the C library, and compare; `./dev fuzz`."""

import argparse
import itertools
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from lockwright.preload.locks import RWLOCK  # noqa: E402
from support import fuzzing, harness, locate  # noqa: E402  (needs the path above)


def one_lock_per_waiting_policy() -> list[str]:
    """Return the first lock of the registry for each waiting policy."""
    first: dict[str, str] = {}
    for name in locate.lock_names():
        first.setdefault(str(locate.traits(name)["waiting"]), name)
    return list(first.values())


def main() -> int:
    """Run programs until the time is used up; return 1 if one differed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="for each lock (30)")
    parser.add_argument("--locks", default="", help="names with commas; one of each waiting policy")
    parser.add_argument(
        "--rwlocks", default="", help="names with commas; all by default, a program has one of them"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first (the time)")
    parser.add_argument("--steps", type=int, default=300, help="of each program (300)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    locks = options.locks.split(",") if options.locks else one_lock_per_waiting_policy()
    rwlocks = options.rwlocks.split(",") if options.rwlocks else locate.rwlock_names()
    for unknown in sorted({*rwlocks} - {*locate.rwlock_names()}):
        parser.error(f"there is no reader-writer lock '{unknown}'; lockwright list --reader-writer")
    variables = dict(word.split("=", 1) for word in options.set)
    spent = dict.fromkeys(locks, 0.0)
    differences = 0
    programs = 0
    print(f"{', '.join(locks)}; programs of {options.steps} steps from seed {options.seed} on")
    for seed in itertools.count(options.seed):
        active = [lock for lock in locks if spent[lock] < 60 * options.minutes]
        if not active:
            break
        begin = time.monotonic()
        reference = fuzzing.observe(harness.Setting(harness.LIBC), seed, options.steps)
        share = (time.monotonic() - begin) / len(active)
        if not reference.stdout.endswith("\nend\n"):
            print(f"seed {seed} under the C library: {reference.describe()}")
            return 1
        programs += 1
        for lock in active:
            begin = time.monotonic()
            setting = harness.Setting(lock)
            rwlock = rwlocks[(seed + locks.index(lock)) % len(rwlocks)]
            settings = {RWLOCK: rwlock} | variables
            difference = fuzzing.compare(reference, setting, seed, options.steps, settings)
            spent[lock] += time.monotonic() - begin + share
            if difference is not None:
                differences += 1
                print(f"seed {seed}, {lock}, {settings}:\n{difference.description}", flush=True)
        if programs % 20 == 0:
            left = sum(max(0.0, 60 * options.minutes - seconds) for seconds in spent.values())
            print(f"{programs} programs, {differences} differences, {left / 60:.0f} min to go")
            sys.stdout.flush()
    print(f"{programs} programs, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except locate.Missing as missing:
        sys.exit(f"fuzz: {missing}")
