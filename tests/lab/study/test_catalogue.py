"""Every entry of the catalogue can be run, and rejects wrong output."""

import re
from pathlib import Path

import pytest
from lockwright.preload import locks
from lockwright.run import record
from lockwright.run.process_runner import ProcessRunner
from lockwright_lab.study.program import catalogue
from lockwright_lab.study.program.entry import Program
from lockwright_lab.study.program.placeholders import Placeholders
from lockwright_lab.study.program.trial import Trial
from msgspec import structs

ENTRIES = [catalogue.find(name) for name in catalogue.names()]
PACKAGED = [each for each in ENTRIES if each.packages]


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
        named = "|".join(["threads", "work", "data", *program.words])
        left = [word for word in words if re.search(rf"\{{(=|({named})\}})", word)]
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
    assert found.ended not in (record.FINISHED, record.FAILED), found
