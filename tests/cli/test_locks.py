"""The commands that describe the locks."""

import json
from pathlib import Path

import pytest
from advise import examples
from lockwright.base.errors import LockwrightError
from lockwright.cli import main
from lockwright.preload.locks import BY_PRIORITY, OWN_ORDER, STARVES, Registry, preload, registry
from support import locate, tiers
from support.processes import captured

from .conftest import Cli


def test_list_has_every_lock_with_its_properties(cli: Cli) -> None:
    rows = json.loads(cli("list", "--json", "-").out)
    assert len(rows) >= 12
    for row in rows:
        assert {"name", "category", "waiting", "bytes_in_place", "reference"} <= row.keys()
    lines = cli("list").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row["name"] for row in rows]


def test_the_order_under_real_time_priorities(cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    """`list --json` has one of three words for each lock, and `info` explains it."""
    for row in json.loads(cli("list", "--json", "-").out):
        word = row["realtime"]
        assert word in (BY_PRIORITY, OWN_ORDER, STARVES)
        assert main(["info", row["name"]]) == 0
        assert f"real-time threads {word}: " in " ".join(capsys.readouterr().out.split())


def test_path_names_a_library_of_each_kind(cli: Cli) -> None:
    """The plain library of every lock, and the counting one of those that the build counts."""
    found = registry()
    counted = {lock.name for lock in found} if locate.all_tests() else tiers.representatives()
    for lock in found:
        plain = found.path_of(lock.name)
        assert plain.is_file()
        if lock.name in counted:
            counting = found.path_of(lock.name, counting=True)
            assert counting.is_file()
            assert plain != counting
    assert cli("path", "ttas").out.strip() == str(found.path_of("ttas"))


def test_info_describes_a_lock(cli: Cli) -> None:
    row = next(r for r in json.loads(cli("list", "--json", "-").out) if r["name"] == "mcs-stp")
    text = " ".join(cli("info", "mcs-stp").out.split())
    assert row["reference"] in text
    assert row["summary"] in text


@pytest.mark.parametrize("words", [["path"], ["info"], ["run", "--lock"]])
def test_an_unknown_lock_gets_the_nearest_name(cli: Cli, words: list[str]) -> None:
    """Every command with a lock as argument suggests the nearest name."""
    program = ["true"] if words[0] == "run" else []
    cli(*words, "mcs_spni", *program).refuses("'mcs_spni'", "'mcs-spin'")


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(command: list[str], environment: dict[str, str], streams: str) -> None:
    for words in ("list", "path ttas", "info ttas"):
        line = f'"$@" {words} {streams}'
        result = captured(["sh", "-c", line, "sh", *command], env=environment)
        assert result.returncode == 0, result
        assert result.stderr == ""


def test_a_full_standard_output_is_reported(
    command: list[str], environment: dict[str, str]
) -> None:
    result = captured(["sh", "-c", '"$@" list >/dev/full', "sh", *command], env=environment)
    assert result.returncode == 2
    assert result.stderr.startswith("lockwright: standard output: No space left")
    assert len(result.stderr.splitlines()) == 1


def test_an_unknown_lock_without_a_near_name_gets_the_list(cli: Cli) -> None:
    cli("info", "zzz").refuses("ttas", "futex", "hmcs")


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["list", "--nonsense"],
        ["list", "more"],
        ["info"],
        ["run", "--lock", "ttas"],
        ["run"],
        ["run", "--nonsense", "true"],
        ["compare", "--runs"],
        ["comparr"],
    ],
)
def test_a_malformed_command_line_gets_one_line(cli: Cli, words: list[str]) -> None:
    cli(*words).refuses("lockwright")


def test_a_missing_library_directory_is_named(cli: Cli, tmp_path: Path) -> None:
    """The message names LOCKWRIGHT_LIBDIR, or the malformed file in it."""
    cli("list", env={"LOCKWRIGHT_LIBDIR": str(tmp_path)}).refuses("LOCKWRIGHT_LIBDIR")
    (tmp_path / "locks.json").write_text("[{}]")
    cli("list", env={"LOCKWRIGHT_LIBDIR": str(tmp_path)}).refuses("locks.json")


def test_a_library_path_that_cannot_be_preloaded_is_refused(tmp_path: Path) -> None:
    """The dynamic linker would treat a path with a colon as two libraries."""
    folder = tmp_path / "a:b"
    folder.mkdir()
    (folder / "liblockwright-ttas.so").touch()
    with pytest.raises(LockwrightError, match="colon"):
        Registry(folder, [examples.lock("ttas")]).path_of("ttas")


def test_the_lock_precedes_other_preloaded_libraries() -> None:
    assert preload(Path("/a.so"), {"LD_PRELOAD": "/b.so"})["LD_PRELOAD"] == "/a.so:/b.so"
    assert preload(Path("/a.so"), {})["LD_PRELOAD"] == "/a.so"
