"""The cost of an uncontended call, instruction by instruction. The processor's path through
`pthread_mutex_lock`, `pthread_mutex_trylock` and `pthread_mutex_unlock` of a normal mutex is
recorded by single steps (`steps.cpp`) and compared with the disassembly of the library. It has as
many atomic instructions as the algorithm states, and no call and no jump to an address from memory,
by which the lock would be chosen at run time. The record covers one path; the other paths are
checked in the disassembly up to their first call.

A reader of a reader-writer lock has one atomic instruction to enter and one to leave, as in the C
library, and so has a writer, unless readers are distributed from the first. The algorithm is
chosen by comparisons: no call, and no jump to an address from memory. A lock that is left to the C
library costs four instructions more than there.

The profiler's library has such paths, too, for acquisitions that it does not sample.
"""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from lockwright.preload.rwlocks import rwlocks
from lockwright.profile import buffer, collect
from support import harness, locate
from support.disassembly import Function, function_of, instructions_of

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="stepping is for x86-64"),
    pytest.mark.skipif(
        any(shutil.which(tool) is None for tool in ("objdump", "nm")),
        reason="objdump and nm are not installed (Debian: binutils)",
    ),
]

#: Light too, but its code is the C library's, and it is called through pointers.
THE_C_LIBRARY = "pthread"

LIGHT = [
    name for name in locate.lock_names() if name != THE_C_LIBRARY and locate.traits(name)["light"]
]


@dataclass(frozen=True)
class CallPath:
    """The path of one call: the file of the function, and the address of each instruction."""

    call: str
    file: Path
    steps: list[int]

    def function(self) -> Function:
        return function_of(self.file, self.call)


MUTEX_CALLS = [f"pthread_mutex_{name}" for name in ("lock", "unlock", "trylock", "unlock")]


def paths_through(
    library: Path, rwlock: str | None = None, side: str = "rdlock", **variables: str
) -> list[CallPath]:
    """Return the path of each call for a mutex, or, under `rwlock`, for a reader or writer. side:
    rdlock or wrlock. variables: further ones of the environment."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("LOCKWRIGHT_")}
    env |= {"LD_PRELOAD": str(library), **variables}
    argv: list[str | Path] = [locate.program("posix", "steps")]
    if rwlock is not None:
        env["LOCKWRIGHT_RWLOCK"] = rwlock
        argv.append(side)
    outcome = harness.run(argv, env).succeeded()
    found = []
    for line in outcome.stdout.splitlines():
        call, file, *steps = line.split()
        assert library.samefile(file), f"{call} is not the library's"
        found.append(CallPath(call, library, [int(step, 16) for step in steps]))
    calls = [f"pthread_rwlock_{name}" for name in (side, "unlock", f"try{side}", "unlock")]
    assert [each.call for each in found] == (MUTEX_CALLS if rwlock is None else calls)
    return found


def detours(path: CallPath, function: Function) -> list[str]:
    """Return the instructions that the fast path must not have."""
    found = [
        f"indirect: {instruction.text}"
        for instruction in function.before_any_call()
        if instruction.is_indirect
    ]
    assert path.steps[0] == function.entry
    for step, after in zip(path.steps, [*path.steps[1:], None], strict=True):
        instruction = function.instructions[step]
        if instruction.is_call:
            found.append(f"call: {instruction.text}")
            break
        if after is None:
            assert instruction.is_return, instruction
        elif after not in function.successors(instruction):
            found.append(f"leaves the function: {instruction.text}")
            break
    return found


def atomics(path: CallPath, function: Function) -> int:
    return sum(function.instructions[step].is_atomic for step in path.steps)


@pytest.mark.parametrize("lock", LIGHT)
def test_no_call_and_as_many_atomics_as_needed(lock: str) -> None:
    for path in paths_through(locate.preload(lock)):
        function = path.function()
        assert detours(path, function) == [], path.call
        # As `lock_traits::atomics` states; a trylock is a lock that does not wait.
        stated = locate.traits(lock)["atomics"]
        assert isinstance(stated, list)
        expected = stated[path.call == "pthread_mutex_unlock"]
        assert atomics(path, function) == expected, path.call


@pytest.mark.parametrize("rwlock", locate.rwlock_names())
def test_a_reader_and_a_writer_have_one_atomic_and_no_call(rwlock: str) -> None:
    library = locate.preload(THE_C_LIBRARY)
    paths = paths_through(library, rwlock)
    if not rwlocks(locate.preload_dir())[rwlock].distributed_readers or rwlock == "adaptive-rw":
        paths += paths_through(library, rwlock, "wrlock")
    for path in paths:
        steps = [instructions_of(library)[step] for step in path.steps]
        assert [each.text for each in steps if each.is_call or each.is_indirect] == [], path.call
        assert sum(each.is_atomic for each in steps) == 1, path.call


@pytest.mark.parametrize("rwlock", [None, "keep"])
def test_the_profiler_adds_no_atomic_and_no_call(rwlock: str | None) -> None:
    library = collect.probe_path()
    found: dict[int, list[CallPath]] = {}
    # A sample, which takes many more instructions, may fall on any call.
    for _ in range(3):
        with buffer.new() as file:
            for call, path in enumerate(
                paths_through(library, rwlock, **{buffer.VARIABLE: str(file)})
            ):
                found.setdefault(call, []).append(path)
    for path in (min(paths, key=lambda path: len(path.steps)) for paths in found.values()):
        steps = [instructions_of(library)[step] for step in path.steps]
        assert [each.text for each in steps if each.is_call or each.is_indirect] == [], path.call
        assert sum(each.is_atomic for each in steps) == 1, path.call


@pytest.mark.parametrize("side", ["rdlock", "wrlock"])
@pytest.mark.parametrize("lock", [THE_C_LIBRARY, "mixed"])
def test_a_kept_lock_costs_four_instructions(lock: str, side: str) -> None:
    """The C library's lock is called through pointers."""
    library = locate.preload(lock)
    for path in paths_through(library, "keep", side):
        steps = [
            instructions_of(library)[step]
            for step in path.steps
            if step in instructions_of(library)
        ]
        assert [each.is_indirect for each in steps] == [False, False, False, True], path.call


@pytest.mark.parametrize(
    ("detour", "finding"),
    [("pointer", "indirect: call"), ("jump", "indirect: jmp"), ("call", "call: call")],
)
def test_a_longer_path_is_found(detour: str, finding: str) -> None:
    path = paths_through(locate.program("posix", f"detour_{detour}.so"))[0]
    found = detours(path, path.function())
    assert [each for each in found if each.startswith(finding)], found


def test_one_atomic_too_many_is_found() -> None:
    path = paths_through(locate.program("posix", "detour_twice.so"))[0]
    assert detours(path, path.function()) == []
    assert atomics(path, path.function()) == 2


def test_the_fast_path_is_accepted() -> None:
    for path in paths_through(locate.program("posix", "detour_none.so")):
        assert detours(path, path.function()) == []
        assert atomics(path, path.function()) == (0 if path.call == "pthread_mutex_unlock" else 1)
