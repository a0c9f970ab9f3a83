"""Every name of the locking API resolves to the lock's library, for old and for new programs."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from conftest import RunUnder
from support import harness, locate

LOCKS = locate.lock_names()

#: The names that the libraries take over.
API = re.compile(
    r"(__)?pthread_mutex_(init|destroy|lock|trylock|unlock|timedlock|clocklock)"
    r"|pthread_cond_(init|destroy|wait|timedwait|clockwait|signal|broadcast)"
)
#: A line of the dynamic linker's record.
BINDING = re.compile(r"binding file (\S+) \[0\] to (\S+) \[0\]: normal symbol `(\w+)'(?: \[(\S+)\])?")

Symbol = tuple[str, str]


def tool(*argv: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def exported(library: Path) -> set[Symbol]:
    """The (name, version) of every function and object that a library defines."""
    symbols = set()
    for line in tool("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        kind, name = line.split()[1:3]
        plain, _, version = name.partition("@")
        if kind != "A":  # the version nodes themselves
            symbols.add((plain, version.lstrip("@")))
    return symbols


@cache
def c_library() -> Path:
    listed = tool("ldd", locate.program("posix", "exclusion"))
    found = re.search(r"libc\.so\.6 => (\S+)", listed)
    assert found is not None, listed
    return Path(found.group(1))


@cache
def wanted() -> frozenset[Symbol]:
    """What the C library itself offers of the API, in every version."""
    return frozenset(symbol for symbol in exported(c_library()) if API.fullmatch(symbol[0]))


def both_builds(lock: str) -> list[Path]:
    return [locate.library(lock), locate.library(lock, counting=True)]


def test_the_c_library_has_what_we_think() -> None:
    names = {name for name, _ in wanted()}
    assert len(names) == 14 + 5  # the API, and the second names of five of them
    assert len(wanted()) > len(names)  # some in more than one version


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Programs that only refer to the API: one in every old version, one as linked today."""
    directory = tmp_path_factory.mktemp("bound")
    default = {
        name
        for line in tool("nm", "-D", "--with-symbol-versions", c_library()).splitlines()
        if "@@" in (name := line.split()[-1])
    }
    old = sorted(
        (name, version) for name, version in wanted() if f"{name}@@{version}" not in default
    )
    # Names with one version only are old and new at once.
    several = {name for name, _ in old if not name.startswith("__")}
    old += sorted(s for s in wanted() if s[0] not in several and s not in old)
    new = sorted(symbol for symbol in wanted() if symbol not in old or symbol[0] not in several)

    def build(label: str, symbols: list[Symbol], versioned: bool) -> Path:
        lines = ["typedef void function(void);"]
        for i, (name, version) in enumerate(symbols):
            lines.append(f"extern function bound_{i};")
            target = f"{name}@{version}" if versioned else name
            if versioned:
                lines.append(f'__asm__(".symver bound_{i}, {target}");')
            else:
                lines[-1] = f'extern function bound_{i} __asm__("{name}");'
        pointers = ", ".join(f"bound_{i}" for i in range(len(symbols)))
        lines.append(f"function *const volatile table[] = {{{pointers}}};")
        lines.append("int main(void) { return table[0] == 0; }")
        source = directory / f"{label}.c"
        source.write_text("\n".join(lines) + "\n")
        program = directory / label
        tool("cc", "-w", "-pthread", "-o", program, source)
        return program

    # __pthread_mutex_* have no default version: a program linked today cannot name them.
    linkable = [s for s in new if f"{s[0]}@@{s[1]}" in default]
    return {"old": build("old", old, True), "new": build("new", linkable, False)}


def bindings(directory: Path) -> dict[Symbol, set[tuple[str, str]]]:
    """From the dynamic linker's record: symbol -> {(who asked, what it got)}."""
    result: dict[Symbol, set[tuple[str, str]]] = defaultdict(set)
    for record in directory.glob("record.*"):
        for source, target, name, version in BINDING.findall(record.read_text()):
            if API.fullmatch(name):
                result[name, version].add((source, target))
    return result


@pytest.mark.parametrize("age", ["old", "new"])
@pytest.mark.parametrize("lock", LOCKS)
def test_bindings(
    run_under: RunUnder, programs: dict[str, Path], tmp_path: Path, lock: str, age: str
) -> None:
    program = programs[age]
    outcome = run_under(
        lock,
        [program],
        env={
            "LD_BIND_NOW": "1",
            "LD_DEBUG": "bindings",
            "LD_DEBUG_OUTPUT": str(tmp_path / "record"),
        },
    )
    assert outcome.status == 0, outcome.describe()
    library = str(locate.library(lock))
    recorded = bindings(tmp_path)
    asked = {symbol for symbol, pairs in recorded.items() if any(s == str(program) for s, _ in pairs)}
    assert {name for name, _ in asked} >= {n for n, _ in wanted() if age == "old" or n[0] != "_"}
    strays = {
        (symbol, source, target)
        for symbol, pairs in recorded.items()
        for source, target in pairs
        if target != library and source != library
    }
    assert not strays


@pytest.mark.parametrize("name", ["exclusion", "cond_timed", "old_versions"])
@pytest.mark.parametrize("lock", LOCKS)
def test_no_library_of_a_real_program_passes_by(
    run_under: RunUnder, tmp_path: Path, lock: str, name: str
) -> None:
    if name == "old_versions" and not (locate.binary_dir() / "posix" / name).exists():
        pytest.skip("this machine's C library has no old versions")
    case = "exclusion" if name == "old_versions" else {"exclusion": "every type"}.get(
        name, "std::condition_variable"
    )
    outcome = run_under(
        lock,
        [locate.program("posix", name), case],
        env={
            "LD_BIND_NOW": "1",
            "LD_DEBUG": "bindings",
            "LD_DEBUG_OUTPUT": str(tmp_path / "record"),
        },
    )
    assert outcome.status == 0, outcome.describe()
    library = str(locate.library(lock))
    recorded = bindings(tmp_path)
    assert recorded
    for pairs in recorded.values():
        assert {target for source, target in pairs if source != library} <= {library}


LOOKUP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    void *found = dlvsym(RTLD_DEFAULT, argv[i], argv[i + 1]);
    Dl_info info = {0};
    if (found == NULL || dladdr(found, &info) == 0) info.dli_fname = "nowhere";
    printf("%s %s %s\n", argv[i], argv[i + 1], info.dli_fname);
  }
  for (int i = 1; i + 1 < argc; i += 2) {
    void *found = dlsym(RTLD_DEFAULT, argv[i]);
    Dl_info info = {0};
    if (found == NULL || dladdr(found, &info) == 0) info.dli_fname = "nowhere";
    printf("%s - %s\n", argv[i], info.dli_fname);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def lookup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that asks the dynamic linker for names and versions while it runs."""
    directory = tmp_path_factory.mktemp("lookup")
    (directory / "lookup.c").write_text(LOOKUP)
    tool("cc", "-pthread", "-o", directory / "lookup", directory / "lookup.c", "-ldl")
    return directory / "lookup"


@pytest.mark.parametrize("lock", LOCKS)
def test_looked_up_while_running(run_under: RunUnder, lookup: Path, lock: str) -> None:
    words = [word for symbol in sorted(wanted()) for word in symbol]
    outcome = run_under(lock, [lookup, *words])
    lines = outcome.stdout.splitlines()
    assert len(lines) == 2 * len(wanted())
    strays = [line for line in lines if not line.endswith(f" {locate.library(lock)}")]
    assert not strays


@pytest.mark.parametrize("lock", LOCKS)
def test_exports_the_api_and_nothing_else(lock: str) -> None:
    for library in both_builds(lock):
        assert exported(library) == wanted()


@pytest.mark.parametrize("lock", LOCKS)
def test_needs_the_c_library_only(lock: str) -> None:
    for library in both_builds(lock):
        dynamic = tool("readelf", "-d", library)
        assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) == ["libc.so.6"]
        assert "TEXTREL" not in dynamic
        assert re.search(r"FLAGS.*\b(BIND_NOW|NOW)\b", dynamic), dynamic


@pytest.mark.parametrize("lock", LOCKS)
def test_no_segment_is_writable_and_executable(lock: str) -> None:
    for library in both_builds(lock):
        headers = tool("readelf", "-lW", library)
        segments = re.findall(
            r"^\s+(LOAD|GNU_STACK)\s+(?:0x\w+\s+){5}([R ][W ][E ])", headers, re.MULTILINE
        )
        assert {kind for kind, _ in segments} == {"LOAD", "GNU_STACK"}, headers
        assert all("W" not in flags or "E" not in flags for _, flags in segments), headers
        assert "GNU_RELRO" in headers


def test_the_list_of_locks_is_the_registry(libdir: Path) -> None:
    rows = json.loads((libdir / "locks.json").read_text())
    assert [row["name"] for row in rows] == LOCKS
    assert sorted(path.name for path in libdir.glob("liblockwright-*.so")) == sorted(
        f"liblockwright-{lock}.so" for lock in LOCKS
    )
    assert harness.LIBC not in LOCKS
