"""`lockwright what-if --measure` of programs that check their own results."""

import json
from pathlib import Path

import pytest
from support import locate, tiers
from support.processes import assert_refused, captured, compiled

pytestmark = locate.native

MEASURE = (locate.lockwright(), "what-if", "--measure")


@pytest.fixture(scope="module")
def sections() -> Path:
    return locate.program("speedup", "sections")


@pytest.mark.parametrize(
    "name",
    tiers.short(
        ["saturated", "unsaturated", "series", "pipeline"],
        ["saturated", "unsaturated"],
        "the others go through the same code",
    ),
)
def test_a_run_gives_right_results_and_a_curve(sections: Path, name: str, tmp_path: Path) -> None:
    # On a busy machine, mutexes are taken too rarely for a short run, and nobody may wait.
    words: list[str | Path] = [*MEASURE, "--section", "0.5", "--mutex", "chosen"]
    words += ["--json", tmp_path / "out.json", "--csv", tmp_path / "out.csv"]
    done = captured([*words, "--", sections, name, "--seconds", "6"])
    assert done.returncode == 0, done.stderr
    assert "right\n" in done.stdout
    assert "With sections of chosen 50 % shorter, chosen would be taken" in done.stderr
    assert "without waits" not in done.stderr
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["measured"] is True
    (of,) = written["mutexes"]
    assert (of["mutex"], of["progress"]) == ("chosen", "chosen")
    assert of["section_ns"] > 0
    assert "The delays of the experiments made the run" in done.stderr
    (row,) = of["rows"]
    assert (row["shorter_percent"], row["change"]) == (50, "sections 50 % shorter")
    assert row["gain_low"] <= row["gain"] <= row["gain_high"]
    for each in of["rounds"]:
        assert sorted(window["share"] for window in each) == [0, 50]
        assert all(window["progress"] > 0 and window["ns"] > 0 for window in each)
    assert (
        (tmp_path / "out.csv").read_text().startswith("mutex,change,shorter_percent,threads,gain,")
    )


def test_another_mutex_is_the_progress_and_the_status_is_kept(
    sections: Path, tmp_path: Path
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"{sections} series --seconds 3; exit 3\n")
    # A part of both names stands for both.
    words: list[str | Path] = [*MEASURE, "--mutex", "h", "--progress", "other"]
    done = captured([*words, "--section", "0.5", "--", "sh", script])
    assert done.returncode == 3, done.stderr
    assert "With sections of h 50 % shorter, other would be taken" in done.stderr


def test_several_mutexes_are_compared_in_one_run(sections: Path, tmp_path: Path) -> None:
    """Each is changed by itself, with its own controls."""
    words: list[str | Path] = [*MEASURE, "--section", "0.5", "--json", tmp_path / "out.json"]
    words += ["--html", tmp_path / "out.html", "--progress", "other"]
    words += ["--mutex", "other", "--mutex", "chosen", "--mutex", "other"]
    done = captured([*words, "--", sections, "series", "--seconds", "4", "--threads", "4"])
    assert done.returncode == 0, done.stderr
    assert "right\n" in done.stdout
    written = json.loads((tmp_path / "out.json").read_text())
    assert [each["mutex"] for each in written["mutexes"]] == ["other", "chosen"]
    for each in written["mutexes"]:
        assert each["progress"] == "other"
        assert each["held_share"] > 0
        assert [row["shorter_percent"] for row in each["rows"]] == [50]
        assert all(sorted(w["share"] for w in made) == [0, 50] for made in each["rounds"])
    text = " ".join(done.stderr.split())
    assert "gain most" in text or "No gain was found" in text
    assert '"accounts":[{"mutex":' in (tmp_path / "out.html").read_text()


@pytest.mark.alone("what is measured depends on other load")
def test_shorter_sections_of_a_mutex_that_limits_gain_more(sections: Path, tmp_path: Path) -> None:
    """By three quarters, 1.3 times as fast or 3; of a mutex that is held for a fifth, next to 1."""
    gains = {}
    for name in ("saturated", "unsaturated"):
        words: list[str | Path] = [*MEASURE, "--json", tmp_path / name]
        done = captured([*words, "--", sections, name, "--seconds", "6"])
        assert done.returncode == 0, done.stderr
        rows = json.loads((tmp_path / name).read_text())["mutexes"][0]["rows"]
        gains[name] = {row["shorter_percent"]: row["gain"] for row in rows}
        assert "without waits for it" in done.stderr
    assert gains["saturated"][25] < gains["saturated"][75]
    assert gains["unsaturated"][75] < gains["saturated"][75]
    # Of two threads that hold it nearly all the time, one waits.
    assert gains["unsaturated"][None] < gains["saturated"][None]


@pytest.mark.full("runs a program a dozen times")
def test_the_figure_of_whole_runs(sections: Path, tmp_path: Path) -> None:
    words: list[str | Path] = [*MEASURE, "--metric", r"rate: (\S+)", "--section", "0.25"]
    words += ["--mutex", "chosen", "--json", tmp_path / "out.json"]
    done = captured([*words, "--", sections, "saturated", "--seconds", "0.8"])
    assert done.returncode == 0, done.stderr
    assert "With sections of chosen 75 % shorter, the program would be" in done.stderr
    assert "Runs without the library are" in done.stderr
    (of,) = json.loads((tmp_path / "out.json").read_text())["mutexes"]
    assert of["progress"] == "end of the run"
    assert [len(each) for each in of["rounds"]] == [2, 2, 2]
    for each in of["rounds"]:
        delayed = {window["share"]: window["delayed"] / window["ns"] for window in each}
        assert delayed[0] == 0
        # Up to the end: the sections of a saturated mutex are next to all of the time.
        assert delayed[75] > 0.2
    (row,) = of["rows"]
    assert row["gain_low"] < row["gain"] < row["gain_high"]


ONE_THREAD = """
#include <pthread.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
  for (int i = 0; i < 130; i++) {
    struct timespec step = {0, 10000000};
    pthread_mutex_lock(&mutex);
    nanosleep(&step, NULL);
    pthread_mutex_unlock(&mutex);
  }
}
"""


READERS = """
#include <pthread.h>
#include <time.h>
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *read_it(void *unused) {
  for (int i = 0; i < 400; i++) {
    struct timespec step = {0, 5000000};
    pthread_rwlock_wrlock(&table);
    nanosleep(&step, NULL);
    pthread_rwlock_unlock(&table);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, read_it, NULL);
  read_it(NULL);
  pthread_join(other, NULL);
}
"""


def test_nobody_waits_for_a_reader_writer_lock(tmp_path: Path) -> None:
    """One of two threads waits while the other sleeps in its section: twice as fast without."""
    program = compiled(tmp_path, "locked_table", READERS)
    words: list[str | Path] = [*MEASURE, "--mutex", "table", "--progress", "mutex"]
    words += ["--json", tmp_path / "out.json"]
    done = captured([*words, "--", program])
    assert done.returncode == 0, done.stderr
    assert "Without waits for table, mutex would be taken" in done.stderr
    (of,) = json.loads((tmp_path / "out.json").read_text())["mutexes"]
    (row,) = of["rows"]
    assert (row["shorter_percent"], row["change"]) == (None, "no waits for it")
    assert row["gain"] > 1.5
    done = captured([*MEASURE, "--mutex", "table", "--readers", "read_it", "--", program])
    assert_refused(done.returncode, done.stdout, done.stderr, "--readers is measured of mutexes")


TABLE = """
#include <pthread.h>
#include <time.h>
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int changes, copy, wrong;
static struct timespec step = {0, 2000000};
__attribute__((noinline)) static void begin(void) { pthread_mutex_lock(&table); }
__attribute__((noinline)) static void look_up(void) {
  pthread_mutex_lock(&table);
  wrong += changes != copy;
  nanosleep(&step, NULL);
  pthread_mutex_unlock(&table);
}
__attribute__((noinline)) static void change(void) {
  pthread_mutex_lock(&table);
  changes++;
  nanosleep(&step, NULL);
  copy++;
  pthread_mutex_unlock(&table);
}
__attribute__((noinline)) static void begin_reading(void) { begin(); step.tv_sec = 0; }
__attribute__((noinline)) static void begin_changing(void) { begin(); step.tv_sec = 0; }
static void *use(void *changing) {
  for (int i = 0; i < 500; i++) {
    changing && i % 2 ? change() : look_up();
    changing && i % 2 ? begin_changing() : begin_reading();
    pthread_mutex_unlock(&table);
  }
  return NULL;
}
int main(int count, char **words) {
  pthread_t all[4];
  for (int i = 0; i < 4; i++) pthread_create(&all[i], NULL, use, count > 1 ? words : NULL);
  for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
  return wrong;
}
"""


def test_readers_of_a_mutex_go_together(tmp_path: Path) -> None:
    """Three of four threads wait, each for the others; not if half of the sections are changes,
    which all have to wait for."""
    program = compiled(tmp_path, "table", TABLE)
    words: list[str | Path] = [*MEASURE, "--mutex", "table", "--json", tmp_path / "out.json"]
    words += ["--readers", "look_up", "--readers", "begin"]
    gains = []
    for more in ([], ["changing"]):
        done = captured([*words, "--", program, *more])
        assert done.returncode == 0, done.stderr
        assert "With readers of table together, table would be taken" in done.stderr
        (of,) = json.loads((tmp_path / "out.json").read_text())["mutexes"]
        (row,) = of["rows"]
        assert (row["shorter_percent"], row["change"]) == (None, "readers together")
        gains.append(row["gain"])
    assert gains[0] > 2
    assert gains[1] < gains[0] / 1.5


@pytest.mark.parametrize(
    ("readers", "error"),
    [
        ("nobody", "no place that takes table has 'nobody' in its name"),
        ("begin_reading", "a function that locks it for begin_changing"),
    ],
)
def test_readers_have_to_be_told_from_others(readers: str, error: str, tmp_path: Path) -> None:
    program = compiled(tmp_path, "table", TABLE)
    words: list[str | Path] = [*MEASURE, "--mutex", "table", "--readers", readers]
    done = captured([*words, "--", program, "changing"])
    assert_refused(done.returncode, done.stdout, done.stderr, error)


OWN_LOCK = """
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int word;
static void *work(void *unused) {
  for (int i = 0; i < 150; i++) {
    struct timespec step = {0, 2000000};
    while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE))
      syscall(SYS_futex, &word, FUTEX_WAIT, 2, 0);
    nanosleep(&step, NULL);
    __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1);
    nanosleep(&step, NULL);
  }
  return unused;
}
int main(void) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  pthread_t others[3];
  for (int i = 0; i < 3; i++) pthread_create(&others[i], NULL, work, NULL);
  for (int i = 0; i < 3; i++) pthread_join(others[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &to);
  printf("rate: %g\\n", 450 / (to.tv_sec - from.tv_sec + 1e-9 * (to.tv_nsec - from.tv_nsec)));
}
"""


@pytest.mark.full("runs a program a dozen times")
def test_nobody_waits_for_a_lock_of_another_library(tmp_path: Path) -> None:
    """Of three threads that sleep half of the time in their sections, one and a half wait."""
    program = compiled(tmp_path, "own_lock", OWN_LOCK)
    words: list[str | Path] = [*MEASURE, "--no-waiting", "--mutex", "word"]
    words += ["--metric", r"rate: (\S+)", "--json", tmp_path / "out.json"]
    done = captured([*words, "--", program])
    assert done.returncode == 0, done.stderr
    assert "Without waits for word, the program would be" in done.stderr
    (of,) = json.loads((tmp_path / "out.json").read_text())["mutexes"]
    assert of["rows"][0]["gain"] > 1.2


@pytest.mark.alone("what is measured depends on other load")
def test_fewer_threads_are_parked_for_a_while(sections: Path, tmp_path: Path) -> None:
    """All of them go on in the controls, and to the end; with a quarter, each does more."""
    words: list[str | Path] = [*MEASURE, "--threads", "1,2", "--json", tmp_path / "out.json"]
    words += ["--mutex", "chosen"]
    done = captured([*words, "--", sections, "unsaturated", "--seconds", "3", "--threads", "8"])
    assert done.returncode == 0, done.stderr
    assert "right\n" in done.stdout
    (of,) = json.loads((tmp_path / "out.json").read_text())["mutexes"]
    rows = {row["threads"]: row for row in of["rows"]}
    assert list(rows) == [2, 1]
    assert rows[2]["change"] == "2 threads"
    assert rows[1]["gain"] < rows[2]["gain"]
    assert all(window["delayed"] == 0 for made in of["rounds"] for window in made)


def test_what_cannot_be_measured_is_refused_in_a_line(sections: Path, tmp_path: Path) -> None:
    alone = compiled(tmp_path, "alone", ONE_THREAD)
    locked_table = compiled(tmp_path, "locked_table", READERS)
    long_run = [sections, "unsaturated", "--seconds", "1.5"]
    for words, reason in (
        (["--", alone], "one thread"),
        (["--", sections, "saturated", "--seconds", "0.3"], "within a second"),
        (["--", "true"], "no mutex was taken"),
        (["--", sections, "saturated", "--seconds", "1.4"], "ended before"),
        (["--mutex", "nowhere", "--", *long_run], "'nowhere'"),
        (["--mutex", "9", "--", *long_run], "no mutex 9"),
        (["--shards", "4", "--", sections], "--shards is predicted only"),
        (["--section", "1", "--", sections], "1 times as long"),
        (["--json", "-", "--", sections], "standard output"),
        (["--metric", "rate: (", "--", sections], "not a regular expression"),
        (["--metric", "nothing", "--", *long_run], "no progress was measured"),
        (["--metric", "rate: (.*)", "--progress", "end", "--", *long_run], "--metric"),
        (["--progress", "end", "--", "false"], "a run of the program failed"),
        (["--mutex", "table", "--", locked_table], "not all of whose acquisitions are seen"),
        (
            ["--mutex", "table", "--section", "0", "--", locked_table],
            "sections cannot be shortened",
        ),
        (["--threads", "2", "--mutex", "chosen", "--", *long_run], "no 2 of them are fewer"),
        (["--threads", "1", "--metric", "x", "--", *long_run], "--threads is measured in one run"),
        (["--pid", "1"], "--pid"),
    ):
        done = captured([*MEASURE, *words])
        out = "" if "right" in done.stdout else done.stdout
        assert_refused(done.returncode, out, done.stderr, reason)


def test_no_experiment_outlives_the_command(sections: Path, tmp_path: Path) -> None:
    """What a killed command has begun ends by itself: the program goes on, with right results."""
    words: list[str | Path] = [*MEASURE, "--mutex", "chosen", "--section", "0"]
    script = tmp_path / "kill.sh"
    started = tmp_path / "started"
    script.write_text(
        f'"$@" & while [ ! -e {started} ]; do sleep 0.1; done; sleep 2; kill -9 $!; wait\n'
    )
    program = ["sh", "-c", f"touch {started}; exec {sections} saturated --seconds 4"]
    done = captured(["sh", script, *words, "--", *program])
    assert "right\n" in done.stdout
