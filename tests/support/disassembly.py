"""The instructions of one function of a library, and where the processor can go from each."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.+?)\s*(?:#.*)?$")
_TARGET = re.compile(r"\b([0-9a-f]+) <")
#: They stand before an instruction and change nothing about where it leads.
_PREFIXES = {"bnd", "notrack", "rep", "repz", "repnz", "cs", "ds", "data16"}
_ENDS = {"ret", "retq", "ud2", "hlt"}


@dataclass(frozen=True)
class Instruction:
    """One instruction of x86-64, as objdump writes it."""

    address: int
    text: str

    @property
    def words(self) -> list[str]:
        words = self.text.split()
        while words[0] in _PREFIXES and len(words) > 1:
            words = words[1:]
        return words

    @property
    def operation(self) -> str:
        return self.words[0]

    @property
    def target(self) -> int | None:
        """Return the address of a direct call or jump."""
        found = _TARGET.search(self.text)
        return int(found[1], 16) if found else None

    @property
    def is_call(self) -> bool:
        """It leaves for code that comes back: a function's, or the kernel's."""
        return self.operation.startswith("call") or self.operation in {"syscall", "sysenter", "int"}

    @property
    def is_jump(self) -> bool:
        return self.operation.startswith(("j", "loop"))

    @property
    def is_indirect(self) -> bool:
        """A call or jump to an address that is in a register or in memory."""
        leads = self.is_jump or self.operation.startswith("call")
        return leads and any(word.startswith("*") for word in self.words[1:])

    @property
    def is_return(self) -> bool:
        return self.operation in {"ret", "retq"}

    @property
    def is_atomic(self) -> bool:
        """It costs what an atomic read-modify-write costs: that, or a full fence."""
        if self.operation == "lock":
            return True
        if self.operation.startswith("xchg"):
            return "(" in self.text
        return self.operation == "mfence"


class Function:
    """A function from its first instruction on. What is not within it is another function."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self.instructions = {one.address: one for one in instructions}
        self.entry = instructions[0].address
        self._after = dict(zip(self.instructions, list(self.instructions)[1:], strict=False))

    def next_of(self, one: Instruction) -> set[int]:
        """Return the addresses that can come next, without leaving the function."""
        if one.operation in _ENDS or one.is_indirect:
            return set()
        found = set()
        if one.is_jump and one.target is not None:
            found.add(one.target)
        if not one.operation.startswith("jmp") and one.address in self._after:
            found.add(self._after[one.address])
        return found & self.instructions.keys()

    def before_any_call(self) -> list[Instruction]:
        """Return the instructions that can run before the function has called anything, with those
        calls.
        """
        found: dict[int, Instruction] = {}
        to_do = [self.entry]
        while to_do:
            one = self.instructions[to_do.pop()]
            if one.address not in found:
                found[one.address] = one
                if not one.is_call:
                    to_do += self.next_of(one)
        return list(found.values())


def function_of(library: Path, name: str) -> Function:
    """The function that programs get under this name."""
    for line in _output("nm", "-D", "-S", "--defined-only", "--with-symbol-versions", library):
        fields = line.split()
        if len(fields) == 4 and re.fullmatch(rf"{name}(@@.*)?", fields[3]):
            start, size = int(fields[0], 16), int(fields[1], 16)
            break
    else:
        raise LookupError(f"{library} does not define {name}")
    shown = _output(
        "objdump",
        "-d",
        "--no-show-raw-insn",
        f"--start-address={start:#x}",
        f"--stop-address={start + size:#x}",
        library,
    )
    found = [Instruction(int(m[1], 16), m[2]) for line in shown if (m := _INSTRUCTION.match(line))]
    if not found or found[0].address != start:
        raise LookupError(f"objdump shows nothing of {name} in {library}")
    return Function(found)


def _output(*argv: str | Path) -> list[str]:
    done = subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()
