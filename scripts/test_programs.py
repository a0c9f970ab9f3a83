"""Run real programs under every lock; `./dev test-programs`.

The programs are those of a catalogue that are installed, need no server, and whose input can be
made here. Each runs under each lock with one and with eight threads for each processor, and has to
end as it does under the C library's mutex, with the same output where the catalogue discards it.
A spinning lock with more threads than processors may take for ever by its nature: it is stopped
after a time, and is `slow` if its counts show that threads still came through at the end, `hung`
if they do not.

Results are appended to build/programs.csv as they come, and what is there is not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIELDS = ["program", "threads", "lock", "ending", "seconds", "acquisitions", "output"]
#: As src/preload/counting.hpp has it: magic, header and stripes of eight words each.
STATS_BYTES = 8 * (8 + 64 * 8)
STATS_MAGIC = b"LWSTATS1"
#: Inputs that can be made: name, and megabytes that compress about as text does.
INPUTS = {"data/c12.bin": 12, "data/c60.bin": 60, "data/c120.bin": 120}


def acquisitions(stats: Path) -> int:
    """Locks taken so far, from a file that the counting library keeps up to date."""
    words = struct.unpack(f"={STATS_BYTES // 8}Q", stats.read_bytes())
    return sum(words[9::8])


def expand(command: str, threads: int, prefix: str) -> str:
    """The command line of the catalogue with its places filled."""
    command = command.replace("{P}", prefix).replace("{threads}", str(threads))

    def arithmetic(match: re.Match[str]) -> str:
        if not re.fullmatch(r"[0-9t+*/(), min]+", match[1]):
            raise ValueError(f"not arithmetic: {match[1]}")
        return str(eval(match[1], {"__builtins__": {}}, {"t": threads, "min": min}))

    return re.sub(r"\{=([^}]*)\}", arithmetic, command)


def make_inputs(folder: Path, command: str) -> None:
    """Those files of INPUTS that the command reads, the same on every machine."""
    generator = random.Random(7)
    block = bytes(generator.choices(range(32, 96), k=1_000_000))
    for name, megabytes in INPUTS.items():
        path = folder / name
        if name not in command or (path.exists() and path.stat().st_size == megabytes * 1_000_000):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            for number in range(megabytes):
                cut = number * 7919 % len(block)
                out.write(block[cut:] + block[:cut])


def reason_to_leave_out(program: dict[str, Any]) -> str:
    """Why a program of the catalogue cannot be run here; empty if it can."""
    command = program["command"]
    if program.get("server"):
        return "needs a server"
    if "{P} " not in command:
        return "is not started as others are"
    word = shlex.split(command.split("{P} ")[1])[0]
    if shutil.which(word) is None:
        return f"{word} is not installed ({program['package']})"
    missing = set(re.findall(r"\b(?:data|servers|bin)/[\w./]+", command)) - set(INPUTS)
    return f"nothing here makes {min(missing)}" if missing else ""


def run(command: str, folder: Path, stats: Path, limit: float) -> tuple[str, float, int]:
    """How it ended (ok, failed, slow, hung), after how many seconds, and how many locks it took."""
    begin = time.monotonic()
    process = subprocess.Popen(
        ["sh", "-c", command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        process.wait(limit)
        ending = "ok" if process.returncode == 0 else "failed"
    except subprocess.TimeoutExpired:
        before = acquisitions(stats)
        time.sleep(limit / 4)
        ending = "slow" if acquisitions(stats) > before else "hung"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return ending, time.monotonic() - begin, acquisitions(stats)


def main() -> int:
    """Run what is not in the table yet; the status says whether all ended as they have to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--catalogue", type=Path, default=ROOT / "../shared/data/programs")
    parser.add_argument("--table", type=Path, default=ROOT / "build/programs.csv")
    parser.add_argument("--locks", default="", help="their names, with commas; all if left out")
    parser.add_argument("--programs", default="", help="likewise")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one run")
    chosen = parser.parse_args()
    catalogue = chosen.catalogue / "catalogue.json"
    if not catalogue.exists():
        print(f"test-programs: there is no {catalogue}; nothing is run")
        return 0

    lockwright = ROOT / ".venv/bin/lockwright"
    said = subprocess.run([lockwright, "list", "--json"], capture_output=True, check=True).stdout
    locks = {row["name"]: row for row in json.loads(said)}
    # First, so that it is known what ends under the C library's mutex.
    names = ["pthread", *(name for name in locks if name != "pthread")]
    if chosen.locks:
        names = ["pthread", *(n for n in chosen.locks.split(",") if n != "pthread")]

    folder = ROOT / "build/programs"
    folder.mkdir(parents=True, exist_ok=True)
    done: dict[tuple[str, str, str], str] = {}
    outputs: dict[tuple[str, str, str], str] = {}
    if chosen.table.exists():
        with chosen.table.open() as table:
            for row in csv.DictReader(table):
                run_before = (row["program"], row["threads"], row["lock"])
                done[run_before] = row["ending"]
                outputs[run_before] = row["output"]
    else:
        chosen.table.parent.mkdir(parents=True, exist_ok=True)
        chosen.table.write_text(",".join(FIELDS) + "\n")

    bad = 0
    for program in json.loads(catalogue.read_text()):
        name = program["name"]
        if chosen.programs and name not in chosen.programs.split(","):
            continue
        if reason := reason_to_leave_out(program):
            print(f"{name}: left out: {reason}")
            continue
        make_inputs(folder, program["command"])
        for each in (1, 8):
            threads = each * (os.cpu_count() or 1)
            for lock in names:
                key = (name, str(threads), lock)
                if key not in done:
                    with tempfile.NamedTemporaryFile(prefix="lockwright-") as stats:
                        stats.write(STATS_MAGIC + bytes(STATS_BYTES - len(STATS_MAGIC)))
                        stats.flush()
                        words = [lockwright, "path", "--counting", lock]
                        path = subprocess.run(words, capture_output=True, text=True, check=True)
                        preload = f"LD_PRELOAD={path.stdout.strip()}"
                        prefix = f"env {shlex.quote(preload)} LOCKWRIGHT_STATS={stats.name}"
                        line = expand(program["command"], threads, prefix)
                        line = line.replace("> /dev/null", "> output")
                        output = folder / "output"
                        output.unlink(missing_ok=True)
                        ending, seconds, taken = run(line, folder, Path(stats.name), chosen.limit)
                    outputs[key] = ""
                    if output.exists() and ending == "ok":
                        outputs[key] = hashlib.sha256(output.read_bytes()).hexdigest()[:16]
                        if outputs[key] != outputs.get((name, str(threads), "pthread")):
                            ending = "wrong"
                    done[key] = ending
                    with chosen.table.open("a") as table:
                        csv.writer(table).writerow(
                            [*key, ending, f"{seconds:.1f}", taken, outputs[key]]
                        )
                    print(f"{name} {threads} {lock}: {ending} ({seconds:.1f} s)", flush=True)
                ending = done[key]
                # What does not end under the C library's mutex either proves nothing.
                proves = done[name, str(threads), "pthread"] == "ok"
                may_be_slow = each > 1 and not locks[lock]["parking"]
                good = ending == "ok" or (ending == "slow" and may_be_slow)
                bad += 1 if proves and not good else 0
    print(f"{bad} of {len(done)} runs did not end as they have to; the table is {chosen.table}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
