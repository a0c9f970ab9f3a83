"""The example of docs/busy-waiting.md compiles in all modes and runs with and without a lock."""

import re
import subprocess
from pathlib import Path

import pytest
from support import harness, locate
from support.harness import RunUnder

#: Compilers with their options.
MODES = {
    "c11": ["cc", "-std=c11", "-O0"],
    "gnu17": ["cc", "-std=gnu17", "-O2"],
    "c++20": ["c++", "-xc++", "-std=c++20", "-O2"],
    "not position-independent": ["cc", "-O2", "-no-pie", "-fno-pie"],
    "without a table of jumps": ["cc", "-O2", "-fno-plt", "-Wl,-z,now"],
    "optimised at link time": ["cc", "-O2", "-flto"],
}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-pthread"]


def include() -> str:
    answer = [str(locate.lockwright()), "path", "--include"]
    return subprocess.run(answer, capture_output=True, text=True, check=True).stdout.strip()


def example() -> str:
    page = (locate.ROOT / "docs/busy-waiting.md").read_text()
    found = re.search(r"^```cpp\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(1)


def compiled(directory: Path, words: list[str], source: str) -> Path:
    (directory / "example.c").write_text(source)
    # The source comes first: the linker may drop libraries before it.
    argv = [*words, *WARNINGS, "-I", include(), "example.c", "-o", "example"]
    subprocess.run(argv, cwd=directory, check=True, timeout=60)
    return directory / "example"


#: A call in the example that also prints the implementation.
CALL_WITH_OUTPUT = (
    '  puts(lockwright_preloaded_busylock() ? "the library" : "the header");\n'
    "  int error = lockwright_mutex_busylock("
)


@pytest.mark.parametrize("mode", MODES)
def test_example(run_under: RunUnder, tmp_path: Path, mode: str) -> None:
    source = example().replace("  int error = lockwright_mutex_busylock(", CALL_WITH_OUTPUT)
    program = compiled(tmp_path, MODES[mode], source)
    without = run_under(harness.LIBC, [program])
    assert (without.status, without.stdout) == (0, "the header\nlocked\n"), without.describe()
    for lock in locate.lock_names()[:2]:
        under = run_under(lock, [program])
        assert (under.status, under.stdout) == (0, "the library\nlocked\n"), under.describe()


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_a_static_program_uses_the_header(run_under: RunUnder, tmp_path: Path, flag: str) -> None:
    program = compiled(tmp_path, ["cc", "-O2", flag], example())
    assert run_under(harness.LIBC, [program]).stdout == "locked\n"


def test_two_files_of_a_program(run_under: RunUnder, tmp_path: Path) -> None:
    """Two files that include the header have no duplicate definitions."""
    other = (
        "#include <lockwright/pthread.h>\n"
        "int (*get(void))(pthread_mutex_t*);\n"
        "int (*get(void))(pthread_mutex_t*) { return lockwright_mutex_busylock; }\n"
    )
    for compiler, suffix in (("cc", "c"), ("c++", "cpp")):
        (tmp_path / f"other.{suffix}").write_text(other)
        program = compiled(tmp_path, [compiler, f"other.{suffix}"], example())
        assert run_under(harness.LIBC, [program]).stdout == "locked\n"
