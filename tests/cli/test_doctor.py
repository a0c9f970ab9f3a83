"""`lockwright doctor`: other load, measured findings, and the output of all findings."""

import errno
import gzip
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lockwright.base.terminal import secondary
from lockwright.doctor import access, clock, scheduler, signals, system
from lockwright.doctor.findings_table import print_findings
from lockwright.machine import load
from lockwright.machine.energy.domains import Domain, Sources
from lockwright.machine.finding import ABSENT, OK, WARN, Finding
from lockwright.machine.procfs import Tree, numbers_of
from support import machine

from .conftest import Cli

KERNEL = "/proc/sys/kernel"


def stat(busy: int, idle: int, steal: int) -> str:
    return f"cpu  {busy} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1 2 3"


def test_lists_of_processors() -> None:
    assert numbers_of("0-2,7, 9-9") == {0, 1, 2, 7, 9}
    assert numbers_of("") == numbers_of(None) == numbers_of("x-y") == set()


def test_ticks_come_from_the_kernels_own_configuration(tmp_path: Path) -> None:
    tree = machine.make(tmp_path, {f"{KERNEL}/osrelease": "6.12"})
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=1000\n"))
    assert "1000 ticks" in scheduler.slices(tree).found


def test_load_is_the_share_of_others_and_of_the_host(tmp_path: Path) -> None:
    """Of 100 ticks on 2 processors 60 are busy, 10 of these our own, and 20 stolen."""
    before, after = (
        load.processor_times(machine.make(tmp_path / str(n), {"/proc/stat": stat(*times)}))
        for n, times in enumerate([(100, 300, 50), (140, 340, 70)])
    )
    assert before is not None
    assert after is not None
    tick = before.total / 450
    earlier = [load.Program(1, 5, "db", 10 * tick), load.Program(2, 5, "old", 70 * tick)]
    later = [
        load.Program(1, 5, "db", 40 * tick),
        load.Program(2, 9, "another of that id", 1 * tick),
        load.Program(3, 6, "quiet", 0.0),
    ]
    measured = load.load_between(before, after, 10 * tick, earlier, later)
    assert measured is not None
    assert measured.others == pytest.approx(0.5)
    assert measured.stolen == pytest.approx(0.2)
    assert [name for name, _ in measured.busiest] == ["db", "another of that id"]
    assert measured.busiest[0][1] == pytest.approx(0.3)
    assert load.load_between(after, after, 0) is None
    tree = machine.make(tmp_path / "now", {"/proc/stat": stat(140, 340, 70)})
    assert load.steal_finding(tree, measured).level == WARN
    assert load.others_finding(measured).level == WARN
    assert "db 30 %" in load.others_finding(measured).found
    assert load.others_finding(load.Load(0.02, 0.0)).level == OK
    assert load.others_finding(None).level == ABSENT
    assert load.steal_finding(Tree(tmp_path / "nowhere"), None).level == ABSENT


def test_program_names_with_spaces_and_brackets(tmp_path: Path) -> None:
    words = ["S", *["0"] * 10, "200", "100", *["0"] * 6, "4711", "0"]
    tree = machine.make(tmp_path, {"/proc/12/stat": f"12 (a) (b c) {' '.join(words)}"})
    (found,) = load.programs(tree)
    assert (found.pid, found.started, found.name) == (12, 4711, "a) (b c")
    assert found.seconds > 0


def test_a_process_may_end_while_programs_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel then answers ESRCH, not ENOENT."""
    rest = " ".join(["0"] * 22)
    tree = machine.make(
        tmp_path, {"/proc/1/stat": f"1 (init) S {rest}", "/proc/2/stat": f"2 (gone) S {rest}"}
    )

    def ending(call: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def status(path: str | Path, **options: object) -> os.stat_result:
            if str(path).endswith("2/stat"):
                raise ProcessLookupError(errno.ESRCH, "No such process", str(path))
            return call(path, **options)

        return status

    monkeypatch.setattr(os, "stat", ending(os.stat))
    monkeypatch.setattr(os, "lstat", ending(os.lstat))
    assert [each.name for each in load.programs(tree)] == ["init"]


def test_measured_findings() -> None:
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
    for finding in (signals.current_processor, signals.barrier):
        assert finding(signals.Signals()).level == ABSENT
        assert finding(signals.Signals(rseq=True, membarrier=True)).level == OK
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
    domain = Domain("package", "package-0", 100, lambda: 0)
    assert access.rapl(Sources()).level == ABSENT
    closed = access.rapl(Sources(refused={"package-0": "Permission denied"}))
    assert (closed.level, "package-0: Permission denied" in closed.found) == (WARN, True)
    assert access.rapl(Sources([domain])).found == "package"


def test_the_command_prints_and_writes_every_finding(
    cli: Cli, libdir: Path, tmp_path: Path
) -> None:
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
    assert clock_read.level != ABSENT, "lockwright-calibrate did not measure it"
    every = cli("doctor", "--seconds", "0.1", "--all", "--json", file)
    findings = [Finding(**each) for each in json.loads(file.read_text())["findings"]]
    assert all(each.effect in every.out for each in findings)


def test_the_same_advice_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    findings = [
        Finding("a", ABSENT, "none", "effect a", "ask the host"),
        Finding("b", ABSENT, "none", "effect b", "ask the host"),
        Finding("c", WARN, "on", "effect c", "turn it off"),
        Finding("d", ABSENT, "none", "effect d", "ask the host"),
    ]
    print_findings(secondary(sys.stdout), findings, every=False)
    advice = [line.strip() for line in capsys.readouterr().out.splitlines() if "-> " in line]
    assert advice == ["-> ask the host", "-> as above", "-> turn it off", "-> ask the host"]
