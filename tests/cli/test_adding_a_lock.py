"""The lock, row and commands of docs/lab/adding-a-lock.md work in a copy of the tree."""

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from advise import examples
from lockwright.advise import advise
from lockwright.preload.locks import Registry, registry
from lockwright.preload.rwlocks import rwlocks
from lockwright.profile.record import RwLock
from lockwright.tune import candidates
from support import harness, locate
from support.processes import captured

PAGE = (locate.ROOT / "docs/lab/adding-a-lock.md").read_text()
HEADER, ROW = re.findall(r"^```cpp\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def commands_below(title: str) -> list[str]:
    """Return the commands below a heading of the page."""
    _, _, below = PAGE.partition(f"## {title}\n")
    block = re.search(r"^```console\n(.*?)^```$", below, re.MULTILINE | re.DOTALL)
    assert block is not None, title
    return [line.removeprefix("$ ") for line in block[1].splitlines()]


COMPILES = pytest.mark.full("compiles the libraries and the programs again, for minutes")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the sources of a build, and add the lock of the page."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("include", "src", "cmake", "CMakeLists.txt", "CMakePresets.json", "README.md"):
        source = locate.ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / name)
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/lockwright").symlink_to(locate.lockwright())
    (folder / "include/lockwright/lock/my_lock.hpp").write_text(HEADER)
    with (folder / "include/lockwright/registry.def").open("a") as registry:
        registry.write(ROW)
    return folder


def run(tree: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one command of the page."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCKWRIGHT_")}
    return captured(
        ["sh", "-c", command],
        cwd=tree,
        env={**env, "XDG_CONFIG_HOME": str(tree), "XDG_STATE_HOME": str(tree), **variables},
        timeout=480,
    )


COMMANDS = commands_below("4. Run it")
EXPORT = next(command for command in COMMANDS if command.startswith("export "))


@pytest.fixture(scope="module")
def libraries(tree: Path) -> Path:
    """Build its libraries by the commands of the page, and return their directory."""
    if shutil.which("ninja") is None:
        pytest.skip("ninja is not installed")
    for command in COMMANDS[: COMMANDS.index(EXPORT)]:
        result = run(tree, command, CXXFLAGS="-Werror")
        assert result.returncode == 0, result.stdout + result.stderr
    assert "LOCKWRIGHT_LIBDIR=build/release/lib" in EXPORT
    return tree / "build/release/lib"


@COMPILES
def test_the_lock_of_the_page(tree: Path, libraries: Path) -> None:
    """The commands of the page list and explain it, run a program under it, and torture and measure
    it."""
    if shutil.which("xz") is None:
        pytest.skip("xz is not installed")
    assert {path.name for path in libraries.glob("*.so")} == {
        "liblockwright-my-lock.so",
        "liblockwright-pthread.so",
        "liblockwright-mixed.so",
    }
    check = "lockwright check include/lockwright/lock/my_lock.hpp --budget 0.1"
    printed = {}
    for command in (*COMMANDS[COMMANDS.index(EXPORT) + 1 :], check):
        result = run(tree, f"{EXPORT} && {command}")
        assert result.returncode == 0, command + result.stdout + result.stderr
        printed[command.removeprefix("lockwright ").split()[0]] = result.stdout
    assert [line.split()[0] for line in printed["list"].splitlines()[1:]] == ["pthread", "my-lock"]
    assert "LOCKWRIGHT_MY_LOCK_ATTEMPTS" in printed["info"]
    assert printed["torture"].endswith("Clean.\n")
    assert re.search(r"^ *my-lock .*\n *pthread ", printed["bench"], re.MULTILINE)
    assert "Nothing fails" in printed["check"]
    result = run(tree, "xz -dc README.md.xz")
    assert result.stdout == (locate.ROOT / "README.md").read_text()

    preload = {"LD_PRELOAD": str(libraries / "liblockwright-my-lock.so")}
    outcome = harness.run([locate.program("posix", "exclusion")], {**os.environ, **preload})
    assert outcome.status == 0, outcome.describe()


@COMPILES
def test_the_lock_of_the_page_is_found_by_advise_and_tune(tree: Path, libraries: Path) -> None:
    """The questions leave it where its traits match."""
    rows = [row for row in registry(libraries).rows if row["name"] == "my-lock"]
    extended = Registry(tree, [*examples.LOCKS.rows, *rows])

    def left(**changes: Any) -> tuple[str, ...]:
        mutex = examples.mutex(held=1e6, contended=900, waited=0.6e9, threads=8)
        profile = examples.profile(
            mutex, threads_most=8, threads_mean=8.0, involuntary=100_000, **changes
        )
        return advise(profile, registry=extended).steps[0].remaining

    assert "my-lock" in left(processors=2)
    # It represents its family, by the rank that it states.
    assert "my-lock" in [each.lock for each in candidates.advised_candidates((), extended)]
    assert "backoff" in [each.lock for each in candidates.advised_candidates((), examples.LOCKS)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('LOCKWRIGHT_LOCK("x", y, "lockwright/lock/ttas.hpp", ttas<Env>)', "has to be x, not y"),
        ('LOCKWRIGHT_LOCK("x", x, "lockwright/lock/none.hpp", ttas<Env>)', "there is no include"),
        ('LOCKWRIGHT_LOCK("X", x, "lockwright/lock/ttas.hpp", ttas<Env>)', "this is not"),
        ('LOCKWRIGHT_LOCK("x", x, "lockwright/lock/ttas.hpp",', "this is not"),
        ('LOCKWRIGHT_LOCK("ttas", ttas, "lockwright/lock/ttas.hpp", ttas<Env>)', "two rows"),
    ],
)
def test_a_bad_row_is_refused(tree: Path, tmp_path: Path, row: str, message: str) -> None:
    """The configuration of the build refuses it with a message."""
    shutil.copytree(tree / "cmake", tmp_path / "cmake")
    shutil.copytree(tree / "include", tmp_path / "include")
    with (tmp_path / "include/lockwright/registry.def").open("a") as registry:
        registry.write(row + "\n")
    result = run(tmp_path, "cmake -DLOCKWRIGHT_ROWS=rows -P cmake/Registry.cmake")
    assert result.returncode != 0
    assert message in " ".join(result.stderr.split()), result.stderr


@pytest.fixture(scope="module")
def with_rwlock(tree: Path, libraries: Path) -> Path:
    """Add a reader-writer lock of one header and one row, build, and return the libraries."""
    headers = tree / "include/lockwright"
    text = (headers / "rwlock/futex_rw.hpp").read_text().replace("futex_rw", "my_rw")
    text = text.replace("few writers, which", "my load, which")
    text = text.replace("starved_writers, 2", "starved_writers, 1").replace(
        "read_and_written", "crowded"
    )
    (headers / "rwlock/my_rw.hpp").write_text(text)
    with (headers / "rwlocks.def").open("a") as rows:
        rows.write('LOCKWRIGHT_RWLOCK("my-rw", my_rw, "lockwright/rwlock/my_rw.hpp", my_rw<Env>)\n')
    build = run(tree, "cmake --build --preset release", CXXFLAGS="-Werror")
    assert build.returncode == 0, build.stdout + build.stderr
    return libraries


@COMPILES
@pytest.mark.parametrize(
    ("command", "finding"),
    [
        ("list --reader-writer", "my load"),
        ("info my-rw", "LOCKWRIGHT_MY_RW_SPIN_NS"),
        ("check include/lockwright/rwlock/my_rw.hpp --scenario together", "Nothing fails"),
        ("torture my-rw --budget 1.2s", "Clean."),
        (
            "bench rwlock --lock my-lock --rwlocks my-rw --set read-percent=90 --threads-per-core 1"
            " --runs 1 --seconds 0.02",
            "my-rw",
        ),
    ],
    ids=lambda text: text.split()[0],
)
def test_commands_take_a_reader_writer_lock_from_its_row(
    tree: Path, with_rwlock: Path, command: str, finding: str
) -> None:
    result = run(tree, f".venv/bin/lockwright {command}", LOCKWRIGHT_LIBDIR=str(with_rwlock))
    assert result.returncode == 0, result.stdout + result.stderr
    assert finding in result.stdout, result.stdout


@COMPILES
def test_a_reader_writer_lock_is_found_by_advise(with_rwlock: Path) -> None:
    """It is recommended only in the case that it states."""
    known = rwlocks(with_rwlock)
    assert list(known)[-1] == "my-rw"

    def advised(waited: float) -> list[str]:
        """Return the locks advised where a writer waits that long (ns) for readers of 20 us."""
        readers = examples.mutex(entries=9000, held=20_000, contended=100, waited=0.5e9)
        writers = examples.mutex(entries=1000, held=20_000, contended=100, waited=100 * waited)
        lock = RwLock("table", readers.place, readers.address, 1, 2, readers, writers)
        profile = replace(examples.profile(), rwlocks=(lock,))
        return [each.lock for each in advise(profile, rwlocks=known).rwlocks]

    # Locks of equal rank stay in the order of the registry.
    assert advised(20e6)[:3] == ["phase-fair", "my-rw", "futex-rw"]
    assert "my-rw" not in advised(1e6)


@COMPILES
def test_a_program_runs_under_a_reader_writer_lock_of_a_header_and_a_row(
    tree: Path, with_rwlock: Path
) -> None:
    program = locate.program("posix", "rwlocks")
    tested = run(
        tree,
        f".venv/bin/lockwright run --lock my-lock --rwlock my-rw -- {program}",
        LOCKWRIGHT_TEST_RWLOCK="writers",
        LOCKWRIGHT_LIBDIR=str(with_rwlock),
    )
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "ok: a reader beside a waiting writer" in tested.stdout
