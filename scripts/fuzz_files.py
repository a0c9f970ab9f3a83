"""Read files with random faults; report all but a clean result or error; `./dev fuzz-files`."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import file_fuzzing  # noqa: E402  (needs the path above)

#: Files that one reader reads before the next reader's turn.
_TURN = 100


@dataclass
class Effort:
    """What one reader has done: its files, and the processor time of reading them."""

    files: int = 0
    seconds: float = 0.0


def _load(path: Path | None) -> dict[str, Effort]:
    if path is None or not path.exists():
        return {}
    return {name: Effort(**each) for name, each in json.loads(path.read_text()).items()}


def _save(path: Path | None, efforts: dict[str, Effort]) -> None:
    if path is not None:
        new = path.with_name(f"{path.name}.new")
        new.write_text(json.dumps({name: asdict(each) for name, each in efforts.items()}, indent=1))
        new.replace(path)


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _print_table(efforts: dict[str, Effort]) -> None:
    print(f"{'reader':36} {'files':>10} {'processor minutes':>18}")
    for name, each in efforts.items():
        print(f"{name:36} {each.files:10,} {each.seconds / 60:18.1f}")
    files, seconds = (
        sum(getattr(x, key) for x in efforts.values()) for key in ("files", "seconds")
    )
    print(f"{'all':36} {files:10,} {seconds / 60:18.1f}")


def _fuzz(
    readers: Sequence[file_fuzzing.Reader],
    efforts: dict[str, Effort],
    options: argparse.Namespace,
) -> int:
    """Read files until the time is used up; return how many kinds of fault were found."""
    kinds: set[str] = set()
    end = time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory() as name:
        while time.monotonic() < end:
            reader = min(readers, key=lambda each: efforts[each.name].seconds)
            folder = Path(name) / str(readers.index(reader))
            folder.mkdir(exist_ok=True)
            effort = efforts[reader.name]
            begin = _processor_seconds()
            first = options.seed + effort.files
            problems = file_fuzzing.problems_of(reader, folder, range(first, first + _TURN))
            effort.files += _TURN
            effort.seconds += _processor_seconds() - begin
            _save(options.state, efforts)
            for seed, problem in problems.items():
                # Faults of one statement differ in the last line at most.
                kind = reader.file + "".join(problem.splitlines()[-3:-1] or [problem])
                if kind not in kinds:
                    kinds.add(kind)
                    print(f"seed {seed}, {reader.name}:\n{problem}", flush=True)
    return len(kinds)


def main() -> int:
    """Read files until the time is used up; return 1 if one was not read or refused properly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30, help="total minutes (30)")
    parser.add_argument("--seed", type=int, default=1000, help="the first (1000)")
    parser.add_argument(
        "--reader",
        action="append",
        default=[],
        help="those with this in their name only, may be repeated (all)",
    )
    parser.add_argument(
        "--state",
        type=Path,
        help="a file that keeps the files and seconds of each reader; continues",
    )
    options = parser.parse_args()
    readers = [
        each
        for each in file_fuzzing.READERS
        if not options.reader or any(part in each.name for part in options.reader)
    ]
    if not readers:
        parser.error(f"choose --reader from: {', '.join(x.name for x in file_fuzzing.READERS)}")
    efforts = _load(options.state)
    for reader in readers:
        efforts.setdefault(reader.name, Effort())
    kinds = 0
    try:
        kinds = _fuzz(readers, efforts, options)
    finally:
        _print_table(efforts)
    print(f"{kinds} kinds of fault")
    return 1 if kinds else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
