"""Compares the change that `lockwright advise` names first with the options of the programs of
tests/bottlenecks: each program is profiled, and then runs with each of its options and under the
first lock to try, in interleaved rounds. Prints a table, and how often the named change is the best
one. With --advise the profiles and runs of the last call are used again."""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
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
    """What the advice names: the kind of the change with the largest gain, and this as text."""

    kind: str
    gain: str


def advised(command: str, profile: Path) -> Advised:
    """Return the advice on a profile."""
    done = subprocess.run(
        [command, "advise", str(profile), "--json", "-"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    advice = json.loads(done.stdout)
    predicted = advice["predicted"] or {"gains": []}
    if predicted.get("reason"):
        raise SystemExit(f"no gain is predicted: {predicted['reason']}")
    if not advice["changes"]:
        return Advised(OTHER_LOCK if advice["shortlist"] else "-", "-")
    # A change without a gain is named all the same, if there is nothing but another lock.
    changes = [gain for gain in predicted["gains"] if gain["change"] is not None]
    best = max(changes, key=lambda gain: gain["throughput"] or 0.0)
    locks = [gain for gain in predicted["gains"] if gain["change"] is None and gain["throughput"]]
    if best["throughput"] is None:
        return Advised(best["kind"], "-")
    if locks and locks[0]["throughput"] > best["throughput"]:
        best = locks[0]
    return Advised(best["kind"], f"{'at most ' if best['at_most'] else ''}{best['throughput']:.2f}")


def first_lock(command: str, profile: Path) -> str:
    """Return the first lock to try; empty without one."""
    done = subprocess.run(
        [command, "advise", str(profile), "--json", "-", "--no-predict"],
        check=True,
        capture_output=True,
        timeout=60,
    )
    shortlist = json.loads(done.stdout)["shortlist"]
    return str(shortlist[0]["lock"]) if shortlist else ""


def rate(command: str, program: Path, words: list[str], lock: str) -> float:
    """Return the rate that a run of a program prints."""
    prefix = [command, "run", "--lock", lock, "--"] if lock else []
    done = subprocess.run(
        [*prefix, str(program), *words], check=True, capture_output=True, text=True, timeout=60
    )
    found = re.search(r"^rate: ([\d.e+-]+)$", done.stdout, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{program} printed no rate")
    return float(found[1])


def measure(command: str, name: str, program: Path, profile: Path, rounds: int) -> dict[str, float]:
    """Profile a program, and return the gains of its options."""
    subprocess.run(
        [command, "profile", "-o", str(profile), "--", str(program)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    processors = len(os.sched_getaffinity(0))
    forms: dict[str, tuple[list[str], str]] = {"": ([], "")}
    for kind, text in PROGRAMS[name].items():
        forms[kind] = (text.format(processors=processors).split(), "")
    lock = first_lock(command, profile)
    if lock:
        forms[OTHER_LOCK] = ([], lock)
    rates: dict[str, list[float]] = {form: [] for form in forms}
    for number in range(rounds):
        order = list(forms)
        random.Random(number).shuffle(order)
        for form in order:
            rates[form].append(rate(command, program, *forms[form]))
    base = statistics.median(rates.pop(""))
    return {form: round(statistics.median(each) / base, 3) for form, each in rates.items()}


def main() -> int:
    """Compare the programs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with the programs, as build/debug/tests")
    parser.add_argument("--command", default="lockwright", help="the lockwright command")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="some of them, with commas")
    parser.add_argument("--runs", type=int, default=3, help="rounds of each program")
    parser.add_argument("--work", type=Path, required=True, help="folder of profiles and results")
    parser.add_argument("--advise", action="store_true", help="measure nothing, advise again")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    results = options.work / "gains.json"
    gains: dict[str, dict[str, float]] = json.loads(results.read_text()) if results.exists() else {}
    names = options.programs.split(",")
    for name in names:
        found = sorted(
            each for each in options.folder.rglob(f"*{name}") if os.access(each, os.X_OK)
        )
        if name not in PROGRAMS or not found:
            raise SystemExit(f"there is no program {name} in {options.folder}")
        if not options.advise:
            profile = options.work / f"{name}.json"
            gains[name] = measure(options.command, name, found[0], profile, options.runs)
            results.write_text(json.dumps(gains, indent=1) + "\n")
    right = 0
    for name in names:
        named = advised(options.command, options.work / f"{name}.json")
        best = max(gains[name], key=lambda form: gains[name][form])
        is_right = gains[name].get(named.kind, 0.0) >= (1 - TIE) * gains[name][best]
        right += is_right
        measured = ", ".join(f"{form} {gain:.2f}" for form, gain in gains[name].items())
        verdict = "best" if is_right else f"not the best, which is {best}"
        print(f"{name}: {named.kind}, predicted {named.gain}: {verdict}; measured: {measured}")
    print(
        f"The named change is the best one, or within {100 * TIE:.0f} % of it, in {right} of"
        f" {len(names)} programs."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
