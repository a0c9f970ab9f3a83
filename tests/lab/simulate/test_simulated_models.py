"""The workload `model` of lockwright-simulate: programs that a file describes."""

import json
from pathlib import Path
from typing import Any

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.run import tools
from lockwright.simulate.model import Model, ModelMutex, Role, exactly, gamma
from support import locate
from support.simulator import machine_file, run

try:
    tools.find("lockwright-simulate", "simulating")
except LockwrightError as problem:
    pytest.skip(f"lockwright-simulate is not built: {problem}", allow_module_level=True)


def one_mutex(*, threads: int = 1, section: float = 1000, gap: float = 0, **more: Any) -> Model:
    """Return a program with one mutex."""
    role = Role("worker", threads, exactly(gap), ((0, 1.0),))
    return Model("a program", (ModelMutex("m", exactly(section), **more),), (role,))


def simulated(
    folder: Path, model: Model, *words: str, lock: str = "mcs-spin", processors: int = 64
) -> dict[str, Any]:
    """Return the result of a millisecond of a model without changed data."""
    path = folder / "model"
    path.write_text(model.simulator_input())
    done = run(
        machine_file(folder, processors),
        *("--workload", "model", "--model", str(path), "--threads", str(model.threads)),
        *("--lock", lock, "--seconds", "0.001", "--data-lines", "0", *words),
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    result = json.loads(done.stdout)
    assert isinstance(result, dict)
    return result


def test_a_thread_alone_takes_the_time_of_section_and_gap(tmp_path: Path) -> None:
    """A millisecond has 500 times 2 us, less the calls of the lock."""
    result = simulated(tmp_path, one_mutex(section=1500, gap=500))
    assert 450 < result["operations"] <= 510
    assert result["acquisitions"] in (result["operations"] - 1, result["operations"])


def test_sections_of_a_mutex_exclude_each_other(tmp_path: Path) -> None:
    result = simulated(tmp_path, one_mutex(threads=16, section=1000, gap=100))
    assert 500 < result["operations"] < 1050


def test_sections_of_several_instances_overlap(tmp_path: Path) -> None:
    model = one_mutex(threads=16, section=1000, gap=100, instances=64)
    assert simulated(tmp_path, model)["operations"] > 8 * 1000


def test_lengths_are_drawn_from_the_histogram(tmp_path: Path) -> None:
    """A mean of 10 us, of buckets or of an exponential distribution."""
    buckets = ((0.0, 2000.0, 1.0), (18_000.0, 20_000.0, 1.0))
    for section in (buckets, gamma(10_000, 1)):
        role = Role("worker", 32, (), ((0, 1.0),))
        model = Model("", (ModelMutex("m", section, 4096),), (role,))
        assert simulated(tmp_path, model)["operations"] == pytest.approx(3200, rel=0.12)


def test_a_role_takes_its_mutexes_in_proportion(tmp_path: Path) -> None:
    """Sections of 3 us and of 27 us, a quarter of them long: 9 us on average."""
    mutexes = tuple(ModelMutex(str(ns), exactly(ns), 4096) for ns in (3000, 27_000))
    role = Role("worker", 32, (), ((0, 0.75), (1, 0.25)))
    operations = simulated(tmp_path, Model("", mutexes, (role,)))["operations"]
    assert operations == pytest.approx(32_000 / 9, rel=0.12)


@pytest.mark.parametrize("lock", ["mcs-spin", "pthread"])
def test_threads_meet_at_barriers(tmp_path: Path, lock: str) -> None:
    """A thread with long gaps keeps the others of its role, and no others: between two barriers no
    thread has more than two sections."""
    gaps = ((1000.0, 1000.0, 9.0), (50_000.0, 50_000.0, 1.0))
    mutex = ModelMutex("m", exactly(10), 4096)
    for every in (0, 2):
        together = Role("together", 16, gaps, ((0, 1.0),), barrier_every=every)
        counts = simulated(tmp_path, Model("", (mutex,), (together,)), lock=lock)["per_thread"]
        if every:
            assert max(counts) - min(counts) <= 2 * every
        else:
            assert max(counts) - min(counts) > 4


def test_a_section_changes_the_lines_of_its_mutex(tmp_path: Path) -> None:
    """Each handover moves them; the option --data-lines is for mutexes without a number."""
    moved = [
        simulated(tmp_path, one_mutex(threads=8, section=100, data_lines=lines))
        for lines in (0, 20)
    ]
    per_section = [sum(each["transfers"]) / each["acquisitions"] for each in moved]
    assert per_section[1] > per_section[0] + 15


def test_a_thread_that_blocks_uses_no_processor(tmp_path: Path) -> None:
    """Two threads on a processor for 100 ms: the other one continues."""
    busy = Role("busy", 1, exactly(1000), ((0, 1.0),))
    sleepy = Role("sleepy", 1, (), ((0, 1.0),), block_share=1.0, block_ns=100_000)
    model = Model("", (ModelMutex("m", exactly(100)),), (busy, sleepy))
    result = simulated(tmp_path, model, "--seconds", "0.1", lock="futex", processors=1)
    first, second = result["per_thread"]
    assert first > 60_000
    assert 3 <= second <= 2000


def test_an_atomic_variable_needs_no_section(tmp_path: Path) -> None:
    model = one_mutex(threads=4, section=10_000, gap=1000, is_atomic=True)
    result = simulated(tmp_path, model)
    assert result["operations"] > 3 * 900
    assert result["acquisitions"] == 0


def test_readers_overlap(tmp_path: Path) -> None:
    alone, with_readers = (
        simulated(tmp_path, one_mutex(threads=16, section=10_000, gap=100, reads=reads))
        for reads in (0.0, 1.0)
    )
    assert with_readers["operations"] > 5 * alone["operations"]


def test_a_mutex_with_a_lock_of_its_own(tmp_path: Path) -> None:
    """Waiters of ticket spin, and those of the lock of the simulation would sleep."""
    own = one_mutex(threads=16, lock="ticket")
    assert simulated(tmp_path, own, lock="pthread")["sleeps"] == 0
    assert simulated(tmp_path, one_mutex(threads=16), lock="pthread")["sleeps"] > 0


def test_the_same_seed_gives_the_same_result(tmp_path: Path) -> None:
    role = Role("worker", 8, gamma(1000, 1), ((0, 1.0),))
    model = Model("", (ModelMutex("m", gamma(500, 1)),), (role,))
    first, again, other = (simulated(tmp_path, model, "--seed", seed) for seed in "112")
    assert first == again
    assert first != other


@pytest.mark.parametrize("lock", locate.lock_names())
@pytest.mark.sampled("the simulator runs the headers, which have unit tests")
def test_every_lock_runs_a_model(lock: str, tmp_path: Path) -> None:
    assert simulated(tmp_path, one_mutex(threads=9, gap=500), lock=lock)["operations"] > 0


def test_a_broken_lock_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text(one_mutex(threads=3, section=50, gap=100).simulator_input())
    library = locate.program("lab/simulate", "test_then_set.so")
    done = run(
        machine_file(tmp_path),
        *("--load", str(library), "--workload", "model", "--model", str(path)),
        *("--threads", "3", "--seconds", "0.01", "--interrupt-every", "100"),
    )
    assert done.returncode == 1
    assert "are inside at once" in done.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no threads"),
        ("mutex 0\n", "'mutex 0' is no part of a model"),
        ("section 1 2 3\n", "'section 1 2 3' is no part of a model"),
        ("mutex 1\nsection 5 2 3\n", "'section 5 2 3' is no part of a model"),
        ("mutex 1\nrole 2\ntake 1 5\n", "'take 1 5' is no part of a model"),
        ("mutex 1\nrole 2\n", "takes no mutex"),
        ("mutex 1\nrole 2\ntake 0 1\n", "the model has 2 threads"),
        ("mutex 1\nlock none\nrole 1\ntake 0 1\n", "no lock 'none'"),
        ("mutex 1\nreads 1000001\n", "'reads 1000001' is no part of a model"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "model"
    path.write_text(text)
    words = ["--workload", "model", "--lock", "futex", "--threads", "1"]
    done = run(machine_file(tmp_path), *words, "--model", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "needs a file" in run(machine_file(tmp_path), *words).stderr
