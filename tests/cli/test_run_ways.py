"""`--rwlock` and `--spin`, of `run` and `compare`, choose what becomes of other locks."""

import json
from pathlib import Path

import pytest

from .conftest import Cli, Program

RWLOCK = "LOCKWRIGHT_RWLOCK"
PRINT = f"import os, threading; print(os.environ.get('{RWLOCK}'))"


@pytest.mark.parametrize(
    ("options", "variables", "found"),
    [
        ([], {}, None),
        (["--rwlock", "mutex"], {}, "mutex"),
        (["--rwlock", "phase-fair", "--stats"], {}, "phase-fair"),
        ([], {RWLOCK: "mutex"}, "mutex"),
        (["--rwlock", "keep"], {RWLOCK: "mutex"}, "keep"),
    ],
)
def test_the_program_finds_what_was_chosen(
    cli: Cli, options: list[str], variables: dict[str, str], found: str | None
) -> None:
    """An option comes before the environment."""
    done = cli("run", "--lock", "mcs-stp", *options, "--", "python3", "-c", PRINT, env=variables)
    assert done.status == 0, done.err
    assert done.out.split() == [str(found)]


@pytest.mark.parametrize(
    ("value", "nearest"),
    [("phasefair", "phase-fair"), ("phase_fair", "phase-fair"), ("mutexes", "mutex")],
)
def test_other_words_are_refused(cli: Cli, value: str, nearest: str) -> None:
    """The line comes before the program runs, and has the nearest word."""
    cli("run", "--lock", "ttas", "--rwlock", value, "true").refuses(
        "--rwlock", f"'{value}'", f"did you mean '{nearest}'?"
    )
    cli("compare", "--rwlock", value, "--", "true").refuses("--rwlock", f"did you mean '{nearest}'")
    cli("run", "--lock", "ttas", "true", env={RWLOCK: value}).refuses(RWLOCK, f"'{nearest}'")


def test_words_that_are_near_to_none_are_refused(cli: Cli) -> None:
    """The message lists all words."""
    cli("run", "--lock", "ttas", "--rwlock", "xyz", "true").refuses("keep, mutex or phase-fair")


def test_compare_hands_it_to_every_run(cli: Cli, tmp_path: Path) -> None:
    """And records it with the results."""
    report = tmp_path / "report.json"
    words = ["--locks", "pthread,ttas", "--runs", "1", "--warmup", "0", "--metric", "way=(1)"]
    script = f"import os, threading; print('way=%d' % (os.environ['{RWLOCK}'] == 'mutex'))"
    more = ["--unit", "x", "--rwlock", "mutex", "--json", str(report), "--db", str(tmp_path / "db")]
    done = cli("compare", *words, *more, "--", "python3", "-c", script)
    assert done.status == 0, done.err
    assert f'"{RWLOCK}": "mutex"' in json.dumps(json.loads(report.read_text()))


def test_spin_locks(cli: Cli) -> None:
    """They become the lock only where it fits, which is said before the program runs."""
    script = "import os, threading; print(os.environ.get('LOCKWRIGHT_SPIN'))"
    for lock in ("ttas", "pthread"):
        done = cli("run", "--lock", lock, "--spin", "mutex", "--", "python3", "-c", script)
        assert (done.status, done.out) == (0, "mutex\n"), done.err
    words = ("--spin", "mutex", "--", "true")
    cli("run", "--lock", "mcs-stp", *words).refuses("mcs-stp takes 16 bytes", "ttas", "parking-lot")
    cli("compare", "--locks", "ttas,mcs-stp", *words).refuses("mcs-stp takes 16 bytes")
    cli("run", "--lock", "ttas", "--spin", "kep", "true").refuses("--spin", "did you mean 'keep'?")


def test_what_is_ours_is_shown(cli: Cli, program: Program) -> None:
    """And only that: a program with reader-writer locks alone has no lock of ours else."""
    words = ("run", "--lock", "ttas", "--stats")
    done = cli(*words, "--rwlock", "mutex", program("rwlock"))
    assert done.status == 0, done.err
    assert [line.split() for line in done.err.splitlines()[-2:]] == [
        ["read", "locks", "3"],
        ["write", "locks", "2"],
    ]
    done = cli(*words, program("rwlock"))
    assert done.status == 0
    assert "took no mutex" in done.err
    assert "read locks" not in done.err
