"""Programs that cannot be run under a lock are refused before they run, with the reason."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from .conftest import Cli, Program


def refused(cli: Cli, path: Path | str, *parts: str) -> None:
    """Check that `run` and `compare` both refuse a program with a message that has these parts."""
    cli("run", "--lock", "ttas", "--", path).refuses(*parts)
    cli("compare", "--", path).refuses(*parts)


def header(bits: int, little: bool, machine: int) -> bytes:
    """Return an ELF header without segments."""
    order = "<" if little else ">"
    ident = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1 if little else 2, 1]) + bytes(9)
    layout = f"{order}HHI{'QQQ' if bits == 64 else 'III'}IHHHHHH"
    size = 64 if bits == 64 else 52
    return ident + struct.pack(layout, 3, machine, 1, 0, 0, 0, 0, size, 0, 0, 0, 0, 0)


def executable(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def test_unknown_command(cli: Cli) -> None:
    refused(cli, "no-such-program", "'no-such-program' was not found")


def test_missing_file_directory_and_not_executable(cli: Cli, tmp_path: Path) -> None:
    refused(cli, tmp_path / "absent", "No such file")
    refused(cli, tmp_path, "is a directory")
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    plain.chmod(0o644)
    refused(cli, plain, "not executable", "chmod")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("LOCKWRIGHT_HMCS_BATCH", "many", "='many' is not a number from 1 to"),
        ("LOCKWRIGHT_HMCS_BATCH", "0", "='0' is not a number from 1 to"),
        ("LOCKWRIGHT_BATCH", "-1", "='-1' is not a number from 1 to"),
        ("LOCKWRIGHT_HMCS_BATHC", "5", "hmcs has LOCKWRIGHT_HMCS_BATCH"),
    ],
)
def test_a_parameter_of_the_lock(cli: Cli, variable: str, value: str, message: str) -> None:
    """The value is no number or out of bounds, or the name is unknown."""
    env = {variable: value}
    cli("run", "--lock", "hmcs", "--", "true", env=env).refuses(variable, message)
    cli("compare", "--locks", "hmcs", "--", "true", env=env).refuses(variable, message)
    assert cli("run", "--lock", "ttas", "--", "true", env=env).status == 0


def test_static_program(cli: Cli, program: Program) -> None:
    refused(cli, program("worker", "-static"), "statically linked")


def test_static_position_independent_program(cli: Cli, program: Program) -> None:
    """Its header claims that it is dynamic, but it has no dynamic linker."""
    refused(cli, program("worker", "-static-pie"), "statically linked")


@pytest.mark.parametrize(("bit", "name"), [(0o4000, "set-user-ID"), (0o2000, "set-group-ID")])
def test_privileged_program(
    cli: Cli, program: Program, tmp_path: Path, bit: int, name: str
) -> None:
    """The dynamic linker silently ignores LD_PRELOAD for these."""
    copy = Path(shutil.copy(program("worker"), tmp_path / "privileged"))
    copy.chmod(0o755 | bit)
    refused(cli, copy, name)


@pytest.mark.parametrize(
    ("bits", "little", "machine", "message"),
    [(32, True, 3, "32-bit i386"), (64, False, 22, "big-endian"), (64, True, 243, "riscv")],
)
def test_foreign_architecture(
    cli: Cli, tmp_path: Path, bits: int, little: bool, machine: int, message: str
) -> None:
    refused(cli, executable(tmp_path / "foreign", header(bits, little, machine)), message)


def test_musl_program(cli: Cli, program: Program, tmp_path: Path) -> None:
    """Its dynamic linker would load the library and fail on names that only glibc has."""
    glibc = program("worker").read_bytes()
    start = glibc.index(b"/lib")
    end = glibc.index(b"\0", start)
    musl = b"/lib/ld-musl-x86_64.so.1"[: end - start].ljust(end - start, b"\0")
    refused(cli, executable(tmp_path / "musl", glibc[:start] + musl + glibc[end:]), "musl")


#: The sections by which compilers of other languages mark a program: name, flags and content.
MARKS = {
    "go.buildinfo": ('.go.buildinfo,\\"a\\"', "Go buildinf:"),
    "go.buildid": ('.note.go.buildid,\\"a\\"', "Go"),
    "rust": (".comment", "rustc version 1.82.0"),
}


def marked(tmp_path: Path, mark: str, *flags: str) -> Path:
    """Compile a C program with such a section, and strip it, as distributions do."""
    section, text = MARKS[mark]
    source = tmp_path / f"{mark}.c"
    uses = "int pthread_mutex_lock(void *); int (*volatile f)(void *) = pthread_mutex_lock;\n"
    source.write_text(
        f'__asm__(".pushsection {section}\\n.asciz \\"{text}\\"\\n.popsection");\n'
        + (uses if "-DLOCKS" in flags else "")
        + 'int puts(const char *); int main(void) { puts("ran"); return 0; }\n'
    )
    target = tmp_path / "marked"
    subprocess.run(["cc", *flags, source, "-o", target], check=True)
    subprocess.run(["strip", target], check=True)
    return target


@pytest.mark.parametrize("mark", ["go.buildinfo", "go.buildid"])
@pytest.mark.parametrize("flags", [[], ["-static"]])
def test_go_program(cli: Cli, tmp_path: Path, mark: str, flags: list[str]) -> None:
    """It would run with its own locks; the reason is not that it is static."""
    refused(cli, marked(tmp_path, mark, *flags), "is a Go program")


def test_go_program_with_mutexes_in_its_c_code(cli: Cli, tmp_path: Path) -> None:
    result = cli("run", "--lock", "ttas", "--", marked(tmp_path, "go.buildid", "-DLOCKS"))
    assert (result.status, result.out) == (0, "ran\n")
    assert len(result.err.splitlines()) == 1
    assert "is a Go program" in result.err


def test_rust_program_without_mutexes(cli: Cli, tmp_path: Path) -> None:
    """It may use those of a library, so it is run; the line comes before its output."""
    result = cli("run", "--lock", "ttas", "--", marked(tmp_path, "rust"))
    assert (result.status, result.out) == (0, "ran\n")
    assert len(result.err.splitlines()) == 1
    assert "Rust" in result.err
    assert "pthread_mutex_lock" in result.err


def test_rust_program_with_mutexes(cli: Cli, tmp_path: Path) -> None:
    """A Rust program that calls pthread functions is treated as any other."""
    result = cli("run", "--lock", "ttas", "--", marked(tmp_path, "rust", "-DLOCKS"))
    assert (result.status, result.out, result.err) == (0, "ran\n", "")


#: A library's file name, or a symbol of the program, and what the line says.
OWN_LOCKS = {
    "libgomp.so.1": "OpenMP",
    "libomp.so.5": "OpenMP",
    "libglib-2.0.so.0": "GLib",
    "libabsl_synchronization.so.20220623": "Abseil",
    "libQt6Core.so.6": "Qt",
    "_ZN4absl12lts_202206235Mutex4LockEv": "Abseil",
}


@pytest.mark.parametrize("means", ["direct", "of a library"])
@pytest.mark.parametrize("mark", OWN_LOCKS)
def test_a_program_whose_locks_are_its_librarys(
    cli: Cli, tmp_path: Path, mark: str, means: str
) -> None:
    """It is run; the line comes before its output. That of a library which the program does not
    use itself comes only if the program calls no mutex function either."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    options = ["-Wl,--no-as-needed", f"-Wl,-rpath,{folder}"]

    def library(name: str, *needs: str) -> str:
        path = folder / name
        source = f"void {name.partition('.')[0].replace('-', '_')}(void) {{}}"
        flags = ["-shared", "-fPIC", f"-Wl,-soname,{name}", *options, "-o", str(path)]
        subprocess.run(["cc", *flags, "-x", "c", "-", *needs], input=source.encode(), check=True)
        return str(path)

    needs, symbol = [], ""
    if mark.startswith("lib"):
        needs = [library(mark)]
        if means == "of a library":
            needs = [library("libother.so", "-x", "none", *needs)]
    else:
        symbol = f"void {mark}(void) {{}}\n"
    target, source = tmp_path / "program", symbol + "int puts(const char *);\n"
    source += 'int main(void) { puts("ran"); return 0; }\n'
    words = ["cc", *options, "-o", str(target), "-x", "c", "-", "-x", "none", *needs]
    subprocess.run(words, input=source.encode(), check=True)
    result = cli("run", "--lock", "ttas", "--", target)
    assert (result.status, result.out) == (0, "ran\n")
    assert len(result.err.splitlines()) == 1
    assert f"uses {OWN_LOCKS[mark]}: its " in result.err


@pytest.mark.parametrize("damage", ["offset", "names", "cut"])
def test_damaged_table_of_sections(cli: Cli, program: Program, tmp_path: Path, damage: str) -> None:
    """The kernel does not read it, so the program runs."""
    content = bytearray(program("worker").read_bytes())
    if damage == "offset":
        struct.pack_into("<Q", content, 40, 1 << 62)
    elif damage == "names":
        struct.pack_into("<H", content, 62, 0xFFFE)
    else:
        (table,) = struct.unpack_from("<Q", content, 40)
        content = content[: table + 100]
    path = executable(tmp_path / "damaged", bytes(content))
    assert cli("run", "--lock", "ttas", "--", path, "1", "10").status == 0


def test_neither_program_nor_script(cli: Cli, tmp_path: Path) -> None:
    """Text without #!, an empty file, a truncated ELF file."""
    refused(cli, executable(tmp_path / "text", b"echo hello\n"), "neither")
    refused(cli, executable(tmp_path / "empty", b""), "neither")
    refused(cli, executable(tmp_path / "short", b"\x7fELF\x02\x01"), "neither")


def test_script_of_a_static_interpreter(cli: Cli, program: Program, tmp_path: Path) -> None:
    """The interpreter of a script is examined, also behind env."""
    static = program("worker", "-static")
    refused(cli, executable(tmp_path / "a", f"#!{static}\n".encode()), "statically linked")
    inner = f"#!/usr/bin/env -S {static} 1\n".encode()
    refused(cli, executable(tmp_path / "b", inner), "statically linked")
    refused(cli, executable(tmp_path / "c", b"#!/no/such/shell\n"), "/no/such/shell")


def test_script_of_a_privileged_interpreter(cli: Cli, program: Program, tmp_path: Path) -> None:
    """The interpreter's bit prevents the preload; both files are named."""
    copy = Path(shutil.copy(program("worker"), tmp_path / "privileged"))
    copy.chmod(0o4755)
    script = executable(tmp_path / "script", f"#!{copy}\n".encode())
    refused(cli, script, "set-user-ID", str(copy), str(script))


def test_a_privileged_bit_on_a_script_has_no_effect(
    cli: Cli, program: Program, tmp_path: Path
) -> None:
    """The kernel ignores the bit, so the lock is loaded."""
    script = executable(tmp_path / "script", f"#!/bin/sh\nexec {program('worker')} 1 10\n".encode())
    script.chmod(0o6755)
    result = cli("run", "--lock", "ttas", "--stats", "--", script)
    assert result.status == 0
    assert "acquisitions             10" in result.err


def test_a_program_behind_env(cli: Cli, program: Program) -> None:
    """For `env NAME=VALUE program`, the program is examined."""
    static = str(program("worker", "-static"))
    cli("run", "--lock", "ttas", "--", "env", "-u", "B", "A=1", static).refuses("statically")


def test_script_that_runs_itself(cli: Cli, tmp_path: Path) -> None:
    """The kernel refuses it too."""
    loop = tmp_path / "loop"
    refused(cli, executable(loop, f"#!{loop}\n".encode()), "script")
