"""Check every lock on the model checker and print one table; about an hour on two processors."""

import argparse
import csv
import json
import sys
import time
from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import locate, model  # noqa: E402  (needs the path above)

ROW_FORMAT = "{:<16} {:<20} {:>7} {:>13}  {:<11} {:>8}  {}"


def print_rows(_: str, text: str) -> None:
    """Print the rows of one lock, or the checker's entire output if one fails."""
    rows = model.rows(text)
    if not rows or any(row.verdict != "passed" for row in rows):
        print(text, end="")
        return
    for row in rows:
        print(ROW_FORMAT.format(*asdict(row).values()))


def write(rows: list[model.Row], path: Path) -> None:
    """Write the rows as CSV or JSON, by the name of the file."""
    with path.open("w", newline="") as file:
        if path.suffix == ".json":
            json.dump([asdict(row) for row in rows], file, indent=1)
            file.write("\n")
        else:
            writer = csv.DictWriter(file, [field.name for field in fields(model.Row)])
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)


def main() -> int:
    """Check the locks; return 1 if anything fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locks", default="", help="names with commas; all by default")
    parser.add_argument("--budget", type=float, default=10, help="seconds for a search (10)")
    parser.add_argument("--threads", type=int, choices=range(2, 6), help="of each program")
    parser.add_argument("--scenario", default="", help="this program only")
    parser.add_argument("--jobs", type=int, default=model.processors(), help="locks at a time")
    parser.add_argument("--output", type=Path, help="also write the table, as .csv or .json")
    options = parser.parse_args()
    names = model.parse_names(options.locks)
    arguments = ["locks", "--budget", str(options.budget), "--trace"]
    if options.threads:
        arguments += ["--threads", str(options.threads)]
    if options.scenario:
        arguments += ["--scenario", options.scenario]

    begin = time.monotonic()
    print(ROW_FORMAT.format(*(field.name for field in fields(model.Row))), flush=True)
    texts = model.run_each(names, lambda _: arguments, options.jobs, print_rows)
    rows = [row for name in names for row in model.rows(texts[name])]
    if options.output:
        write(rows, options.output)
    without_rows = [name for name in names if not model.rows(texts[name]) and not options.scenario]
    failed = [row for row in rows if row.verdict != "passed"]
    extents = Counter(row.extent.partition("=")[0] for row in rows)
    minutes = (time.monotonic() - begin) / 60
    print(
        f"\n{len(names)} locks, {len(rows)} programs: {extents['exhaustive']} in every "
        f"interleaving, {extents['bound']} up to a bound, {extents['random']} at random; "
        f"{sum(row.interleavings for row in rows):,} interleavings in {minutes:.0f} min; "
        f"{len(failed)} failed"
    )
    for name in without_rows:
        print(f"{name}: no program was run")
    return 1 if failed or without_rows or not rows else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except locate.Missing as missing:
        sys.exit(f"model: {missing}")
