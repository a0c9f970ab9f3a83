"""Tests of the place where a machine stores the files of runs."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lockwright_lab.study.campaign import local_machine


@pytest.mark.parametrize(("free", "memory"), [(1 << 40, True), (1 << 20, False)])
def test_in_memory_only_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, memory: bool
) -> None:
    monkeypatch.setattr(local_machine, "_MEMORY", tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=1))
    program: Any = SimpleNamespace(memory=True)
    work = tmp_path / "work"
    found = local_machine.Folders(tmp_path / "cache", work).runs_of(program)
    assert found == (tmp_path / f"lockwright-{os.getuid()}" if memory else work)
