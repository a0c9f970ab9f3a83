"""Tests of the commands that describe the locks."""

import json
import subprocess
from pathlib import Path

import pytest
from advise import examples
from lockwright.base.errors import LockwrightError
from lockwright.preload.locks import BY_PRIORITY, OWN_ORDER, STARVES, Registry, preload
from support.processes import captured

from .conftest import Cli, on_a_terminal


def test_list_shows_every_lock_with_what_is_known_of_it(cli: Cli) -> None:
    """`list --json` has all properties of each lock, and `list` a row for each."""
    rows = json.loads(cli("list", "--json").out)
    assert len(rows) >= 12
    for row in rows:
        assert {"name", "category", "waiting", "bytes_in_place", "reference"} <= row.keys()
    lines = cli("list").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [row["name"] for row in rows]


def test_which_waiter_is_next_under_real_time_priorities_is_shown(cli: Cli) -> None:
    """`list --json` has one of three words for each lock, and `info` explains it."""
    for row in json.loads(cli("list", "--json").out):
        word = row["realtime"]
        assert word in (BY_PRIORITY, OWN_ORDER, STARVES)
        assert f"real-time threads {word}: " in " ".join(cli("info", row["name"]).out.split())


def test_path_names_a_library_of_each_kind(cli: Cli) -> None:
    """The plain and the counting library of every lock exist, and are two files."""
    for row in json.loads(cli("list", "--json").out):
        plain = Path(cli("path", row["name"]).out.strip())
        counting = Path(cli("path", "--counting", row["name"]).out.strip())
        assert plain.is_file()
        assert counting.is_file()
        assert plain != counting


def test_info_tells_all_of_one_lock(cli: Cli) -> None:
    """`info` has the reference and the summary that the registry has."""
    row = next(r for r in json.loads(cli("list", "--json").out) if r["name"] == "mcs-stp")
    shown = " ".join(cli("info", "mcs-stp").out.split())
    assert row["reference"] in shown
    assert row["summary"] in shown


@pytest.mark.parametrize("words", [["path"], ["info"], ["run", "--lock"]])
def test_an_unknown_lock_gets_the_nearest_name(cli: Cli, words: list[str]) -> None:
    """Every command that takes a lock suggests the one that was probably meant."""
    program = ["true"] if words[0] == "run" else []
    cli(*words, "mcs_spni", *program).refuses("'mcs_spni'", "'mcs-spin'")


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_reason_to_fail(
    command: list[str], environment: dict[str, str], streams: str
) -> None:
    """A service manager or a careless script starts commands with closed streams."""
    for words in ("list", "path ttas", "info ttas"):
        line = f'"$@" {words} {streams}'
        done = subprocess.run(
            ["sh", "-c", line, "sh", *command],
            capture_output=True,
            env=environment,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done
        assert done.stderr == b""


def test_a_full_standard_output_is_said(command: list[str], environment: dict[str, str]) -> None:
    """The message is one line, and the status is 2."""
    done = captured(["sh", "-c", '"$@" list >/dev/full', "sh", *command], env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("lockwright: standard output: No space left")
    assert len(done.stderr.splitlines()) == 1


def test_list_explains_its_words_on_a_terminal(
    cli: Cli, command: list[str], environment: dict[str, str]
) -> None:
    """Above all it explains the bytes; a pipe gets the rows alone."""
    shown, status = on_a_terminal([*command, "list"], environment, 80)
    assert status == 0
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    row = next(row for row in json.loads(cli("list", "--json").out) if row["name"] == "hmcs")
    places = ("bytes_in_place", "bytes_per_mutex_outside", "bytes_per_node")
    assert "+".join(str(row[place]) for place in places) in shown
    assert "inside the program's own mutex + outside it for each mutex +" in shown


def test_a_name_like_no_other_gets_the_list(cli: Cli) -> None:
    """Where no name is near, all names are listed."""
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
    """No usage text, no traceback."""
    cli(*words).refuses("lockwright")


def test_a_missing_library_directory_is_named(cli: Cli, tmp_path: Path) -> None:
    """LOCKWRIGHT_LIBDIR that points nowhere, or at something else, is said to be the cause."""
    cli("list", env={"LOCKWRIGHT_LIBDIR": str(tmp_path)}).refuses("LOCKWRIGHT_LIBDIR")
    (tmp_path / "locks.json").write_text("[{}]")
    cli("list", env={"LOCKWRIGHT_LIBDIR": str(tmp_path)}).refuses("locks.json")


def test_a_library_path_that_cannot_be_preloaded_is_refused(tmp_path: Path) -> None:
    """A colon in the path would make the dynamic linker look for two other libraries."""
    folder = tmp_path / "a:b"
    folder.mkdir()
    (folder / "liblockwright-ttas.so").touch()
    with pytest.raises(LockwrightError, match="colon"):
        Registry(folder, [examples.lock("ttas")]).path_of("ttas")


def test_preload_keeps_what_was_preloaded_before() -> None:
    """Ours comes first, so that it is the one that is bound."""
    assert preload(Path("/a.so"), {"LD_PRELOAD": "/b.so"})["LD_PRELOAD"] == "/a.so:/b.so"
    assert preload(Path("/a.so"), {})["LD_PRELOAD"] == "/a.so"
