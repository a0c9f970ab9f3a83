"""The artefacts of `./dev release`."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support import locate
from support.processes import captured

from .test_header_package import build_consumer

ENVIRONMENT = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}


def checkout(folder: Path) -> Path:
    """Copy what the archive of the headers is made of."""
    folder.mkdir(parents=True)
    for name in ("CMakeLists.txt", "LICENSE", "conanfile.py"):
        shutil.copy(locate.ROOT / name, folder)
    for name in ("cmake", "include", "scripts", "src"):
        shutil.copytree(locate.ROOT / name, folder / name)
    return folder


def header_archive(source: Path, file: Path) -> Path:
    words: list[str | Path] = [source / "scripts/header_package.sh", "0.1.0", file]
    result = captured(words, env=ENVIRONMENT, timeout=300)
    assert result.returncode == 0, result.stderr
    return file


@pytest.mark.full("compiles another project with the headers, as test_header_package.py does")
def test_the_archive_of_the_headers_serves_another_project(tmp_path: Path) -> None:
    archive = header_archive(locate.ROOT, tmp_path / "headers.tar.gz")
    subprocess.run(["tar", "-xzf", archive], cwd=tmp_path, check=True, timeout=60)
    root = tmp_path / "lockwright-headers-0.1.0"
    assert {each.name for each in root.iterdir()} == {"LICENSE", "include", "share"}
    program = build_consumer(root, tmp_path / "consumer")
    assert captured([program]).stdout == "40000\n"


def test_two_archives_of_the_headers_have_the_same_bytes(tmp_path: Path) -> None:
    """The places and the permissions of the sources do not matter."""
    files = []
    for name, mask in (("first", 0o022), ("the second one", 0o077)):
        source = checkout(tmp_path / name)
        for path in source.rglob("*"):
            path.chmod(path.stat().st_mode & ~mask)
        files.append(header_archive(source, tmp_path / f"{name}.tar.gz").read_bytes())
    assert files[0] == files[1]


def test_every_recipe_has_the_version() -> None:
    text = (locate.ROOT / "CMakeLists.txt").read_text()
    match = re.search(r"project\(lockwright VERSION ([0-9.]+)", text)
    assert match is not None
    port = json.loads((locate.ROOT / "cmake/vcpkg/lockwright/vcpkg.json").read_text())
    assert port["version"] == match[1]
    assert f"\n## {match[1]} - " in (locate.ROOT / "CHANGELOG.md").read_text()


@pytest.mark.skipif(shutil.which("conan") is None, reason="there is no conan")
def test_conan_makes_the_package(tmp_path: Path) -> None:
    """The package of the local cache serves another project."""
    source = checkout(tmp_path / "source")
    env = os.environ | {"CONAN_HOME": str(tmp_path / "conan")}
    settings = ["--no-remote", "-s", "compiler.cppstd=20"]
    deploy = ["--deployer=full_deploy", f"--output-folder={tmp_path}"]
    for words in (
        ["profile", "detect"],
        ["create", str(source), *settings],
        ["install", "--requires=lockwright/[*]", *settings, *deploy],
    ):
        result = captured(["conan", *words], cwd=tmp_path, env=env, timeout=300)
        assert result.returncode == 0, result.stdout + result.stderr
    [config] = tmp_path.glob("full_deploy/**/lockwright-config.cmake")
    program = build_consumer(config.parents[3], tmp_path / "consumer")
    assert captured([program]).stdout == "40000\n"


@pytest.mark.full("makes two releases, for minutes")
@pytest.mark.timeout(7400)
def test_two_releases_have_the_same_bytes(tmp_path: Path) -> None:
    """The commit is released twice, in folders whose paths have different lengths."""
    sums = []
    for place in ("first", "the second one"):
        folder = tmp_path / place
        subprocess.run(["git", "clone", "-q", locate.ROOT, folder], check=True, timeout=300)
        result = captured(["./dev", "release"], cwd=folder, timeout=3600)
        assert result.returncode == 0, result.stderr
        [release] = (folder / "build").glob("release-*")
        sums.append((release / "SHA256SUMS").read_text())
        for line in sums[-1].splitlines():
            digest, name = line.split()
            assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest
        # Two wheels, four Debian packages, two archives, the changes.
        assert len(sums[-1].splitlines()) == 9
    assert sums[0] == sums[1]
