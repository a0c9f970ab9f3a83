"""Energy is what the counters say: over wrap-arounds, over sockets, and never a guess."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lockwright.machine import meters
from lockwright.machine.energy import find, meter, pmu, powercap
from lockwright.machine.energy.domain import Domain, joules_between
from support import machine
from support.machine import POWER, POWERCAP

RANGE = 262_143_328_850


def domain(counts: Iterator[int], range_: int | None = 999, kind: str = "package") -> Domain:
    """A domain of 1 J a count, whose readings are given."""
    return Domain(kind, f"{kind}-0", "powercap", 1.0, range_, lambda: next(counts))


def used(each: Domain, counts: list[int]) -> float:
    return sum(joules_between(each, counts))


def test_a_count_that_begins_again_is_carried_on() -> None:
    """After the largest count the next is 0, whatever number of times, also at the very ends."""
    assert used(domain(iter(())), [100, 350]) == 250
    assert used(domain(iter(())), [900, 950, 20, 990, 980]) == 50 + 70 + 970 + 990
    assert used(domain(iter(())), [999, 0]) == 1
    assert used(domain(iter(())), [0, 999, 0]) == 1000
    assert used(domain(iter(())), [7, 7]) == 0
    assert used(domain(iter(())), [7]) == 0
    with pytest.raises(ValueError, match="fell from 9 to 8"):
        used(domain(iter(()), range_=None), [9, 8])


def test_no_counter_can_lap_itself_between_two_readings() -> None:
    """Not at the most that a domain takes; and nobody reads more often than is of use."""
    for range_uj in (100_000_000, 65_532_610_987, RANGE):
        each = Domain("package", "p", "powercap", 1e-6, range_uj, lambda: 0)
        assert meter.period([each]) * meter.MOST_WATTS <= range_uj * 1e-6 / 2
    assert meter.period([Domain("package", "p", "perf", 1.0, None, lambda: 0)]) == 10
    assert meter.period([]) == 10


def test_powercap_has_domains_of_every_socket(tmp_path: Path) -> None:
    """Their names, their sums, zones that are left out."""
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
    found, refused = powercap.find(tree)
    assert not refused
    assert [each.name for each in found] == [
        "package-0",
        "core of package-0",
        "dram of package-0",
        "package-1",
        "core of package-1",
        "dram of package-1",
        "psys",
    ]
    sources = find.find(tree)
    one = meter.Meter(sources.domains)
    one.begin()
    for zone, more in (("0", 2_000_000), ("1", 3_000_000), ("0:1", 10)):
        file = tmp_path / f"{POWERCAP}/intel-rapl:{zone}/energy_uj".lstrip("/")
        file.write_text(f"{int(file.read_text()) + more}\n")
    result = one.end()
    assert result.joules["package"] == pytest.approx(5.0)
    assert result.joules["dram"] == pytest.approx(1e-5)
    assert result.joules["core"] == 0
    assert result.absent == {}


def test_a_counter_that_wraps_during_a_run_is_caught_by_the_sampling(tmp_path: Path) -> None:
    """Each reading finds the file further on; it comes round several times, as the thread reads."""
    range_ = 20_000_000
    tree = machine.make(tmp_path, machine.zone("0", "package-0", 0, range_))
    file = tmp_path / f"{POWERCAP}/intel-rapl:0/energy_uj".lstrip("/")
    (each,) = find.find(tree).domains
    position = itertools.count(0, 9_000_000)
    made: list[int] = []

    def read() -> int:
        made.append(next(position))
        file.write_text(f"{made[-1] % (range_ + 1)}\n")
        return each.read()

    one = meter.Meter([Domain("package", each.name, "powercap", each.joules, range_, read)])
    one.begin()
    deadline = time.monotonic() + 20
    while len(made) < 8 and time.monotonic() < deadline:
        time.sleep(0.005)
    result = one.end()
    assert made[-1] > 3 * range_, "it came round"
    assert result.joules["package"] == pytest.approx((made[-1] - made[0]) * 1e-6)


def test_watts_are_joules_in_seconds() -> None:
    times = iter([10.0, 14.0])
    one = meter.Meter([domain(iter([100, 180]))], clock=lambda: next(times))
    one.begin()
    assert one.end().watts() == {"package": 20.0}


def test_the_energy_of_a_part_of_a_run_lies_between_the_readings() -> None:
    """The energy is interpolated linearly, over wrap-arounds too, and not beyond the readings."""
    times = iter([0.0, 10.0, 20.0, 30.0])
    one = meter.Meter([domain(iter([900, 940, 40, 50]))], clock=lambda: next(times))
    one.begin()
    one.sample()
    one.sample()
    assert one.end().joules == {"package": 40 + 100 + 10}
    assert one.between(10, 20).joules == {"package": 100}
    assert one.between(5, 25).joules == {"package": 20 + 100 + 5}
    assert one.between(12, 14).joules == {"package": pytest.approx(20)}
    assert one.between(12, 14).watts() == {"package": pytest.approx(10)}
    assert one.between(25, 99).seconds == 5
    assert one.between(40, 50).watts() == {}


def test_a_reading_is_narrowed_only_to_what_lies_in_it() -> None:
    times = iter([0.0, 10.0])
    one = meter.Meter([domain(iter([0, 50]))], clock=lambda: next(times))
    one.begin()
    whole = one.end()
    reading = meters.Reading(meter=one)
    reading.put(whole)
    reading.narrow(8.0, 4.0)
    reading.narrow(2.0, 0.0)
    assert reading.values == {meters.SECONDS: 10.0, "joules_package": 50.0}
    reading.narrow(2.0, 4.0)
    assert reading.values == {meters.SECONDS: 4.0, "joules_package": 20.0, meters.WINDOWED: 1.0}


def test_a_socket_that_cannot_be_read_makes_the_sum_absent(tmp_path: Path) -> None:
    """The sum over one of two sockets is not the energy of the machine."""
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
    sources = find.find(tree)
    assert [each.kind for each in sources.domains] == ["dram"]
    assert "package-1" in sources.absent["package"]
    for content in ("", "many"):
        (tmp_path / closed.lstrip("/")).rmdir() if not content else None
        (tmp_path / closed.lstrip("/")).write_text(content)
        assert "it contains no number" in find.find(tree).absent["package"]


def test_a_counter_that_goes_away_during_a_run_is_absent() -> None:
    def reads() -> Iterator[int]:
        yield 5

    def read() -> int:
        try:
            return next(counts)
        except StopIteration:
            raise OSError(61, "No data available") from None

    counts = reads()
    one = meter.Meter(
        [
            Domain("package", "package-0", "powercap", 1.0, 999, read),
            Domain("package", "package-1", "powercap", 1.0, 999, lambda: 4),
            domain(iter([1, 3]), kind="dram"),
        ]
    )
    one.begin()
    result = one.end()
    assert result.joules == {"dram": 2.0}
    assert result.absent == {"package": "package-0: No data available while it was read"}


def test_no_range_no_energy(tmp_path: Path) -> None:
    """A wrap-around could not be told from a fault."""
    tree = machine.make(tmp_path, machine.zone("0", "package-0", 5, 0))
    sources = find.find(tree)
    assert not sources.domains
    assert "its range is unknown" in sources.why()


def test_perf_serves_where_powercap_does_not(tmp_path: Path) -> None:
    """There is one event for each socket, opened on the socket's own processor; its scale gives
    joules.
    """
    tree = machine.make(
        tmp_path,
        {
            f"{POWER}/type": 22,
            f"{POWER}/cpumask": "0,16",
            **machine.event("energy-pkg", "0x02"),
            **machine.event("energy-ram", "0x03", scale="0.5"),
            f"{POWER}/events/energy-odd": "event=0x09",
        },
    )
    machine.unreadable(tmp_path, f"{POWERCAP}/intel-rapl:0/energy_uj")
    (tmp_path / f"{POWERCAP}/intel-rapl:0/name".lstrip("/")).write_text("package-0\n")
    asked: list[tuple[int, int, int]] = []

    def opener(kind: int, config: int, cpu: int) -> int:
        asked.append((kind, config, cpu))
        return len(asked) + 1000

    counts = {handle: iter([0, 10 * handle]) for handle in range(1001, 1005)}
    found, refused = pmu.find(tree, opener, lambda handle: next(counts[handle]))
    assert asked == [(22, 2, 0), (22, 2, 16), (22, 3, 0), (22, 3, 16)]
    assert not refused
    one = meter.Meter(found)
    one.begin()
    joules = one.end().joules
    assert joules["dram"] == pytest.approx(0.5 * 10 * (1003 + 1004))
    assert joules["package"] == pytest.approx(2**-32 * 10 * (1001 + 1002))

    def closed(kind: int, config: int, cpu: int) -> int:
        raise PermissionError(13, "Permission denied")

    nothing = find.find(tree, closed)
    assert not nothing.domains
    assert "Is a directory" in nothing.absent["package"]
    assert nothing.why().endswith(
        "package-0 by perf, package-1 by perf, dram-0 by perf, dram-1 by perf: "
        "not allowed to this user (perf_event_paranoid)"
    )


def test_an_event_that_counts_something_else_is_refused(tmp_path: Path) -> None:
    tree = machine.make(
        tmp_path, {f"{POWER}/type": 22, **machine.event("energy-pkg", "0x02", scale="?")}
    )
    assert "does not count in joules" in find.find(tree, lambda *_: 3).why()


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    assert find.find(machine.make(tmp_path, {})).why() == find.NOWHERE


@pytest.fixture
def powered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of one socket with memory, whose counters the meters read."""
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
    # In one step, as the kernel does: a reader never sees a file without its number.
    beside = file.with_suffix(".new")
    beside.write_text(f"{int(file.read_text()) + round(joules * 1e6)}\n")
    beside.replace(file)


def test_power_is_above_the_idle_machines(powered: Path) -> None:
    """Package and memory together, each less its own idle power; core power is not added twice."""
    own = meters.Meters(energy=True)

    def rest(_: float) -> None:
        consume(powered, "0", 30.0)
        consume(powered, "0:0", 6.0)

    own.measure_idle(0.0, rest)
    assert own.idle is not None
    idle = meters.Idle({"package": 30.0, "dram": 6.0}, 1.0, 0.5)
    assert own.idle.watts["package"] / own.idle.watts["dram"] == pytest.approx(5.0)
    with own.around() as reading:
        consume(powered, "0", 100.0)
        consume(powered, "0:0", 20.0)
    values = {**reading.values, meters.SECONDS: 2.0}
    assert meters.total_joules(values) == pytest.approx(120.0)
    assert meters.total_watts(values) == pytest.approx(60.0)
    assert meters.above_idle(values, idle) == pytest.approx(24.0)
    assert meters.above_idle(values, None) is None
    assert meters.above_idle(values, meters.Idle({"package": 1.0}, 1.0, None)) is None
    assert meters.total_joules({"joules_dram": 5.0}) is None, "memory alone is no total"
    # Twice is once: the idle machine is measured before the first run only.
    own.measure_idle(0.0, lambda _: pytest.fail("measured again"))
    own.idle = idle
    assert "50 % of the processors then" in own.notes()[0]


def test_nothing_asked_nothing_read(tmp_path: Path) -> None:
    nothing = meters.Meters()
    assert not nothing.wanted
    with nothing.around() as reading:
        pass
    assert (reading.values, nothing.notes(), nothing.as_facts()) == ({}, [], {})
