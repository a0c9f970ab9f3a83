"""`lockwright corpus`: a split lock and a control, replayed and scored; cases that are wrong."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lockwright.base import invocation
from lockwright.cli import main
from lockwright.profile import record
from lockwright_lab.corpus import drd, replay, score
from lockwright_lab.corpus.case import CASES, Case, find
from lockwright_lab.corpus.score import Judged, is_near, judged
from support.made_profile import made_profile

from .conftest import Refuses, Result

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t parts[8];
static int count;
static void* work(void* number) {
  for (long i = 0; i < 1500; i++) {
    pthread_mutex_t* mine = &parts[((long)number + i) % count];
    pthread_mutex_lock(mine);
    if (i % 50 == 0) nanosleep(&(struct timespec){0, 100000}, 0);
    for (volatile int j = 0; j < 2000; j++);
    pthread_mutex_unlock(mine);
  }
  return 0;
}
int main(int words, char** word) {
  pthread_t threads[16];
  int all = atoi(word[1]);
  count = atoi(word[2]);
  for (long i = 0; i < all; i++) pthread_create(&threads[i], 0, work, (void*)i);
  for (int i = 0; i < all; i++) pthread_join(threads[i], 0);
  return 0;
}
"""

CASE = """
source = "https://example.org/1"
{expected}
threads = {threads}
[program]
command = ["{{folder}}/split", "{{threads}}", "{{parts}}"]
[both]
build = 'cc -O1 -pthread -o split "$case/split.c"'
[before]
version = "1"
words = {{ parts = "1" }}
[after]
version = "2"
words = {{ parts = "8" }}
"""

WRONG = CASE.format(threads=2, expected="control = true").replace(
    "cc -O1", "echo no such registry >&2; false"
)


def written(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "split.c").write_text(PROGRAM)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


@pytest.fixture
def corpus(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    """Return a function that runs the command in this process, with made advice: `split` for a
    profile in which threads waited, and silence for another."""

    def ask(profile: Path) -> dict[str, Any]:
        advice: dict[str, Any] = {"sentence": "", "changes": [], "predicted": None}
        advice |= {"shortlist": [], "rwlocks": []}
        waited = sum(each.lost for each in record.read(profile).mutexes)
        return advice | ({"changes": [{"kind": "sharding", "mutex": 0}]} if waited else {})

    words = [sys.executable, "-m", "lockwright"]
    monkeypatch.setattr(invocation, "command_words", lambda: words)
    monkeypatch.setattr(replay, "ask", ask)
    monkeypatch.setattr(replay, "load_machine", lambda *_: None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folders = ["--cache", tmp_path / "cache", "--output-dir", tmp_path / "out", "--runs", "2"]

    def run(cases: Path, *more: str | Path) -> Result:
        status = main(["corpus", *map(str, ["--cases", cases, *folders, *more])])
        return Result(status, *capfd.readouterr())

    return run


def test_cases_of_a_folder_are_replayed_and_scored(
    corpus: Callable[..., Result], tmp_path: Path
) -> None:
    """The lock that is split is found first, and a case that cannot be installed is left out with
    its reason. Profiles are made once, and runs that a budget left out are made by --resume."""
    folder = tmp_path / "cases"
    expected = 'lock = "^parts$"\nfix = ["split"]'
    written(folder, "split", CASE.format(threads=4, expected=expected))
    alone = written(folder, "alone", CASE.format(threads=1, expected="control = true"))
    absent = written(folder, "absent", WRONG)
    done = corpus(folder, "--json", tmp_path / "found.json")
    assert done.status == 1, done.err
    assert "cannot install absent 1: status 1: no such registry" in done.out
    found = json.loads((tmp_path / "found.json").read_text())
    control, case = found["cases"]
    assert (case["case"], case["is_right"], case["is_right_fix"]) == ("split", True, True), case
    assert case["low"] < case["replayed"] < case["high"]
    assert (control["case"], control["change"]) == ("alone", "")
    assert (found["scores"]["locks"], found["scores"]["silent"]) == (1, 1)
    again = corpus(alone, "--budget", "0.001s")
    assert "profile of" not in again.err
    assert "--resume" in again.err
    resumed = corpus(alone, "--resume", "--json", tmp_path / "found.json")
    assert len(json.loads((tmp_path / "found.json").read_text())["runs"]) == 4
    assert "Nothing is advised in 1 of 1" in resumed.out
    refused = corpus(absent)
    assert (refused.status, refused.out) == (2, "")
    assert "no such registry; see " in refused.err.splitlines()[-1]


def test_the_first_change_is_compared_with_the_fix() -> None:
    profile = made_profile()
    expected: dict[str, Any] = {"lock": "Table::lookup", "fix": ("split",), "is_control": False}
    base = find(["libgcc-unwind"])[0]
    case: Case = replace(base, **expected)
    changes = [
        {"kind": "sharding", "mutex": 0},
        {"kind": "atomic", "mutex": 0},
        {"kind": "atomic", "mutex": 1},
    ]
    gains = [{"change": n, "throughput": g} for n, g in enumerate((1.5, 0.9, None))]
    advice: dict[str, Any] = {"sentence": "", "changes": changes, "shortlist": [], "rwlocks": []}
    advice |= {"predicted": {"gains": gains}}
    found = judged(case, profile, advice)
    assert (found.first, found.is_right) == (profile.mutexes[0].name, True)
    assert 0 < found.lost < 1
    assert (found.change, found.is_right_fix, found.predicted) == ("sharding", True, 1.5)
    # The second change costs more than it gains, and the third is for another lock.
    other = judged(replace(case, fix=("lock-free",)), profile, advice)
    assert (other.is_right_fix, other.predicted) == (False, None)
    wrong = replace(case, lock="nothing")
    assert not judged(wrong, profile, advice).is_right
    assert score.experimental(case, profile) is profile.mutexes[0]
    assert score.experimental(wrong, profile) is None
    locks_only = {**advice, "changes": [], "shortlist": [{"lock": "futex"}]}
    assert judged(replace(case, fix=("another lock",)), profile, locks_only).is_right_fix
    assert not judged(case, profile, locks_only).is_silent
    assert Judged().is_silent
    assert [is_near(1.0, each) for each in (1.2, 0.7, None)] == [True, False, False]
    assert len(score.ranked(profile)) >= len(profile.mutexes)


def test_every_case_of_the_laboratory_is_complete() -> None:
    cases = find([])
    assert {each.name for each in cases} == {path.stem for path in CASES.glob("*.toml")}
    assert all(each.claimed or each.is_control for each in cases)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('"^parts$"', '"("', ["lock: not a regular expression"]),
        ('["split"]', '["splitt"]', ["fix is 'splitt'", "split"]),
        ('fix = ["split"]', "", ["has one of `lock` and `fix`"]),
        ("threads = 4", "threads = 0", ["threads"]),
        ("threads = 4", "thread = 4", ["thread: is not a key"]),
        ("https://", "", ["source"]),
        ('version = "2"', "", ["after: version", "is missing"]),
        ("command = ", "comand = ", ["program", "comand"]),
        ("[program]", "[program", ["is not TOML"]),
    ],
)
def test_a_wrong_case_gets_one_line(
    refuses: Refuses, tmp_path: Path, old: str, new: str, parts: list[str]
) -> None:
    text = CASE.format(threads=4, expected='lock = "^parts$"\nfix = ["split"]')
    assert old in text
    path = written(tmp_path, "wrong", text.replace(old, new, 1))
    refuses(["corpus", "--cases", path], "wrong.toml", *parts)


def test_cases_that_cannot_be_had_get_one_line(refuses: Refuses, tmp_path: Path) -> None:
    refuses(["corpus", "--cases", "libgcc"], "no case is named 'libgcc'", "libgcc-unwind")
    refuses(["corpus", "--cases", f"{tmp_path}/none.toml"], "cannot read", "none.toml")
    refuses(["corpus", "--cases", f"{tmp_path}/"], "has no file of a case")


DRD_LOG = """\
==7== drd, a thread error detector
==7== ERROR SUMMARY: 73 errors from 3 contexts (suppressed: 1 from 1)
==7==
==7== 2 errors in context 1 of 3:
==7== Acquired at:
==7==    at 0x4854677: pthread_mutex_lock@* (in /usr/libexec/valgrind/vgpreload_drd.so)
==7==    by 0x109214: other (in split)
==7== Lock on mutex 0x10c0c0 was held during 80 ms (threshold: 1 ms).
==7==    at 0x48582D4: pthread_mutex_unlock@* (in /usr/libexec/valgrind/vgpreload_drd.so)
==7==
==7== 1 errors in context 2 of 3:
==7== Lock on mutex 0x1fff0004c0 was held during 5 ms (threshold: 1 ms).
==7== mutex 0x1fff0004c0 was first observed at:
==7==    by 0x484E4E3: pthread_create@* (in /usr/libexec/valgrind/vgpreload_drd.so)
==7==
==7== 70 errors in context 3 of 3:
==7== Lock on mutex 0x10c080 was held during 8 ms (threshold: 1 ms).
==7==    by 0x1091E7: work (split.c:12)
"""


@pytest.mark.parametrize(
    ("lock", "text", "has_ended", "says"),
    [
        ("^work$", DRD_LOG, True, drd.RIGHT),
        ("split.c", DRD_LOG, False, drd.RIGHT),
        ("other", DRD_LOG, True, drd.WRONG),
        ("work", DRD_LOG.partition("ERROR")[0], True, drd.NONE),
        ("work", DRD_LOG.partition("ERROR")[0], False, drd.SLOW),
    ],
)
def test_the_first_lock_of_drd(
    lock: str, text: str, has_ended: bool, says: str, tmp_path: Path
) -> None:
    """The one of most reports, by the functions of its stacks; none of DRD's own."""
    (log := tmp_path / "split.drd.7").write_text(text)
    case = replace(find(["libgcc-unwind"])[0], lock=lock)
    assert drd.said(case, [log], has_ended=has_ended) == says
