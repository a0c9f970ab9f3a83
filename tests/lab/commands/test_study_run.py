"""`lockwright study run`: every run of a plan is made and stored once, after any interruption."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import locate
from support.processes import captured, running, shell_script, wait_until

from .conftest import Cli, Program, Result

Study = Callable[..., Result]

LOCKS = 'locks = ["pthread", "ttas", "mcs-stp"]\n'


MADE = """
WITH made AS (
    SELECT run.rowid AS id, contender AS lock, round, machine, outcome, note,
        figures ->> '$.value' AS value, figures ->> '$.latency' AS latency,
        plan ->> ('$.configurations."' || cell || '".program') AS program,
        plan ->> ('$.configurations."' || cell || '".threads') AS threads
    FROM run JOIN experiment ON experiment.id = run.experiment WHERE contender <> 'probe'
)
"""


def rows(db: Path, columns: str, where: str = "1") -> list[tuple[Any, ...]]:
    """Return columns of the runs without the probes."""
    with contextlib.closing(sqlite3.connect(db)) as connection:
        return list(
            connection.execute(f"{MADE} SELECT {columns} FROM made WHERE {where} ORDER BY id")
        )


def table(name: str, command: list[object], extra: str = "") -> str:
    words = ", ".join(f"'{word}'" for word in command)
    return f'[[program]]\nname = "{name}"\ncommand = [{words}]\n{extra}\n'


@pytest.fixture
def study(cli: Cli, tmp_path: Path) -> Iterator[Study]:
    """Return a function that writes a plan and runs it, in a directory of the test."""

    def run(plan: str, *words: str, env: Mapping[str, str] | None = None) -> Result:
        (tmp_path / "s.toml").write_text(plan)
        return cli(
            "study", "run", tmp_path / "s.toml", "--cache", tmp_path / "cache", *words, env=env
        )

    yield run
    assert not (tmp_path / "cache/work").exists() or not list(
        (tmp_path / "cache/work").glob("run-*")
    ), "files of runs are left"


def test_failures_are_results(study: Study, program: Program, tmp_path: Path) -> None:
    """Each failure is stored under its lock with its reason; the other runs finish."""
    ends = program("ends")
    swap = "case $LD_PRELOAD in *ttas.so) {};; esac"
    plan = LOCKS + "threads = [2]\nruns = 1\nmost_runs = 1\n"
    for name, bad, extra in (
        ("crash", "kill -11 $$", ""),
        ("status", "echo went wrong >&2; exit 9", ""),
        ("hang", "sleep 999", "timeout = 5"),
        ("output", "echo other", "[program.check]\nsame = ['output']"),
        ("pattern", "echo bad", "[program.check]\nmatches = ['^rate']\nabsent = ['bad']"),
        ("mute", "exit 0", "[program.metric]\nread='regex'\npattern='rate: ([0-9]+)'\n"
                           "unit='ops/s'\nbetter='higher'"),
    ):  # fmt: skip
        file = shell_script(tmp_path / name, f"{ends}\n{swap.format(bad)}\necho rate: 7")
        plan += table(name, [file], extra)
    plan += table("avoids", [ends], "without = { mcs-stp = 'a reason' }")
    plan += table("dies", [ends, "3"])
    plan += table("many", [ends], "most_threads = 1")
    result = study(plan)
    assert result.status == 0, result.err
    found = {
        (name, lock): (outcome, note)
        for name, lock, outcome, note in rows(tmp_path / "s.sqlite", "program, lock, outcome, note")
    }
    assert found["crash", "ttas"][0] == "crashed"
    assert "SIGSEGV" in found["crash", "ttas"][1]
    assert found["status", "ttas"] == ("failed", "exit status 9: went wrong")
    assert found["hang", "ttas"] == ("timeout", "took more than 5 s")
    assert found["output", "ttas"] == ("wrong", "output is not what it should be")
    assert found["pattern", "ttas"] == ("wrong", "its output has 'bad' in it")
    assert found["mute", "ttas"][0] == "no metric"
    assert found["avoids", "mcs-stp"] == ("left out", "a reason")
    for name in ("crash", "status", "hang", "output", "pattern", "mute"):
        for lock in ("pthread", "mcs-stp"):
            assert found[name, lock][0] == "finished", (name, lock)
    for lock in ("pthread", "ttas", "mcs-stp"):
        assert found["dies", lock][0] == "left out"
        assert "exit status 3" in found["dies", lock][1]
        assert found["many", lock] == ("left out", "it has at most 1 threads")
    assert "7 left out" in result.out


def test_a_server_runs_under_the_lock_and_its_client_does_not(
    study: Study, tmp_path: Path, cli: Cli
) -> None:
    """The server is started for each run, warmed up, queried, checked and ended."""
    served = f"""
{LOCKS.replace(', "mcs-stp"', "")}
threads = [1]
runs = 2
most_runs = 2
[[program]]
name = "pages"
command = "{{ echo $LD_PRELOAD; {sys.executable} ask {{port}}; }} | tee -a {tmp_path}/asked"
metric = {{ read = "json", path = "rate", unit = "req/s", better = "higher" }}
latency = {{ read = "json", path = "late", unit = "us", better = "lower" }}
warmup = {{ command = ["touch", "{tmp_path}/warmed"] }}
check = {{ command = ["test", "-e", "ask"], matches = ["late"] }}
[program.server]
command = ["{sys.executable}", "-m", "http.server", "--bind", "127.0.0.1", "{{port}}"]
[program.files]
ask = '''
import sys, urllib.request
urllib.request.urlopen(f"http://127.0.0.1:{{sys.argv[1]}}/ask").read()
print('{{"rate": 12.5, "late": 3}}')
'''
"""
    assert study(served).status == 0
    found = rows(tmp_path / "s.sqlite", "lock, outcome, value, latency, note")
    assert [row[1:] for row in found] == [("finished", 12.5, 3.0, "")] * 4, found
    assert (tmp_path / "warmed").exists()
    assert "lockwright" not in (tmp_path / "asked").read_text()
    analysed = cli("study", "analyse", tmp_path / "s.sqlite", "--show", "all", "--tolerance", "5%")
    assert analysed.status == 0, analysed.err
    assert "pages" in analysed.out
    assert "latency" in analysed.out


PLAN = f"""{LOCKS}
threads = [1, 2]
runs = 4
most_runs = 4
warmup = 1
"""


def slow(program: Program, folder: Path, seconds: float) -> str:
    """Return a plan of two programs that sleep."""
    file = shell_script(folder / "slow", f"{program('ends')}; sleep {seconds}; echo rate: $1")
    extra = "metric = { read='regex', pattern='rate: (.+)', unit='ops/s', better='higher' }"
    return PLAN + table("one", [file, "{threads}"], extra) + table("two", [file, 3], extra)


@pytest.mark.full("runs a study several times")
def test_a_study_that_is_killed_several_times_has_the_same_runs(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """SIGKILL comes at random moments; no process is left, and each run is stored once."""
    dice = random.Random(os.urandom(8))
    rounds, kills = (4, 10) if locate.all_tests() else (2, 4)
    plan = slow(program, tmp_path, 0.06).replace("runs = 4", f"runs = {rounds}")
    folders = [tmp_path / "alone", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
        (folder / "s.toml").write_text(plan)
    words = [*command, "study", "run", "s.toml", "--cache", str(tmp_path / "cache")]

    def start(folder: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    alone = start(folders[0])
    assert alone.wait(120) == 0
    stored = 0
    for attempt in range(kills):
        process = start(folders[1])
        db = folders[1] / "s.sqlite"
        # Every second time after two more runs, so that the study progresses.
        end = time.monotonic() + 60
        while attempt % 2 and time.monotonic() < end and process.poll() is None:
            if db.exists() and count(db) >= stored + 2:
                break
            time.sleep(0.005)
        time.sleep(dice.uniform(0.0, 0.1 if attempt % 2 else 1.0))
        process.kill()
        process.wait()
        assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"
        stored = max(stored, count(db))
    last = start(folders[1])
    _, message = last.communicate(timeout=120)
    assert last.returncode == 0, message
    assert b"resuming the study" in message
    runs = [
        sorted(rows(folder / "s.sqlite", "program, lock, threads, round, outcome, value"))
        for folder in folders
    ]
    assert runs[0] == runs[1]
    assert len(runs[0]) == 2 * 3 * 2 * (rounds + 1)
    wait_until(lambda: not running(tmp_path / "slow"))
    assert not list((tmp_path / "cache/work").glob("run-*")), "files of killed runs are left"


def count(db: Path) -> int:
    with contextlib.suppress(sqlite3.Error):
        return len(rows(db, "1")) if db.exists() else 0
    return 0


def test_ctrl_c_prints_how_to_resume(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """The current run is dropped, finished runs stay stored."""
    (tmp_path / "s.toml").write_text(slow(program, tmp_path, 0.2))
    words = [*command, "study", "run", "s.toml", "--cache", str(tmp_path / "cache")]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and count(tmp_path / "s.sqlite") < 2:
        time.sleep(0.01)
    second = captured(words, cwd=tmp_path, env=environment)
    assert second.returncode == 2
    assert f"still being carried out by process {process.pid}" in second.stderr
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGINT
    assert "interrupted, the results so far are saved; continue with: " in message
    assert message.splitlines()[-1].endswith("study run s.toml --cache " + str(tmp_path / "cache"))
    assert count(tmp_path / "s.sqlite") >= 2


def test_a_changed_plan_is_refused(study: Study, program: Program, tmp_path: Path) -> None:
    """The line names the first key that differs; with the same plan nothing is left to do."""
    plan = LOCKS + "threads = [1]\nruns = 1\nmost_runs = 1\n"
    plan += table("a", [program("ends")])
    assert study(plan).status == 0
    before = rows(tmp_path / "s.sqlite", "*")
    assert study(plan).status == 0
    assert rows(tmp_path / "s.sqlite", "*") == before
    for changed, key in (
        (plan.replace("runs = 1\n", "runs = 2\n"), "runs"),
        (plan.replace("threads = [1]", "threads = [2]"), "threads"),
        (plan + "timeout = 5", "the program a"),
    ):
        study(changed).refuses("s.sqlite", f"differs in {key}", "--db")
    assert rows(tmp_path / "s.sqlite", "*") == before


def test_a_database_of_another_format_is_refused(study: Study, cli: Cli, tmp_path: Path) -> None:
    db = tmp_path / "s.sqlite"
    with contextlib.closing(sqlite3.connect(db)) as connection:
        connection.executescript(
            f"CREATE TABLE study (id); PRAGMA application_id = {0x4C575354};"
            " PRAGMA user_version = 1;"
        )
    plan = 'threads = [1]\nprograms = ["pigz"]'
    study(plan, "--skip-missing").refuses("s.sqlite", "another program or command", "--db")
    cli("study", "analyse", db).refuses("s.sqlite", "is not a file of this version's")


def test_configurations_with_a_large_spread_are_run_again(
    study: Study, program: Program, tmp_path: Path
) -> None:
    counter = f"echo x >> {tmp_path}/n; wc -l < {tmp_path}/n"
    noisy = shell_script(tmp_path / "noisy", f"{program('ends')}; {counter}")
    calm = shell_script(tmp_path / "calm", f"{program('ends')}; echo 5")
    extra = "metric = { read='regex', pattern='[0-9]+', unit='ops/s', better='higher' }"
    plan = 'locks = ["pthread", "ttas"]\nthreads = [1]\nruns = 2\nmost_runs = 5\nspread = 5\n'
    plan += table("noisy", [noisy], extra) + table("calm", [calm], extra)
    assert study(plan).status == 0
    db = tmp_path / "s.sqlite"
    assert len(rows(db, "1", "program = 'noisy'")) == 2 * 5
    assert len(rows(db, "1", "program = 'calm'")) == 2 * 2
    rounds = [row[0] for row in rows(db, "round")]
    assert rounds == sorted(rounds), "rounds are not one after the other"


def test_the_report_has_the_name_and_the_other_load(
    cli: Cli, study: Study, program: Program, tmp_path: Path
) -> None:
    plan = 'name = "Ends meet"\nlocks = ["ttas"]\nthreads = [1]\nruns = 2\nmost_runs = 2\n'
    assert study(plan + table("ends", [program("ends")])).status == 0
    db = tmp_path / "s.sqlite"
    with contextlib.closing(sqlite3.connect(db)) as connection:
        connection.execute(
            "UPDATE run SET details = json_set(details, '$.others', 0.77) WHERE round = 2"
        )
        connection.execute(
            "UPDATE run SET details = json_set(details, '$.others', NULL) WHERE round = 1"
        )
        connection.commit()
    note = "other processes took more than 10 % of the machine during 2 of 2 runs, at most 77 %"
    analysed = cli("study", "analyse", db)
    assert note in " ".join(analysed.out.split()), analysed.err
    written = cli("study", "report", db, "--output-dir", tmp_path / "report", "--figures", "none")
    assert written.status == 0, written.err
    page = (tmp_path / "report/report.html").read_text()
    assert note in page
    assert "<h1>Locks under Ends meet</h1>" in page


def test_a_dry_run_makes_nothing(study: Study, program: Program, tmp_path: Path) -> None:
    """It prints the number of runs that the plan needs."""
    plan = LOCKS + "threads = [1, 2]\nruns = 3\n"
    result = study(plan + table("a", [program("ends")], "seconds = 60"), "--dry-run")
    assert result.status == 0
    assert "a: 18 runs, threads 1, 2" in result.out
    assert "about 18 min" in result.out
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.parametrize(
    ("plan", "parts"),
    [
        ("locks = ['ttas']", ["programs", "is missing"]),
        ("lokcs = ['ttas']\nprograms = ['pigz']\nthreads = [1]", ["lokcs", "'locks'"]),
        ("locks = ['tas']\nprograms = ['pigz']\nthreads = [1]", ["locks", "'tas'"]),
        ("programs = ['pigzz']\nthreads = [1]", ["programs", "'pigz'"]),
        ("programs = ['pigz']", ["threads", "is missing"]),
        ("programs = ['pigz']\nthreads = [0]", ["threads[1]: is 0, not a whole number >= 1"]),
        ("programs = ['pigz']\nthreads = [1]\nruns = 0", ["runs: is 0, not a whole number >= 1"]),
        ("programs = ['pigz']\nthreads = [1]\nmost_runs = 1", ["most_runs", "from 3"]),
        ("programs = ['pigz']\nthreads = [1]\npinning = ['near']", ["pinning", "compact"]),
        ("programs = ['pigz']\nthreads = [1]\nmachines = 'all'", ["machines", "each"]),
        ("programs = ['pigz', 'pigz']\nthreads = [1]", ["programs", "two named"]),
        ("threads = [1]\n[[program]]\nname='a'\ncommand=['a', '{=t/2}']", ["program a", "{=t/2}"]),
        ("threads = [1]\n[[program]]\nfrom='pigz'\nruns=3", ["program[1]", "runs"]),
        ("threads = [1", ["is not TOML"]),
    ],
)
def test_a_bad_plan_is_refused_in_one_line(
    study: Study, plan: str, parts: list[str], tmp_path: Path
) -> None:
    """The line names the file, the key and what to do; nothing is made."""
    study(plan).refuses("s.toml", *parts)
    assert not (tmp_path / "s.sqlite").exists()


def test_missing_programs_are_named_with_their_packages(
    study: Study, program: Program, tmp_path: Path
) -> None:
    """The study does not begin, or leaves them out with --skip-missing."""
    plan = LOCKS + "threads = [1]\nruns = 1\nmost_runs = 1\n" + table("a", [program("ends")])
    absent = "needs = ['no-such-program']\npackages = ['some-package']"
    plan += table("b", ["no-such-program"], absent)
    study(plan).refuses("b (no-such-program)", "apt-get install some-package")
    assert study(plan, "--skip-missing").status == 0
    outcomes = set(rows(tmp_path / "s.sqlite", "program, outcome"))
    assert outcomes == {("a", "finished"), ("b", "left out")}


def test_a_full_disk_loses_nothing(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """The study ends with one line, and resumes when there is room."""
    (tmp_path / "s.toml").write_text(slow(program, tmp_path, 0.0))
    words = [*command, "study", "run", "s.toml", "--cache", str(tmp_path / "cache")]
    limited = ["prlimit", f"--fsize={40_000}", *words]
    first = captured(limited, cwd=tmp_path, env=environment)
    assert first.returncode == 2, first.stderr
    assert "cannot write results" in first.stderr.splitlines()[-1]
    before = rows(tmp_path / "s.sqlite", "*")
    assert 0 < len(before) < 60
    again = captured(words, cwd=tmp_path, env=environment)
    assert again.returncode == 0, again.stderr
    after = rows(tmp_path / "s.sqlite", "*")
    assert after[: len(before)] == before
    assert len(after) == 60
