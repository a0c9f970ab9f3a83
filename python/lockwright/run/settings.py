"""What a program runs with besides its lock: allocator, processors, scheduling policy, pages.

Every value is one that a user without privileges can choose. Each setting is an option of
`lockwright run`; an empty one leaves the program as it is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

from lockwright.base.errors import LockwrightError
from lockwright.machine import pinning
from lockwright.machine.procfs import Tree
from lockwright.preload import allocators

DIMENSIONS = {"allocator": "--allocator", "pinning": "--pin", "scheduler": "--sched"}
DIMENSIONS |= {"pages": "--pages"}
"""The settings of a program, and the options of `lockwright run` for them."""

COMPACT, SCATTER = "compact", "scatter"
"""Values of `pinning`: the processors closest to each other, and those farthest apart."""

BATCH = "batch"
"""The value of `scheduler`: SCHED_BATCH of sched(7)."""

HUGE, SMALL = "huge", "small"
"""Values of `pages`: the allocator asks for transparent huge pages, or the program has none."""

_PIN = re.compile(rf"({COMPACT}|{SCATTER})(?::([1-9][0-9]{{0,5}}))?")

_ENABLED = "/sys/kernel/mm/transparent_hugepage/enabled"


@dataclass(frozen=True)
class Settings:
    """The settings of a program. Each is a value of its dimension, "" if it is left as it is."""

    allocator: str = ""
    pinning: str = ""
    scheduler: str = ""
    pages: str = ""

    def __bool__(self) -> bool:
        return any(self.values.values())

    @property
    def values(self) -> dict[str, str]:
        """The values by dimension, without empty ones."""
        return {name: value for name in DIMENSIONS if (value := getattr(self, name))}

    @property
    def options(self) -> list[str]:
        """The options of `lockwright run`."""
        return [word for name, value in self.values.items() for word in (DIMENSIONS[name], value)]

    @property
    def chosen_allocator(self) -> "allocators.Allocator | None":
        """The allocator in place of the present one. Raises LockwrightError for unknown ones."""
        return allocators.find(self.allocator) if self.allocator else None

    @cached_property
    def processors(self) -> tuple[int, ...]:
        """The processors that the program may use; empty if it may use all. Raises LockwrightError
        if there are not so many."""
        return processors_of(self.pinning) if self.pinning else ()

    def environment(self, before: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of the program, without the lock's library, which has to precede
        the allocator's. Raises LockwrightError."""
        return allocators.with_allocator(self.chosen_allocator, self.pages == HUGE, before)

    def check(self, program: Path, environment: Mapping[str, str]) -> None:
        """Raise LockwrightError if a setting cannot be applied to a program here. program: the one
        that is executed, not a script."""
        allocator = self.chosen_allocator
        if allocator is not None:
            allocators.check_replaceable(allocator, program, environment)
        _ = self.processors
        if self.scheduler not in ("", BATCH):
            raise LockwrightError(
                f"--sched '{self.scheduler}' is unknown", f"the policy to choose is {BATCH}"
            )
        if self.pages not in ("", HUGE, SMALL):
            raise LockwrightError(
                f"--pages '{self.pages}' is unknown", f"choose from {HUGE} and {SMALL}"
            )
        if self.pages == HUGE and huge_page_mode() not in ("always", "madvise"):
            raise LockwrightError(
                f"transparent huge pages are off ({_ENABLED}: {huge_page_mode()})",
                f"switch them on, which needs privileges: echo madvise > {_ENABLED}",
            )
        self.environment(environment)

    def changed(self, **values: str) -> "Settings":
        """Return a copy with other values."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return Settings(**(own | values))


NONE = Settings()
"""A program as it is."""


def processors_of(
    text: str, available: Sequence[pinning.Processor] | None = None
) -> tuple[int, ...]:
    """Return the processors of a text such as `compact`, half of all, or `scatter:4`. available:
    those that this process may use. Raises LockwrightError."""
    match = _PIN.fullmatch(text)
    if match is None:
        raise LockwrightError(
            f"--pin '{text}' is not compact, scatter or one of them with a number",
            "write it as in --pin compact:4, for 4 processors",
        )
    usable = pinning.usable_processors() if available is None else available
    count = int(match[2]) if match[2] else max(1, len(usable) // 2)
    if count > len(usable):
        raise LockwrightError(
            f"--pin {text} needs {count} processors, and the program may use {len(usable)}",
            "give a smaller number",
        )
    return tuple(sorted(pinning.ordered(match[1], usable)[:count]))


def huge_page_mode(tree: Tree | None = None) -> str:
    """Return always, madvise or never: what the system does with transparent huge pages; "" if it
    has none."""
    match = re.search(r"\[(\w+)\]", (tree or Tree()).text(_ENABLED) or "")
    return match[1] if match else ""
