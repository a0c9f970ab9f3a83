"""Tests of lockwright-simulate: exact times, every lock on machines of all sizes, broken locks."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from lockwright.simulate import machine
from support import harness, locate, tiers
from support.processes import captured
from support.simulator import SIZES, machine_file, run

try:
    PROGRAM = tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)

SAMPLED = pytest.mark.sampled("the simulator runs the headers, which have unit tests")

SIMULATOR = Path("bin/lockwright-simulate")


def test_worked_examples() -> None:
    outcome = harness.run(
        [locate.program("lab/simulate", "worked_examples_test"), "--gtest_brief=1"],
        dict(os.environ),
    )
    assert outcome.status == 0, outcome.describe()
    passed = re.search(r"\[  PASSED  \] (\d+) test", outcome.stdout)
    assert passed is not None, outcome.describe()
    assert int(passed.group(1)) >= 26, outcome.describe()


@pytest.mark.parametrize("processors", SIZES)
@pytest.mark.parametrize("lock", locate.lock_names())
@SAMPLED
def test_every_lock_on_every_size(lock: str, processors: int, tmp_path: Path) -> None:
    """On small machines there are more threads than processors."""
    path = machine_file(tmp_path, processors)
    threads = processors if processors > 2 else 2 * processors
    words = ["--lock", lock, "--workload", "single-lock", "--threads", str(threads)]
    words += ["--seconds", "0.0003", "--warm-up", "0.00003"]
    done = run(path, *words)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    line = json.loads(done.stdout)
    assert line["threads"] == threads
    assert line["acquisitions"] >= (1 if processors < 512 else 0)
    again = run(path, *words)
    assert again.stdout == done.stdout


@pytest.mark.parametrize("lock", locate.lock_names())
@SAMPLED
def test_every_lock_is_interrupted(lock: str, tmp_path: Path) -> None:
    """Threads are preempted between any two steps, and the lock is destroyed soon."""
    path = machine_file(tmp_path)
    for words in (
        ["last-user-destroys", "--threads", "5"],
        ["producer-consumer", "--threads", "3", "--capacity", "2"],
        ["migration", "--threads", "9", "--move-every", "7"],
        ["many-locks", "--threads", "2", "--mutexes", "10"],
    ):
        done = run(
            path,
            *("--lock", lock, "--workload", *words),
            *("--seconds", "0.002", "--interrupt-every", "200"),
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert json.loads(done.stdout)["operations"] > 0


@pytest.mark.parametrize("lock", locate.lock_names())
@SAMPLED
def test_every_lock_with_hundreds_of_waiters(lock: str, tmp_path: Path) -> None:
    """There are eight threads for each processor."""
    path = machine_file(tmp_path)
    words = ["--lock", lock, "--workload", "single-lock", "--threads", "512"]
    done = run(path, *words, "--section-cycles", "210", "--seconds", "0.01")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize("seed", ["1", "2"])
def test_adaptive_with_thousands_of_threads_at_once(seed: str, tmp_path: Path) -> None:
    """Their attempts to push a node leave the line of the lock to its holder."""
    path = tmp_path / "machine"
    path.write_text(machine.load("epyc-9654x2").simulator_input())
    words = ["--workload", "single-lock", "--threads", "3072", "--seed", seed]
    words += ["--section-cycles", "355", "--gap-cycles", "3550", "--seconds", "0.005"]
    adaptive, pthread = (
        json.loads(run(path, *words, "--lock", lock).stdout)["operations"]
        for lock in ("adaptive", "pthread")
    )
    assert adaptive > pthread / 10


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    path = machine_file(tmp_path)
    words = ["--lock", "mcs-spin", "--workload", "lockbench", "--threads", "8"]
    words += ["--seconds", "0.001"]
    outputs = {run(path, *words, "--seed", str(seed)).stdout for seed in (1, 2, 1)}
    assert len(outputs) == 2


def test_surplus_threads_begin_randomly_or_balanced(tmp_path: Path) -> None:
    """There are two threads for each processor, which hardly contend."""
    path = machine_file(tmp_path)
    words = ["--lock", "ttas", "--workload", "lockbench", "--threads", "128", "--seconds", "0.096"]
    words += ["--section-max-ns", "0", "--gap-max-ns", "200000"]
    ratios = []
    for balanced in "10":
        operations = json.loads(run(path, *words, "--balanced", balanced).stdout)["per_thread"]
        ratios.append(max(operations) / min(operations))
    assert ratios[0] < 2 < ratios[1]


def test_a_main_thread_sleeps_until_the_measurement_ends(tmp_path: Path) -> None:
    """Threads under a spin lock never sleep themselves."""
    path = machine_file(tmp_path)
    words = ["--lock", "ticket", "--workload", "lockbench", "--threads", "4", "--seconds", "0.001"]
    without, beside = (
        json.loads(run(path, *words, "--main-thread", given).stdout) for given in "01"
    )
    assert [without["sleeps"], beside["sleeps"]] == [0, 1]
    assert len(beside["per_thread"]) == 4
    # They begin when the gate opens, so all of them run.
    assert min(beside["per_thread"]) > 0


@pytest.mark.full("compiles the simulator again, with another compiler")
def test_a_simulator_built_by_clang_gives_the_same_bytes(tmp_path: Path) -> None:
    """Every lock is simulated by both programs."""
    found = map(shutil.which, ("clang++", *(f"clang++-{n}" for n in range(22, 13, -1))))
    clang = next(filter(None, found), None)
    if clang is None:
        pytest.skip("clang++ is not installed")
    build = tmp_path / "build"
    configure: list[str | Path] = ["cmake", "-S", locate.ROOT, "-B", build, "-G", "Ninja"]
    configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={clang}"]
    compile_it: list[str | Path] = ["cmake", "--build", build, "--target", "lockwright-simulate"]
    for command in (configure, compile_it):
        done = captured(command, timeout=1800)
        assert done.returncode == 0, done.stdout + done.stderr
    path = machine_file(tmp_path)
    for lock in locate.lock_names():
        for workload in ("single-lock", "producer-consumer"):
            words = ["--lock", lock, "--workload", workload, "--threads", "16"]
            words += ["--seconds", "0.0005"]
            gcc, other = (run(path, *words, program=each) for each in (PROGRAM, build / SIMULATOR))
            assert gcc.returncode == 0, gcc.stderr
            assert other.stdout == gcc.stdout


#: The workload and the message for each fault. Too weak a memory order is not a fault on this
#: machine, which has that of x86-64.
FAULTS = {
    "test_then_set": ("lockbench", "are inside at once"),
    "no_wake": ("lockbench", "sleeps and no thread wakes it"),
    "forgets_other_sleepers": ("lockbench", "sleeps and no thread wakes it"),
    "mcs_parks_by_store": ("lockbench", "sleeps and no thread wakes it"),
    "mcs_trusts_wakes": ("variable-contention", "the lock is broken"),
    "clh_keeps_node": ("lockbench", "waits without end"),
    "mcs_forgets_late_linker": ("lockbench", "waits without end"),
    "late_touch": ("last-user-destroys", "touches a lock that the last user has destroyed"),
}

PARAMETERS = {
    "lockbench": ["--section-max-ns", "100", "--gap-max-ns", "300"],
    "variable-contention": ["--section-cycles", "100", "--mutexes", "3"],
    "last-user-destroys": [],
}


@pytest.mark.parametrize(
    "fault",
    tiers.short(FAULTS, ("mcs_trusts_wakes", "late_touch"), "each takes long, to wait without end"),
)
def test_a_broken_lock_is_detected(fault: str, tmp_path: Path) -> None:
    library = locate.program("lab/simulate", f"{fault}.so")
    workload, message = FAULTS[fault]
    errors = []
    for seed in range(1, 6):
        done = run(
            machine_file(tmp_path),
            *("--load", str(library), "--workload", workload, *PARAMETERS[workload]),
            *("--threads", "3", "--seconds", "0.01", "--seed", str(seed)),
            *("--interrupt-every", "100"),
        )
        assert done.returncode in (0, 1), done.stderr
        errors.append(done.stderr)
        if message in done.stderr:
            assert done.returncode == 1
            return
    pytest.fail(f"not detected: {errors}")


def test_a_trace_has_perfettos_schema(tmp_path: Path) -> None:
    """Parsed with the schema that Perfetto publishes, it has no unknown field, each event is on a
    described track, and the critical sections exclude each other on any node."""
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

    path = tmp_path / "trace.pftrace"
    done = run(
        machine_file(tmp_path),
        *("--lock", "hmcs", "--workload", "single-lock", "--threads", "16"),
        *("--seconds", "0.0002", "--trace", str(path)),
    )
    assert done.returncode == 0, done.stderr
    trace = schema.Trace.FromString(path.read_bytes())
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    open_slices: dict[int, tuple[str, int]] = {}
    slices = []
    for packet in trace.packet:
        track, event = packet.track_descriptor, packet.track_event
        for message in (packet, track, track.process, event):
            assert len(UnknownFieldSet(message)) == 0
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            names[track.uuid] = track.name or track.process.process_name
            parents[track.uuid] = track.parent_uuid
        elif event.type == schema.TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in open_slices
            open_slices[event.track_uuid] = (event.name, packet.timestamp)
        else:
            assert event.type == schema.TrackEvent.TYPE_SLICE_END
            name, began = open_slices.pop(event.track_uuid)
            slices.append((event.track_uuid, name, began, packet.timestamp))
    assert not open_slices
    assert all(track in names for track, *_ in slices)
    assert all(parent == 0 or parent in names for parent in parents.values())
    holds = sorted((began, ended) for _, name, began, ended in slices if name == "holds")
    assert len(holds) > 10
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(holds))
    nodes = {names[parents[track]] for track, name, *_ in slices if name.startswith("T")}
    assert nodes == {"node 0: holder of the lock", "node 1: holder of the lock"}


def test_bad_requests(tmp_path: Path) -> None:
    path = machine_file(tmp_path)
    good = {"--lock": "futex", "--workload": "single-lock", "--threads": "2"}
    for option, value, message in (
        ("--lock", "no-such-lock", "no lock 'no-such-lock'"),
        ("--workload", "nothing", "no workload 'nothing'"),
        ("--threads", "0", "'--threads' has to be 1 to 65536"),
        ("--threads", "70000", "'--threads' has to be 1 to 65536"),
        ("--seconds", "1000", "above 100 s"),
        ("--section-cycles", "-1", "'--section-cycles' is out of range; give 0 or more"),
        ("--speed", "3", "unknown option '--speed'"),
        ("--load", str(path), "cannot load the lock"),
    ):
        words = [word for pair in {**good, option: value}.items() for word in pair]
        done = run(path, *words)
        assert (done.returncode, done.stdout) == (2, ""), (option, done.stdout)
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    words = ["--workload", "single-lock", "--lock", "futex"]
    path.write_text("packages 4\nspeed 3\n")
    assert "'speed 3' is no figure" in run(path, *words).stderr
    path.write_text("packages 4\n")
    assert "is missing" in run(path, *words).stderr
