"""Tests of the sites of mutexes behind wrappers, and of the choice between several processes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lockwright.profile import wrappers
from lockwright.profile.frames import Frame
from lockwright.profile.function_names import brief
from lockwright.profile.lock_functions import is_known
from lockwright.profile.record import CREATED, FIRST_TAKEN, Profile
from lockwright.profile.wrappers import Call
from support import locate, profiling
from support.profiling import profiled


def frame(symbol: str, source: str = "") -> Frame:
    return Frame("/usr/bin/program", hash((symbol, source)) & 0xFFFF, symbol, 1, source)


def stack(*symbols: str) -> tuple[Frame, ...]:
    return tuple(map(frame, symbols))


@pytest.mark.parametrize(
    ("symbol", "known"),
    [
        ("std::mutex::lock()", True),
        ("std::lock_guard<std::mutex>::lock_guard(std::mutex&)", True),
        ("std::unique_lock<My<std::mutex> >::lock()", True),
        (
            "bool std::__timed_mutex_impl<std::timed_mutex>::_M_try_lock_until<int>(int const&)",
            True,
        ),
        ("__gthread_mutex_lock(pthread_mutex_t*)", True),
        ("std::condition_variable_any::wait<std::unique_lock<std::mutex> >(int&)", True),
        ("g_mutex_lock", True),
        ("boost::mutex::lock()", True),
        ("void take<std::mutex>(std::mutex&)", False),
        ("std::thread::_State_impl<std::thread::_Invoker<int> >::_M_run()", False),
        ("mutex_lock_all", False),
        ("rocksdb::port::Mutex::Lock()", False),
        ("(anonymous namespace)::std::mutexes()", False),
        ("", False),
    ],
)
def test_lock_functions_are_known_by_name(symbol: str, known: bool) -> None:
    assert is_known(symbol) is known


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("Cache<int>::find(int) const", "Cache<int>::find"),
        ("names::of[abi:cxx11](int)", "names::of"),
        ("operator()", "operator()"),
        ("Less::operator()(int) const", "Less::operator()"),
        (
            "std::thread::_State_impl<std::thread::_Invoker<pair<main::{lambda()#1}> > >::_M_run()",
            "std::thread::_State_impl<>::_M_run",
        ),
        (
            "void start<std::vector<int> >(int)::{lambda(function<void (int)>)#2}::operator()()",
            "void start<>(int)::{lambda#2}::operator()",
        ),
        (
            "std::operator<< <std::char_traits<char>, std::allocator<char>, and_more>(int&)",
            "std::operator<< <std::char_traits<char>, std::allocator<char>, and_more>",
        ),
        ("a_function_of_c_whose_name_is_longer_than_that_of_most_others->x",) * 2,
    ],
)
def test_brief_names_have_no_long_template_arguments(symbol: str, name: str) -> None:
    assert brief(symbol) == name


def test_a_function_that_returns_with_the_mutex_is_a_wrapper() -> None:
    acquires = stack("Lock()", "push()", "main")
    assert wrappers.wrapper_counts([Call(0, acquires, stack("Unlock()"))]) == [1]
    # The function itself releases the mutex at one site.
    both = [Call(0, acquires, stack("Unlock()")), Call(1, acquires, stack("Lock()"))]
    assert wrappers.wrapper_counts(both) == [0, 0]


def test_a_wrapper_around_a_wrapper_serves_several_callers_and_mutexes() -> None:
    first = Call(0, stack("Lock()", "Guard::Guard()", "push()", "main"), stack("Unlock()"))
    second = Call(1, stack("Lock()", "Guard::Guard()", "write()", "main"), stack("Unlock()"))
    assert wrappers.wrapper_counts([first, second]) == [2, 2]
    same_mutex = Call(0, second.stack, second.releases)
    assert wrappers.wrapper_counts([first, same_mutex]) == [1, 1]
    same_caller = Call(1, first.stack, first.releases)
    assert wrappers.wrapper_counts([first, same_caller]) == [1, 1]


def test_the_outermost_function_of_the_program_is_not_a_wrapper() -> None:
    libc = Frame("/lib/libc.so.6", 1, "start_thread", 1)
    outermost = (frame("worker"), libc)
    assert wrappers.wrapper_counts([Call(0, outermost, stack("other"))]) == [0]
    known = (frame("std::mutex::lock()"), libc)
    assert wrappers.wrapper_counts([Call(0, known)]) == [0]


WRAPPED = ("profile", "wrapped")


def check_names(profile: Profile) -> None:
    mutexes = {each.name.replace("(anonymous namespace)::", ""): each for each in profile.mutexes}
    for user, function in (("queue", "push"), ("journal", "write")):
        mutex = mutexes[f"{user}::open (via make)"]
        assert mutex.place.kind == CREATED
        # The stored frame is that of the direct caller.
        assert mutex.place.frame.symbol.endswith("make((anonymous namespace)::guard&)")
        for site in mutex.sites:
            assert site.stack[0].symbol.endswith("take((anonymous namespace)::guard&)")
            assert f"{user}::{function} (" in site.label
            assert "take)" in site.label
    accounts = [each for each in profile.mutexes if each.place.kind == FIRST_TAKEN]
    accounts = [each for each in accounts if each.acquisitions > 1000]
    assert len(accounts) == 2
    for each in accounts:
        assert "account::add" in each.name
        assert "via" not in each.sites[0].label


@locate.native
def test_a_program_with_wrappers(tmp_path: Path) -> None:
    profile = profiled(tmp_path, locate.program(*WRAPPED))
    check_names(profile)
    assert profile.partial == ""


@locate.native
def test_the_process_with_most_work_is_chosen(tmp_path: Path) -> None:
    profile, _ = profiling.profile(tmp_path, locate.program(*WRAPPED), "children", status=7)
    check_names(profile)
    assert f"it describes process {profile.pid}" in profile.partial
    assert "2 other processes that took mutexes are not included" in profile.partial
    assert 10_000 < sum(each.acquisitions for each in profile.mutexes) < 1.1 * 3 * 24_000
    # Calls of both threads before the process had a file are included.
    assert profile.process.lock_calls == 3 * 24_000


@locate.native
def test_a_program_that_becomes_another(tmp_path: Path) -> None:
    profile = profiled(tmp_path, locate.program(*WRAPPED), "exec")
    check_names(profile)
    assert "executed another program" in profile.partial


@locate.native
def test_without_symbols_functions_are_known_by_their_addresses(tmp_path: Path) -> None:
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("there is no strip")
    stripped = tmp_path / "bare"
    subprocess.run([strip, "-o", stripped, locate.program(*WRAPPED)], check=True)
    profile = profiled(tmp_path, stripped)
    created = [each for each in profile.mutexes if each.place.kind == CREATED]
    assert len(created) == 2
    for each in created:
        assert re.fullmatch(r"bare\+0x\w+ \(via bare\+0x\w+\)", each.name)
        assert re.fullmatch(r"bare\+0x\w+ \(via bare\+0x\w+\)", each.sites[0].label)
    first, second = (each.name.partition(" ") for each in created)
    assert first[0] != second[0]
    assert first[2] == second[2]


def test_strings_are_named_as_in_the_source() -> None:
    """In flame graphs, too, which have whole symbols."""
    string = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
    symbol = f"Table::find({string} const&)"
    assert Frame("program", 1, symbol).label == "Table::find(std::string const&)"
    assert brief(f"std::map<{string}, int>::at(int)") == "std::map<std::string, int>::at"
