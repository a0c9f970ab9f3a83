"""Mutants that the model checker planted, and explanations of those that survive.

tests/model/survivors.toml has the explanations: for each file a table of statements. A key is the
first line of a statement, preceded by lines before it where it occurs more than once, without
indentation and comments. The value is an explanation, or a list of them, which cover that
statement:

    "word_.store(free_);" = "dropped, release -> relaxed: why no scenario can find it"
    "count_ = 0;" = "in glk: in two steps: why this one lock does not need it"
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from . import locate

TABLE = "tests/model/survivors.toml"

_CHANGE = r"(?:dropped|in two steps|(?:failing )?[a-z_]+ -> [a-z_]+)"
_LINE = re.compile(rf"^(\S+) +(\S+):(\d+) (.+?) ({_CHANGE})  +(\S.*)$", re.MULTILINE)
_EXPLANATION = re.compile(rf"(?:in ([a-z0-9, -]+): )?({_CHANGE}(?:, {_CHANGE})*): (\S.+)")


class Malformed(Exception):
    """An explanation of another form, or of no statement or of several."""


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
    """The reason why mutants of one statement survive. first, last: the statement's lines. locks:
    empty if it covers all."""

    file: str
    first: int
    last: int
    changes: tuple[str, ...]
    locks: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.first}: {', '.join(self.changes)}"

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


def explanations_in(
    file: str, text: str, table: Mapping[str, str | Sequence[str]]
) -> Iterator[Explanation]:
    """Yield the explanations of one source. Raises Malformed."""
    lines = text.splitlines()
    code = [
        (number, line.strip())
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("//")
    ]
    for statement, explanations in table.items():
        key = statement.split("\n")
        places = [
            code[end - 1][0]
            for end in range(len(key), len(code) + 1)
            if [line for _, line in code[end - len(key) : end]] == key
        ]
        if len(places) != 1:
            raise Malformed(f"{file}: there are {len(places)} statements {statement!r}")
        first = last = places[0]
        while last < len(lines) and not re.search(r"[;{}]\s*(//.*)?$", lines[last - 1]):
            last += 1
        for words in [explanations] if isinstance(explanations, str) else explanations:
            match = _EXPLANATION.fullmatch(words)
            if match is None:
                raise Malformed(f"{file}: this is no explanation: {words}")
            locks = tuple(re.split(r", | and ", match[1])) if match[1] else ()
            yield Explanation(file, first, last, tuple(match[2].split(", ")), locks, match[3])


@cache
def explanations() -> tuple[Explanation, ...]:
    """Return the explanations of all sources."""
    tables = tomllib.loads((locate.ROOT / TABLE).read_text())
    return tuple(
        each
        for file, table in tables.items()
        for each in explanations_in(file, (locate.ROOT / file).read_text(), table)
    )


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
