"""`lockwright doctor` reads a machine right, whatever machine it is, and says what to do."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from lockwright.doctor import (
    access,
    clock,
    examine,
    frequency,
    limits,
    load,
    memory,
    processors,
    scheduler,
    system,
)
from lockwright.doctor.finding import ABSENT, OK, WARN, Finding
from lockwright.doctor.tree import Tree, numbers_of
from lockwright.energy.domain import Domain
from lockwright.energy.find import Sources
from support import machine
from support.machine import CPU

from .conftest import Cli

POLICY = f"{CPU}/cpufreq/policy"
HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
SOURCE = "/sys/devices/system/clocksource/clocksource0"
KERNEL = "/proc/sys/kernel"
NODE = "/sys/devices/system/node"
UNIFIED = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0"
OLD = "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0"
ZEROS = "0 " * 15
STAT = f"7 (a (b) c) S {ZEROS}{{nice}} {ZEROS}0 0 0 0 0 0 {{policy}} 0"


def two_nodes() -> dict[str, object]:
    return {
        **machine.processors(4),
        f"{NODE}/online": "0-1",
        f"{NODE}/node0/cpulist": "0-1",
        f"{NODE}/node1/cpulist": "2-3",
    }


def stat(busy: int, idle: int, steal: int) -> str:
    return f"cpu  {busy} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1 2 3"


#: What a reader makes of a machine: its files, the level, and words of what was found.
CASES: list[tuple[Callable[[Tree], Finding], dict[str, object], str, str]] = [
    (processors.count, {}, ABSENT, "does not say"),
    (processors.count, machine.processors(8, 2), OK, "16 processors on 8 cores of 1 package"),
    (processors.count, machine.processors(1), WARN, "1 processor on 1 core"),
    (
        processors.count,
        machine.processors(8, 2) | {"/proc/self/status": "Cpus_allowed_list:\t0-1,8"},
        WARN,
        "3 processors on 2 cores of 1 package; the machine has 16",
    ),
    (processors.smt, machine.processors(4), OK, "each core runs one thread"),
    (processors.smt, machine.processors(4, 2), WARN, "4 of 4 cores"),
    (
        processors.smt,
        machine.processors(2) | {f"{CPU}/smt/control": "off"},
        OK,
        "each core runs one thread (off)",
    ),
    # One thread of each core allowed: no two can meet.
    (
        processors.smt,
        machine.processors(4, 2) | {"/proc/self/status": "Cpus_allowed_list:\t0-3"},
        OK,
        "each core runs one thread",
    ),
    (processors.smt, {f"{CPU}/online": "0-1"}, ABSENT, "does not say"),
    (processors.numa, two_nodes(), OK, "2 nodes with 2, 2 processors"),
    (
        processors.numa,
        two_nodes() | {"/proc/self/status": "Cpus_allowed_list:\t2-3"},
        OK,
        "1 node of 2",
    ),
    (processors.numa, machine.processors(2), ABSENT, "does not say"),
    (limits.cgroup, {}, ABSENT, "no control group"),
    (limits.cgroup, {"/proc/self/cgroup": "0::/", "/proc/self/mounts": UNIFIED}, OK, "none"),
    (
        limits.cgroup,
        machine.processors(4)
        | {
            "/proc/self/cgroup": "0::/a/b",
            "/proc/self/mounts": UNIFIED,
            "/sys/fs/cgroup/a/b/cpu.max": "max 100000",
            "/sys/fs/cgroup/a/cpu.max": "150000 100000",
            "/sys/fs/cgroup/a/cpu.stat": "usage_usec 5\nnr_throttled 1234",
        },
        WARN,
        "1.5 processors' time in each 100 ms, used up 1,234 times",
    ),
    (
        limits.cgroup,
        machine.processors(4)
        | {
            "/proc/self/cgroup": "0::/",
            "/proc/self/mounts": UNIFIED,
            "/sys/fs/cgroup/cpu.max": "800000 100000",
        },
        OK,
        "8 processors' time",
    ),
    # A container sees the group that it is in outside of its own mount.
    (
        limits.cgroup,
        machine.processors(4)
        | {
            "/proc/self/cgroup": "0::/../../other",
            "/proc/self/mounts": UNIFIED,
            "/sys/fs/cgroup/cpu.max": "50000 100000",
        },
        WARN,
        "0.5 processors' time",
    ),
    (
        limits.cgroup,
        machine.processors(4)
        | {
            "/proc/self/cgroup": "4:cpu,cpuacct:/job\n0::/",
            "/proc/self/mounts": OLD,
            "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": 200000,
            "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": 100000,
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": -1,
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": 100000,
        },
        WARN,
        "2 processors' time in each 100 ms",
    ),
    (frequency.governor, {}, ABSENT, "does not set"),
    (
        frequency.governor,
        {f"{POLICY}{n}/scaling_governor": "performance" for n in range(2)},
        OK,
        "performance",
    ),
    (
        frequency.governor,
        {f"{POLICY}0/scaling_governor": "performance", f"{POLICY}1/scaling_governor": "powersave"},
        WARN,
        "performance, powersave",
    ),
    # Where there are no policies, each processor has its own.
    (
        frequency.governor,
        {f"{CPU}/cpu0/cpufreq/scaling_governor": "schedutil"},
        WARN,
        "schedutil",
    ),
    (frequency.scaling, {}, ABSENT, "does not tell"),
    (
        frequency.scaling,
        {f"{POLICY}0/scaling_min_freq": 2800000, f"{POLICY}0/scaling_max_freq": 2800000},
        OK,
        "fixed at 2,800 MHz",
    ),
    (
        frequency.scaling,
        {f"{POLICY}0/scaling_min_freq": 800000, f"{POLICY}0/scaling_max_freq": 4900000},
        WARN,
        "800 MHz to 4,900 MHz",
    ),
    (frequency.turbo, {}, ABSENT, "no switch"),
    (frequency.turbo, {f"{CPU}/intel_pstate/no_turbo": 0}, WARN, "on"),
    (frequency.turbo, {f"{CPU}/intel_pstate/no_turbo": 1}, OK, "off"),
    (frequency.turbo, {f"{CPU}/cpufreq/boost": 1}, WARN, "on"),
    (frequency.turbo, {f"{CPU}/cpufreq/boost": 0}, OK, "off"),
    (frequency.idle, {}, ABSENT, "does not tell"),
    (
        frequency.idle,
        {
            f"{CPU}/cpu0/cpuidle/state0/name": "POLL",
            f"{CPU}/cpu0/cpuidle/state0/latency": 0,
            f"{CPU}/cpu0/cpuidle/state1/name": "C6",
            f"{CPU}/cpu0/cpuidle/state1/latency": 133,
        },
        WARN,
        "2 states, the deepest C6 with 133 us",
    ),
    (
        frequency.idle,
        {
            f"{CPU}/cpu0/cpuidle/state1/name": "C6",
            f"{CPU}/cpu0/cpuidle/state1/latency": 133,
            f"{CPU}/cpu0/cpuidle/state1/disable": 1,
            f"{CPU}/cpu0/cpuidle/state0/name": "C1",
            f"{CPU}/cpu0/cpuidle/state0/latency": 1,
        },
        OK,
        "1 state, the deepest C1",
    ),
    (memory.huge_pages, {}, ABSENT, "none"),
    (memory.huge_pages, {HUGE: "[always] madvise never"}, WARN, "always"),
    (memory.huge_pages, {HUGE: "always [madvise] never"}, OK, "madvise"),
    (memory.balancing, {}, ABSENT, "none"),
    (memory.balancing, two_nodes() | {f"{KERNEL}/numa_balancing": 1}, WARN, "on"),
    (memory.balancing, {f"{KERNEL}/numa_balancing": 1}, OK, "on, with one node"),
    (memory.balancing, two_nodes() | {f"{KERNEL}/numa_balancing": 0}, OK, "off"),
    (access.ptrace, {}, OK, "no Yama"),
    (access.ptrace, {f"{KERNEL}/yama/ptrace_scope": 1}, OK, "ptrace_scope 1"),
    (access.ptrace, {f"{KERNEL}/yama/ptrace_scope": 0}, OK, "allowed"),
    (clock.source, {}, ABSENT, "does not say"),
    (clock.source, {f"{SOURCE}/current_clocksource": "tsc"}, OK, "tsc"),
    (clock.source, {f"{SOURCE}/current_clocksource": "hpet"}, WARN, "hpet"),
    (system.kernel, {}, ABSENT, "does not say"),
    (
        system.kernel,
        {f"{KERNEL}/osrelease": "6.1.0", f"{KERNEL}/version": "#1 SMP PREEMPT_DYNAMIC Debian"},
        OK,
        "6.1.0, PREEMPT_DYNAMIC",
    ),
    (
        system.kernel,
        {f"{KERNEL}/osrelease": "6.1.0-rt", f"{KERNEL}/version": "#1 SMP PREEMPT_RT Debian"},
        WARN,
        "PREEMPT_RT",
    ),
    (system.randomisation, {}, ABSENT, "does not say"),
    (system.randomisation, {f"{KERNEL}/randomize_va_space": 2}, OK, "on"),
    (system.randomisation, {f"{KERNEL}/randomize_va_space": 0}, WARN, "off"),
    (
        system.randomisation,
        {f"{KERNEL}/randomize_va_space": 2, "/proc/self/personality": "00040000"},
        WARN,
        "setarch",
    ),
    (system.virtualisation, {"/proc/cpuinfo": "flags\t: fpu vme"}, OK, "none"),
    (
        system.virtualisation,
        {
            "/proc/cpuinfo": "model name\t: x\nflags\t\t: fpu hypervisor",
            "/sys/class/dmi/id/sys_vendor": "QEMU",
            "/.dockerenv": "",
        },
        WARN,
        "virtual machine (QEMU), in a container (docker)",
    ),
    (system.virtualisation, {"/proc/1/environ": "A=1\0container=lxc\0"}, OK, "none, in a"),
    (scheduler.slices, {}, ABSENT, "does not tell"),
    (
        scheduler.slices,
        {
            "/sys/kernel/debug/sched/base_slice_ns": 2800000,
            f"{KERNEL}/sched_rr_timeslice_ms": 100,
            f"{KERNEL}/osrelease": "6.12",
            "/boot/config-6.12": "CONFIG_X=y\nCONFIG_HZ=250\nCONFIG_HZ_250=y",
        },
        OK,
        "base slice 2.8 ms, SCHED_RR 100 ms, 250 ticks a second",
    ),
    (
        scheduler.slices,
        {f"{KERNEL}/sched_min_granularity_ns": 3000000},
        OK,
        "minimum granularity 3 ms",
    ),
    (scheduler.autogroup, {f"{KERNEL}/sched_autogroup_enabled": 1}, OK, "on"),
    (scheduler.autogroup, {}, OK, "has none"),
    (scheduler.bandwidth, {}, ABSENT, "does not say"),
    (
        scheduler.bandwidth,
        {f"{KERNEL}/sched_rt_runtime_us": -1, f"{KERNEL}/sched_rt_period_us": 1000000},
        WARN,
        "none",
    ),
    (
        scheduler.bandwidth,
        {f"{KERNEL}/sched_rt_runtime_us": 950000, f"{KERNEL}/sched_rt_period_us": 1000000},
        OK,
        "95%",
    ),
    (scheduler.policy, {}, ABSENT, "does not say"),
    (scheduler.policy, {"/proc/self/stat": STAT.format(nice=0, policy=0)}, OK, "normal, nice 0"),
    (scheduler.policy, {"/proc/self/stat": STAT.format(nice=5, policy=0)}, WARN, "nice 5"),
    (scheduler.policy, {"/proc/self/stat": STAT.format(nice=0, policy=1)}, WARN, "SCHED_FIFO"),
    (
        scheduler.policy,
        {"/sys/kernel/sched_ext/state": "enabled", "/sys/kernel/sched_ext/root/ops": "rusty"},
        WARN,
        "sched_ext: rusty",
    ),
    (scheduler.isolated, {f"{CPU}/isolated": ""}, OK, "none"),
    (scheduler.isolated, {f"{CPU}/isolated": "2-3"}, WARN, "2-3"),
]


@pytest.mark.parametrize(
    ("reader", "files", "level", "found"),
    CASES,
    ids=[f"{case[0].__module__.rpartition('.')[2]}-{case[0].__name__}-{case[2]}" for case in CASES],
)
def test_a_made_up_machine_is_read_right(
    reader: Callable[[Tree], Finding],
    files: dict[str, object],
    level: str,
    found: str,
    tmp_path: Path,
) -> None:
    finding = reader(machine.make(tmp_path, files))
    assert (finding.level, found in finding.found) == (level, True), finding
    assert finding.effect, "what it means"
    if level == WARN:
        assert finding.advice, "what to do"


def test_every_reader_bears_files_that_make_no_sense(tmp_path: Path) -> None:
    """Words where numbers belong, nothing at all, and files that cannot be read."""
    names = {name for _, files, _, _ in CASES for name in files}
    names |= {"/proc/stat", "/etc/ld.so.preload", "/proc/config.gz", "/proc/self/timerslack_ns"}
    for place, content in (("words", "? - , a:b"), ("empty", "")):
        tree = machine.make(tmp_path / place, dict.fromkeys(names, content))
        assert len(examine.examine(tree, examine.Looked())) > 25
    folders = [n for n in names if not any(m.startswith(f"{n}/") for m in names)]
    for name in folders:
        machine.unreadable(tmp_path / "closed", name)
    assert len(examine.examine(Tree(tmp_path / "closed"), examine.Looked())) > 25


def test_lists_of_processors() -> None:
    assert numbers_of("0-2,7, 9-9") == {0, 1, 2, 7, 9}
    assert numbers_of("") == numbers_of(None) == numbers_of("x-y") == set()


def test_ticks_come_from_the_kernels_own_configuration(tmp_path: Path) -> None:
    tree = machine.make(tmp_path, {f"{KERNEL}/osrelease": "6.12"})
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=1000\n"))
    assert "1000 ticks" in scheduler.slices(tree).found


def test_load_is_the_share_of_others_and_of_the_host(tmp_path: Path) -> None:
    """Two looks, 100 ticks apart on 2 processors: 60 busy, 10 of them ours, 20 stolen."""
    looks = [
        load.times(machine.make(tmp_path / str(n), {"/proc/stat": stat(*times)}))
        for n, times in enumerate([(100, 300, 50), (140, 340, 70)])
    ]
    before, after = looks
    assert before is not None
    assert after is not None
    tick = before.total / 450
    earlier = [load.Program(1, 5, "db", 10 * tick), load.Program(2, 5, "old", 70 * tick)]
    later = [
        load.Program(1, 5, "db", 40 * tick),
        load.Program(2, 9, "another of that id", 1 * tick),
        load.Program(3, 6, "quiet", 0.0),
    ]
    seen = load.between(before, after, 10 * tick, earlier, later)
    assert seen is not None
    assert seen.others == pytest.approx(0.5)
    assert seen.stolen == pytest.approx(0.2)
    assert [name for name, _ in seen.busiest] == ["db", "another of that id"]
    assert seen.busiest[0][1] == pytest.approx(0.3)
    assert load.between(after, after, 0) is None
    tree = machine.make(tmp_path / "now", {"/proc/stat": stat(140, 340, 70)})
    assert load.steal(tree, seen).level == WARN
    assert load.others(seen).level == WARN
    assert "db 30%" in load.others(seen).found
    assert load.others(load.Load(0.02, 0.0)).level == OK
    assert load.others(None).level == ABSENT
    assert load.steal(Tree(tmp_path / "nowhere"), None).level == ABSENT


def test_programs_whose_names_have_anything_in_them(tmp_path: Path) -> None:
    words = ["S", *["0"] * 10, "200", "100", *["0"] * 6, "4711", "0"]
    tree = machine.make(tmp_path, {"/proc/12/stat": f"12 (a) (b c) {' '.join(words)}"})
    (found,) = load.programs(tree)
    assert (found.pid, found.started, found.name) == (12, 4711, "a) (b c")
    assert found.seconds > 0


def test_what_was_tried_decides() -> None:
    """Findings that no file tells."""
    nothing = Tree(Path("/nonexistent"))
    assert clock.cost(None).level == ABSENT
    assert clock.cost(24.0).level == OK
    assert clock.cost(600.0).level == WARN
    assert clock.resolution(nothing, 1).level == OK
    assert clock.resolution(nothing, 4_000_000).level == WARN
    assert clock.resolution(nothing, None).level == ABSENT
    assert system.libc("glibc 2.36").level == OK
    assert system.libc("glibc 2.31").level == WARN
    assert system.libc(None).level == WARN
    assert system.compiler(None).level == ABSENT
    assert system.compiler("GCC: 12").level == OK


def test_other_libraries_in_every_program(tmp_path: Path) -> None:
    tree = machine.make(tmp_path, {"/etc/ld.so.preload": "/usr/lib/libsnoopy.so"})
    assert "libsnoopy" in system.preloaded(tree, None).found
    assert system.preloaded(tree, None).level == WARN
    assert system.preloaded(Tree(tmp_path / "x"), "/a.so").level == WARN
    assert system.preloaded(Tree(tmp_path / "x"), None).level == OK


def test_access_to_counters(tmp_path: Path) -> None:
    cpu = {"/sys/bus/event_source/devices/cpu/type": 4}
    for n, (files, refusal, level) in enumerate(
        [
            ({}, None, ABSENT),
            ({f"{KERNEL}/perf_event_paranoid": 2}, "", ABSENT),
            ({f"{KERNEL}/perf_event_paranoid": 2, **cpu}, "", OK),
            ({f"{KERNEL}/perf_event_paranoid": 3, **cpu}, "not allowed", WARN),
            ({f"{KERNEL}/perf_event_paranoid": 2, **cpu}, None, WARN),
        ]
    ):
        assert access.perf(machine.make(tmp_path / str(n), files), refusal).level == level, n


def test_access_to_energy() -> None:
    domain = Domain("package", "package-0", "powercap", 1e-6, 100, lambda: 0)
    assert access.rapl(Sources()).level == ABSENT
    closed = access.rapl(Sources(refused={"package-0": "Permission denied"}))
    assert (closed.level, "package-0: Permission denied" in closed.found) == (WARN, True)
    assert "package (by powercap)" in access.rapl(Sources([domain])).found


def test_the_command_shows_and_writes_every_finding(cli: Cli, libdir: Path, tmp_path: Path) -> None:
    """This machine, whatever it is."""
    file = tmp_path / "findings.json"
    result = cli("doctor", "--seconds", "0.1", "--json", file)
    assert result.status == 0, result.err
    document = json.loads(file.read_text())
    assert {"cpu", "kernel", "lockwright", "compiler"} <= document.keys()
    if (libdir / "revision").exists():
        assert re.fullmatch(r"[0-9a-f]{12,40}(-dirty)?", document["revision"])
    else:
        assert "revision" not in document
    findings = [Finding(**each) for each in document["findings"]]
    assert len({each.name for each in findings}) == len(findings) > 25
    for each in findings:
        assert any(
            line.startswith(each.level) and each.name in line and each.found in line
            for line in result.out.splitlines()
        ), each
        assert (each.effect in result.out) == (each.level != OK), each
    clock_read = next(each for each in findings if each.name == "clock read")
    assert clock_read.level != ABSENT, "lockwright-bench measured it"
    every = cli("doctor", "--seconds", "0.1", "--all")
    assert all(each.effect in every.out for each in findings if each.level == OK)


def test_the_command_refuses_what_it_cannot_do(cli: Cli, tmp_path: Path) -> None:
    cli("doctor", "--json", tmp_path / "no" / "where.json").refuses("where.json", "--json")
    cli("doctor", "--seconds", "0").refuses("--seconds")
    cli("doctor", "now").refuses("now")
