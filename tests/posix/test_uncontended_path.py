"""Tests of the cost of an uncontended call, instruction by instruction. The processor's path
through `pthread_mutex_lock`, `pthread_mutex_trylock` and `pthread_mutex_unlock` of a normal mutex
is recorded by single steps (`steps.cpp`) and looked up in the disassembly of the library. It has as
many atomic instructions as the algorithm states, and no call and no jump to an address from memory,
by which the lock would be chosen at run time. The record covers one path; the other paths, up to
their first call, are checked by their instructions.
"""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import harness, locate
from support.disassembly import Function, function_of

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="stepping is for x86-64"),
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("objdump", "nm")),
        reason="objdump and nm are not installed (Debian: binutils)",
    ),
]

CALLS = ("lock", "trylock", "unlock")

#: Light too, but what it costs is the C library's affair, and it is called through pointers.
THE_C_LIBRARY = "pthread"

LIGHT = [
    name for name in locate.lock_names() if name != THE_C_LIBRARY and locate.traits(name)["light"]
]


@dataclass(frozen=True)
class Taken:
    """The path of one call: the file that the function is in, and each instruction's address."""

    call: str
    file: Path
    steps: list[int]

    def function(self) -> Function:
        return function_of(self.file, f"pthread_mutex_{self.call}")


def paths_through(library: Path) -> list[Taken]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKWRIGHT_")}
    program = locate.program("posix", "steps")
    outcome = harness.run([program], {**env, "LD_PRELOAD": str(library)})
    assert outcome.status == 0, outcome.describe()
    found = []
    for line in outcome.stdout.splitlines():
        call, file, *steps = line.split()
        assert library.samefile(file), f"{call} is not the library's"
        found.append(Taken(call, library, [int(step, 16) for step in steps]))
    assert [each.call for each in found] == ["lock", "unlock", "trylock", "unlock"]
    return found


def detours(taken: Taken, function: Function) -> list[str]:
    """Return the instructions on the path that must not be there."""
    found = [f"indirect: {one.text}" for one in function.before_any_call() if one.is_indirect]
    assert taken.steps[0] == function.entry
    for step, after in zip(taken.steps, [*taken.steps[1:], None], strict=True):
        one = function.instructions[step]
        if one.is_call:
            found.append(f"call: {one.text}")
            break
        if after is None:
            assert one.is_return, one
        elif after not in function.next_of(one):
            found.append(f"leaves the function: {one.text}")
            break
    return found


def atomics(taken: Taken, function: Function) -> int:
    return sum(function.instructions[step].is_atomic for step in taken.steps)


@pytest.mark.parametrize("lock", LIGHT)
def test_no_call_and_as_many_atomics_as_needed(lock: str) -> None:
    for taken in paths_through(locate.preload(lock)):
        function = taken.function()
        assert detours(taken, function) == [], taken.call
        # As `lock_traits::atomics` states; a trylock is a lock that does not wait.
        stated = locate.traits(lock)["atomics"]
        assert isinstance(stated, list)
        wanted = stated[taken.call == "unlock"]
        assert atomics(taken, function) == wanted, taken.call


@pytest.mark.parametrize(
    ("detour", "finding"),
    [("pointer", "indirect: call"), ("jump", "indirect: jmp"), ("call", "call: call")],
)
def test_a_longer_way_is_found(detour: str, finding: str) -> None:
    taken = paths_through(locate.program("posix", f"detour_{detour}.so"))[0]
    found = detours(taken, taken.function())
    assert [each for each in found if each.startswith(finding)], found


def test_one_atomic_too_many_is_found() -> None:
    taken = paths_through(locate.program("posix", "detour_twice.so"))[0]
    assert detours(taken, taken.function()) == []
    assert atomics(taken, taken.function()) == 2


def test_the_fast_path_is_accepted() -> None:
    for taken in paths_through(locate.program("posix", "detour_none.so")):
        assert detours(taken, taken.function()) == []
        assert atomics(taken, taken.function()) == (0 if taken.call == "unlock" else 1)
