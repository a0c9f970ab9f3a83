"""The readers of `lockwright doctor`, on made-up machines."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lockwright.doctor import cgroup, clock, examine, frequency, memory, scheduler, system
from lockwright.machine import processors
from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.procfs import Tree
from support import machine
from support.machine import CPU

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


#: A reader, a machine's files, and the level and words of the finding.
CASES: list[tuple[Callable[[Tree], Finding], dict[str, object], str, str]] = [
    (processors.count_finding, {}, ABSENT, "does not report"),
    (
        processors.count_finding,
        machine.processors(8, 2),
        OK,
        "16 processors on 8 cores of 1 package",
    ),
    (processors.count_finding, machine.processors(1), WARN, "1 processor on 1 core"),
    (
        processors.count_finding,
        machine.processors(8, 2) | {"/proc/self/status": "Cpus_allowed_list:\t0-1,8"},
        WARN,
        "3 processors on 2 cores of 1 package; the machine has 16",
    ),
    (processors.smt_finding, machine.processors(4), OK, "each core runs one thread"),
    (processors.smt_finding, machine.processors(4, 2), WARN, "4 of 4 cores"),
    (
        processors.smt_finding,
        machine.processors(2) | {f"{CPU}/smt/control": "off"},
        OK,
        "each core runs one thread (off)",
    ),
    # One thread of each core is allowed, so that no two share a core.
    (
        processors.smt_finding,
        machine.processors(4, 2) | {"/proc/self/status": "Cpus_allowed_list:\t0-3"},
        OK,
        "each core runs one thread",
    ),
    (processors.smt_finding, {f"{CPU}/online": "0-1"}, ABSENT, "does not report"),
    (processors.numa_finding, two_nodes(), OK, "2 nodes with 2, 2 processors"),
    (
        processors.numa_finding,
        two_nodes() | {"/proc/self/status": "Cpus_allowed_list:\t2-3"},
        OK,
        "1 node of 2",
    ),
    (processors.numa_finding, machine.processors(2), ABSENT, "does not report"),
    (cgroup.cgroup, {}, ABSENT, "no control group"),
    (cgroup.cgroup, {"/proc/self/cgroup": "0::/", "/proc/self/mounts": UNIFIED}, OK, "none"),
    (
        cgroup.cgroup,
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
        cgroup.cgroup,
        machine.processors(4)
        | {
            "/proc/self/cgroup": "0::/",
            "/proc/self/mounts": UNIFIED,
            "/sys/fs/cgroup/cpu.max": "800000 100000",
        },
        OK,
        "8 processors' time",
    ),
    # A container's group is outside of its own mount.
    (
        cgroup.cgroup,
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
        cgroup.cgroup,
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
    (frequency.scaling, {}, ABSENT, "does not report"),
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
    (frequency.idle, {}, ABSENT, "does not report"),
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
    (memory.huge_pages, {}, ABSENT, "no transparent"),
    (memory.huge_pages, {HUGE: "[always] madvise never"}, WARN, "always"),
    (memory.huge_pages, {HUGE: "always [madvise] never"}, OK, "madvise"),
    (memory.balancing, {}, ABSENT, "none"),
    (memory.balancing, two_nodes() | {f"{KERNEL}/numa_balancing": 1}, WARN, "on"),
    (memory.balancing, {f"{KERNEL}/numa_balancing": 1}, OK, "on, with one node"),
    (memory.balancing, two_nodes() | {f"{KERNEL}/numa_balancing": 0}, OK, "off"),
    (clock.source, {}, ABSENT, "does not report"),
    (clock.source, {f"{SOURCE}/current_clocksource": "tsc"}, OK, "tsc"),
    (clock.source, {f"{SOURCE}/current_clocksource": "hpet"}, WARN, "hpet"),
    (system.kernel, {}, ABSENT, "does not report"),
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
    (system.randomisation, {}, ABSENT, "does not report"),
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
    (scheduler.slices, {}, ABSENT, "does not report"),
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
    (scheduler.bandwidth, {}, ABSENT, "does not report"),
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
        "95 %",
    ),
    (scheduler.policy, {}, ABSENT, "does not report"),
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
def test_a_reader_on_a_made_up_machine(
    reader: Callable[[Tree], Finding],
    files: dict[str, object],
    level: str,
    found: str,
    tmp_path: Path,
) -> None:
    finding = reader(machine.make(tmp_path, files))
    assert (finding.level, found in finding.found) == (level, True), finding
    assert finding.effect
    if level == WARN:
        assert finding.advice


def test_every_reader_accepts_files_without_sense(tmp_path: Path) -> None:
    """Files have words instead of numbers, are empty, or cannot be read."""
    names = {name for _, files, _, _ in CASES for name in files}
    names |= {"/proc/stat", "/etc/ld.so.preload", "/proc/config.gz", "/proc/self/timerslack_ns"}
    for name, content in (("words", "? - , a:b"), ("empty", "")):
        tree = machine.make(tmp_path / name, dict.fromkeys(names, content))
        assert len(examine.examine(tree, examine.Observations())) > 25
    folders = [n for n in names if not any(m.startswith(f"{n}/") for m in names)]
    for name in folders:
        machine.unreadable(tmp_path / "closed", name)
    assert len(examine.examine(Tree(tmp_path / "closed"), examine.Observations())) > 25
