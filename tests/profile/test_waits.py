"""Waits for condition variables, semaphores, barriers, threads and futexes, and the account of
threads, against the figures that the program itself measures and prints."""

import json
from typing import Any

import pytest
from lockwright.profile import libraries, record, waits
from lockwright.profile.frames import Frame
from lockwright.profile.record import Profile
from lockwright.profile.symbols import Symbols
from lockwright.profile.waiting import Times, WaitKind, WaitObject, WaitSite
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


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("retried", "retry_initialisation"),
        ("never_posted", "wait_until_cancelled"),
    ],
)
def test_waits_that_an_exception_or_a_cancellation_ends(
    both: tuple[dict[str, Any], Profile], name: str, role: str
) -> None:
    true, profile = both
    found = named(profile, name)
    waits, waited = true[name]
    assert (found.waits, found.given_up, found.wakers) == (waits, 0, ())
    assert found.waited == pytest.approx(waited, rel=0.05)
    check_waiting(times_of(profile, role), found.kind, waited)


def test_ends_of_threads(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    (found,) = (each for each in profile.waits if "join_threads" in each.name)
    waits, waited = true["join"]
    assert (found.kind, found.waits) == ("join", waits)
    assert found.waited == pytest.approx(waited, rel=0.05)


def test_what_does_not_wait_is_no_wait(both: tuple[dict[str, Any], Profile]) -> None:
    _, profile = both
    assert "plenty" not in {each.name for each in profile.waits}


def check_waiting(times: Times, kind: WaitKind, ns: float) -> None:
    """Check a role's time by the program's own. What the thread was runnable at the ends of its
    waits, beside other programs, is no waiting in the account."""
    least, most = 0.95 * ns / 1e9 - times.runnable, 1.05 * ns / 1e9
    assert least <= times.waiting[kind] <= most, kind


def times_of(profile: Profile, name: str) -> Times:
    (found,) = (role.times for role in profile.account.roles if role.name.endswith(name))
    return found


def test_the_account_of_a_thread_that_waits(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    times = times_of(profile, "wait_for_each")
    assert times.threads == 1
    expected: dict[WaitKind, int] = {
        "condition": true["condition"][1] + true["unheard"][1],
        "semaphore": true["semaphore"][1],
        "barrier": true["barrier"][1],
        "futex": true["word"][1],
        "once": true["once"][1],
    }
    for kind, ns in expected.items():
        check_waiting(times, kind, ns)
    assert sum(s for kind, s in times.waiting.items() if kind not in expected) < 0.01 * times.lived
    # Between its waits it only sleeps a little.
    assert times.running < 0.1 * times.lived


def test_the_account_of_threads_that_run_or_sleep(both: tuple[dict[str, Any], Profile]) -> None:
    true, profile = both
    times = times_of(profile, "::compute")
    assert times.threads == true["compute"][0]
    assert times.running == pytest.approx(true["compute"][1] / 1e9, rel=0.02)
    # Three threads have two processors at most.
    assert times.runnable > 0.1 * times.lived
    assert times.waiting == {}
    times = times_of(profile, "::sleep_once")
    assert times.threads == true["join"][0]
    # Beside other programs they are also runnable, before and after their sleep.
    assert times.sleeping + times.runnable > 0.9 * times.lived
    assert times.sleeping == pytest.approx(times.threads * 0.005, rel=0.1)
    assert times.lived >= times.threads * 0.005


def test_the_account_adds_up(both: tuple[dict[str, Any], Profile]) -> None:
    _, profile = both
    assert profile.account.all.threads == sum(r.times.threads for r in profile.account.roles) == 19
    for times in (profile.account.all, *(role.times for role in profile.account.roles)):
        parts = times.running + times.runnable + times.sleeping + sum(times.waiting.values())
        assert parts == pytest.approx(times.lived, rel=0.02)
    (main,) = (role.times for role in profile.account.roles if role.name == "main")
    assert main.lived == pytest.approx(profile.process.duration / 1e9, abs=0.1)


@pytest.mark.parametrize(
    ("symbol", "file", "expected"),
    [
        ("g_cond_wait", "libglib-2.0.so.0", ("GLib", "condition")),
        ("", "/usr/lib/libglib-2.0.so.0", ("GLib", "lock")),
        ("std::sys::sync::mutex::futex::Mutex::lock_contended", "p", ("Rust std", "lock")),
        ("std::sync::poison::mutex::Mutex<T>::lock", "p", ("Rust std", "lock")),
        ("std::sync::mpmc::context::Context::wait_until", "p", ("Rust std", "futex")),
        ("std::jthread::join()", "p", ("libstdc++", "futex")),
        ("parking_lot::condvar::Condvar::wait_until_internal", "p", ("parking_lot", "condition")),
        ("void std::__detail::__platform_wait<int>(int const*, int)", "p", ("libstdc++", "futex")),
        ("absl::lts_20220623::Mutex::LockSlowLoop(Waiter*, int)", "p", ("Abseil", "lock")),
        ("absl::debian3::MutexLock::~MutexLock()", "p", ("Abseil", "lock")),
        ("QBasicMutex::lockInternal()", "p", ("Qt", "lock")),
        ("QMutexLocker::unlock()", "p", ("Qt", "lock")),
        ("<parking_lot::raw::A<T> as lock_api::B>::lock", "p", ("parking_lot", "lock")),
        ("take_gil", "p", ("CPython", "lock")),
        ("LWLockAcquireOrWait", "p", ("PostgreSQL", "lock")),
        ("Unsafe_Park", "/usr/lib/libjvm.so", ("Java", "thread")),
        ("my::Mutex::lock()", "program", None),
    ],
)
def test_libraries_are_recognised(symbol: str, file: str, expected: tuple[str, str] | None) -> None:
    found = libraries.library_of(Frame(file, 1, symbol))
    assert (found and (found.name, found.kind)) == expected


def test_a_function_that_is_known_tells_the_kind() -> None:
    file = "/usr/lib/libglib-2.0.so.0"
    stack = [Frame(file, 1, name) for name in ("g_cond_wait", "g_async_queue_pop")]
    found = libraries.of([*stack, Frame("program", 1, "main")])
    assert found == libraries.Library("GLib", "condition")
    found = libraries.of([Frame(file, 1, ""), stack[1]])
    assert found == libraries.Library("GLib", "lock")


def test_a_library_is_passed_to_the_program_and_in_its_own_threads_to_its_function() -> None:
    def stack(*functions: str) -> list[Frame]:
        files = {"serve": "program", "start_thread": "/lib/libc.so.6"}
        return [Frame(files.get(name, "libgrpc.so.29"), 1, name) for name in functions]

    inner = ("gpr_cv_wait", "", "grpc::CompletionQueue::Next")
    assert libraries.wrapper_count(stack(*inner, "serve", "start_thread")) == 3
    own = stack("gpr_cv_wait", "grpc_core::Executor::ThreadMain", "", "start_thread", "clone3")
    assert libraries.wrapper_count(own) == 1
    assert libraries.wrapper_count(stack("gpr_cv_wait", "", "", "start_thread", "clone3")) == 1
    assert libraries.wrapper_count(stack("", "gpr_cv_wait", "", "start_thread", "clone3")) == 2


def test_a_word_on_which_a_thread_parks_is_one_object_for_each_place() -> None:
    def site(caller: str, function: str, times: int) -> WaitSite:
        stack = (Frame("p", 1, function), Frame("p", 2, caller))
        return WaitSite(stack, times, times * 10.0, libraries.wrapper_count(stack))

    places = (
        site("get", "parking_lot::raw_mutex::RawMutex::lock_slow", 6),
        site("take", "parking_lot::condvar::Condvar::wait_until_internal", 2),
    )
    whole = WaitObject("futex", "", "", 64, 8, 80.0, is_futex=True, waiters=places)
    one, other = waits._named(whole, Symbols([], "p"))
    assert (one.name, one.kind, one.waits, one.waited) == ("lock waited for in get", "lock", 6, 60)
    assert (other.name, other.library) == ("condition variable waited for in take", "parking_lot")
    assert (other.waits, other.waited, other.waiters) == (2, 20, places[1:])
