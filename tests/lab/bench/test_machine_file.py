"""The machine file that is written from measured figures."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.calibrate import machine_file
from lockwright.calibrate.probes import Measured
from lockwright.machine.procfs import Tree
from lockwright.machine.shape import Shape, read
from lockwright.simulate import machine, measurement

SHAPE = Shape(1, 1, 1, 2, 1, {0: (0, 0, 0, 0), 1: (0, 0, 0, 1)}, 32.0)

NANOSECONDS = {
    "loops_per_us": 1000.0,
    "null_pair": 4.0,
    "fenced_store_hit": 17.0,
    "rmw_hit": 5.0,
    "rmw_with_4_loads": 7.0,
    "load.cache": 80.0,
    "store.cache": 89.0,
    "rmw.cache": 86.0,
    "rmw_after_load": 5.0,
    "pause": 10.0,
    "turn": 0.25,
    "clock_read": 16.0,
    "array_read": 1.5,
    "memory": 80.0,
    **{f"read_{mib}_mib": 2.0 if mib <= 4 else 30.0 for mib in (1, 2, 4, 8, 16, 32, 64)},
    "line": 5.0,
    "page": 21.0,
    "sleep": 600.0,
    "turnaround_here": 800.0,
    "failed_wake": 100.0,
    "failed_wait": 140.0,
    "yield": 160.0,
    "yield_round": 920.0,
    "membarrier": 13000.0,
    "slice": 4e6,
    "wake 10 us": 10_000.0,
    "turnaround 10 us": 20_000.0,
    "turnaround 100 us": 21_000.0,
    "turnaround 1000 us": 25_000.0,
    "turnaround 10000 us": 41_000.0,
    **{f"preempt {busy} us": 1e6 if busy < 100 else 17_000.0 for busy in machine_file.BUSY_US},
}


def measured(**changes: float) -> Measured:
    values = {name: [value] for name, value in (NANOSECONDS | changes).items()}
    return Measured(defaultdict(list, values))


def written(**changes: float) -> str:
    return machine_file.document(SHAPE, measured(**changes))


def test_a_machine_file_has_the_measured_figures(tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    path.write_text(written())
    figures = machine.load(str(path)).figures
    assert figures["clock.ghz"] == 4
    assert figures["store.cache_ns"] == 89 - 17
    assert figures["line.migratory"] == 1
    # Four loads take 2 ns beside a change, and a cycle is 0.25 ns.
    assert figures["hit.load_cycles"] == 2
    assert figures["call.least_ns"] == 2
    # Half a round of 920 less a yield of 160.
    assert figures["kernel.switch_ns"] == 300
    assert figures["kernel.sleep_ns"] == 600 - 300
    assert figures["kernel.wake_ns"] == 800 - 300
    assert figures["kernel.interrupt_ns"] == 10_000 - 50 - 500
    assert figures["kernel.interrupt_latency_ns"] == 20_000 - 800
    assert figures["kernel.idle_exit_us"] == 16
    assert figures["kernel.wake_preempts_us"] == 100
    assert figures["kernel.slice_us"] == 700 * 2
    assert figures["kernel.tick_us"] > 0
    assert figures["kernel.fair"] == 1
    assert "quartiles" in machine.load(str(path)).sources["rmw"]


@pytest.mark.parametrize("number", ["", "measurement = 1\n", "measurement = 3\n"])
def test_figures_of_another_measurement_are_refused(number: str, tmp_path: Path) -> None:
    """Files had no number at first. A file that is like such a one has its figures."""
    text = written()
    current = f"measurement = {measurement.CURRENT}\n"
    assert current in text
    path, beside = tmp_path / "old.toml", tmp_path / "beside.toml"
    path.write_text(text.replace(current, number))
    beside.write_text('like = "./old.toml"\ntitle = "a machine"\n')
    for each in (path, beside):
        with pytest.raises(LockwrightError, match=r"old\.toml has figures") as refused:
            machine.load(str(each))
        assert "lockwright calibrate --machine-file" in refused.value.todo


def test_figures_of_other_sources_need_no_number(tmp_path: Path) -> None:
    """A file written by hand has sources of its own."""
    path = tmp_path / "m.toml"
    path.write_text('like = "i-20"\n[wait]\nsource = "the manual"\nclock_ns = 17\n')
    assert machine.load(str(path)).figures["wait.clock_ns"] == 17


def test_the_cache_is_as_large_as_two_processors_can_use(tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    path.write_text(written())
    figures = machine.load(str(path)).figures
    assert figures["data.cache_mib"] == 2 * 4
    assert figures["data.miss_ns"] == 30
    # No array misses: the size is that of /sys, and a miss takes as long as a chase in memory.
    path.write_text(written(**{f"read_{mib}_mib": 3.0 for mib in (8, 16, 32, 64)}))
    figures = machine.load(str(path)).figures
    assert figures["data.cache_mib"] == 32
    assert figures["data.miss_ns"] == 80


def test_the_arrays_of_a_very_large_cache_are_limited() -> None:
    """Nothing is seen of a cache of 504 MiB, so its size is that of /sys."""
    shape = Shape(1, 1, 1, 2, 1, SHAPE.places, 504.0)
    arrays = {f"read_{1 << power}_mib": [2.0] for power in range(9)}
    large = measured()
    large.values |= arrays
    assert "cache_mib = 504" in machine_file.document(shape, large)


def test_a_machine_is_measured_and_described(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "here.toml"
    machine_file.write(path, 1, 60)
    assert machine.load(str(path)).figures["clock.ghz"] > 0


def test_two_processors_are_measured() -> None:
    assert machine_file.farthest_pair(SHAPE) == (0, 1)
    alone = Shape(1, 1, 1, 1, 1, {3: (0, 0, 0, 0)}, 32.0)
    assert machine_file.farthest_pair(alone) == (3, 3)


def test_loads_without_a_measurable_cost_have_the_least(tmp_path: Path) -> None:
    path = tmp_path / "here.toml"
    path.write_text(written(rmw_with_4_loads=4.9))
    assert machine.load(str(path)).figures["hit.load_cycles"] == 0.1


def test_a_line_that_stays_shared_is_not_migratory() -> None:
    assert "migratory = false" in written(rmw_after_load=80.0)


def test_a_figure_that_is_missing_is_named() -> None:
    incomplete = measured()
    del incomplete.values["memory"]
    with pytest.raises(LockwrightError, match="memory"):
        machine_file.document(SHAPE, incomplete)


def test_the_shape_is_that_of_sys(tmp_path: Path) -> None:
    """Two packages with two cores of two hardware threads each."""
    system = tmp_path / "sys/devices/system"
    for cpu in range(8):
        folder = system / f"cpu/cpu{cpu}"
        core, package = cpu % 4, cpu % 4 // 2
        for name, text in {
            "topology/physical_package_id": str(package),
            "topology/core_cpus_list": f"{core},{core + 4}",
            "cache/index3/level": "3",
            "cache/index3/size": "16384K",
            "cache/index3/shared_cpu_list": "0-1,4-5" if package == 0 else "2-3,6-7",
        }.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text + "\n")
    (system / "cpu/online").write_text("0-7\n")
    for node, cpus in enumerate(("0-1,4-5", "2-3,6-7")):
        (system / f"node/node{node}").mkdir(parents=True)
        (system / f"node/node{node}/cpulist").write_text(cpus)
    shape = read(Tree(tmp_path))
    counts = (shape.packages, shape.nodes_per_package, shape.caches_per_node)
    assert counts == (2, 1, 1)
    assert (shape.cores_per_cache, shape.threads_per_core, shape.cache_mib) == (2, 2, 16)
    assert [shape.level(0, other) for other in (4, 1, 2)] == ["core", "cache", "far"]
    (system / "cpu/online").write_text("0-6\n")
    with pytest.raises(LockwrightError, match="hardware threads"):
        read(Tree(tmp_path))
