"""A test that runs alone shares its time with no other, and is not kept waiting by later ones."""

import fcntl
import threading
from pathlib import Path

import pytest
from support import turns


def test_a_test_alone_runs_between_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_FOLDER", tmp_path)
    order: list[str] = []
    wants_room = threading.Event()

    def run(name: str, alone: bool) -> None:
        wants_room.set()
        with turns.turn(alone):
            order.append(f"{name} starts")
            order.append(f"{name} ends")

    threads = [
        threading.Thread(target=run, args=("alone", True)),
        threading.Thread(target=run, args=("later", False)),
    ]
    with turns.turn(alone=False):
        threads[0].start()
        assert wants_room.wait(10)
        # The entrance is closed when the one that runs alone waits for the room.
        while not _is_closed(tmp_path / "turns-entrance"):
            pass
        threads[1].start()
        threads[1].join(0.05)
        order.append("earlier ends")
    for thread in threads:
        thread.join(10)
    assert order == ["earlier ends", "alone starts", "alone ends", "later starts", "later ends"]


def _is_closed(path: Path) -> bool:
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
