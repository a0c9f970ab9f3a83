"""Read valid files with random faults, and report what is no proper answer; `./dev fuzz-files`."""

import argparse
import itertools
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import file_fuzzing  # noqa: E402  (needs the path above)


def main() -> int:
    """Read files until the time is used up; return 1 if one was not read or refused properly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="in all (30)")
    parser.add_argument("--seed", type=int, default=1, help="the first (1)")
    parser.add_argument("--reader", default="", help="those with this in their name only (all)")
    options = parser.parse_args()
    readers = [each for each in file_fuzzing.READERS if options.reader in each.name]
    if not readers:
        parser.error(f"choose --reader from: {', '.join(x.name for x in file_fuzzing.READERS)}")
    end = time.monotonic() + 60 * options.minutes
    files = 0
    problems: set[str] = set()
    with tempfile.TemporaryDirectory() as name:
        for seed in itertools.count(options.seed):
            for number, reader in enumerate(readers):
                folder = Path(name) / str(number)
                folder.mkdir(exist_ok=True)
                problem = file_fuzzing.problem_of(reader, folder, seed)
                files += 1
                # Faults of one statement differ in the last line at most.
                kind = reader.file + "".join(problem.splitlines()[-3:-1] or [problem])
                if problem and kind not in problems:
                    problems.add(kind)
                    print(f"seed {seed}, {reader.name}:\n{problem}", flush=True)
            if time.monotonic() > end:
                break
    print(
        f"{files} files, {files // len(readers)} for each of {len(readers)} readers, from seed"
        f" {options.seed} on: {len(problems)} kinds of fault"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
