"""Every name of the locking API resolves to the lock's library, in every symbol version."""

import json
import re
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from support import harness, locate
from support.harness import RunUnder
from support.processes import compiled

#: The library `mixed` contains all locks.
LOCKS = [*locate.lock_names(), "mixed"]

#: The names that the libraries interpose.
API = re.compile(
    r"(__)?pthread_mutex_(init|destroy|lock|trylock|unlock|timedlock|clocklock)"
    r"|pthread_cond_(init|destroy|wait|timedwait|clockwait|signal|broadcast)"
    r"|mtx_(init|destroy|lock|trylock|timedlock|unlock)"
    r"|cnd_(init|destroy|wait|timedwait|signal|broadcast)"
    r"|(__)?pthread_rwlock_(init|destroy|(try)?(rd|wr)lock|(timed|clock)(rd|wr)lock|unlock)"
    r"|pthread_spin_(init|destroy|lock|trylock|unlock)"
    r"|sem_(init|destroy|wait|trywait|timedwait|clockwait|post|getvalue)"
)
#: Functions that read only the kind word of a mutex: the C library's work for both.
NOT_INTERPOSED = re.compile(
    r"pthread_mutex_(consistent|consistent_np|getprioceiling|setprioceiling)"
)
#: Names outside the C library, which lockwright/pthread.h and lockwright-bench look up.
EXTENSIONS = {
    (name, "LOCKWRIGHT_0.1") for name in ("lockwright_mutex_busylock", "lockwright_memory_taken")
}
#: A line of the dynamic linker's debug output.
BINDING = re.compile(
    r"binding file (\S+) \[0\] to (\S+) \[0\]: normal symbol `(\w+)'(?: \[(\S+)\])?"
)

Symbol = tuple[str, str]

SAMPLED = pytest.mark.sampled("all libraries are linked alike", memory=False)
EACH_LOCK = pytest.mark.parametrize("lock", [pytest.param(lock, marks=SAMPLED) for lock in LOCKS])


def tool(*argv: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def exported(library: Path) -> set[Symbol]:
    """Return the (name, version) of every function and object that a library defines."""
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
def api_symbols() -> frozenset[Symbol]:
    """Return the symbols of the API that the C library itself offers, in every version."""
    return frozenset(symbol for symbol in exported(c_library()) if API.fullmatch(symbol[0]))


def wrapped_symbols() -> frozenset[Symbol]:
    """Return the symbols defined to run first at a fork, for plugins, and before a sandbox."""
    names = ("__register_atfork", "dlopen", "prctl", "syscall")
    return frozenset(s for s in exported(c_library()) if s[0] in names)


def both_builds(lock: str) -> list[Path]:
    return [locate.preload(lock), locate.preload(lock, counting=True)]


def test_the_c_library_has_the_expected_api() -> None:
    names = {name for name, _ in api_symbols()}
    # Mutexes and condition variables, five aliases of them, C11, semaphores,
    # reader-writer locks with seven aliases, spin locks.
    assert len(names) == 14 + 5 + 12 + 8 + 11 + 7 + 5
    assert len(api_symbols()) > len(names)  # some in more than one version


def test_the_api_is_complete() -> None:
    """A later C library may have more functions, which have to be interposed or listed."""
    family = re.compile(r"(__)?(pthread_(mutex|cond)_|mtx_|cnd_)\w+")
    names = {name for name, _ in exported(c_library()) if family.fullmatch(name)}
    missing = {n for n in names if not API.fullmatch(n) and not NOT_INTERPOSED.fullmatch(n)}
    assert not missing
    assert any(NOT_INTERPOSED.fullmatch(name) for name in names)


@dataclass(frozen=True)
class Bound:
    """A program that only refers to the API, and the symbols that it is bound to."""

    path: Path
    symbols: frozenset[Symbol]


@cache
def linked_today() -> frozenset[Symbol]:
    """Return the symbols that a program linked today gets: the default versions."""
    listed = tool("nm", "-D", "--defined-only", "--with-symbol-versions", c_library())
    names = (line.split()[-1].split("@@") for line in listed.splitlines() if "@@" in line)
    return frozenset((name, version) for name, version in names) & api_symbols()


def references(symbols: frozenset[Symbol]) -> list[str]:
    """Return lines of C that define a table of the functions, in the order of their names."""
    lines = ["typedef void function(void);"]
    for i, (name, version) in enumerate(sorted(symbols)):
        lines.append(f"extern function bound_{i};")
        lines.append(f'__asm__(".symver bound_{i}, {name}@{version}");')
    pointers = ", ".join(f"bound_{i}" for i in range(len(symbols)))
    lines.append(f"function *const volatile table[] = {{{pointers}}};")
    return lines


def compile_reference(directory: Path, label: str, symbols: frozenset[Symbol]) -> Bound:
    lines = references(symbols)
    lines.append("int main(void) { return table[0] == 0; }")
    return Bound(compiled(directory, label, "\n".join(lines) + "\n", "-w"), symbols)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Bound]:
    """Build one program bound to today's versions, and one bound to all older ones."""
    directory = tmp_path_factory.mktemp("bound")
    return {
        "new": compile_reference(directory, "new", linked_today()),
        "old": compile_reference(directory, "old", api_symbols() - linked_today()),
    }


def test_old_and_new_versions_are_all(programs: dict[str, Bound]) -> None:
    assert programs["old"].symbols | programs["new"].symbols == api_symbols()
    assert {name for name, _ in programs["new"].symbols} == {
        name for name, _ in api_symbols() if not name.startswith("__")
    }


def bindings(directory: Path) -> dict[Symbol, set[tuple[str, str]]]:
    """Return the dynamic linker's record: symbol -> {(referring object, defining object)}."""
    result: dict[Symbol, set[tuple[str, str]]] = defaultdict(set)
    for record in directory.glob("record.*"):
        for source, target, name, version in BINDING.findall(record.read_text()):
            if API.fullmatch(name):
                result[name, version].add((source, target))
    return result


def strays(recorded: dict[Symbol, set[tuple[str, str]]], library: Path) -> set[str]:
    """Return the bindings to other objects than the library, except those of the library itself."""
    return {
        f"{source}: {name}@{version} -> {target}"
        for (name, version), pairs in recorded.items()
        for source, target in pairs
        if target != str(library) and source != str(library)
    }


RECORD = {"LD_BIND_NOW": "1", "LD_DEBUG": "bindings"}


@pytest.mark.parametrize("age", ["old", "new"])
@EACH_LOCK
def test_bindings(
    run_under: RunUnder, programs: dict[str, Bound], tmp_path: Path, lock: str, age: str
) -> None:
    program = programs[age]
    if not program.symbols:
        pytest.skip("the C library of this machine has no older versions")
    env = {**RECORD, "LD_DEBUG_OUTPUT": str(tmp_path / "record")}
    run_under(lock, [program.path], env=env).succeeded()
    recorded = bindings(tmp_path)
    got = {
        symbol
        for symbol, pairs in recorded.items()
        if (str(program.path), str(locate.preload(lock))) in pairs
    }
    assert got == program.symbols
    assert not strays(recorded, locate.preload(lock))


def test_without_preload_the_record_shows_the_c_library(
    run_under: RunUnder, programs: dict[str, Bound], tmp_path: Path
) -> None:
    env = {**RECORD, "LD_DEBUG_OUTPUT": str(tmp_path / "record")}
    run_under(harness.LIBC, [programs["new"].path], env=env)
    recorded = bindings(tmp_path)
    assert set(recorded) >= programs["new"].symbols
    assert len(strays(recorded, locate.preload(LOCKS[0]))) >= len(programs["new"].symbols)


#: Real programs with the C++ library: program and case.
REAL = [
    ("exclusion", "every type"),
    ("cpp20", "condition variables"),
    ("old_versions", "old and new together"),
    ("old_versions", "condition variable"),
]


@pytest.mark.parametrize(("name", "case"), REAL)
@EACH_LOCK
def test_no_library_of_a_real_program_is_bound_elsewhere(
    run_under: RunUnder, tmp_path: Path, lock: str, name: str, case: str
) -> None:
    if name == "old_versions" and linked_today() == api_symbols():
        pytest.skip("the C library of this machine has no older versions")
    env = {**RECORD, "LD_DEBUG_OUTPUT": str(tmp_path / "record")}
    run_under(lock, [locate.program("posix", name), case], env=env).succeeded()
    recorded = bindings(tmp_path)
    assert recorded
    assert not strays(recorded, locate.preload(lock))


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
  for (int i = 1; i + 1 < argc; i += 2) { /* without a version, as old plugin loaders do */
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
    """Build a program that looks up names and versions with the dynamic linker."""
    return compiled(tmp_path_factory.mktemp("lookup"), "lookup", LOOKUP)


@EACH_LOCK
def test_lookup_at_run_time(run_under: RunUnder, lookup: Path, lock: str) -> None:
    argv = [str(lookup), *(word for symbol in sorted(api_symbols()) for word in symbol)]
    without = run_under(harness.LIBC, argv).stdout.splitlines()
    found = [line for line in without if not line.endswith(" nowhere")]
    assert len(found) >= len(api_symbols())  # every version, and names without one
    expected = [
        line if line.endswith(" nowhere") else f"{line.rsplit(' ', 1)[0]} {locate.preload(lock)}"
        for line in without
    ]
    assert run_under(lock, argv).stdout.splitlines() == expected


DEEP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND);
  if (library == NULL) return puts(dlerror());
  void **table = dlsym(library, "table");
  for (int i = 0; table[i] != NULL; ++i) {
    Dl_info info = {0};
    dladdr(table[i], &info);
    puts(info.dli_fname);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def open_deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a program that opens a library and prints where each entry of its table leads."""
    return compiled(tmp_path_factory.mktemp("deep"), "deep", DEEP)


def compile_library(directory: Path, text: str, *options: str) -> Path:
    """Build a library whose table ends with a null pointer."""
    shared = ("-w", "-shared", "-fPIC", *options)
    return compiled(directory, "library.so", text.replace("};", ", 0};"), *shared)


@pytest.mark.parametrize("lock", [LOCKS[0], LOCKS[-1]])
def test_references_of_a_deeply_bound_library(
    run_under: RunUnder, open_deep: Path, tmp_path: Path, lock: str
) -> None:
    symbols = api_symbols() | wrapped_symbols()
    library = compile_library(tmp_path, "\n".join(references(symbols)))
    found = run_under(lock, [open_deep, library])
    assert found.stderr == ""
    assert found.stdout.splitlines() == [str(locate.preload(lock))] * len(symbols)
    # By the C library itself they are found in it.
    found = run_under(harness.LIBC, [open_deep, library])
    assert locate.preload(lock).name not in found.stdout


def test_a_library_of_which_one_reference_is_fixed(
    run_under: RunUnder, open_deep: Path, tmp_path: Path
) -> None:
    """Its unlocking function stays the C library's, and so do all functions of its mutexes."""
    names = ["pthread_mutex_lock", "pthread_cond_wait", "mtx_lock", "sem_post"]
    text = (
        "#include <pthread.h>\n#include <semaphore.h>\n#include <threads.h>\n"
        f"void *const volatile table[] = {{{', '.join(names)}}};\n"
        '__asm__(".text\\n.quad pthread_mutex_unlock");'
    )
    library = compile_library(tmp_path, text, "-Wl,-z,notext")
    found = run_under(LOCKS[0], [open_deep, library])
    ours = str(locate.preload(LOCKS[0]))
    assert [path == ours for path in found.stdout.splitlines()] == [False, False, False, True]
    assert found.stderr == (
        f"lockwright: {library}: its reference to pthread_mutex_unlock cannot be redirected; "
        "its mutexes and condition variables stay the C library's\n"
    )


@EACH_LOCK
def test_exports_the_api_and_nothing_else(lock: str) -> None:
    for library in both_builds(lock):
        assert exported(library) == api_symbols() | wrapped_symbols() | EXTENSIONS


@EACH_LOCK
def test_needs_the_c_library_only(lock: str) -> None:
    for library in both_builds(lock):
        dynamic = tool("readelf", "-d", library)
        assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) == ["libc.so.6"]
        assert "TEXTREL" not in dynamic
        assert re.search(r"FLAGS.*\b(BIND_NOW|NOW)\b", dynamic), dynamic


@EACH_LOCK
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
    assert [row["name"] for row in rows] == locate.lock_names()
    assert sorted(path.name for path in libdir.glob("liblockwright-*.so")) == sorted(
        f"liblockwright-{lock}.so" for lock in LOCKS
    )
    assert harness.LIBC not in LOCKS
