"""Compares the change that `lockwright advise` names first with the options of the programs of
tests/bottlenecks: each program is profiled and advised on, and then runs with each of its options
and under the best lock to try, in interleaved rounds. Prints a table, and how often the named
change is the best one."""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TIE = 0.05
"""A change that is behind the best one by no more counts as the best, too."""

OTHER_LOCK = "another lock"

PROGRAMS: dict[str, dict[str, str]] = {
    "high_contention": {"smaller section": "--section 0.5", "sharding": "--shards 8"},
    "extreme_contention": {"smaller section": "--section 0.5", "sharding": "--shards 8"},
    "trylock_contention": {
        "smaller section": "--section 0.5",
        "sharding": "--shards 8",
        "lock": "--lock 1",
    },
    "uncontended_acquisitions": {
        "batch": "--batch 8",
        "atomic": "--atomic 1",
        "sharding": "--shards 8",
    },
    "holder_preemption": {
        "smaller section": "--section 0.5",
        "sharding": "--shards 8",
        "fewer threads": "--threads {processors}",
    },
    "hand_over": {"poll": "--poll 1"},
    "page_clearing": {"parallel creation": "--parallel 1", "one table of mutexes": "--table 1024"},
    "fault_handler": {"reuse": "--reuse 1", "one mutex for each thread": "--shared 1"},
    "memory_contention": {
        "less memory": "--memory 0.004",
        "sharding": "--shards 8",
        "atomic": "--atomic 1",
    },
}
"""The options of each program, by the kind of the change in the advice; or by a name, where the
advice has no such change."""


@dataclass(frozen=True)
class Advised:
    """What the advice names. kind: of the change with the largest gain; gain: as text; lock: the
    best one to try, or empty."""

    kind: str
    gain: str
    lock: str


def advised(command: str, program: Path, folder: Path) -> Advised:
    """Profile a program and return the advice on it."""
    path = folder / "profile.json"
    profile = [command, "profile", "-o", str(path), "--", str(program)]
    subprocess.run(profile, check=True, capture_output=True, timeout=60)
    done = subprocess.run(
        [command, "advise", path, "--json"], check=True, capture_output=True, timeout=120
    )
    advice = json.loads(done.stdout)
    predicted = advice["predicted"] or {"gains": []}
    shortlist = [each["lock"] for each in advice["shortlist"]]
    gains = [gain for gain in predicted["gains"] if gain["throughput"] is not None]
    locks = [gain["text"] for gain in gains if gain["change"] is None]
    lock = (locks or shortlist or [""])[0]
    # A change without a gain is named all the same, if there is nothing else but another lock.
    changes = [gain for gain in predicted["gains"] if gain["change"] is not None]
    if not changes:
        return Advised(OTHER_LOCK if lock else "-", "-", lock)
    best = max(changes, key=lambda gain: gain["throughput"] or 0.0)
    if best["throughput"] is None:
        return Advised(best["kind"], "-", lock)
    text = f"{'at most ' if best['at_most'] else ''}{best['throughput']:.2f}"
    return Advised(best["kind"], text, lock)


def rate(command: str, program: Path, words: list[str], lock: str) -> float:
    """Return the rate that a run of a program prints."""
    prefix = [command, "run", "--lock", lock, "--"] if lock else []
    done = subprocess.run(
        [*prefix, program, *words], check=True, capture_output=True, text=True, timeout=60
    )
    found = re.search(r"^rate: ([\d.e+-]+)$", done.stdout, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{program} printed no rate")
    return float(found[1])


def compare(command: str, program: Path, rounds: int, processors: int) -> dict[str, object]:
    """Return the advice on a program, and the gains of its options."""
    with tempfile.TemporaryDirectory() as folder:
        advice = advised(command, program, Path(folder))
    options = {
        kind: text.format(processors=processors).split()
        for kind, text in PROGRAMS[program.name.removeprefix("bottleneck_")].items()
    }
    forms: dict[str, tuple[list[str], str]] = {"": ([], "")}
    forms |= {kind: (words, "") for kind, words in options.items()}
    if advice.lock:
        forms[OTHER_LOCK] = ([], advice.lock)
    rates: dict[str, list[float]] = {form: [] for form in forms}
    for number in range(rounds):
        order = list(forms)
        random.Random(number).shuffle(order)
        for form in order:
            words, lock = forms[form]
            rates[form].append(rate(command, program, words, lock))
    base = statistics.median(rates.pop(""))
    gains = {form: statistics.median(values) / base for form, values in rates.items()}
    best = max(gains, key=lambda form: gains[form])
    named = gains.get(advice.kind, 0.0)
    return {
        "program": program.name.removeprefix("bottleneck_"),
        "named": advice.kind,
        "predicted": advice.gain,
        "best": best,
        "right": named >= (1 - TIE) * gains[best],
        "measured": {form: round(gain, 3) for form, gain in gains.items()},
    }


def main() -> int:
    """Compare the programs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the programs, as build/debug/tests")
    parser.add_argument("--command", default="lockwright", help="the lockwright command")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="some of them, with commas")
    parser.add_argument("--runs", type=int, default=3, help="rounds of each program")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    processors = len(os.sched_getaffinity(0))
    results = []
    begin = time.monotonic()
    for name in options.programs.split(","):
        found = sorted(options.folder.rglob(f"*{name}"))
        if name not in PROGRAMS or not found:
            raise SystemExit(f"there is no program {name} in {options.folder}")
        result = compare(options.command, found[0], options.runs, processors)
        results.append(result)
        print(" | ".join(str(value) for value in result.values()))
    right = sum(bool(result["right"]) for result in results)
    print(
        f"The named change is the best one, or within {100 * TIE:.0f} % of it, in {right} of"
        f" {len(results)} programs ({time.monotonic() - begin:.0f} s)."
    )
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
