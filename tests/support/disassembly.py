"""The instructions of one function of a library, and the successors of each."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(.+?)\s*(?:#.*)?$")
_TARGET = re.compile(r"\b([0-9a-f]+) <")
#: Prefixes, which do not change where an instruction leads.
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
        """Return whether it calls a function or the kernel."""
        return self.operation.startswith("call") or self.operation in {"syscall", "sysenter", "int"}

    @property
    def is_jump(self) -> bool:
        return self.operation.startswith(("j", "loop"))

    @property
    def is_indirect(self) -> bool:
        """Return whether it calls or jumps to an address in a register or in memory."""
        leads = self.is_jump or self.operation.startswith("call")
        return leads and any(word.startswith("*") for word in self.words[1:])

    @property
    def is_return(self) -> bool:
        return self.operation in {"ret", "retq"}

    @property
    def is_atomic(self) -> bool:
        """Return whether it is an atomic read-modify-write or a full fence, which cost the same."""
        if self.operation == "lock":
            return True
        if self.operation.startswith("xchg"):
            return "(" in self.text
        return self.operation == "mfence"


class Function:
    """The instructions of one function, in the order of their addresses."""

    def __init__(self, instructions: list[Instruction]) -> None:
        self.instructions = {instruction.address: instruction for instruction in instructions}
        self.entry = instructions[0].address
        self._after = dict(zip(self.instructions, list(self.instructions)[1:], strict=False))

    def successors(self, instruction: Instruction) -> set[int]:
        """Return the addresses in the function that can come next."""
        if instruction.operation in _ENDS or instruction.is_indirect:
            return set()
        found = set()
        if instruction.is_jump and instruction.target is not None:
            found.add(instruction.target)
        if not instruction.operation.startswith("jmp") and instruction.address in self._after:
            found.add(self._after[instruction.address])
        return found & self.instructions.keys()

    def before_any_call(self) -> list[Instruction]:
        """Return the instructions that can run up to the first calls, including these."""
        found: dict[int, Instruction] = {}
        pending = [self.entry]
        while pending:
            instruction = self.instructions[pending.pop()]
            if instruction.address not in found:
                found[instruction.address] = instruction
                if not instruction.is_call:
                    pending += self.successors(instruction)
        return list(found.values())


def function_of(library: Path, name: str) -> Function:
    """Return the function that programs get under this name."""
    for line in _output("nm", "-D", "-S", "--defined-only", "--with-symbol-versions", library):
        fields = line.split()
        if len(fields) == 4 and re.fullmatch(rf"{name}(@@.*)?", fields[3]):
            start, size = int(fields[0], 16), int(fields[1], 16)
            break
    else:
        raise LookupError(f"{library} does not define {name}")
    found = _disassemble(
        f"--start-address={start:#x}", f"--stop-address={start + size:#x}", library
    )
    if not found or found[0].address != start:
        raise LookupError(f"objdump shows nothing of {name} in {library}")
    return Function(found)


@cache
def instructions_of(library: Path) -> dict[int, Instruction]:
    """Return all instructions of a library by their addresses."""
    return {each.address: each for each in _disassemble(library)}


def _disassemble(*arguments: str | Path) -> list[Instruction]:
    listing = _output("objdump", "-d", "--no-show-raw-insn", *arguments)
    return [Instruction(int(m[1], 16), m[2]) for line in listing if (m := _INSTRUCTION.match(line))]


def _output(*argv: str | Path) -> list[str]:
    result = subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, timeout=60, check=True
    )
    return result.stdout.splitlines()
