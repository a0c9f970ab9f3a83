"""Run real programs under every lock; `./dev test-programs`.

The programs are those of a catalogue that are installed and whose input can be made here; of a
server and its client, the server runs under the lock. Each runs under each lock with one and with
eight threads for each processor, shortened to about a second, and has to end as it does under the
C library's mutex, with the same output where that does not depend on chance. A spinning lock with
more threads than processors may take for ever by its nature: these runs come last, and such a one
is stopped after a time, and is `slow` if its counts show that threads still came through at the
end, `hung` if they do not.

Results are appended to build/programs.csv as they come, and what is there is not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import program_servers
from lockwright.preload import counters
from program_inputs import INPUTS, CannotPrepare, administrators, last_lines, make_inputs

ROOT = Path(__file__).resolve().parent.parent
FIELDS = ["program", "threads", "lock", "ending", "seconds", "acquisitions", "output"]
#: Programs that write the same to -o whatever the threads do.
SAME_OUTPUT = {"gnu_sort", "x264"}
#: Ports that a server is given in turn while others take them.
TRIES = 5
#: How much less of what is counted is done than the catalogue says.
SHORTER = 16


@dataclass(frozen=True)
class Outcome:
    """How a run ended: ok, failed, slow or hung; after how many seconds; the locks it took; and
    what it or its server said last."""

    ending: str
    seconds: float
    acquisitions: int
    said: str = ""


def acquisitions(stats: Path) -> int:
    """Locks taken so far, from a file that the counting library keeps up to date."""
    return counters.read(stats).acquisitions


def shorten(command: str) -> str:
    """A run of the catalogue takes 1 to 5 seconds; one that asks whether it ends needs less."""
    command = re.sub(
        r"\{=[^}]*\}",
        lambda sum_: re.sub(r"\d{5,}", lambda n: str(int(n[0]) // SHORTER), sum_[0]),
        command,
    )
    # Whether a program ends does not depend on where its files are, and there they have room.
    command = command.replace("/dev/shm/", "files/")
    command = re.sub(
        r"((?:--duration|--time)=|--timeout |-D |-d)[23](s?)(?= |$)", r"\g<1>1\2", command
    )
    return command.replace("-t 3s", "-t 1s").replace("-n 1500000 ", "-n 10000 ")


def expand(command: str, threads: int, prefix: str, catalogue: Path) -> str:
    """The command line of the catalogue with its places filled."""
    command = command.replace("{P}", prefix).replace("{threads}", str(threads))
    command = command.replace("{here}", shlex.quote(str(catalogue)))

    def arithmetic(match: re.Match[str]) -> str:
        if not re.fullmatch(r"[0-9t+*/(), min]+", match[1]):
            raise ValueError(f"not arithmetic: {match[1]}")
        return str(eval(match[1], {"__builtins__": {}}, {"t": threads, "min": min}))

    return re.sub(r"\{=([^}]*)\}", arithmetic, command)


def reason_to_leave_out(program: dict[str, Any]) -> str:
    """Why a program of the catalogue cannot be run here; empty if it can."""
    command = program["command"]
    server = program.get("server")
    if server:
        word = program_servers.missing(server) or shlex.split(command)[0]
        if not program_servers.PORT.search(command):
            return "is a server that is not known here"
    elif "{P} " not in command:
        return "is not started as others are"
    else:
        word = shlex.split(command.split("{P} ")[1])[0]
    if shutil.which(word) is None:
        return f"{word} is not installed ({program['package']})"
    if "needs" in program and not list(Path("/").glob(program["needs"].lstrip("/"))):
        return f"there is no {program['needs']} ({program['package']})"
    needed = set(re.findall(r"(?<!\S)(?:data|bin)/[\w./]+|(?<!\S)/usr/lib/\S+", command))
    absent = {name for name in needed - set(INPUTS) if not Path(name).is_absolute()}
    absent |= {name for name in needed if Path(name).is_absolute() and not Path(name).exists()}
    return f"nothing here makes {min(absent)}" if absent else ""


def version(command: str) -> str:
    """The first line that such a command prints."""
    said = subprocess.run(
        shlex.split(command),
        env=administrators(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return said.stdout.partition("\n")[0]


def run(command: str, folder: Path, stats: Path, limit: float) -> Outcome:
    """One program, or the client of a server that runs."""
    begin = time.monotonic()
    errors = folder / "errors.log"
    with errors.open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-ec", command],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
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
    return Outcome(ending, time.monotonic() - begin, acquisitions(stats), last_lines(errors))


def serve(server: str, client: str, folder: Path, stats: Path, limit: float, port: int) -> Outcome:
    """A client against a server of its own, which has to end when it is asked to."""
    begin = time.monotonic()
    started = program_servers.Server(server, folder, port)
    try:
        if started.await_ready(limit):
            outcome = run(client, folder, stats, limit)
        else:
            outcome = Outcome("hung" if started.runs() else "failed", 0, acquisitions(stats))
        survived = started.runs()
    finally:
        ended = started.end(limit)
    ending = outcome.ending
    if ending == "ok" and not (survived and ended):
        ending = "failed"
    said = f"client: {outcome.said or 'nothing'}; server: {started.said() or 'nothing'}"
    return Outcome(ending, time.monotonic() - begin, acquisitions(stats), said)


class Campaign:
    """The table of what has been run, and the folder where programs run."""

    def __init__(self, catalogue: Path, table: Path, folder: Path, limit: float) -> None:
        self._catalogue = catalogue
        self._table = table
        self._folder = folder
        self._limit = limit
        self.endings: dict[tuple[str, int, str], str] = {}
        self._outputs: dict[tuple[str, int, str], str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if table.exists():
            with table.open() as lines:
                for row in csv.DictReader(lines):
                    key = (row["program"], int(row["threads"]), row["lock"])
                    self.endings[key] = row["ending"]
                    self._outputs[key] = row["output"]
        else:
            table.parent.mkdir(parents=True, exist_ok=True)
            table.write_text(",".join(FIELDS) + "\n")

    def ending(self, program: dict[str, Any], threads: int, lock: str) -> str:
        """From the table, or by running it."""
        key = (program["name"], threads, lock)
        if key not in self.endings:
            self._run(program, threads, lock)
        return self.endings[key]

    def _run(self, program: dict[str, Any], threads: int, lock: str) -> None:
        name = program["name"]
        key = (name, threads, lock)
        command = shorten(program["command"]).replace("> /dev/null", "> output")
        if name in SAME_OUTPUT:
            command = command.replace("-o /dev/null", "-o output")
        (self._folder / "files").mkdir(exist_ok=True)
        make_inputs(self._folder, command)
        output = self._folder / "output"
        output.unlink(missing_ok=True)
        with counters.counters_file() as stats:
            words = [str(ROOT / ".venv/bin/lockwright"), "path", "--counting", lock]
            path = subprocess.run(words, capture_output=True, text=True, check=True)
            preload = f"LD_PRELOAD={path.stdout.strip()}"
            prefix = f"env {shlex.quote(preload)} {counters.VARIABLE}={stats}"
            line = expand(command, threads, prefix, self._catalogue)
            if program.get("server"):
                outcome = self._serve(program["server"], line, threads, prefix, stats)
            else:
                outcome = run(line, self._folder, stats, self._limit)
        ending, digest = outcome.ending, ""
        if output.exists() and ending == "ok":
            digest = hashlib.sha256(output.read_bytes()).hexdigest()[:16]
            if digest != self._outputs.get((name, threads, "pthread"), digest):
                ending = "wrong"
        self.endings[key] = ending
        self._outputs[key] = digest
        row = [*key, ending, f"{outcome.seconds:.1f}", outcome.acquisitions, digest]
        with self._table.open("a") as table:
            csv.writer(table).writerow(row)
        why = f": {outcome.said}" if ending != "ok" and outcome.said else ""
        print(f"{name} {threads} {lock}: {ending} ({outcome.seconds:.1f} s){why}", flush=True)

    def _serve(self, server: str, client: str, threads: int, prefix: str, stats: Path) -> Outcome:
        for _ in range(TRIES):
            port = program_servers.free_port()
            command = program_servers.prepare(self._folder, server, threads, prefix, port)
            there = program_servers.at_port(client, port)
            outcome = serve(command, there, self._folder, stats, self._limit, port)
            # Another program may have taken the port before the server did.
            if outcome.ending != "failed" or "ddress already in use" not in outcome.said:
                break
        return outcome


def main() -> int:
    """Run what is not in the table yet; the status says whether all ended as they have to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--catalogue", type=Path, default=ROOT / "tests/apps/catalogue")
    parser.add_argument("--table", type=Path, default=ROOT / "build/programs.csv")
    parser.add_argument("--locks", default="", help="their names, with commas; all if left out")
    parser.add_argument("--programs", default="", help="likewise")
    parser.add_argument("--per-processor", default="1,8", help="threads; likewise")
    parser.add_argument("--long", action="store_true", help="those that take minutes, too")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/programs", help="to run in")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one run")
    chosen = parser.parse_args()
    catalogue = chosen.catalogue / "catalogue.json"
    if not catalogue.exists():
        print(f"test-programs: there is no {catalogue}; name its folder", file=sys.stderr)
        return 2

    lockwright = ROOT / ".venv/bin/lockwright"
    said = subprocess.run([lockwright, "list", "--json"], capture_output=True, check=True).stdout
    locks = {row["name"]: row for row in json.loads(said)}
    # First, so that it is known what ends under the C library's mutex.
    names = ["pthread", *(name for name in locks if name != "pthread")]
    if chosen.locks:
        names = ["pthread", *(n for n in chosen.locks.split(",") if n != "pthread")]

    programs = []
    for program in json.loads(catalogue.read_text()):
        if chosen.programs and program["name"] not in chosen.programs.split(","):
            continue
        if program.get("long") and not chosen.long:
            continue
        if reason := reason_to_leave_out(program):
            print(f"{program['name']}: left out: {reason}")
            continue
        programs.append(program)
        if "version" in program:
            print(f"{program['name']}: {version(program['version'])}")

    campaign = Campaign(
        chosen.catalogue.resolve(), chosen.table, chosen.folder.resolve(), chosen.limit
    )
    try:
        return _run_all(campaign, programs, names, locks, chosen)
    except CannotPrepare as error:
        print(f"test-programs: {error}", file=sys.stderr)
        return 1


def _run_all(
    campaign: Campaign,
    programs: list[dict[str, Any]],
    names: list[str],
    locks: dict[str, Any],
    chosen: argparse.Namespace,
) -> int:
    bad = 0
    for by_nature_slow in (False, True):
        for program in programs:
            for each in map(int, chosen.per_processor.split(",")):
                threads = each * (os.cpu_count() or 1)
                for lock in names:
                    if (each > 1 and not locks[lock]["parking"]) != by_nature_slow:
                        continue
                    ending = campaign.ending(program, threads, lock)
                    # What does not end under the C library's mutex either proves nothing.
                    proves = campaign.endings[program["name"], threads, "pthread"] == "ok"
                    good = ending == "ok" or (ending == "slow" and by_nature_slow)
                    bad += 1 if proves and not good else 0
    runs = len(campaign.endings)
    print(f"{bad} of {runs} runs did not end as they have to; the table is {chosen.table}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
