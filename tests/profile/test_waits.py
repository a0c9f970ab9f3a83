"""Waits for condition variables, semaphores, barriers, threads and futexes, against the figures that
the program itself measures and prints."""

import json
from pathlib import Path
from typing import Any

import pytest
from lockwright.profile import libraries, record
from lockwright.profile.record import Frame, Profile, WaitObject
from support import locate
from support.processes import captured

pytestmark = locate.native


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Profile]:
    """Return the figures that the program prints, and its profile."""
    path = tmp_path_factory.mktemp("profile") / "waits.json"
    program = locate.program("profile", "waits")
    answer = captured([locate.lockwright(), "profile", "-o", path, "--", program])
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout), record.read(path)


def named(profile: Profile, name: str) -> WaitObject:
    (found,) = (each for each in profile.waits if each.name == name)
    return found


@pytest.mark.parametrize(
    ("name", "kind", "waker"),
    [
        ("condition", "condition", "signal_condition"),
        ("semaphore", "semaphore", "post_semaphore"),
        ("barrier", "barrier", "come_to_barrier"),
        ("word", "futex", "wake_word"),
        ("once", "once", "main"),
    ],
)
def test_number_length_and_waker(
    both: tuple[dict[str, Any], Profile], name: str, kind: str, waker: str
) -> None:
    true, profile = both
    found = named(profile, name)
    waits, waited = true[name]
    assert (found.kind, found.waits, found.given_up) == (kind, waits, 0)
    assert found.waited == pytest.approx(waited, rel=0.05)
    assert found.resumed == waits
    assert 0 < found.resuming < found.waited
    assert sum(site.times for site in found.wakers) == waits
    assert waker in found.wakers[0].label
    assert any("wait_for_each" in frame.symbol for frame in found.waiters[0].stack)


def test_deadlines_that_pass(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    found = named(profile, "unheard")
    waits, waited = true["unheard"]
    assert (found.waits, found.given_up, found.wakers) == (waits, waits, ())
    assert found.waited == pytest.approx(waited, rel=0.05)


def test_ends_of_threads(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    (found,) = (each for each in profile.waits if "join_threads" in each.name)
    waits, waited = true["join"]
    assert (found.kind, found.waits) == ("join", waits)
    assert found.waited == pytest.approx(waited, rel=0.05)


def test_what_does_not_wait_is_no_wait(both: tuple[dict[str, Any], Profile]) -> None:
    _, profile = both
    assert "plenty" not in {each.name for each in profile.waits}


@pytest.mark.parametrize(
    ("symbol", "file", "expected"),
    [
        ("g_cond_wait", "libglib-2.0.so.0", ("GLib", "condition")),
        ("", "/usr/lib/libglib-2.0.so.0", ("GLib", "lock")),
        ("<std::sys::sync::mutex::futex::Mutex>::lock_contended", "p", ("Rust std", "lock")),
        ("std::sync::poison::mutex::Mutex<T>::lock", "p", ("Rust std", "lock")),
        ("parking_lot::condvar::Condvar::wait_until_internal", "p", ("parking_lot", "condition")),
        ("void std::__detail::__platform_wait<int>(int const*, int)", "p", ("libstdc++", "futex")),
        ("absl::lts_20220623::Mutex::LockSlowLoop(Waiter*, int)", "p", ("Abseil", "lock")),
        ("QBasicMutex::lockInternal()", "p", ("Qt", "lock")),
        ("my::Mutex::lock()", "program", None),
    ],
)
def test_libraries_are_recognised(
    symbol: str, file: str, expected: tuple[str, str] | None
) -> None:
    found = libraries.library_of(Frame(file, 1, symbol))
    assert (found and (found.name, found.kind)) == expected
