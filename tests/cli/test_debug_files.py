"""Names of call sites in stripped libraries: exported symbols, debug files, debuginfod servers."""

import http.server
import os
import shutil
import struct
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from lockwright.elf import debug_files, lines
from lockwright.elf.file import ElfFile, load
from lockwright.elf.symbols import SymbolTable
from lockwright.profile import record
from support import locate
from support.processes import captured, shell_script

from .conftest import Cli

SOURCE = """
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static __attribute__((noinline)) void hidden(void) {
    pthread_mutex_lock(&mutex);
    ++sum;
    pthread_mutex_unlock(&mutex);
}
void exported(void) {
    for (int i = 0; i < 100000; ++i) hidden();
    __asm__ volatile("");
}
"""

PROGRAM = "void exported(void); int main(void) { exported(); return 0; }\n"


@dataclass(frozen=True)
class Built:
    """A stripped library, a program that calls it, and the library's debug file. hidden: the
    offset of a function that the library does not export."""

    library: Path
    program: Path
    debug: Path
    identity: str
    hidden: int

    def name(self, *, ask_servers: bool = False) -> str | None:
        """Return the name of the function at `hidden`."""
        symbol = SymbolTable(self.library, ask_servers=ask_servers).find(self.hidden + 4)
        return None if symbol is None else symbol[0]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Built:
    """Build the library, split its debug information off and strip it. The variables of the user
    are not set."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not shutil.which("objcopy") or not shutil.which("strip"):
        pytest.skip("cc, objcopy and strip are not all installed")
    for variable in (debug_files.DIRECTORIES, debug_files.SERVERS):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(debug_files, "_client", debug_files._Client())
    folder = tmp_path / "built"
    folder.mkdir()
    library, debug = folder / "libcounts.so", folder / "libcounts.so.debug"
    (folder / "counts.c").write_text(SOURCE)
    (folder / "main.c").write_text(PROGRAM)

    def run(*words: str | Path) -> None:
        subprocess.run(list(map(str, words)), cwd=folder, check=True)

    flags = ["-g", "-O1", "-fPIC", "-shared", "-pthread", "-Wl,--build-id=sha1"]
    run(compiler, *flags, "counts.c", "-o", library)
    run(compiler, "main.c", "-o", "main", library, f"-Wl,-rpath,{folder}")
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    (line,) = (each for each in symbols.splitlines() if each.endswith(" t hidden"))
    run("objcopy", "--only-keep-debug", library, debug)
    run("strip", library)
    identity = debug_files.build_id(load(library))
    return Built(library, folder / "main", debug, identity, int(line.split()[0], 16))


@pytest.mark.parametrize(("size", "digits"), [(20, 40), (64, 128), (65, 0), (1 << 31, 0)])
def test_a_damaged_build_id_is_none(size: int, digits: int) -> None:
    note = struct.pack("<III4s", 4, size, 3, b"GNU") + bytes(1000)
    file = cast("ElfFile", SimpleNamespace(order="<", section=lambda _name, _most: note))
    assert len(debug_files.build_id(file)) == digits


def by_build_id(built: Built, root: Path) -> Path:
    """Put the debug file where a -dbgsym package has it, below `root`."""
    folder = root / ".build-id" / built.identity[:2]
    folder.mkdir(parents=True)
    return built.debug.rename(folder / f"{built.identity[2:]}.debug")


def test_a_stripped_library_has_the_names_that_it_exports(built: Built) -> None:
    assert ".symtab" not in load(built.library).sections
    assert len(built.identity) == 40
    assert built.name() is None
    values = [row[4] for row in load(built.library).symbols(".dynsym") if row[3] != 0]
    names = [SymbolTable(built.library).find(value) for value in values]
    assert ("exported", 0) in names


def test_a_debug_file_is_found_by_the_build_id(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_build_id(built, tmp_path / "debug")
    assert built.name() is None
    monkeypatch.setenv(debug_files.DIRECTORIES, f"{tmp_path / 'none'}:{tmp_path / 'debug'}")
    assert built.name() == "hidden"
    file = debug_files.file_with_lines(built.library, ask_servers=False)
    assert file is not None
    if shutil.which("addr2line"):
        number = SOURCE.splitlines().index("    pthread_mutex_lock(&mutex);") + 1
        wanted = {f"counts.c:{number + offset}" for offset in (-1, 0)}
        found = lines.lines_of(file, [built.hidden, built.hidden + 4])
        assert {each[0].source for each in found.values()} & wanted


@pytest.mark.parametrize("folder", ["", ".debug", "below the debug directory"])
def test_a_debug_file_is_found_by_its_link(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    words = ["objcopy", f"--add-gnu-debuglink={built.debug}", str(built.library)]
    subprocess.run(words, check=True)
    place = built.library.parent / folder
    if folder.startswith("below"):
        monkeypatch.setenv(debug_files.DIRECTORIES, str(tmp_path / "debug"))
        place = tmp_path / "debug" / str(built.library.parent).lstrip("/")
    place.mkdir(parents=True, exist_ok=True)
    built.debug.rename(place / built.debug.name)
    assert built.name() == "hidden"


def test_a_debug_file_of_another_build_is_not_used(built: Built) -> None:
    words = ["objcopy", f"--add-gnu-debuglink={built.debug}", str(built.library)]
    subprocess.run(words, check=True)
    with built.debug.open("ab") as file:
        file.write(b"\0")
    assert built.name() is None


@locate.native
def test_profile_and_plan_use_the_name(built: Built, cli: Cli, tmp_path: Path) -> None:
    """Without the debug file the profile has the offset."""
    path = tmp_path / "profile.json"

    def site(**variables: str) -> str:
        result = cli("profile", "-o", path, "--", built.program, env=variables)
        assert result.status == 0, result.err
        return record.read(path).mutexes[0].sites[0].label

    assert site().startswith("libcounts.so+0x")
    by_build_id(built, tmp_path / "debug")
    directories = {debug_files.DIRECTORIES: str(tmp_path / "debug")}
    assert site(**directories).startswith("hidden")
    plan = tmp_path / "plan.toml"
    plan.write_text('[[mutex]]\nlock = "ttas"\nsite = "libcounts.so:hidden"\n')
    words = ["run", "--plan", plan, "--", built.program]
    assert cli(*words, env=directories).status == 0
    cli(*words).refuses("hidden")


@pytest.fixture
def server(built: Built) -> Iterator[tuple[str, list[str]]]:
    """Serve the debug file on the loopback as debuginfod does; yield the URL and the requests."""
    requests: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            found = self.path == f"/buildid/{built.identity}/debuginfo"
            content = built.debug.read_bytes() if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as fake:
        thread = threading.Thread(target=fake.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{fake.server_port}", requests
        fake.shutdown()
        thread.join()


def test_a_debuginfod_server_has_the_names(
    built: Built,
    server: tuple[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shutil.which("debuginfod-find") is None:
        pytest.skip("debuginfod-find is not installed (Debian's package debuginfod has it)")
    url, requests = server
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    assert built.name(ask_servers=True) is None
    assert requests == [], "a server was asked without DEBUGINFOD_URLS"
    monkeypatch.setattr(debug_files, "_client", debug_files._Client())
    monkeypatch.setenv(debug_files.SERVERS, url)
    assert built.name(ask_servers=False) is None
    assert requests == [], "a server was asked while a program ran"
    assert built.name(ask_servers=True) == "hidden"
    assert requests == [f"/buildid/{built.identity}/debuginfo"]


def test_the_client_is_asked_once_and_only_with_servers(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place of the client there is a script, which records its calls."""
    calls = tmp_path / "calls"
    (tmp_path / "bin").mkdir()
    shell_script(tmp_path / "bin/debuginfod-find", f'echo "$@" >> {calls}\necho {built.debug}')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert built.name(ask_servers=True) is None
    assert not calls.exists()
    monkeypatch.setattr(debug_files, "_client", debug_files._Client())
    monkeypatch.setenv(debug_files.SERVERS, "http://127.0.0.1:1")
    assert built.name(ask_servers=True) == "hidden"
    assert built.name(ask_servers=True) == "hidden"
    assert calls.read_text() == f"debuginfo {built.identity}\n"


def test_an_unreachable_server_is_no_error(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(debug_files.SERVERS, "http://127.0.0.1:1")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", str(tmp_path / "cache"))
    assert built.name(ask_servers=True) is None


def test_a_damaged_link_is_ignored(built: Built, tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"name", b"../../x\0", b"x\0\0\0\0\0")):
        section = tmp_path / "section"
        section.write_bytes(content)
        target = tmp_path / f"lib{number}.so"
        captured(["objcopy", "--add-section", f".gnu_debuglink={section}", built.library, target])
        if target.exists():
            assert debug_files.debug_file(target, ask_servers=False) is None
