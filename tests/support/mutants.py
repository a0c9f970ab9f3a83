"""Mutants that the model checker planted, and explanations in the code of those that survive.

An explanation is a comment right above a statement of a lock, which covers that statement:

    // mutant survives: dropped, release -> relaxed: why no scenario can find it
    // mutant survives in glk: in two steps: why this one lock does not need it
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from . import locate

#: The folders of the code that mutants are planted in.
FOLDERS = ("include/lockwright", "src/preload")

_CHANGE = r"(?:dropped|in two steps|(?:failing )?[a-z_]+ -> [a-z_]+)"
_LINE = re.compile(rf"^(\S+) +(\S+):(\d+) (.+?) ({_CHANGE})  +(\S.*)$", re.MULTILINE)
_BEGINS = re.compile(r"//\s*mutant survives\b")
_EXPLANATION = re.compile(
    rf"mutant survives(?: in ([a-z0-9, -]+))?: ({_CHANGE}(?:, {_CHANGE})*): (\S.+)"
)


class Malformed(Exception):
    """A comment that begins like an explanation and has another form."""


@dataclass(frozen=True)
class Mutant:
    """A fault planted in a lock. caught: the scenario that found it, or empty."""

    lock: str
    file: str
    line: int
    operation: str
    change: str
    caught: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.operation} {self.change}"


@dataclass(frozen=True)
class Explanation:
    """The reason why mutants of one statement survive. locks: empty if it covers all."""

    file: str
    line: int
    first: int
    last: int
    changes: tuple[str, ...]
    locks: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: mutant survives: {', '.join(self.changes)}"

    def is_at(self, mutant: Mutant) -> bool:
        return self.file == mutant.file and self.first <= mutant.line <= self.last

    def covers(self, mutant: Mutant) -> bool:
        return (
            self.is_at(mutant)
            and mutant.change in self.changes
            and (not self.locks or mutant.lock in self.locks)
        )


def parse(text: str) -> list[Mutant]:
    """Return the mutants in the output of `model-check mutants`."""
    return [
        Mutant(lock, file, int(number), operation, change, "" if end == "survived" else end)
        for lock, file, number, operation, change, end in _LINE.findall(text)
    ]


def is_complete(text: str) -> bool:
    """Return whether `model-check mutants` tried some and ended by itself; a fault may kill it."""
    end = re.search(r"^\S+ +caught (\d+), survived (\d+)\n\Z", text, re.M)
    return end is not None and int(end[1]) + int(end[2]) != 0


def explanations_in(file: str, text: str) -> Iterator[Explanation]:
    """Yield the explanations in one source. Raises Malformed."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        begin = _BEGINS.search(line)
        if begin is None:
            continue
        words = line[begin.start() :].lstrip("/ ")
        beside = line[: begin.start()].strip() != ""
        first = number
        if not beside:
            while first < len(lines) and lines[first].lstrip().startswith("//"):
                if _BEGINS.search(lines[first]):
                    # Another explanation follows; both are above the same statement.
                    while lines[first].lstrip().startswith("//"):
                        first += 1
                    break
                words += " " + lines[first].lstrip().lstrip("/").strip()
                first += 1
            first += 1
        match = _EXPLANATION.fullmatch(words)
        if match is None:
            raise Malformed(f"{file}:{number}: this is no explanation: {words}")
        last = first
        if not beside:
            while last < len(lines) and not re.search(r"[;{}]\s*(//.*)?$", lines[last - 1]):
                last += 1
        yield Explanation(
            file,
            number,
            first,
            last,
            tuple(match[2].split(", ")),
            tuple(re.split(r", | and ", match[1])) if match[1] else (),
            match[3],
        )


@cache
def explanations() -> tuple[Explanation, ...]:
    """Return the explanations in all sources."""
    found: list[Explanation] = []
    for folder in FOLDERS:
        for path in sorted((locate.ROOT / folder).rglob("*.hpp")):
            text = path.read_text()
            if "mutant survives" in text:
                found += explanations_in(str(path.relative_to(locate.ROOT)), text)
    return tuple(found)


def covered(lock: str, by: Iterable[Explanation] | None = None) -> list[str]:
    """Return the explained mutants of a lock, each as "file:line change"."""
    return [
        f"{each.file}:{line} {change}"
        for each in (explanations() if by is None else by)
        if not each.locks or lock in each.locks
        for line in range(each.first, each.last + 1)
        for change in each.changes
    ]


def arguments(lock: str, budget: float) -> list[str]:
    """Return the arguments with which `model-check` plants the mutants of a lock."""
    known = [word for text in covered(lock) for word in ("--explained", text)]
    return ["mutants", "--budget", str(budget), *known]


def explained(mutant: Mutant, by: Iterable[Explanation] | None = None) -> bool:
    return any(each.covers(mutant) for each in (explanations() if by is None else by))


def stale(
    mutants: Sequence[Mutant], everything: bool, by: Iterable[Explanation] | None = None
) -> list[tuple[Explanation, str]]:
    """Return the explanations that these mutants show to be wrong, and why.

    everything: the mutants are those of all locks, so a line without any has none.
    """
    wrong = []
    locks = {mutant.lock for mutant in mutants}
    for each in explanations() if by is None else by:
        wrong += [
            (each, f"there is no lock {name}")
            for name in each.locks
            if everything and name not in locks
        ]
        nearby = [mutant for mutant in mutants if each.is_at(mutant)]
        if not nearby and not everything:
            continue
        for change in each.changes:
            same = [
                m for m in nearby if m.change == change and (not each.locks or m.lock in each.locks)
            ]
            tried = not each.locks or not locks.isdisjoint(each.locks)
            if not same:
                if tried and (nearby or everything):
                    wrong.append((each, f"there is no such mutant: {change}"))
            elif all(mutant.caught for mutant in same):
                where = sorted({m.lock for m in same})
                wrong.append((each, f"{change} is caught ({', '.join(where)})"))
    return wrong
