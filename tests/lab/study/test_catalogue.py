"""Every entry of the catalogue can be run, and takes no wrong run for a right one."""

import re
import tomllib
from pathlib import Path

import pytest
from lockwright.preload import locks
from lockwright.preload.rwlocks import rwlocks
from lockwright.run import record
from lockwright.run.process_runner import ProcessRunner
from lockwright_lab.study.campaign import plan as plans
from lockwright_lab.study.program import catalogue
from lockwright_lab.study.program.entry import Program
from lockwright_lab.study.program.placeholders import Placeholders
from lockwright_lab.study.program.trial import Trial
from msgspec import structs
from support import locate

ENTRIES = [catalogue.find(name) for name in catalogue.names()]
PACKAGED = [each for each in ENTRIES if each.packages]
SUITES = ("PARSEC 3", "SPLASH-2x", "Phoenix 2")


def test_there_are_programs_of_every_kind() -> None:
    """Those of packages, each with a check; and the suites of the papers, to be installed."""
    assert len(PACKAGED) >= 25
    assert {"database", "key-value store", "cache", "web", "media", "compression", "science"} < {
        each.category for each in PACKAGED
    }
    for each in PACKAGED:
        check = each.check
        assert check.matches or check.same or check.command, each.name
        assert each.least <= 2 or each.name == "varnish"
    for suite in SUITES:
        own = [each for each in ENTRIES if each.category == suite]
        assert own
        assert all(each.install.startswith("your own") and not each.packages for each in own)


def test_every_place_can_be_filled() -> None:
    """Nothing in braces is left, but what a shell or another language means by them."""
    for program in ENTRIES:
        places = Placeholders(program, 3, 1.0, Path("/data"), Path("/work"), Path("/lib.so"))
        server = program.server
        commands = [program.command, program.before, program.check.command]
        commands += [program.warmup.command] if program.warmup else []
        commands += [server.command, server.load, server.ready_command] if server else []
        words = [word for command in commands if command for word in places.words(command)]
        words += [places.fill(text) for text in program.files.values()]
        left = [word for word in words if re.search(r"\{(=|(threads|work|data)\})", word)]
        assert not left, program.name


def fakeable(program: Program) -> bool:
    """Return whether another program can take the place of what an entry runs."""
    words = program.command if isinstance(program.command, tuple) else program.command.split()
    return program.server is None and not words[0].startswith("/")


@pytest.mark.parametrize(
    "program", [each for each in PACKAGED if fakeable(each)], ids=lambda each: each.name
)
def test_what_does_nothing_is_wrong(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that ends well and prints nothing is refused, whatever else is as it should be."""
    fakes = tmp_path / "bin"
    fakes.mkdir()
    for name in program.needs:
        if "/" not in name:
            (fakes / name).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{fakes}:/usr/bin:/bin")
    data = tmp_path / "data"
    data.mkdir()
    for each in program.inputs:
        # Some inputs are programs.
        (data / each.name).symlink_to("/bin/true")
    reference = dict.fromkeys(program.check.same, "the sum of what is right")
    with ProcessRunner() as processes:
        trial = Trial(processes, tmp_path / "work", reference=reference)
        library = locks.registry().path_of(locks.BASELINE)
        # Its own libraries may not be here.
        bare = structs.replace(program, preload=())
        found = trial.run(Placeholders(bare, 2, 1.0, data, Path(), library))
    assert found.outcome not in (record.FINISHED, record.FAILED), found


def test_the_study_of_half_an_hour_is_as_large_as_it_is_said_to_be() -> None:
    """Twelve programs that packages bring, twelve locks, three numbers of threads."""
    plan = tomllib.loads((locate.ROOT / "lab/studies/half-hour.toml").read_text())
    named = [catalogue.find(each["from"]) for each in plan["program"]]
    assert len({each.name for each in named if each.packages}) >= 12
    assert len(set(plan["locks"])) >= 12
    assert len(set(plan["threads"])) == 3


def test_the_study_of_reader_writer_locks_has_all_of_them() -> None:
    """Each of its programs is installed from packages."""
    plan = plans.read(locate.ROOT / "lab/studies/reader-writer-locks.toml", locks.registry())
    assert plan.locks == (locks.BASELINE, *rwlocks())
    assert {"kyoto-hash", "haproxy-tls"} < {each.program.name for each in plan.members}
    assert all(each.program.packages for each in plan.members)
    assert plan.runs >= 5
