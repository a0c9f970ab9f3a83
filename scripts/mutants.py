"""Plant faults in every lock, one at a time; check that the model checker finds each.

A fault is one memory order weakened, one store, wake or fence dropped, or one read-modify-write
split in two. Survivors have to be explained in tests/model/survivors.toml; the search for an
explained fault ends after a tenth of the budget. With 2 seconds for a search all locks take up to
an hour.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support import locate, model, mutants  # noqa: E402  (needs the path above)

VERDICTS = ("caught", "explained", "survived")
ROW_FORMAT = "{:<16} {:>7} {:>10} {:>9}"


def verdict(mutant: mutants.Mutant) -> str:
    """Return the result for a mutant, in one word."""
    if mutant.caught:
        return "caught"
    return "explained" if mutants.explained(mutant) else "survived"


def print_counts(name: str, text: str) -> None:
    """Print the row of a lock, and each survivor below it."""
    tried = mutants.parse(text)
    if not mutants.is_complete(text):
        print(f"{name}: not all mutants were tried\n{text}", end="")
        return
    verdicts = [verdict(mutant) for mutant in tried]
    print(ROW_FORMAT.format(name, *(verdicts.count(word) for word in VERDICTS)))
    for mutant in tried:
        if verdict(mutant) == "survived":
            print(f"    {mutant}")


def main() -> int:
    """Try all mutants; return 1 if one survives unexplained."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locks", default="", help="names with commas; all by default")
    parser.add_argument("--budget", type=float, default=2, help="seconds for a search (2)")
    parser.add_argument("--jobs", type=int, default=model.processors(), help="locks at a time")
    parser.add_argument("--json", type=Path, help="also write every mutant and its verdict")
    options = parser.parse_args()
    names = model.parse_names(options.locks)

    print(ROW_FORMAT.format("algorithm", *VERDICTS), flush=True)

    def arguments(lock: str) -> list[str]:
        return mutants.arguments(lock, options.budget)

    texts = model.run_each(names, arguments, options.jobs, print_counts)
    tried = [mutant for name in names for mutant in mutants.parse(texts[name])]
    if options.json:
        report = [{**asdict(mutant), "verdict": verdict(mutant)} for mutant in tried]
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    verdicts = [verdict(mutant) for mutant in tried]
    totals = {word: verdicts.count(word) for word in VERDICTS}
    print(ROW_FORMAT.format("all", *totals.values()))
    for explanation, why in mutants.stale(tried, everything=not options.locks):
        print(f"stale: {explanation}: {why}")
    untried = [name for name in names if not mutants.is_complete(texts[name])]
    return 1 if totals["survived"] or untried else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (locate.Missing, mutants.Malformed) as problem:
        sys.exit(f"mutants: {problem}")
