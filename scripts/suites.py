"""Run the lock tests of LTP, glibc or libc-test without and with a preload library, and compare.

Prints the counts, and a line for each test that ends differently, in three more runs too. The exit
status is 1 if one of them has no known reason.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lockwright.run.process_runner import Process, ProcessRunner
from lockwright.run.record import describe_status


@dataclass(frozen=True)
class Suite:
    """Patterns of the tests, and of the sources that they share, below the folder of the suite; the
    compiler's options."""

    tests: Sequence[str]
    shared: str
    options: str


_LTP = "testcases/open_posix_testsuite"
_INTERFACES = f"{_LTP}/conformance/interfaces"
SUITES = {
    "ltp": Suite(
        [
            *(f"{_INTERFACES}/{folder}/*.c" for folder in ("pthread_*", "sem_*", "fork")),
            *(f"{_LTP}/functional/{folder}/*.c" for folder in ("semaphores", "threads/*")),
        ],
        f"{_LTP}/lib/*.c",
        f"-std=gnu99 -D_XOPEN_SOURCE=700 -I{{root}}/{_LTP}/include",
    ),
    "nptl": Suite(
        ["nptl/tst-*.c", "sysdeps/pthread/tst-*.c"],
        "support/*.c",
        f"""-std=gnu11 -O2 -DTIMEOUTFACTOR=1 -include limits.h -include {{build}}/folders.h
            -I{{root}}/support -iquote {{root}}/sysdeps/pthread -iquote {{root}}/nptl
            -iquote {{root}}/sysdeps/unix/sysv/linux -idirafter {{root}} -idirafter {{root}}/include
            -idirafter {{root}}/sysdeps/{platform.machine()} -idirafter {{root}}/sysdeps/x86
            -idirafter {{root}}/sysdeps/generic -idirafter {{build}}""",
    ),
    "libc-test": Suite(
        ["src/functional/*.c", "src/regression/*.c"],
        "src/common/*.c",
        "-std=c99 -D_POSIX_C_SOURCE=200809L -fno-builtin -I{root}/src/common",
    ),
}
_FOLDERS = "SRCDIR OBJDIR OBJDIR_ELF_LDSO INSTDIR LIBDIR BINDIR SBINDIR SLIBDIR ROOTSBINDIR"
HEADERS = {
    # A test that uses what glibc declares in these is not built.
    **dict.fromkeys(["config.h", "internaltypes.h", "pthreadP.h"], ""),
    "folders.h": "".join(f'#define {each}_PATH "/"\n' for each in _FOLDERS.split())
    + '#define COMPLOCALEDIR_PATH "/"\n',
}
"""What is in {build} for nptl."""

_KEY = "the library takes one of the keys that a program can create, the first"
KNOWN = {
    **{f"sysdeps/pthread/tst-{name}": _KEY for name in ("key1", "key4", "tss-basic")},
    f"{_INTERFACES}/pthread_attr_setschedpolicy/2-1": "the lock does not wake by priority",
}
"""Tests that end differently under the default, and why: docs/conformance.md."""

SECONDS = 90
"""For a run of a test."""

_CONCERNS_LOCKS = re.compile(
    r"\b(pthread|sem|mtx|cnd|thrd|tss|call)_\w+|\bv?fork\b"
    r"|#include .*(mutex|cond|rwlock|sem|spin|barrier|once|cancel|cleanup|robust|join|key)"
)
_SETS_CLOCK = re.compile(r"\b(clock_settime|clock_adjtime|settimeofday|stime|adjtimex?)\s*\(")
"""A test that does this as root would change the time of the whole machine: it is never run."""

_MODULE = re.compile(r"(mod\w?|_dso|aux|-static)$")
"""Sources of libraries that tests load; and what is no test that a library can be loaded into."""


@dataclass
class Result:
    """How a test ended each time: in the first run, and in three more if those differ."""

    test: str
    without: list[str] = field(default_factory=list)
    with_library: list[str] = field(default_factory=list)
    verdict: str = "not built"

    def line(self) -> str:
        """Return all endings as one line."""
        reason = f" ({KNOWN[self.test]})" if self.verdict == "known" else ""
        endings = f"{', '.join(self.without)} | {', '.join(self.with_library)}"
        return f"{self.verdict}: {self.test}: {endings}{reason}"


@dataclass(frozen=True)
class Tester:
    """Compiles and runs the tests of a suite, whose folder is `root`, in the folder `build`."""

    suite: Suite
    root: Path
    library: Path
    build: Path

    def compile(self, source: Path, target: str, *words: str | Path) -> bool:
        """Compile a source; return whether that worked."""
        folders = {"root": self.root, "build": self.build}
        command: list[str | Path] = [
            "gcc",
            "-w",
            "-D_GNU_SOURCE",
            source,
            "-o",
            self.build / target,
        ]
        command += [each.format(**folders) for each in self.suite.options.split()]
        if re.match(r"tst-\w+x\d", source.stem):  # As glibc's Makefile says.
            command.append("-fexceptions")
        return subprocess.run([*command, *words], capture_output=True).returncode == 0

    def tests(self) -> Iterator[Path]:
        """Compile what the tests share, as far as it compiles; yield those that concern locks."""
        for name, text in HEADERS.items():
            (self.build / name).write_text(text)
        for path in self.root.glob(self.suite.shared):
            self.compile(path, f"{path.stem}.o", "-c")
        objects = self.build.glob("*.o")
        subprocess.run(["ar", "rcs", self.build / "shared.a", *objects], check=True)
        for path in sorted(path for each in self.suite.tests for path in self.root.glob(each)):
            if _MODULE.search(path.stem):
                self.compile(path, f"{path.stem}.so", "-shared", "-fPIC")
                continue
            text = path.read_text(errors="replace")
            if _CONCERNS_LOCKS.search(text) and not _SETS_CLOCK.search(text):
                yield path

    def ending(self, runner: ProcessRunner, program: Path, preload: dict[str, str]) -> str:
        """Run a program in a new folder; return how it ended, in words."""
        environment = os.environ | {"LD_LIBRARY_PATH": str(self.build)} | preload
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "Makefile").write_text("all:\n")  # Some of glibc's tests read one.
            process = Process([str(program)], environment, Path(folder), "nowhere", "nowhere")
            ending = runner.run(process, SECONDS)
        exited = ending.outcome == "exited" and ending.status is not None
        return describe_status(ending.status or 0) if exited else ending.outcome

    def run(self, result: Result, times: int = 1) -> None:
        """Run a test without and with the library."""
        program = self.build / result.test.replace("/", ".")
        preload = {"LD_PRELOAD": str(self.library)}
        with ProcessRunner() as runner:
            for _ in range(times):
                result.without.append(self.ending(runner, program, {}))
                result.with_library.append(self.ending(runner, program, preload))

    def first_run(self, source: Path) -> Result:
        """Compile a test and run it once."""
        result = Result(str(source.relative_to(self.root).with_suffix("")))
        target, archive = result.test.replace("/", "."), self.build / "shared.a"
        if self.compile(source, target, archive, "-rdynamic", "-lm", "-lrt"):
            self.run(result)
            result.verdict = "same" if result.without == result.with_library else "differs"
        return result

    def results(self) -> list[Result]:
        """Run all tests, and those that differ three times more, with no other beside them."""
        # Most of them sleep.
        with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            results = list(pool.map(self.first_run, self.tests()))
        for result in [each for each in results if each.verdict == "differs"]:
            self.run(result, 3)
            if set(result.with_library[1:]) <= set(result.without[1:]):
                result.verdict = "differed once"
            elif result.test in KNOWN:
                result.verdict = "known"
        return results


def problem(suite: Suite, source: Path, library: Path, result: Path | None) -> str | None:
    """Return why nothing can be run."""
    if not any(any(source.glob(pattern)) for pattern in suite.tests):
        return f"no test of this suite is in {source}"
    if not library.is_file() or "cannot be preloaded" in preloading(library):
        return f"the dynamic linker cannot preload {library}"
    if result and not result.parent.is_dir():
        return f"there is no folder {result.parent}"
    return None if shutil.which("gcc") else "there is no gcc"


def preloading(library: Path) -> str:
    """Return what the dynamic linker says of a library."""
    environment = os.environ | {"LD_PRELOAD": str(library)}
    return subprocess.run(["true"], env=environment, capture_output=True, text=True).stderr


def main() -> int:
    """Run the tests of one suite; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("source", type=Path, help="its folder, as its project publishes it")
    parser.add_argument("--library", type=Path, required=True, help="liblockwright*.so")
    parser.add_argument("--json", type=Path, help="also write each result to this file")
    options = parser.parse_args()
    suite = SUITES[options.suite]
    source, library = options.source.resolve(), options.library.resolve()
    if why := problem(suite, source, library, options.json):
        print(f"suites: {why}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as build:
        results = Tester(suite, source, library, Path(build)).results()
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n")
    counts = Counter(result.verdict for result in results)
    passed = sum(result.without[:1] == ["exit status 0"] for result in results)
    texts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items()))
    print(f"{len(results)} tests: {texts}; {passed} pass without the library")
    for result in results:
        if result.verdict not in ("same", "not built"):
            print(result.line())
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
