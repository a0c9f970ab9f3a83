"""Studies whose plan compares reader-writer locks instead of mutexes."""

from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.experiment import Run
from lockwright.preload import locks
from lockwright.preload.rwlocks import rwlocks
from lockwright.run import record
from lockwright_lab.study.campaign import plan as plans
from lockwright_lab.study.campaign.local_machine import Folders, LocalMachine
from lockwright_lab.study.campaign.plan import Configuration, Plan

COMMON = "endings = true\nthreads = [2]\nruns = 1\nmost_runs = 1\nscale = 0.05\n"
CACHE = 'programs = ["shared-mutex-cache"]\n'


def read(folder: Path, text: str) -> Plan:
    (folder / "plan.toml").write_text(COMMON + text)
    return plans.read(folder / "plan.toml", locks.registry())


def runs_of(folder: Path, plan: Plan) -> tuple[Run, dict[str, Run]]:
    """Return the probe and the run of each lock of a plan with one program."""
    setting = Configuration(plan.members[0].program.name, "", 2, 0, "none")
    with LocalMachine("here", plan, Folders(folder / "cache", folder / "work")) as local:
        probe = local.probe(setting)
        if not probe.finished:
            return probe, {}
        return probe, {each.lock: local.run(each, 1, probe) for each in plan.configurations()}


def test_all_and_some(tmp_path: Path) -> None:
    assert read(tmp_path, 'rwlocks = "all"\n' + CACHE).rwlocks == tuple(rwlocks())
    some = read(
        tmp_path, 'rwlocks = ["keep", "futex-rw", "shfl-rw"]\nwithout = ["shfl-rw"]\n' + CACHE
    )
    assert some.locks == ("pthread", "futex-rw")
    assert some.mutexes == ("pthread",)
    assert [each.lock for each in some.configurations()] == ["pthread", "futex-rw"]
    assert [some.settings_of(lock)[locks.RWLOCK] for lock in some.locks] == ["keep", "futex-rw"]


def test_a_pair_of_locks(tmp_path: Path) -> None:
    """It replaces mutexes and reader-writer locks; those of other locks stay."""
    plan = read(tmp_path, 'locks = ["pthread", "adaptive/futex-rw"]\n' + CACHE)
    assert plan.mutexes == ("pthread", "adaptive")
    assert [plan.settings_of(lock).get(locks.RWLOCK) for lock in plan.locks] == [None, "futex-rw"]
    probe, results = runs_of(tmp_path, plan)
    assert probe.details["counts"]["reads"] > 0
    assert results["adaptive/futex-rw"].meters["acquisitions"] > 0
    with pytest.raises(LockwrightError) as caught:
        read(tmp_path, 'locks = ["adaptive/futx-rw"]\n' + CACHE)
    assert "futx-rw" in caught.value.line()


def test_the_default_and_no_library(tmp_path: Path) -> None:
    """Without a library nothing is counted."""
    plan = read(tmp_path, 'locks = ["libc", "default"]\n' + CACHE)
    assert plan.locks == ("pthread", "libc", "default")
    assert plan.mutexes == ("pthread", locks.DEFAULT_LOCK)
    assert plan.settings_of("default")[locks.RWLOCK] == locks.DEFAULT_RWLOCK
    _, results = runs_of(tmp_path, plan)
    assert results["default"].meters["acquisitions"] > 0
    assert results["libc"].finished
    assert "acquisitions" not in results["libc"].meters


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('rwlocks = ["futx-rw"]', ("rwlocks", "futx-rw", "did you mean 'futex-rw'?")),
        ('rwlocks = ["mutex"]', ("rwlocks", "'mutex'")),
        ('rwlocks = "all"\nwithout = ["mcs"]', ("without", "'mcs'")),
        ('rwlocks = ["keep"]', ("names no reader-writer lock",)),
        ("rwlocks = 3", ("rwlocks: is 3, not a text or a list",)),
        ('rwlocks = "all"\nlocks = ["mcs-stp"]', ("beside locks", "leave out locks")),
        ('rwlocks = "all"\nrwlock = "futex-rw"', ("beside rwlock",)),
    ],
)
def test_faults_of_the_key(tmp_path: Path, text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(LockwrightError) as caught:
        read(tmp_path, f"{text}\n{CACHE}")
    assert all(word in caught.value.line() for word in words), caught.value.line()


def test_runs_take_the_lock_of_their_configuration(tmp_path: Path) -> None:
    """Only Lockwright's reader-writer locks are counted; the probe has the first of them."""
    probe, results = runs_of(
        tmp_path, read(tmp_path, 'rwlocks = ["futex-rw", "shfl-rw"]\n' + CACHE)
    )
    assert probe.finished
    counts = probe.details["counts"]
    assert counts["reads"] > 10 * counts["writes"] > 0
    assert {lock: result.ended for lock, result in results.items()} == dict.fromkeys(
        ("pthread", "futex-rw", "shfl-rw"), record.FINISHED
    )
    taken = {lock: result.meters["acquisitions"] for lock, result in results.items()}
    assert taken["pthread"] == 0
    assert min(taken["futex-rw"], taken["shfl-rw"]) > 0


def test_a_program_without_reader_writer_locks_is_left_out(tmp_path: Path) -> None:
    text = "rwlocks = ['futex-rw']\n[[program]]\nname = 'none'\ncommand = ['sleep', '0']\n"
    probe, _ = runs_of(tmp_path, read(tmp_path, text))
    assert probe.note == "it takes no reader-writer lock that can be interposed"
