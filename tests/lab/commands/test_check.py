"""`lockwright check`: a user's lock on the model checker, and the report on a broken lock."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support import locate
from support.processes import shell_script

from .conftest import Cli, Result

PAGE = (locate.ROOT / "docs/lab/adding-a-lock.md").read_text()
GOOD = re.findall(r"^```cpp\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]

#: Tests the lock and takes it in two steps.
BROKEN = GOOD.replace(
    "return flag_.exchange(1, std::memory_order_acquire) == 0;",
    """
    if (flag_.load(std::memory_order_acquire) != 0) {
      return false;
    }
    flag_.store(1, std::memory_order_relaxed);
    return true;
 """,
)

ROW = re.compile(r"^my-lock +(\S+) +(\d) +(\d+)  (\S+) +[\d.]+  (\S+)$")


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all tests share the compiled files, which are built without optimisation."""
    if not Path("/usr/include/relacy/relacy.hpp").exists():
        pytest.skip("the model checker Relacy is missing (Debian: apt-get install relacy-dev)")
    if shutil.which("g++") is None and "CXX" not in os.environ:
        pytest.skip("no g++")
    monkeypatch.setenv("XDG_CACHE_HOME", str(locate.ROOT / "build/test-check"))
    monkeypatch.setenv("CXXFLAGS", "-O0")


#: The beginning of the lines that show the progress of a compilation.
COMPILING = "lockwright: compiling the checker for "


def without_progress(result: Result) -> Result:
    lines = result.err.splitlines(keepends=True)
    return replace(result, err="".join(line for line in lines if not line.startswith(COMPILING)))


def errors(result: Result) -> str:
    """Return what the command printed on standard error beside its progress."""
    return without_progress(result).err


@pytest.fixture
def header(tmp_path: Path) -> Path:
    return tmp_path / "my_lock.hpp"


def rows(result: Result) -> list[tuple[str, ...]]:
    found = [ROW.match(line) for line in result.out.splitlines()]
    return [match.groups() for match in found if match]


@pytest.mark.full("a broken lock is compiled and searched in the same way")
def test_a_good_lock(cli: Cli, header: Path, tmp_path: Path) -> None:
    """The lock of docs/lab/adding-a-lock.md passes, and a second run compiles nothing."""
    header.write_text(GOOD)
    result = cli("check", header, "--threads", "2", "--json", tmp_path / "out.json")
    assert result.status == 0, result.out + result.err
    # A compilation takes a minute, which would be silent.
    assert re.match(COMPILING + "my-lock, which is kept: 0 of [1-5] files done\n", result.err)
    assert errors(result) == ""
    table = rows(result)
    assert {"exclusion", "trylock", "last-user-destroys", "thread-exit"} <= {r[0] for r in table}
    assert {row[1] for row in table} == {"2"}
    assert {row[4] for row in table} == {"passed"}
    assert "Nothing fails" in result.out.splitlines()[-1]
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["failure"] is None
    assert [row["scenario"] for row in document["rows"]] == [row[0] for row in table]

    text = f'echo "$@" >> {tmp_path}/calls\nexec g++ "$@"'
    compiler = shell_script(tmp_path / "compiler", text)
    for _ in range(2):
        result = cli("check", header, "--scenario", "nested", env={"CXX": str(compiler)})
        assert [row[0] for row in rows(result)] == ["nested"], result.err
    assert result.err == ""
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[-1] == "--version"
    assert calls[-2] != "--version"


@pytest.mark.full("compiles a lock twice; those of the model checker find its faults, too")
def test_a_broken_lock_is_reported_step_by_step(cli: Cli, header: Path, tmp_path: Path) -> None:
    """Steps have thread, operation, object, order, values and line; the last line is the error."""
    header.write_text(BROKEN)
    result = cli("check", header, "--scenario", "exclusion", "--json", tmp_path / "out.json")
    assert (result.status, errors(result)) == (1, ""), result.out + result.err
    assert {row[4] for row in rows(result)} == {"failed"}
    lines = BROKEN.splitlines()
    load = next(i for i, line in enumerate(lines, 1) if "flag_.load" in line)
    store = next(i for i, line in enumerate(lines, 1) if "flag_.store(1" in line)
    _, _, trace = result.out.partition("fails in these steps:")
    for thread in ("T0", "T1"):
        steps = [line for line in trace.splitlines() if re.match(rf" *\d+ +{thread} ", line)]
        text = "\n".join(steps)
        assert re.search(
            rf"load flag_ acquire: 0 .*my_lock\.hpp:{load}\n"
            rf"(.*\n)*.*store flag_ relaxed: . -> 1 +my_lock\.hpp:{store}",
            text,
        ), trace
        assert "calls lock" in text
    assert re.search(r"What went wrong: T[01]: two threads are inside at once", trace), trace
    failure = json.loads((tmp_path / "out.json").read_text())["failure"]
    assert failure["scenario"] == "exclusion"
    assert any("store flag_" in step for step in failure["steps"])


def test_a_lock_of_the_registry(cli: Cli) -> None:
    result = cli("check", "ttas", "--scenario", "exclusion", "--threads", "2")
    assert (result.status, errors(result)) == (0, ""), result.out + result.err
    assert re.search(r"^ttas +exclusion +2 +\d+  exhaustive ", result.out, re.M), result.out


RW_GOOD = (locate.ROOT / "include/lockwright/rwlock/futex_rw.hpp").read_text()
RW_GOOD = RW_GOOD.replace("futex_rw", "my_rw")

#: Readers enter beside a writer.
RW_BROKEN = RW_GOOD.replace("return holders != written_ && (", "return (")


OPTIONS = ("--scenario", "exclusion", "--threads", "2", "--budget", "1")


@pytest.mark.full("compiled and searched as a broken one is")
def test_a_reader_writer_lock_of_the_registry(cli: Cli) -> None:
    result = cli("check", "futex-rw", *OPTIONS)
    assert (result.status, errors(result)) == (0, ""), result.out + result.err
    assert re.search(r"^futex-rw +exclusion +2 .* passed$", result.out, re.M), result.out


@pytest.mark.full("compiles for long; the model checker's tests have every lock")
def test_a_reader_writer_lock(cli: Cli, tmp_path: Path) -> None:
    """In a header of one's own a fault is reported step by step."""
    header = tmp_path / "my_rw.hpp"
    header.write_text(RW_BROKEN)
    result = cli("check", header, *OPTIONS)
    assert (result.status, errors(result)) == (1, ""), result.out + result.err
    assert re.search(r"T1 +returns from lock_read: it is inside", result.out), result.out
    assert re.search(r"What went wrong: T[01]: .*", result.out), result.out
    header.write_text(RW_GOOD.replace("void forget_waiters", "void forget"))
    result = without_progress(cli("check", header))
    result.refuses("my_rw.hpp", "all members that lockwright/rwlock.hpp lists")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (GOOD.replace("try_lock", "may_lock"), [], "'bool try_lock()'"),
        (GOOD.replace("flag_{};", "flag_{}"), [], "does not compile: my_lock.hpp:"),
        (GOOD, ["--type", "your_lock"], "no class template your_lock<Env>"),
    ],
    ids=["concept", "syntax", "type"],
)
def test_a_header_without_a_lock_is_refused(
    cli: Cli, header: Path, text: str, options: list[str], message: str
) -> None:
    header.write_text(text)
    without_progress(cli("check", header, *options)).refuses("my_lock.hpp", message)


def test_bad_input_is_refused(cli: Cli, header: Path, tmp_path: Path) -> None:
    cli("check", tmp_path / "none.hpp").refuses("there is no file")
    cli("check", "mcs-spinn").refuses("mcs-spin")
    cli("check", "futex-rw", "--type", "x").refuses("--type is for a header")
    cli("check", "pthread").refuses("the C library's mutex")
    cli("check", "ttas", "--type", "x").refuses("--type is for a header")
    result = without_progress(cli("check", "ttas", "--scenario", "exclusio"))
    result.refuses("did you mean 'exclusion'?")
    without_progress(cli("check", "ttas", "--threads", "4")).refuses("no program with 4 threads")
    result = without_progress(cli("check", "ttas", "--json", tmp_path / "none" / "x.json"))
    result.refuses("cannot write")
    header.write_text(GOOD)
    cli("check", header, env={"CXX": "no-such-compiler"}).refuses("no-such-compiler")
    cli("check", header, env={"CXX": "", "PATH": str(tmp_path)}).refuses("apt-get install g++")
    missing = "relacy.hpp:10:10: fatal error: relacy/base.hpp: No such file or directory"
    compiler = shell_script(tmp_path / "compiler", f'echo "{missing}" >&2\nexit 1')
    result = without_progress(cli("check", header, env={"CXX": str(compiler)}))
    result.refuses("apt-get install relacy-dev")


def test_ctrl_c_ends_it_with_its_children(command: list[str], environment: dict[str, str]) -> None:
    """The signal arrives in the middle of a long search."""
    process = subprocess.Popen(
        [*command, "check", "ttas", "--threads", "3", "--budget", "200"],
        env=environment | {name: os.environ[name] for name in ("XDG_CACHE_HOME", "CXXFLAGS")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("algorithm")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (searching := children.read_text().split()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    assert not Path(f"/proc/{searching[0]}").exists()
