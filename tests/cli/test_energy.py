"""Energy is the sum of the counters, over wrap-arounds and sockets, and never estimated."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lockwright.machine import meters
from lockwright.machine.energy import meter
from lockwright.machine.energy.domains import NOWHERE, Domain, find
from support import machine
from support.machine import POWERCAP

RANGE = 262_143_328_850


def domain(counts: Iterator[int], kind: str = "package") -> Domain:
    """Return a domain of 1 J a count with the given readings."""
    return Domain(kind, f"{kind}-0", 999, lambda: next(counts), 1.0)


def used(counts: list[int]) -> float:
    return sum(domain(iter(())).joules_between(counts))


def test_counter_wraparound() -> None:
    """After the largest count the next is 0, any number of times, also at the first and last."""
    assert used([100, 350]) == 250
    assert used([900, 950, 20, 990, 980]) == 50 + 70 + 970 + 990
    assert used([999, 0]) == 1
    assert used([0, 999, 0]) == 1000
    assert used([7, 7]) == 0
    assert used([7]) == 0


def test_no_counter_wraps_twice_between_two_readings() -> None:
    """The period is short enough for the largest power, and no shorter than useful."""
    for range_uj in (100_000_000, 65_532_610_987, RANGE):
        package = Domain("package", "p", range_uj, lambda: 0)
        assert meter.period([package]) * meter.MOST_WATTS <= range_uj * 1e-6 / 2
    assert meter.period([]) == 10


def test_powercap_has_domains_of_every_socket(tmp_path: Path) -> None:
    """Domains have names and sums; some zones are left out."""
    tree = machine.make(
        tmp_path,
        {
            **machine.zone("0", "package-0", 5_000_000, RANGE),
            **machine.zone("0:0", "core", 1, RANGE),
            **machine.zone("0:1", "dram", 2, RANGE),
            **machine.zone("1", "package-1", 7, RANGE),
            **machine.zone("1:0", "core", 3, RANGE),
            **machine.zone("1:1", "dram", 4, RANGE),
            **machine.zone("2", "psys", 5, RANGE),
            f"{POWERCAP}/intel-rapl/enabled": 1,
            f"{POWERCAP}/intel-rapl-mmio:0/name": "package-0",
            f"{POWERCAP}/intel-rapl-mmio:0/energy_uj": 1,
            f"{POWERCAP}/intel-rapl-mmio:0/max_energy_range_uj": RANGE,
        },
    )
    sources = find(tree)
    assert not sources.refused
    assert [each.name for each in sources.domains] == [
        "package-0",
        "core of package-0",
        "dram of package-0",
        "package-1",
        "core of package-1",
        "dram of package-1",
        "psys",
    ]
    energy_meter = meter.Meter(sources.domains)
    energy_meter.begin()
    for zone, microjoules in (("0", 2_000_000), ("1", 3_000_000), ("0:1", 10)):
        file = tmp_path / f"{POWERCAP}/intel-rapl:{zone}/energy_uj".lstrip("/")
        file.write_text(f"{int(file.read_text()) + microjoules}\n")
    result = energy_meter.end()
    assert result.joules["package"] == pytest.approx(5.0)
    assert result.joules["dram"] == pytest.approx(1e-5)
    assert result.joules["core"] == 0
    assert result.absent == {}


def test_a_counter_that_wraps_during_a_run_is_caught_by_the_sampling(tmp_path: Path) -> None:
    """Each reading advances the counter, which wraps several times while the thread reads."""
    range_ = 20_000_000
    tree = machine.make(tmp_path, machine.zone("0", "package-0", 0, range_))
    file = tmp_path / f"{POWERCAP}/intel-rapl:0/energy_uj".lstrip("/")
    (each,) = find(tree).domains
    position = itertools.count(0, 9_000_000)
    readings: list[int] = []

    def read() -> int:
        readings.append(next(position))
        file.write_text(f"{readings[-1] % (range_ + 1)}\n")
        return each.read()

    energy_meter = meter.Meter([Domain("package", each.name, range_, read)])
    energy_meter.begin()
    deadline = time.monotonic() + 20
    while len(readings) < 8 and time.monotonic() < deadline:
        time.sleep(0.005)
    result = energy_meter.end()
    assert readings[-1] > 3 * range_, "it did not wrap"
    assert result.joules["package"] == pytest.approx((readings[-1] - readings[0]) * 1e-6)


def test_watts_are_joules_in_seconds() -> None:
    times = iter([10.0, 14.0])
    energy_meter = meter.Meter([domain(iter([100, 180]))], clock=lambda: next(times))
    energy_meter.begin()
    assert energy_meter.end().watts() == {"package": 20.0}


def test_the_energy_of_a_part_of_a_run_lies_between_the_readings() -> None:
    """The energy is interpolated linearly, over wrap-arounds too, and not beyond the readings."""
    times = iter([0.0, 10.0, 20.0, 30.0])
    energy_meter = meter.Meter([domain(iter([900, 940, 40, 50]))], clock=lambda: next(times))
    energy_meter.begin()
    energy_meter.sample()
    energy_meter.sample()
    assert energy_meter.end().joules == {"package": 40 + 100 + 10}
    assert energy_meter.between(10, 20).joules == {"package": 100}
    assert energy_meter.between(5, 25).joules == {"package": 20 + 100 + 5}
    assert energy_meter.between(12, 14).joules == {"package": pytest.approx(20)}
    assert energy_meter.between(12, 14).watts() == {"package": pytest.approx(10)}
    assert energy_meter.between(25, 99).seconds == 5
    assert energy_meter.between(40, 50).watts() == {}


def test_a_reading_is_narrowed_only_to_an_interval_within_it() -> None:
    times = iter([0.0, 10.0])
    energy_meter = meter.Meter([domain(iter([0, 50]))], clock=lambda: next(times))
    energy_meter.begin()
    energy = energy_meter.end()
    reading = meters.Reading(meter=energy_meter)
    reading.put(energy)
    reading.narrow(8.0, 4.0)
    reading.narrow(2.0, 0.0)
    assert reading.values == {meters.SECONDS: 10.0, "joules_package": 50.0}
    reading.narrow(2.0, 4.0)
    assert reading.values == {meters.SECONDS: 4.0, "joules_package": 20.0, meters.WINDOWED: 1.0}


def test_a_socket_that_cannot_be_read_makes_the_sum_absent(tmp_path: Path) -> None:
    """One of two sockets does not give the energy of the machine."""
    second = machine.zone("1", "package-1", 7, RANGE)
    closed = f"{POWERCAP}/intel-rapl:1/energy_uj"
    del second[closed]
    tree = machine.make(
        tmp_path,
        {
            **machine.zone("0", "package-0", 5, RANGE),
            **machine.zone("0:0", "dram", 5, RANGE),
            **second,
        },
    )
    machine.unreadable(tmp_path, closed)
    sources = find(tree)
    assert [each.kind for each in sources.domains] == ["dram"]
    assert "package-1" in sources.absent["package"]
    for content in ("", "many"):
        (tmp_path / closed.lstrip("/")).rmdir() if not content else None
        (tmp_path / closed.lstrip("/")).write_text(content)
        assert "it contains no number" in find(tree).absent["package"]


def test_a_counter_that_disappears_during_a_run_is_absent() -> None:
    def reads() -> Iterator[int]:
        yield 5

    def read() -> int:
        try:
            return next(counts)
        except StopIteration:
            raise OSError(61, "No data available") from None

    counts = reads()
    energy_meter = meter.Meter(
        [
            Domain("package", "package-0", 999, read, 1.0),
            Domain("package", "package-1", 999, lambda: 4, 1.0),
            domain(iter([1, 3]), kind="dram"),
        ]
    )
    energy_meter.begin()
    result = energy_meter.end()
    assert result.joules == {"dram": 2.0}
    assert result.absent == {"package": "package-0: No data available while it was read"}


def test_a_counter_without_a_range_is_not_used(tmp_path: Path) -> None:
    """A wrap-around could not be distinguished from a fault."""
    tree = machine.make(tmp_path, machine.zone("0", "package-0", 5, 0))
    sources = find(tree)
    assert not sources.domains
    assert "its range is unknown" in sources.why()


def test_a_machine_without_counters_is_reported(tmp_path: Path) -> None:
    assert find(machine.make(tmp_path, {})).why() == NOWHERE


@pytest.fixture
def energy_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a machine of one socket with memory, whose counters the meters read."""
    tree = machine.make(
        tmp_path,
        {
            **machine.zone("0", "package-0", 0, RANGE),
            **machine.zone("0:0", "dram", 0, RANGE),
            "/proc/stat": "cpu  0 0 0 1000 0 0 0 0 0 0",
        },
    )
    monkeypatch.setattr(meters, "TREE", tree)
    return tmp_path


def consume(root: Path, zone: str, joules: float) -> None:
    file = root / f"{POWERCAP}/intel-rapl:{zone}/energy_uj".lstrip("/")
    # Atomically, as the kernel does: the file is never without its number.
    replacement = file.with_suffix(".new")
    replacement.write_text(f"{int(file.read_text()) + round(joules * 1e6)}\n")
    replacement.replace(file)


def test_power_is_above_the_idle_machines(energy_machine: Path) -> None:
    """The sum of package and memory less their idle power; core power is not added twice."""
    all_meters = meters.Meters(energy=True)

    def rest(_: float) -> None:
        consume(energy_machine, "0", 30.0)
        consume(energy_machine, "0:0", 6.0)

    all_meters.measure_idle(0.0, rest)
    assert all_meters.idle is not None
    idle = meters.Idle({"package": 30.0, "dram": 6.0}, 1.0, 0.5)
    assert all_meters.idle.watts["package"] / all_meters.idle.watts["dram"] == pytest.approx(5.0)
    with all_meters.around() as reading:
        consume(energy_machine, "0", 100.0)
        consume(energy_machine, "0:0", 20.0)
    values = {**reading.values, meters.SECONDS: 2.0}
    assert meters.total_joules(values) == pytest.approx(120.0)
    assert meters.total_watts(values) == pytest.approx(60.0)
    assert meters.above_idle(values, idle) == pytest.approx(24.0)
    assert meters.above_idle(values, None) is None
    assert meters.above_idle(values, meters.Idle({"package": 1.0}, 1.0, None)) is None
    assert meters.total_joules({"joules_dram": 5.0}) is None, "memory alone is no total"
    # The idle machine is measured before the first run only.
    all_meters.measure_idle(0.0, lambda _: pytest.fail("measured again"))
    all_meters.idle = idle
    assert "50 % of the processors then" in all_meters.notes()[0]


def test_without_a_request_nothing_is_read() -> None:
    nothing = meters.Meters()
    assert not nothing.wanted
    with nothing.around() as reading:
        pass
    assert (reading.values, nothing.notes(), nothing.as_facts()) == ({}, [], {})
