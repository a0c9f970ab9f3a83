"""The placeholders of a program's commands, filled for one run."""

import os
import shlex
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lockwright.base import template
from lockwright.preload.counters import VARIABLE
from lockwright.preload.locks import preload

from lockwright_lab.study.program.entry import Command, Input, Program
from lockwright_lab.study.program.inputs import ResolvedInput


def bare() -> dict[str, str]:
    """Return the environment of processes that are not under a lock: PATH has the directories of
    servers, and the locale is C on every machine."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment["PATH"] = os.pathsep.join(
        [os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"]
    )
    return environment | {"LC_ALL": "C"}


def made(program: Program, scale: float) -> list[ResolvedInput]:
    """Return the inputs of a program at a scale. Raises LockwrightError for a bad expression."""
    from lockwright_lab.study.program.inputs import KINDS

    inputs = []
    for input_ in program.inputs:
        if input_.kind:
            numbers = {
                name: int(template.fill(str(text), {}, {"s": scale}))
                for name, text in input_.arguments.items()
            }
            inputs.append(
                ResolvedInput(
                    input_.name, input_.kind, {**KINDS[input_.kind].defaults, **numbers}, ()
                )
            )
        else:
            inputs.append(ResolvedInput(input_.name, "", {}, _input_words(input_, scale)))
    return inputs


def _input_words(input_: Input, scale: float) -> tuple[str, ...]:
    values = {"scale": f"{scale:g}"}
    if isinstance(input_.command, str):
        return ("sh", "-ec", template.fill(input_.command, values, {"s": scale}))
    return tuple(template.fill(word, values, {"s": scale}) for word in input_.command)


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        number: int = listening.getsockname()[1]
        return number


@dataclass
class Placeholders:
    """The values of the placeholders in one run. lock_library: the preload library, None for none;
    settings: its environment variables. folders: further placeholders; around: the words of a
    command that starts the program that would be under the lock."""

    program: Program
    threads: int
    scale: float
    data: Path
    work: Path
    lock_library: Path | None
    settings: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)
    around: Sequence[str] = ()

    @cached_property
    def port(self) -> int:
        return free_port()

    def choose_another_port(self) -> None:
        """Choose another port after another program has taken this one."""
        self.__dict__.pop("port", None)

    @cached_property
    def _added(self) -> dict[str, str]:
        """The variables that a process under the lock has in addition."""
        existing = os.environ.get("LD_PRELOAD")
        libraries = [*self.program.preload, *([existing] if existing else [])]
        base = {"LD_PRELOAD": ":".join(libraries)} if libraries else {}
        own = {name: self.fill(value) for name, value in self.program.environment.items()}
        if self.lock_library is not None:
            base = preload(self.lock_library, base)
        return base | dict(self.settings) | own

    def environment(self, command: Command) -> dict[str, str]:
        if self.around or command not in self.program.locked or "{lock}" in command:
            return bare()
        return bare() | self._added

    def words(self, command: Command) -> list[str]:
        if isinstance(command, str):
            return ["sh", "-ec", self.fill(command, quoted=True)]
        is_wrapped = self.around and command in self.program.locked and "{lock}" not in command
        words = self._lock() if is_wrapped else []
        for word in command:
            words += self._lock() if word == "{lock}" else [self.fill(word)]
        return words

    def fill(self, text: str, quoted: bool = False) -> str:
        """Return a text with its placeholders filled. quoted: for the shell."""
        quote = shlex.quote if quoted else str
        values = {
            **self.program.words,
            **{name: quote(str(path)) for name, path in self.folders.items()},
            "threads": str(self.threads),
            "scale": f"{self.scale:g}",
            "data": quote(str(self.data)),
            "work": quote(str(self.work)),
        }
        if "{port}" in text:
            values["port"] = str(self.port)
        if "{lock}" in text:
            values["lock"] = shlex.join(self._lock())
        return template.fill(text, values, {"t": self.threads, "s": self.scale})

    def _lock(self) -> list[str]:
        return [*self.around, "env", *(f"{name}={value}" for name, value in self._added.items())]
