"""The headers as a package of another project."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lockwright.preload.locks import headers
from support import locate
from support.processes import captured

CONSUMER = locate.TESTS / "consumer"


def build_consumer(prefix: Path, folder: Path) -> Path:
    """Build the program of tests/consumer with CMake against the package at `prefix`."""
    prefix_path = f"-DCMAKE_PREFIX_PATH={prefix}"
    configure: list[str | Path] = ["cmake", "-S", CONSUMER, "-B", folder, prefix_path]
    compile_: list[str | Path] = ["cmake", "--build", folder]
    for words in (configure, compile_):
        result = captured(words, timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
    return folder / "consumer"


def test_cmake_finds_the_headers(tmp_path: Path) -> None:
    program = build_consumer(headers().parent, tmp_path)
    assert captured([program]).stdout == "40000\n"


def test_pkg_config_finds_the_headers(tmp_path: Path) -> None:
    compiler = os.environ.get("CXX", "g++")
    if shutil.which("pkg-config") is None or shutil.which(compiler) is None:
        pytest.skip("there is no pkg-config or no g++")
    env = os.environ | {"PKG_CONFIG_PATH": str(headers().parent / "share/pkgconfig")}
    flags = captured(["pkg-config", "--cflags", "lockwright >= 0.1"], env=env)
    assert flags.returncode == 0, flags.stderr
    program = tmp_path / "consumer"
    words = [compiler, "-std=c++20", *flags.stdout.split(), str(CONSUMER / "main.cpp")]
    subprocess.run([*words, "-o", program], check=True, timeout=300)
    assert captured([program]).stdout == "40000\n"
