"""Valid files with random faults, read by the command as a user would; `./dev fuzz-files`.

The files are read in processes forked from this one, which saves the imports; each process reads
many, until one has a fault. An audit hook of the interpreter there reports files written outside
the folder, and programs executed.
"""

import contextlib
import gc
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from lockwright import cli
from lockwright.base.errors import LockwrightError, explain
from lockwright.compare import baseline
from lockwright.compare.experiment import ranking
from lockwright.compare.plan import Plan
from lockwright.elf import file as elf
from lockwright.elf.debug_files import build_id, debug_file
from lockwright.elf.lines import addresses_of
from lockwright.elf.symbols import SymbolTable
from lockwright.experiment import Outcome, Runs
from lockwright.experiment.schedule import Schedule
from lockwright.experiment.session import difference, seconds_left
from lockwright.experiment.store import Store
from lockwright.machine import calibration
from lockwright.metrics import exposition, segment
from lockwright.metrics.call_sites import CallSites
from lockwright.plan import read as plans
from lockwright.predict.derive import check, derive
from lockwright.preload import counters, locks
from lockwright.preload.layouts import layouts
from lockwright.profile import record as profiles
from lockwright.simulate import machine
from lockwright.simulate import model as models
from lockwright_lab import PACKAGE
from lockwright_lab.study.campaign import plan as studies
from lockwright_lab.study.campaign.experiment import (
    declare,
    probes_of,
    run_of,
    runs_for,
    slot_of,
)
from lockwright_lab.study.campaign.results import StudyFile
from lockwright_lab.study.campaign.session import bad_endings, summary
from predict import examples

from support import buffer_reader
from support.file_faults import mutate
from support.made_profile import made_profile
from support.made_runs import made_run

#: Seconds of processor time, and of all time, after which a reader counts as hung. The second is
#: long, for a machine may stop a process for minutes.
LIMIT, LONG_LIMIT = 60, 900


@dataclass(frozen=True)
class Reader:
    """A kind of file. write: makes a valid one; read: reads it, and returns an exit status."""

    name: str
    file: str
    write: Callable[[Path], None]
    read: Callable[[Path], int]


def _command(*words: str) -> Callable[[Path], int]:
    return lambda path: cli.main([word.replace("FILE", str(path)) for word in words])


def _function(function: Callable[[Path], object]) -> Callable[[Path], int]:
    def read(path: Path) -> int:
        try:
            function(path)
        except LockwrightError as error:
            explain(error)
            return error.status
        return 0

    return read


def _load_calibration(path: Path) -> None:
    os.environ[calibration.VARIABLE] = str(path)
    calibration.load()


def _write_profile(path: Path) -> None:
    """Write a profile with few mutexes and spans, which is read ten times as fast."""
    whole = made_profile()
    spans = [span for span in whole.timeline if span.mutex < 3]
    small = replace(whole, mutexes=whole.mutexes[:3], timeline=tuple(spans[::40]))
    path.write_text(small.to_json())


@cache
def _registry() -> locks.Registry:
    """Return the locks, which take longer to read than a plan."""
    return locks.registry()


def _write_plan(path: Path) -> None:
    path.write_text(
        'lock = "pthread"\n[[mutex]]\nsymbol = "cache_lock"\nlock = "pthread"\n'
        '[[mutex]]\nlibrary = "libx.so"\nordinal = 2\nlock = ["pthread"]\n'
        '[[rwlock]]\nsite = "cache.c:120"\nlock = ["futex-rw", "keep"]\n'
        '[[rwlock]]\nlock = "shfl-rw"\n'
    )


def _write_calibration(path: Path) -> None:
    path.write_text(
        json.dumps(
            {
                "format": 1,
                "machine": dict(calibration.this_machine()),
                "values": {"pthread": {"spin_ns": 1000}},
            }
        )
    )


def _write_machine(path: Path) -> None:
    path.write_text((PACKAGE / "machines/xeon-8260x2.toml").read_text())


def _write_study(path: Path) -> None:
    path.write_text(
        'locks = ["pthread", "futex"]\nprograms = ["xz"]\nthreads = [1, 2]\n'
        "runs = 2\nwarmup = 1\nseed = 3\n"
    )


def _write_database(path: Path) -> None:
    described = path.with_suffix(".toml")
    _write_study(described)
    plan = studies.read(described, locks.registry())
    file = StudyFile(path, plan)
    file.begin()
    file.join("box", {})
    for setting in dict.fromkeys(each.setting for each in plan.configurations()):
        made = Outcome(wall=1.0, details={"sums": {"x": "y"}})
        file.add(run_of(slot_of(setting, 0), "box", "", made, counts={"mutexes": 2}))
    for number, configuration in enumerate(plan.configurations()):
        for turn in (1, 2):
            made = Outcome(wall=1.5, figures={"value": 100.0 + number})
            file.add(run_of(slot_of(configuration, turn), "box", "", made))
    file.finish()
    file.close()


def _comparison() -> tuple[Plan, Runs]:
    locks = ("pthread", "futex")
    plan = Plan(("x",), locks, (0,), 3, 0, None, "s", True, 60.0, None)
    return plan, Runs(made_run(lock, n, 1.0 + n) for n in (1, 2, 3) for lock in locks)


def _write_baseline(path: Path) -> None:
    plan, runs = _comparison()
    document = {
        "schema": 1,
        "started": "2026-01-01T00:00:00+00:00",
        "plan": plan.stored(),
        "provenance": {"cpu": "x", "findings": [{"name": "others", "level": "warn"}]},
        "runs": [
            {"threads": None, "lock": r.contender, "round": r.round, "value": r.figures["value"]}
            for r in runs
        ],
    }
    path.write_text(json.dumps(document))


def _compare_with_baseline(path: Path) -> None:
    plan, runs = _comparison()
    earlier = baseline.read(path)
    baseline.check(earlier, plan, True)
    tables = [ranking(plan, runs, 0)]
    change = baseline.compare(earlier, plan, tables, {"cpu": "x"}, 0.05)
    print(change.sentence(), *change.conditions, json.dumps(change.as_json()))


def _resume_study(path: Path) -> None:
    """Read what a study needs before it goes on, of a database and of the same plan."""
    described = path.with_suffix(".toml")
    _write_study(described)
    plan = studies.read(described, _registry())
    file = StudyFile(path, plan)
    try:
        file.begin()
        file.check_machine("box", {})
        runs = file.runs()
        print(probes_of(runs, "box"), summary(runs), bad_endings(plan, runs))
        schedule = Schedule(declare(plan), runs_for(plan, runs, "box"))
        print(seconds_left(runs, schedule.remaining()), schedule.next())
    finally:
        file.close()


def _write_csv(path: Path) -> None:
    lines = ["machine,application,threads,lock,throughput"]
    for lock in ("pthread", "mcs"):
        lines += [f"box,app{n % 3},{n % 4 + 1},{lock},{100 + n}" for n in range(24)]
    path.write_text("\n".join(lines) + "\n")


def _simulator_input(path: Path) -> str:
    profile = profiles.read(path)
    check(profile)
    return models.as_toml(derive(profile, None).model)


def _write_worked_profile(path: Path) -> None:
    path.write_text(examples.two_workers().to_json())


def _write_model(path: Path) -> None:
    path.write_text(models.as_toml(derive(examples.two_workers(), None).model))


def _write_comparison(path: Path) -> None:
    plan, runs = _comparison()
    results = Store(path)
    stored = results.begin("comparison", plan.stored(), {"cpu": "x", "probe": {"mutexes": 1}})
    results.add_session(stored, "box", {"cpu": "x"})
    for run in runs:
        results.add(stored, run)
    results.close()


def _resume_comparison(path: Path) -> None:
    results = Store(path)
    plan, _ = _comparison()
    for stored in results.unfinished("comparison"):
        difference(stored.plan, plan.stored())
        results.adopt(stored)
        results.sessions(stored)
        ranking(plan, results.runs(stored), 0)
    results.close()


def _write_program(path: Path) -> None:
    path.write_bytes(Path(shutil.which("true") or sys.executable).read_bytes())


def _write_program_with_lines(path: Path) -> None:
    source = path.with_name("lines.c")
    source.write_text(
        "static int twice(int x)\n{\n    return 2 * x;\n}\n"
        "int main(int count, char **words)\n{\n"
        "    if (count > 3)\n        return words[1][0];\n    return twice(count);\n}\n"
    )
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-g", "-O1", "-o", path, source], check=True)


def _read_lines(path: Path) -> None:
    """Read what a plan with a line of the source needs, and symbols."""
    _read_program(path)
    for line in (3, 9):
        print(addresses_of(path, "lines.c", line))


def _read_program(path: Path) -> None:
    """Read all that the command wants to know about a program or a library."""
    file = elf.load(path)
    text = f"{file.header} {file.needed} {file.soname} {file.is_program} {file.has_lines}"
    print(
        text,
        file.defines("pthread_mutex_lock"),
        build_id(file),
        debug_file(path, ask_servers=False),
    )
    table = SymbolTable(path)
    for offset in (0, 1, 0x1000, 0x2345, 2**63):
        print(table.find(offset), table.begin(offset))


def _write_counts(path: Path) -> None:
    with counters.counters_file() as empty:
        path.write_bytes(empty.read_bytes())


def _write_segment(path: Path) -> None:
    """Write a segment of this process, with one site that waited."""
    layout = layouts()
    page = layout.structs["metrics_page"]
    offsets = {each.name: each.offset for each in page.fields}
    data = bytearray(page.bytes)
    data[:16] = segment._MAGIC + layout.number("metrics_page").to_bytes(8, "little")
    struct.pack_into("=I", data, offsets["pid"], os.getpid())
    struct.pack_into("=Q", data, offsets["callers"] + 8, 0x4000)
    struct.pack_into("=4Q", data, offsets["of"] + 64, 1, 2, 3, 4)
    path.write_bytes(data)


def _read_segment(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    with contextlib.suppress(ProcessLookupError):  # As of a process that has ended.
        sites = segment._sites(file, 0, Path(f"/proc/{_PARENT}")) or ()
        found = segment.Segment(_PARENT, "x", "pthread", 1, sites)
        print(exposition.text_of(segment.Segments((found,), 0), CallSites()))
    os.close(file)


#: The process whose segments are made.
_PARENT = os.getpid()

READERS = (
    Reader(
        "profile advised",
        "p.json",
        _write_profile,
        _command("advise", "FILE"),
    ),
    *(
        Reader(
            f"profile exported to {end}",
            "p.json",
            _write_profile,
            _command("export", "FILE", "-o", f"FILE{end}"),
        )
        for end in (".html", ".pb.gz", ".folded", ".firefox.json")
    ),
    Reader("plan", "p.toml", _write_plan, _function(lambda path: plans.read(path, _registry()))),
    Reader("machine", "m.toml", _write_machine, _function(lambda path: machine.load(str(path)))),
    Reader(
        "model", "w.toml", _write_model, _function(lambda path: models.load(path).simulator_input())
    ),
    Reader(
        "profile as a model",
        "p.json",
        _write_worked_profile,
        _function(_simulator_input),
    ),
    Reader("comparison resumed", "c.sqlite", _write_comparison, _function(_resume_comparison)),
    Reader("program", "program.elf", _write_program, _function(_read_program)),
    Reader("source lines", "lines.elf", _write_program_with_lines, _function(_read_lines)),
    Reader("counts", "counts.bin", _write_counts, _function(counters.read)),
    Reader("segment", "segment.bin", _write_segment, _function(_read_segment)),
    Reader("profile buffer", "buffer.bin", buffer_reader.write, _function(buffer_reader.read)),
    Reader("calibration", "c.json", _write_calibration, _function(_load_calibration)),
    Reader("baseline", "b.json", _write_baseline, _function(_compare_with_baseline)),
    Reader("study", "s.toml", _write_study, _command("study", "run", "FILE", "--dry-run")),
    Reader("database", "s.sqlite", _write_database, _command("study", "analyse", "FILE")),
    Reader("study resumed", "s.sqlite", _write_database, _function(_resume_study)),
    Reader("data set", "d.csv", _write_csv, _command("study", "analyse", "FILE")),
)


def _name(file: Any) -> str:
    """Return the path of an opened file; '' for a descriptor."""
    return "" if isinstance(file, int) else str(Path(os.fsdecode(file)).resolve())


def _watch(folder: Path, events: list[str]) -> None:
    """Record every write outside the folder and every executed program of this process."""
    inside = (f"{folder.resolve()}/", "/dev/null", "/dev/tty")
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
            events.append(f"executed: {event} {arguments[0]}")
        elif event == "open" and isinstance(arguments[2], int) and arguments[2] & writing:
            name = _name(arguments[0])
            if name and not name.startswith(inside):
                events.append(f"written: {name}")
        elif event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link"):
            name = _name(arguments[0])
            if name and not f"{name}/".startswith(inside):
                events.append(f"{event}: {name}")

    sys.addaudithook(hook)


def _problem(reader: Reader, path: Path, events: list[str]) -> str:
    """Read the file; return what is wrong with that, or ''. events: as _watch records them."""
    out, err = io.StringIO(), io.StringIO()
    problem = ""
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.alarm(LONG_LIMIT)
    try:
        # Each file shows the warnings that an earlier one has shown.
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = reader.read(path)
        lines = err.getvalue().splitlines()
        if status not in (0, 2):
            problem = f"exit status {status}: {lines[-1:]}"
        elif status == 2 and len(lines) != 1:
            problem = f"{len(lines)} lines for status 2: {lines[:3]}"
        elif "Warning" in err.getvalue():
            problem = f"a warning of Python: {lines[:2]}"
    except BaseException:
        problem = traceback.format_exc(limit=-6)
    if events:
        problem += f"\n{events[:3]}"
    return problem


def _child(reader: Reader, valid: bytes, path: Path, seeds: Sequence[int], report: Path) -> None:
    """Read the files of the seeds until one has a fault, and write the number of the files before
    this one and what is wrong to the report; do not return."""
    events: list[str] = []
    os.chdir(path.parent)
    number, problem = 0, ""
    with report.open("w+b", buffering=0) as current:
        for number, seed in enumerate(seeds):
            # If the process dies, this says at which file.
            os.pwrite(current.fileno(), f"{number:<20}\n".encode(), 0)
            # A database that an earlier reader left open is another file.
            for earlier in path.parent.glob(f"{path.name}*"):
                earlier.unlink()
            path.write_bytes(valid)
            mutate(path, reader.name, seed)
            if number == 0:
                _watch(path.parent, events)
            problem = _problem(reader, path, events)
            if problem:
                break
    report.write_text(f"{number:<20}\n{problem}")
    os._exit(0)


def _write_valid(reader: Reader, folder: Path) -> bytes:
    valid = folder / f"valid-{reader.file}"
    if not valid.exists():
        reader.write(valid)
        # The children inherit the imports of this read.
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            assert reader.read(valid) == 0, f"{reader.name}: a valid file was refused"
        # Collections in the children need not visit, and copy, what is there already.
        gc.collect()
        gc.freeze()
    return valid.read_bytes()


def _first_problem(reader: Reader, folder: Path, seeds: Sequence[int]) -> tuple[int, str]:
    """Read the files of the seeds up to the first fault; return how many were without one, and what
    is wrong with the next."""
    valid = _write_valid(reader, folder)
    report = folder.parent / "report"
    report.write_text("0\n")
    child = os.fork()
    if child == 0:
        try:
            _child(reader, valid, folder / reader.file, seeds, report)
        finally:
            # A fault of this file itself must not continue as a second parent.
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    number, _, problem = report.read_text().partition("\n")
    if status != 0:
        problem = f"ended by signal {status}" if status < 128 else f"status {status >> 8}"
    return (int(number), problem) if problem else (len(seeds), "")


def problem_of(reader: Reader, folder: Path, seed: int) -> str:
    """Return what is wrong with reading the file of this seed, or ''. folder: the absolute path of
    an empty directory of this reader; the file stays there until the next call."""
    return _first_problem(reader, folder, [seed])[1]


def problems_of(reader: Reader, folder: Path, seeds: Iterable[int]) -> dict[int, str]:
    """Return what is wrong with the files of the seeds, without those that have no fault. folder:
    as in problem_of."""
    rest = list(seeds)
    problems = {}
    while rest:
        good, problem = _first_problem(reader, folder, rest)
        if problem:
            alone = problem_of(reader, folder, rest[good])
            before = f"after the files from seed {rest[0]} on, and not alone: "
            problems[rest[good]] = alone or before + problem
        rest = rest[good + 1 :]
    return problems
