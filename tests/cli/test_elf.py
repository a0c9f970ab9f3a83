"""The readers of ELF files and their debug information."""

import shutil
import subprocess
from pathlib import Path

import pytest
from lockwright.elf import file as elf
from lockwright.elf import lines
from lockwright.elf.symbols import SymbolTable
from support import locate

from .conftest import Program


def test_a_file_is_parsed_once_until_it_changes(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "program"
    shutil.copy(program("worker"), path)
    first = elf.load(path)
    assert elf.load(path) is first
    assert first.header is not None
    assert first.header.interpreter is not None
    path.write_bytes(b"text")
    assert elf.load(path).header is None
    assert elf.load(tmp_path / "nothing").sections == {}


def test_lines_and_addresses_correspond() -> None:
    """The two readers of debug information agree."""
    path = locate.program("profile", "truth")
    if shutil.which("addr2line") is None:
        pytest.skip("addr2line is not installed")
    source = locate.ROOT / "tests/profile/truth.cpp"
    number = next(
        number
        for number, text in enumerate(source.read_text().splitlines(), 1)
        if "pthread_mutex_lock(" in text or ".lock()" in text
    )
    addresses = [begin for begin, _ in lines.addresses_of(path, "truth.cpp", number)]
    assert addresses
    found = lines.lines_of(path, addresses)
    for address in addresses:
        assert found[address][0].source == f"truth.cpp:{number}"
        assert SymbolTable(path).find(address) is not None


def test_the_symbol_of_a_version_has_no_address(tmp_path: Path) -> None:
    """It is absolute, with the value 0, and precedes every function."""
    script, library = tmp_path / "versions", tmp_path / "library.so"
    script.write_text("VERS_1.0 { global: exported; local: *; };")
    source = "__attribute__((noinline)) static int hidden(int a) { return a * 7; }\n"
    source += "int exported(int a) { return hidden(a) + 1; }\n"
    subprocess.run(
        [
            *["cc", "-shared", "-fPIC", "-O1", "-s", f"-Wl,--version-script={script}"],
            *["-o", str(library), "-x", "c", "-"],
        ],
        input=source.encode(),
        check=True,
    )
    (exported,) = (row for row in elf.load(library).symbols(".dynsym") if 0 < row[3] < 0xFFF1)
    assert SymbolTable(library).find(exported[4]) == ("exported", 0)
    assert SymbolTable(library).find(exported[4] - 4) is None
