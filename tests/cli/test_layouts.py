"""The layouts of the libraries' files come from the build, and must match the libraries."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lockwright.preload import layouts
from support import locate

from .conftest import Cli, Program

STAMPED = ["profile_buffer", "stats_page"]
Change = Callable[[dict[str, Any]], None]


def swap_counts(structs: dict[str, Any]) -> None:
    """Swap two fields of one size."""
    fields = {field[0]: field for field in structs["record"]["fields"]}
    fields["waits"][0], fields["holds"][0] = "holds", "waits"


def swap_processes(structs: dict[str, Any]) -> None:
    fields = {field[0]: field for field in structs["stats_page"]["fields"]}
    fields["processes"][0], fields["unresolved"][0] = "unresolved", "processes"


def libraries(folder: Path, change: Change) -> Path:
    """Make a directory of the libraries with a changed layouts.json."""
    source = locate.preload_dir()
    for each in source.iterdir():
        if each.name != layouts.FILE:
            (folder / each.name).symlink_to(each)
    found = json.loads((source / layouts.FILE).read_text())
    change(found["structs"])
    (folder / layouts.FILE).write_text(json.dumps(found))
    return folder


@pytest.mark.parametrize("swap", [swap_counts, swap_processes])
def test_swapped_fields_are_another_layout(tmp_path: Path, swap: Change) -> None:
    current = layouts.layouts(locate.preload_dir())
    changed = layouts.layouts(libraries(tmp_path, swap))
    assert [name for name in STAMPED if current.number(name) != changed.number(name)]


@pytest.mark.parametrize(
    ("swap", "words"),
    [
        (swap_counts, ["profile", "--"]),
        (swap_processes, ["run", "--lock", "ttas", "--stats", "--"]),
    ],
)
def test_a_library_of_another_layout_is_refused(
    cli: Cli, program: Program, tmp_path: Path, swap: Change, words: list[str]
) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    changed = {"LOCKWRIGHT_LIBDIR": str(libraries(folder, swap))}
    cli(*words, program("ends"), env=changed).refuses(
        f"{folder}/layouts.json does not belong to the loaded library"
    )


def test_without_layouts_there_is_no_profile(cli: Cli, program: Program, tmp_path: Path) -> None:
    libraries(tmp_path, lambda structs: None)
    (tmp_path / layouts.FILE).unlink()
    changed = {"LOCKWRIGHT_LIBDIR": str(tmp_path)}
    cli("profile", "--", program("worker"), "2", "500", env=changed).refuses("layouts.json")
    (tmp_path / layouts.FILE).write_text("[]")
    cli("profile", "--", program("worker"), "2", "500", env=changed).refuses(
        "does not describe layouts"
    )
