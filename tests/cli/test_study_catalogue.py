"""`lockwright study catalogue`: what programs there are, and whether they are right here."""

import json
import shutil
from pathlib import Path

import pytest
from lockwright.study.program import catalogue

from .conftest import Cli


def test_the_list(cli: Cli) -> None:
    """Has a line for each program, and all that is known of them as JSON."""
    shown = cli("study", "catalogue")
    assert shown.status == 0
    names = [line.split()[0] for line in shown.out.splitlines()[1:]]
    assert names == catalogue.names()
    rows = json.loads(cli("study", "catalogue", "--json").out)
    assert [row["name"] for row in rows] == names
    assert all(row["metric"]["better"] in ("higher", "lower") for row in rows)


def test_one_of_them(cli: Cli) -> None:
    """The entry includes what it takes from another one."""
    shown = cli("study", "catalogue", "mariadb-select")
    assert "oltp_point_select" in shown.out
    assert "mariadb-install-db" in shown.out
    cli("study", "catalogue", "mariadb-selct").refuses("mariadb-selct", "'mariadb-select'")


def test_a_suite_that_is_not_here(cli: Cli, environment: dict[str, str]) -> None:
    """A line says what it needs; no package provides it."""
    environment.pop("PARSECDIR", None)
    cli("study", "catalogue", "--check", "parsec-dedup").refuses(
        "parsec-dedup", "$PARSECDIR", "your own PARSEC 3.0"
    )
    cli("study", "catalogue", "--check", "parsec-dedup", env={"PARSECDIR": "/nowhere"}).refuses(
        "/nowhere/bin/parsecmgmt"
    )
    cli("study", "catalogue", "--install", "phoenix-pca").refuses("phoenix-pca", "your own")
    cli("study", "catalogue", "phoenix-pca", "--install", "pigz").refuses("beside")


@pytest.mark.parametrize("name", ["kyoto-cache", "pigz", "xz"])
def test_programs_that_are_here_are_right(name: str, cli: Cli, tmp_path: Path) -> None:
    """Prepared and run with a little work."""
    program = catalogue.find(name)
    if not all(shutil.which(each) for each in program.needs):
        pytest.skip(f"{name} is not installed")
    words = ["--check", name, "--scale", "0.02", "--cache", tmp_path]
    done = cli("study", "catalogue", *words)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{name}: right (2 threads, ")


def test_a_wrong_run_is_told(cli: Cli, tmp_path: Path) -> None:
    """The command says so with the reason, and by its exit status."""
    fake = tmp_path / "kccachetest"
    fake.write_text("#!/bin/sh\necho 'time: 1.0'\n")
    fake.chmod(0o755)
    words = ["--check", "kyoto-cache", "--scale", "0.02", "--cache", tmp_path]
    done = cli("study", "catalogue", *words, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert done.status == 1
    assert "wrong" in done.out
    assert "^ok$" in done.out


def test_packages_are_installed_by_apt(cli: Cli, tmp_path: Path) -> None:
    """Those that are missing, after it was said how; if it fails, that is told."""
    scripts = {
        "dpkg-query": "echo 'libjemalloc2 installed'",
        "sudo": 'exec "$@"',
        "apt-get": f'echo "$@" >> {tmp_path}/asked; test "$3" != install || exit "$FAILS"',
    }
    for name, text in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "FAILS": "0"}
    done = cli("study", "catalogue", "--install", "kyoto-jemalloc", env=env)
    assert (done.status, done.err) == (0, "")
    assert "Runs: " in done.out
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0].endswith("update")
    assert asked[1].endswith("install -y --no-install-recommends kyotocabinet-utils")
    failed = cli("study", "catalogue", "--install", "kyoto-jemalloc", env=env | {"FAILS": "100"})
    assert failed.status == 2
    assert "apt-get could not install kyotocabinet-utils" in failed.err
