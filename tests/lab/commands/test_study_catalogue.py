"""`lockwright study catalogue`: the programs, and the check of their results."""

import json
import shutil
from pathlib import Path

import pytest
from lockwright_lab.study.program import catalogue
from support.processes import shell_script

from .conftest import Cli


def test_the_list(cli: Cli) -> None:
    """The list has a line for each program, and all its properties as JSON."""
    output = cli("study", "catalogue")
    assert output.status == 0
    names = [line.split()[0] for line in output.out.splitlines()[1:]]
    assert names == catalogue.names()
    rows = json.loads(cli("study", "catalogue", "--json", "-").out)
    assert [row["name"] for row in rows] == names
    assert all(row["metric"]["better"] in ("higher", "lower") for row in rows)


def test_one_program(cli: Cli) -> None:
    """The entry includes the values that it inherits from another one."""
    output = cli("study", "catalogue", "mariadb-select")
    assert "oltp_point_select" in output.out
    assert "mariadb-install-db" in output.out
    cli("study", "catalogue", "mariadb-selct").refuses("mariadb-selct", "'mariadb-select'")


def test_a_suite_that_is_not_installed(cli: Cli, environment: dict[str, str]) -> None:
    """The message names the variable and the source; no package provides the suite."""
    for name in ("PARSECDIR", "PHOENIX_DIR"):
        environment.pop(name, None)
    check = ("study", "catalogue", "--check", "parsec-dedup")
    cli(*check).refuses("parsec-dedup", "$PARSECDIR", "your own PARSEC 3.0")
    cli(*check, env={"PARSECDIR": "/nowhere"}).refuses("/nowhere/bin/parsecmgmt")
    cli("study", "catalogue", "--install", "phoenix-pca").refuses("phoenix-pca", "your own")
    cli("study", "catalogue", "phoenix-pca", "--install", "pigz").refuses("combined")


@pytest.mark.parametrize("name", ["kyoto-cache", "pigz", "xz"])
def test_installed_programs_are_right(name: str, cli: Cli, tmp_path: Path) -> None:
    """They are prepared, and run with little work."""
    program = catalogue.find(name)
    if not all(shutil.which(each) for each in program.needs):
        pytest.skip(f"{name} is not installed")
    words = ["--check", name, "--scale", "0.02", "--cache", tmp_path]
    result = cli("study", "catalogue", *words)
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith(f"{name}: ok (2 threads, ")


def test_a_wrong_run_is_reported(cli: Cli, tmp_path: Path) -> None:
    """The command prints the reason, and its exit status is 1."""
    shell_script(tmp_path / "kccachetest", "echo 'time: 1.0'")
    words = ["--check", "kyoto-cache", "--scale", "0.02", "--cache", tmp_path]
    result = cli("study", "catalogue", *words, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert result.status == 1
    assert "wrong" in result.out
    assert "^ok$" in result.out


def test_packages_are_installed_by_apt(cli: Cli, tmp_path: Path) -> None:
    """The command is printed, missing packages are installed, and a failure is reported."""
    scripts = {
        "dpkg-query": "echo 'libjemalloc2 installed'",
        "sudo": 'exec "$@"',
        "apt-get": f'echo "$@" >> {tmp_path}/calls; test "$3" != install || exit "$FAILS"',
    }
    for name, text in scripts.items():
        shell_script(tmp_path / name, text)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "FAILS": "0"}
    result = cli("study", "catalogue", "--install", "kyoto-jemalloc", env=env)
    assert (result.status, result.err) == (0, "")
    assert "Runs: " in result.out
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].endswith("update")
    assert calls[1].endswith("install -y --no-install-recommends kyotocabinet-utils")
    failed = cli("study", "catalogue", "--install", "kyoto-jemalloc", env=env | {"FAILS": "100"})
    assert failed.status == 2
    assert "apt-get could not install kyotocabinet-utils" in failed.err


#: Runs the words of -s, before the program, like the suite's script: it succeeds if they fail.
_SUITE = """
test "$SUITE_PROGRAM" || { echo '[SUITE] Error: not built'; exit 1; }
while test "$1" != -s; do shift; done
sh -c "$2 $SUITE_PROGRAM"
echo '[SUITE] Done.'
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("kccachetest wicked -th 2 2000", "ok"),
        ("sh -c 'kill -SEGV $$'", "crashed, exit status 139"),
        ("sh -c 'echo no input >&2; exit 255'", "failed, exit status 255: no input"),
        ("sh -c 'exit 3'", "failed, exit status 3: no message on standard error"),
        ("", "failed, exit status 1: [SUITE] Error: not built"),
    ],
    ids=["ok", "crash", "error", "silent", "not built"],
)
def test_the_program_of_a_suite_is_judged(
    program: str, said: str, cli: Cli, tmp_path: Path
) -> None:
    """The script of PARSEC hides how the program ended, and prints lines after its messages."""
    if "kccachetest" in program and not shutil.which("kccachetest"):
        pytest.skip("kccachetest is not installed")
    (tmp_path / "bin").mkdir()
    shell_script(tmp_path / "bin/parsecmgmt", _SUITE)
    env = {"PARSECDIR": str(tmp_path), "SUITE_PROGRAM": program}
    words = ("--check", "parsec-dedup", "--cache", tmp_path / "cache")
    result = cli("study", "catalogue", *words, env=env)
    assert result.status == (0 if said == "ok" else 1)
    assert said in result.out
