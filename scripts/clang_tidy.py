"""Run clang-tidy once per source file of a CMake build directory, on every processor.

A file that is compiled several times, such as plain and counting, is checked with the flags of its
first compilation only.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLANG_TIDY = ROOT / ".venv" / "bin" / "clang-tidy"

# The analyzer takes ten times as long as all other checks on tests, which have many paths. Sources
# that the build writes for one lock are in a directory of the same name.
WITHOUT_ANALYZER = "/tests"

# The analyzer follows every path, here for minutes. A call of rwlock.cpp has some through each of
# thirteen algorithms, which the analyzer also sees in src/simulate. Each of the n lookups of
# real.cpp may need a second try, so there are 2^n.
WITH_MANY_PATHS = {
    ROOT / "src" / "preload" / "rwlock.cpp",
    ROOT / "src" / "interpose" / "real.cpp",
}


def write_database(database: Path) -> tuple[Path, list[str]]:
    """Write a compilation database with one entry per file; return its directory and the files."""
    entries = json.loads((database / "compile_commands.json").read_text())
    first = {entry["file"]: entry for entry in reversed(entries)}
    directory = database / "clang-tidy"
    directory.mkdir(exist_ok=True)
    (directory / "compile_commands.json").write_text(json.dumps(list(first.values())))
    return directory, sorted(first)


def check(directory: Path, file: str) -> tuple[int, str]:
    """Check one file; return clang-tidy's exit status and its output."""
    disabled = []
    if WITHOUT_ANALYZER in Path(file).parent.as_posix() or Path(file) in WITH_MANY_PATHS:
        disabled.append("-clang-analyzer-*")
    if directory.parent in Path(file).parents:
        # Sources that the build writes for one lock include the test suite.
        disabled.append("-bugprone-suspicious-include")
    result = subprocess.run(
        [CLANG_TIDY, "--quiet", f"--checks={','.join(disabled)}", "-p", directory, file],
        capture_output=True,
        text=True,
        check=False,
    )
    # Its stderr is a count of suppressed warnings, unless clang-tidy itself failed.
    return result.returncode, result.stdout or (result.stderr if result.returncode else "")


def main() -> int:
    """Check every file of the build directory named on the command line."""
    directory, files = write_database(Path(sys.argv[1]).resolve())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda file: check(directory, file), files))
    for _, text in results:
        sys.stdout.write(text)
    return 1 if any(status for status, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
