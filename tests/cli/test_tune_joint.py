"""`lockwright tune --with` finds a lock together with the settings of a program."""

import csv
import json
import os
import shlex
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lockwright.run.settings import processors_of
from support.processes import captured, shell_script, wait_until

from .conftest import Cli, Program, Result, count_runs

RATE = ["--metric", r"rate: (\d+)", "--unit", "ops"]
Picky = Callable[[str], Path]


@pytest.fixture
def picky(program: Program, tmp_path: Path) -> Picky:
    """Return a function that makes a program, which takes mutexes and prints a rate.

    The rate is about 10,000 times n / 100, which shell commands may change: LD_PRELOAD and
    GLIBC_TUNABLES show the lock and the allocator, `chrt -p $$` and `nproc` the rest.
    """

    def make(commands: str) -> Path:
        return shell_script(
            tmp_path / "picky",
            f'{program("ends")}\nn=100\n{commands}\necho "rate: $((n * 100 + $$ % 89))"',
        )

    return make


FUTEX = 'case "$LD_PRELOAD" in *-futex.so*) n=$((n * 13 / 10));; esac\n'
RETAIN = 'case "$GLIBC_TUNABLES" in *trim_threshold*) n=$((n * 15 / 10));; esac\n'


def tuned(cli: Cli, dimensions: str, *words: str | Path, seconds: str = "60s") -> Result:
    return cli("tune", "--with", dimensions, "--budget", seconds, *words)


def test_the_combination_is_found_and_each_part_has_its_worth(
    cli: Cli, picky: Picky, tmp_path: Path
) -> None:
    """The last line runs it; files have all races."""
    files = {each: tmp_path / f"o.{each}" for each in ("json", "csv", "html")}
    words = [word for name, file in files.items() for word in (f"--{name}", file)]
    script = picky(FUTEX + RETAIN)
    result = tuned(cli, "allocator,scheduler", "--locks", "futex,ttas", *words, *RATE, "--", script)
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    assert shlex.split(lines[-1])[1:] == [
        *["run", "--lock", "futex", "--allocator", "glibc-retain", "--", str(script)]
    ]
    sentence = lines[lines.index("Use it:") - 1]
    assert sentence.startswith(
        "futex+glibc-retain is shown to be better than the best lock alone (futex): 1.5"
    )
    document = json.loads(files["json"].read_text())
    assert document["complete"]
    assert document["best_lock_alone"] == "futex"
    assert document["recommended"] == {"lock": "futex", "allocator": "glibc-retain"}
    worth = {each["part"]: each for each in document["worth"]}
    assert 1.2 < worth["futex"]["alone"][0] < 1.4
    assert 1.4 < worth["allocator glibc-retain"]["alone"][0] < 1.6
    assert 1.4 < worth["allocator glibc-retain"]["beside_best_lock"][0] < 1.6
    assert 1.8 < worth["all: futex+glibc-retain"]["alone"][0] < 2.1
    races = [each["title"] for each in document["races"]]
    assert races == ["locks", "one at a time", "pairs", "proof"]
    rows = list(csv.DictReader(files["csv"].open()))
    assert {row["race"] for row in rows} == set(races)
    assert len(rows) == sum(len(each["runs"]) for each in document["races"])
    page = files["html"].read_text()
    assert "futex+glibc-retain" in page
    assert "https://" not in page.partition("<script>")[0]


def test_there_is_none(cli: Cli, picky: Picky, tmp_path: Path) -> None:
    """Without a better combination, the command is that of the best lock."""
    target = tmp_path / "o.json"
    script = picky(FUTEX)
    result = tuned(cli, "scheduler", "--locks", "futex", "--json", target, *RATE, "--", script)
    assert result.status == 0, result.err
    assert "No combination is shown to be better than the best lock alone (futex)." in result.out
    assert shlex.split(result.out.splitlines()[-1])[1:4] == ["run", "--lock", "futex"]
    assert json.loads(target.read_text())["recommended"] is None


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor only")
def test_settings_of_processors_and_policy_reach_the_program(
    cli: Cli, picky: Picky, tmp_path: Path
) -> None:
    """Without a better lock, a line does without Lockwright."""
    target = tmp_path / "o.json"
    script = picky('case "$(chrt -p $$)" in *BATCH*) [ "$(nproc)" = 1 ] && n=150;; esac\n')
    result = tuned(
        cli, "pinning,scheduler", "--locks", "pthread", "--json", target, *RATE, "--", script
    )
    assert result.status == 0, result.err
    recommended = json.loads(target.read_text())["recommended"]
    assert recommended["lock"] == "pthread"
    assert recommended["pinning"] == "compact:1"
    assert recommended["scheduler"] == "batch"
    processor = processors_of("compact:1")[0]
    assert result.out.splitlines()[-1] == f"  taskset -c {processor} chrt --batch 0 {script}"
    assert "uses 1 processor only" in result.out


@pytest.mark.parametrize("runs", [3, 14])
def test_an_interrupted_search_can_be_resumed(
    command: list[str], environment: dict[str, str], picky: Picky, tmp_path: Path, runs: int
) -> None:
    """In the race of locks, and in a later one; no run is made twice."""
    base = tmp_path / "r.sqlite"
    words = ["--with", "allocator", "--locks", "futex", "--budget", "60s", *RATE]
    words += ["--db", str(base), "--", str(picky(FUTEX + RETAIN + "sleep 0.1"))]
    process = subprocess.Popen(
        [*command, "tune", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )

    def have_runs() -> bool:
        assert process.poll() is None, process.communicate()
        return count_runs(base) >= runs

    wait_until(have_runs)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "topped in the race" in out
    line = shlex.split(err.splitlines()[-1].partition("continue with: ")[2])
    assert line[-len(words) - 1 :] == ["--resume", *words]
    before = count_runs(base)
    done = captured(line, env=environment)
    assert done.returncode == 0, done.stderr
    assert "futex+glibc-retain is shown to be better" in done.stdout
    assert count_runs(base) > before
    with sqlite3.connect(base) as connection:
        found = connection.execute("SELECT count(*), count(finished) FROM comparison").fetchone()
    assert found[0] == found[1] == 4 or found[0] == found[1] == 3


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--with", "alocator"], ["--with 'alocator' is none of", "'allocator'"]),
        (["--with", ","], ["--with '' is none of allocator, pinning"]),
        (["--with", "pages", "--per-mutex", "p"], ["--with and --per-mutex exclude each other"]),
        (["--with", "pages", "--energy"], ["--with and --energy exclude each other"]),
        (["--with", "pages", "--preload", "a=/b"], ["--with and --preload exclude each other"]),
        (["--with", "scheduler", "--resume"], ["no interrupted comparison of this command"]),
        (["--with", "scheduler", "--locks", "ttass"], ["no lock is named 'ttass'"]),
    ],
)
def test_bad_input(cli: Cli, program: Program, words: list[str], parts: list[str]) -> None:
    cli("tune", *words, "--", program("worker"), "1", "1").refuses(*parts)


def test_several_numbers_of_threads_are_refused(cli: Cli, program: Program) -> None:
    words = ["tune", "--with", "scheduler", "--threads", "1,2", "--"]
    cli(*words, program("worker"), "{threads}", "1").refuses("at one number of threads")


def test_programs_without_a_choice(cli: Cli, program: Program) -> None:
    """A static program takes no lock; one with its own allocator takes no other."""
    words = ["tune", "--with", "allocator", "--"]
    cli(*words, program("worker", "-static")).refuses("statically linked")
    cli(*words, program("own_malloc")).refuses(
        "nothing can be tried", "contains an allocator of its own"
    )


def test_an_ordinary_race_is_not_resumed_as_a_search(
    cli: Cli, picky: Picky, tmp_path: Path
) -> None:
    script = picky(FUTEX)
    words = ["--locks", "futex", *RATE, "--db", str(tmp_path / "r.sqlite")]
    assert tuned(cli, "scheduler", *words, "--", script).status == 0
    cli("tune", "--resume", *words, "--", script).refuses("no interrupted comparison")
