"""`lockwright tune` finds the lock under which a program runs best."""

import json
import re
import shlex
import signal
import sqlite3
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from advise import examples
from lockwright.preload.locks import Registry
from lockwright.profile.frames import Frame
from lockwright.profile.record import OBJECT, Place
from lockwright.tune.per_mutex import Layout, lock_of_other_mutexes, search_layout
from support.processes import captured, shell_script, wait_until

from .conftest import Cli, Program, count_runs

RATE = ["--metric", r"rate: (\d+)", "--unit", "ops"]
Picky = Callable[[str], Path]


@pytest.fixture
def picky(program: Program, tmp_path: Path) -> Picky:
    """Return a function that makes a program, which takes mutexes and prints a rate.

    The rate is about 10,000; shell cases over the lock's library set `n`, the per cent of that.
    """

    def make(cases: str) -> Path:
        return shell_script(
            tmp_path / "picky",
            f"{program('ends')}\ncase $LD_PRELOAD in {cases} *) n=100;; esac\n"
            'echo "rate: $((n * 100 + $$ % 89))"',
        )

    return make


def verdict(out: str) -> str:
    """Return the sentence before the command that applies it."""
    lines = out.splitlines()
    return lines[lines.index("Use it:") - 1] if "Use it:" in lines else lines[-1]


def rows(out: str) -> dict[str, list[str]]:
    """Return the cells of the table by lock."""
    table = out[out.index("  lock ") :].split("\n\n")[0]
    return {line[2:].split()[0]: line.split() for line in table.splitlines()[1:]}


def test_the_best_lock_is_found_and_the_others_are_dropped(
    cli: Cli, picky: Picky, tmp_path: Path
) -> None:
    """Each lock has the reason why it was dropped; the last line runs the winner."""
    target = tmp_path / "o.json"
    script = picky(
        "*-futex.so) n=200;; *-mcs-stp.so) sleep 9;; *-ticket.so) n=50;; *-hmcs.so) exit 3;;"
    )
    locks = "futex,mcs-stp,ticket,hmcs,ttas"
    result = cli("tune", "--locks", locks, "--json", target, *RATE, "--", script)
    assert result.status == 0, result.err
    gain = re.match(
        r"futex is best: (\S+) times as good as pthread \(95 % CI 1\.", verdict(result.out)
    )
    assert gain is not None
    assert 1.95 < float(gain[1]) < 2.05
    use = shlex.split(result.out.splitlines()[-1])
    assert use[1:] == ["run", "--lock", "futex", "--", str(script)]
    table = rows(result.out)
    assert table["futex"][0] == "*"
    assert table["mcs-stp"][1] == "timed"
    assert table["hmcs"][1] == "failed"
    assert "mcs-stp: dropped: did not finish within 3 times the best lock's time" in result.out
    assert "hmcs: dropped: a run failed (exit status 3)" in result.out
    assert "shown to be worse than futex" in result.out
    document = json.loads(target.read_text())
    race = document["tune"]["races"][0]
    assert race["ended"] == "one lock is left"
    assert race["left"] == ["futex"]
    count = {lock: sum(run["lock"] == lock for run in document["runs"]) for lock in race["dropped"]}
    # The losers cost less than the winner and the baseline, which have five rounds.
    assert count["hmcs"] == 1
    slow = {run["outcome"] for run in document["runs"] if run["lock"] == "mcs-stp"}
    assert slow == {"timeout"}, "a far slower run was not killed"
    # A second run only if other programs used the processors during the first.
    assert count["mcs-stp"] <= 2
    assert count["ticket"] < count["pthread"] == 5


def test_no_gain_is_stated_with_its_bound(cli: Cli, picky: Picky, tmp_path: Path) -> None:
    """Where all locks are equal, the largest possible gain is stated."""
    target = tmp_path / "o.json"
    result = cli(
        "tune", "--locks", "ttas,futex", "--json", target, *RATE, "--", picky("none) n=1;;")
    )
    assert result.status == 0, result.err
    assert verdict(result.out).startswith("No gain: of 2 locks none is better than pthread")
    race = json.loads(target.read_text())["tune"]["races"][0]
    assert race["ended"] == "no other lock can be better than the best by more than the margin"


def test_several_numbers_of_threads(cli: Cli, program: Program) -> None:
    """Each number of threads has a race and a table."""
    words = ["--metric", r"rate: ([0-9.]+)", "--unit", "ops", "--threads", "1,2"]
    out = cli(
        *["tune", "--locks", "ttas", *words, "--", program("worker"), "{threads}", "{=6000//t}"]
    ).out
    assert "\n1 thread\n" in out
    assert "\n2 threads\n" in out
    assert verdict(out).startswith("No gain at 1 thread: ttas is not better than pthread")
    assert "No gain at 2 threads: ttas is not better than pthread" in verdict(out)


def test_an_interrupted_race_states_its_result_and_can_be_resumed(
    command: list[str], environment: dict[str, str], program: Program, tmp_path: Path
) -> None:
    """--resume completes the race with the same locks and the stored runs."""
    base = tmp_path / "r.sqlite"
    words = ["--locks", "ttas,futex", "--metric", r"rate: (\d+)", "--unit", "ops"]
    words += ["--db", str(base), "--", str(program("worker")), "1", "9", "200"]
    process = subprocess.Popen(
        [*command, "tune", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )

    def have_runs() -> bool:
        assert process.poll() is None, process.communicate()
        return count_runs(base) >= 4

    wait_until(have_runs)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rows(out).keys() == {"pthread", "ttas", "futex"}
    assert "No lock is shown to be better than pthread" in out
    line = shlex.split(err.splitlines()[-1].partition("continue with: ")[2])
    assert line[-len(words) - 1 :] == ["--resume", *words]
    before = count_runs(base)
    done = captured(line, env=environment)
    assert done.returncode == 0, done.stderr
    assert count_runs(base) > before
    with sqlite3.connect(base) as connection:
        rows_ = connection.execute("SELECT count(*), count(finished) FROM experiment")
        assert rows_.fetchone() == (1, 1)


def profile(folder: Path, waited: float) -> Path:
    """Write the profile of two threads that waited so many seconds for a mutex."""
    target = folder / "profile.json"
    contended = 1000 if waited else 0
    contended_mutex = examples.mutex(
        entries=1e5, contended=contended, waited=waited * examples.SECOND, threads=2
    )
    somewhere = Place(OBJECT, Frame("/bin/sh", 0x1000, "hot"))
    target.write_text(examples.profile(replace(contended_mutex, place=somewhere)).to_json())
    return target


def test_the_advice_chooses_the_locks(cli: Cli, picky: Picky, tmp_path: Path) -> None:
    """The candidates are the shortlist with its reasons, and one lock of each other family."""
    target = tmp_path / "o.json"
    file = profile(tmp_path, 0.8)
    words = ["--profile", file, "--json", target]
    result = cli("tune", *words, *RATE, "--", picky("*-hmcs.so) n=140;;"))
    assert result.status == 0, result.err
    assert verdict(result.out).startswith("hmcs is best: 1.")
    tune = json.loads(target.read_text())["tune"]
    advice = json.loads(cli("advise", file, "--no-predict", "--json", "-").out)
    assert tune["sentence"] == advice["sentence"]
    assert f"its profile: {advice['sentence']}" in result.out
    advised = [each for each in tune["candidates"] if each["why"] == "advised"]
    assert [(each["lock"], each["reason"]) for each in advised] == [
        (each["lock"], each["reason"]) for each in advice["shortlist"]
    ]
    others = [each for each in tune["candidates"] if each["why"] == "family"]
    assert others
    assert all(each["reason"].startswith("in case the advice is wrong") for each in others)


@pytest.mark.parametrize("single", ["hmcs", "adaptive"])
def test_a_plan_is_written_if_it_is_better_than_any_lock(
    cli: Cli, picky: Picky, tmp_path: Path, single: str
) -> None:
    """The contended mutex gets the lock under which the plan ran best; the plan can be run. Where
    the default is the best single lock, the plans have its lock."""
    plan = tmp_path / "plan.toml"
    # LOCKWRIGHT_PLAN has a line for each entry, with its lock.
    script = picky(f"*-{single}.so) n=120;; *-mixed.so) n=140;;")
    script.write_text(
        script.read_text().replace(
            "echo", 'case "$LOCKWRIGHT_PLAN" in *"E "*ticket*) n=$((n + 30));; esac\necho'
        )
    )
    file = profile(tmp_path, 0.8)
    result = cli("tune", "--profile", file, "--per-mutex", plan, *RATE, "--", script)
    assert result.status == 0, result.err
    assert "wrote" in result.err
    written = tomllib.loads(plan.read_text())
    assert written["lock"] == "futex"
    (contended_mutex,) = written["mutex"]
    assert contended_mutex["rank"] == 1
    assert Path(contended_mutex["profile"]) == tmp_path / "plan.profile.json"
    assert cli("run", "--plan", plan, "--", script).out.startswith("rate: 1")


def test_each_contended_mutex_tries_every_lock() -> None:
    """The most expensive mutex is first; its best lock stays while the next mutex tries."""
    tried: list[dict[str, Layout]] = []

    def attempt(layouts: Mapping[str, Layout]) -> str | None:
        tried.append(dict(layouts))
        second = (name for name, layout in layouts.items() if layout.locks.get(2) == "ttas")
        first = (name for name, layout in layouts.items() if layout.locks[1] == "hmcs")
        return next(second, None) or next(first, None)

    found = search_layout((1, 2), "mcs-stp", "futex", ("hmcs", "ttas"), attempt)
    assert found is not None
    assert found.locks == {1: "hmcs", 2: "ttas"}
    assert {layout.locks[1] for layout in tried[0].values()} == {"mcs-stp", "hmcs", "ttas", "futex"}
    assert {layout.locks[1] for layout in tried[1].values()} == {"hmcs"}
    assert search_layout((1, 2), "mcs-stp", "futex", ("hmcs",), lambda _: None) is None


def test_other_mutexes_get_the_smallest_light_lock_that_parks() -> None:
    """The choice follows from the locks' traits; without such a lock it is the baseline."""
    assert lock_of_other_mutexes(examples.LOCKS) == "futex"
    smaller = examples.lock("new", bytes_in_place=1, **examples.PARKS)
    assert lock_of_other_mutexes(Registry(Path("/"), [*examples.LOCKS.rows, smaller])) == "new"
    assert lock_of_other_mutexes(Registry(Path("/"), [examples.lock("ttas")])) == "pthread"


def test_the_same_lock_for_all_mutexes_is_no_plan() -> None:
    """The best single lock, if also that of the other mutexes, is not run again as a plan."""
    tried: list[list[Mapping[int, str]]] = []

    def attempt(layouts: Mapping[str, Layout]) -> str | None:
        tried.append([layout.locks for layout in layouts.values()])
        return None

    assert search_layout((1, 2), "futex", "futex", ("hmcs",), attempt) is None
    assert tried == [[{1: "hmcs", 2: "futex"}], [{1: "futex", 2: "hmcs"}]]


def test_the_program_is_profiled_first(cli: Cli, program: Program, tmp_path: Path) -> None:
    """Without --locks and --profile, the advice on a new profile chooses the locks."""
    target = tmp_path / "o.json"
    words = ["--metric", r"rate: ([0-9.]+)", "--unit", "ops", "--json", target]
    result = cli("tune", *words, "--", program("worker"), "1", "20000")
    assert result.status == 0, result.err
    assert "could not be profiled" not in result.err
    document = json.loads(target.read_text())
    assert document["tune"]["sentence"]
    assert document["tune"]["sentence"] in result.err
    assert 10_000 <= document["probe"]["acquisitions"] <= 30_000
    assert document["probe"]["mutexes"] >= 1


def test_an_insensitive_program_is_reported(cli: Cli, picky: Picky, tmp_path: Path) -> None:
    """A few different locks confirm the profile's result."""
    target = tmp_path / "o.json"
    words = ["--profile", profile(tmp_path, 0), "--json", target]
    result = cli("tune", *words, *RATE, "--", picky("none) n=1;;"))
    assert result.status == 0, result.err
    document = json.loads(target.read_text())
    assert document["plan"]["budget"] == 45
    assert len(document["plan"]["locks"]) == 4
    assert verdict(result.out).startswith("No lock will change much: ")
    assert "No gain: of 3 locks none is better than pthread by more than" in verdict(result.out)


@pytest.mark.parametrize("waited", [0, 0.5])
def test_a_budget_that_ends_before_the_second_run(
    cli: Cli, picky: Picky, tmp_path: Path, waited: float
) -> None:
    words = ["--budget", "0.2s", "--profile", profile(tmp_path, waited)]
    result = cli("tune", *words, *RATE, "--", picky("*) n=1; sleep 0.3;;"))
    assert result.status == 0, result.err
    assert "The budget ended before " in result.out
    assert "locks that were tried" not in result.out


def test_settings_take_part_in_the_race(cli: Cli, program: Program, tmp_path: Path) -> None:
    """The policy is an arm of its own, and the best lock is then tried under it."""
    script = shell_script(
        tmp_path / "batched",
        f"{program('ends')}\npolicy=$(cut -d ' ' -f 41 /proc/$$/stat)\n"
        "case $LD_PRELOAD$policy in *-futex.so3) n=300;; *-futex.so*|*3) n=150;; *) n=100;; esac\n"
        'echo "rate: $((n * 100 + $$ % 89))"',
    )
    result = cli("tune", "--with", "scheduler", "--locks", "futex", *RATE, "--", script)
    assert result.status == 0, result.err
    assert rows(result.out).keys() >= {"pthread", "futex", "pthread+batch", "futex+batch"}
    assert "the lock and the settings that led, together" in result.out
    assert verdict(result.out).startswith("futex+batch is best: ")
    assert "run --lock futex --sched batch" in result.out.splitlines()[-1]


def test_a_program_without_mutexes_is_refused_after_one_run(cli: Cli, program: Program) -> None:
    cli("tune", "--", program("idle")).refuses("took no mutex")
