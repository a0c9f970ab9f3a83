"""The options of `lockwright run` for an allocator, processors, scheduling policy and pages."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from lockwright.base.errors import LockwrightError
from lockwright.machine.pinning import Processor
from lockwright.machine.procfs import Tree
from lockwright.preload import allocators
from lockwright.run.settings import Settings, huge_page_mode, processors_of
from lockwright.tune.choices import dimensions_of, find_choices

from .conftest import Cli, Program

TWO_NODES = [Processor(n, node=n // 4, core=n // 2 * 2, thread=n % 2) for n in range(8)]
"""Two nodes of two cores with two threads each."""

NEEDS_JEMALLOC = pytest.mark.skipif(
    not any((folder / "libjemalloc.so.2").is_file() for folder in allocators._folders()),
    reason="libjemalloc2 is not installed",
)
PYTHON = [sys.executable, "-I", "-S", "-c"]


@pytest.mark.parametrize(
    ("text", "processors"),
    [
        ("compact", (0, 1, 2, 3)),
        ("scatter", (0, 2, 4, 6)),
        ("compact:2", (0, 1)),
        ("scatter:2", (0, 4)),
        ("compact:1", (0,)),
        ("scatter:8", tuple(range(8))),
    ],
)
def test_processors_of_a_text(text: str, processors: Sequence[int]) -> None:
    """Half of them by default: the closest, or one of each core over all nodes."""
    assert processors_of(text, TWO_NODES) == processors


@pytest.mark.parametrize("text", ["", "compact:0", "compact:", "dense", "scatter:x", "compact:-1"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(LockwrightError, match="--pin"):
        processors_of(text, TWO_NODES)


def test_more_processors_than_there_are() -> None:
    with pytest.raises(LockwrightError, match="needs 9 processors, and the program may use 8"):
        processors_of("compact:9", TWO_NODES)


def test_the_mode_of_huge_pages(tmp_path: Path) -> None:
    file = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    assert huge_page_mode(Tree(tmp_path)) == ""
    file.parent.mkdir(parents=True)
    file.write_text("always [madvise] never\n")
    assert huge_page_mode(Tree(tmp_path)) == "madvise"


def test_tunables_are_added_to_those_of_the_user() -> None:
    """A tunable of the setting replaces its present value."""
    before = {"GLIBC_TUNABLES": "glibc.rtld.nns=8:glibc.malloc.arena_max=3"}
    after = Settings("glibc-1-arena").environment(before)
    assert after == {"GLIBC_TUNABLES": "glibc.rtld.nns=8:glibc.malloc.arena_max=1"}


@NEEDS_JEMALLOC
def test_the_allocator_precedes_the_users_libraries() -> None:
    """A list of jemalloc's options is continued."""
    before = {"LD_PRELOAD": "libother.so", "MALLOC_CONF": "narenas:2"}
    after = Settings("jemalloc", pages="huge").environment(before)
    own = allocators.path_of(allocators.find("jemalloc"))
    assert after == {"LD_PRELOAD": f"{own}:libother.so", "MALLOC_CONF": "narenas:2,thp:always"}


def test_an_allocator_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`run` refuses it, `tune` leaves it out; both name the package."""
    monkeypatch.setattr(allocators, "_folders", lambda: [tmp_path])
    with pytest.raises(LockwrightError) as error:
        Settings("mimalloc").check(Path("/bin/sh"), {})
    assert "mimalloc is not installed" in error.value.what
    assert "libmimalloc2.0" in error.value.todo
    choices = find_choices(("allocator",), Path("/bin/sh"), {}, 0)
    assert choices.values == {"allocator": ("glibc-1-arena", "glibc-cache", "glibc-retain")}
    assert len(choices.left_out) == 3
    assert all("is not installed" in line for line in choices.left_out)


def test_dimensions_come_in_their_order_once() -> None:
    assert dimensions_of("pages, allocator,pages") == ("allocator", "pages")


def test_the_program_runs_with_all_settings(cli: Cli) -> None:
    """Processors and policy are inherited; the lock's library stays the first one."""
    code = "import os; print(os.sched_getaffinity(0), os.sched_getscheduler(0), os.environ)"
    words = ["--pin", "compact:1", "--sched", "batch", "--allocator", "glibc-cache"]
    result = cli("run", "--lock", "futex", *words, "--", *PYTHON, code)
    assert result.status == 0, result.err
    processors = processors_of("compact:1")
    assert result.out.startswith(f"{set(processors)} {os.SCHED_BATCH} ")
    assert "glibc.malloc.tcache_count=1024" in result.out


@NEEDS_JEMALLOC
@pytest.mark.parametrize("counting", [[], ["--stats"]])
def test_the_allocator_is_loaded_after_the_lock(cli: Cli, counting: list[str]) -> None:
    """An existing LD_PRELOAD is kept behind both."""
    code = "import os; print(os.environ['LD_PRELOAD']); print(open('/proc/self/maps').read())"
    words = ["run", *counting, "--lock", "futex", "--allocator", "jemalloc", "--", *PYTHON, code]
    result = cli(*words, env={"LD_PRELOAD": "libm.so.6"})
    assert result.status == 0, result.err
    preloaded = [Path(each).name for each in result.out.splitlines()[0].split(":")]
    assert preloaded == ["liblockwright-futex.so", "libjemalloc.so.2", "libm.so.6"]
    assert "libjemalloc.so.2" in result.out.partition("\n")[2]
    assert ("acquisitions" in result.err) == bool(counting)


@pytest.mark.skipif(huge_page_mode() not in ("always", "madvise"), reason="no huge pages")
def test_huge_pages(cli: Cli) -> None:
    """The C library's allocator asks for them; `small` forbids them to any."""
    code = (
        "import re, mmap; kept = bytearray(b'x' * (1 << 26));"
        "print(re.search(r'AnonHugePages: *(\\d+)', open('/proc/self/smaps_rollup').read())[1])"
    )
    huge = cli("run", "--lock", "futex", "--pages", "huge", "--", *PYTHON, code)
    assert huge.status == 0, huge.err
    small = cli("run", "--lock", "futex", "--pages", "small", "--", *PYTHON, code)
    assert small.out == "0\n"


def test_a_program_with_its_own_allocator_is_refused(cli: Cli, program: Program) -> None:
    own = program("own_malloc")
    assert cli("run", "--lock", "futex", "--", own).status == 0
    result = cli("run", "--allocator", "glibc-1-arena", "--", own)
    result.refuses("contains an allocator of its own", "leave out the allocator")


def test_an_interpreter_of_a_script_is_examined(cli: Cli, program: Program, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{program('own_malloc')}\n")
    script.chmod(0o755)
    words = ["run", "--allocator", "glibc-1-arena", "--"]
    cli(*words, script).refuses("contains an allocator of its own")
    cli(*words, "env", "A=1", script).refuses("contains an allocator of its own")


def test_the_command_is_one_line_of_a_shell(cli: Cli, program: Program) -> None:
    """The options of Settings are those of the command."""
    settings = Settings("glibc-retain", "compact:1", "batch", "small")
    line = shlex.join(["run", "--lock", "futex", *settings.options, "--", str(program("ends"))])
    result = cli(*shlex.split(line))
    assert result.status == 0, result.err
