"""`--rwlock` and `--spin` of `run` and `compare` select the implementation of other locks."""

import json
from pathlib import Path

import pytest

from .conftest import Cli, Program

RWLOCK = "LOCKWRIGHT_RWLOCK"
PRINT = f"import os, threading; print(os.environ.get('{RWLOCK}'))"


@pytest.mark.parametrize(
    ("options", "variables", "found"),
    [
        (["--lock", "mcs-stp"], {}, None),
        (["--lock", "mcs-stp", "--rwlock", "mutex"], {}, "mutex"),
        (["--lock", "mcs-stp", "--rwlock", "phase-fair", "--stats"], {}, "phase-fair"),
        (["--lock", "mcs-stp"], {RWLOCK: "mutex"}, "mutex"),
        (["--lock", "mcs-stp", "--rwlock", "keep"], {RWLOCK: "mutex"}, "keep"),
        ([], {}, "adaptive-rw"),
        ([], {RWLOCK: "futex-rw"}, "futex-rw"),
        (["--rwlock", "keep"], {}, "keep"),
    ],
)
def test_the_program_gets_the_variable(
    cli: Cli, options: list[str], variables: dict[str, str], found: str | None
) -> None:
    """An option has precedence over the environment, and both over the default."""
    done = cli("run", *options, "--", "python3", "-c", PRINT, env=variables)
    assert done.status == 0, done.err
    assert done.out.split() == [str(found)]


@pytest.mark.parametrize(
    ("value", "nearest"),
    [("phasefair", "phase-fair"), ("phase_fair", "phase-fair"), ("mutexes", "mutex")],
)
def test_unknown_values_are_refused(cli: Cli, value: str, nearest: str) -> None:
    """The message has the nearest value, and the program is not run."""
    result = cli("run", "--lock", "ttas", "--rwlock", value, "true")
    result.refuses("--rwlock", f"'{value}'", f"did you mean '{nearest}'?")
    cli("compare", "--rwlock", value, "--", "true").refuses("--rwlock", f"did you mean '{nearest}'")
    cli("run", "--lock", "ttas", "true", env={RWLOCK: value}).refuses(RWLOCK, f"'{nearest}'")


def test_values_near_to_none_are_refused(cli: Cli) -> None:
    """The message lists all values."""
    cli("run", "--lock", "ttas", "--rwlock", "xyz", "true").refuses("keep, mutex, phase-fair")


def test_compare_sets_it_for_every_run(cli: Cli, tmp_path: Path) -> None:
    """It is recorded with the results."""
    report = tmp_path / "report.json"
    words = [
        "--locks",
        "pthread,ttas",
        "--runs",
        "1",
        "--warm-up-runs",
        "0",
        "--metric",
        "rwlock=(1)",
    ]
    script = f"import os, threading; print('rwlock=%d' % (os.environ['{RWLOCK}'] == 'mutex'))"
    settings = [
        "--unit",
        "x",
        "--rwlock",
        "mutex",
        "--json",
        str(report),
        "--db",
        str(tmp_path / "db"),
    ]
    done = cli("compare", *words, *settings, "--", "python3", "-c", script)
    assert done.status == 0, done.err
    assert f'"{RWLOCK}": "mutex"' in json.dumps(json.loads(report.read_text()))


def test_spin_locks(cli: Cli) -> None:
    """They become the lock only where it fits; else the program is not run."""
    script = "import os, threading; print(os.environ.get('LOCKWRIGHT_SPIN'))"
    for lock in ("ttas", "pthread"):
        done = cli("run", "--lock", lock, "--spin", "mutex", "--", "python3", "-c", script)
        assert (done.status, done.out) == (0, "mutex\n"), done.err
    words = ("--spin", "mutex", "--", "true")
    cli("run", "--lock", "mcs-stp", *words).refuses("mcs-stp takes 16 bytes", "ttas", "parking-lot")
    cli("compare", "--locks", "ttas,mcs-stp", *words).refuses("mcs-stp takes 16 bytes")
    cli("run", "--lock", "ttas", "--spin", "kep", "true").refuses("--spin", "did you mean 'keep'?")


def test_stats_count_reader_writer_locks(cli: Cli, program: Program) -> None:
    """A program with reader-writer locks only has no counts unless they are Lockwright's."""
    words = ("run", "--lock", "ttas", "--stats")
    done = cli(*words, "--rwlock", "mutex", program("rwlock"))
    assert done.status == 0, done.err
    assert [line.split() for line in done.err.splitlines()[-2:]] == [
        ["read", "locks", "3"],
        ["write", "locks", "2"],
    ]
    done = cli(*words, program("rwlock"))
    assert done.status == 0
    assert "took no mutex, but reader-writer locks 5 times" in done.err
    assert "--rwlock" in done.err
    assert "read locks" not in done.err
