"""Changes of a program, applied to its model."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lockwright.base.errors import LockwrightError
from lockwright.predict.derive import Variant
from lockwright.profile.record import Mutex
from lockwright.simulate.model import Buckets, Model, ModelMutex, mean, scaled


@dataclass(frozen=True)
class Change:
    """A change of a program. text: such as `halve ...`; threads: their number afterwards, or None
    for the same; lock: the algorithm of all mutexes afterwards, or "" for the same. sections: of
    the program, for each of the model's afterwards."""

    text: str
    apply: Callable[[Model], Model]
    threads: int | None = None
    lock: str = ""
    sections: float = 1.0

    def applied(self, variant: Variant) -> Variant:
        """Return the variant of a model after the change."""
        return dataclasses.replace(variant, model=self.apply(variant.model))


def find_mutex(mutexes: Sequence[Mutex], indices: Sequence[int], word: str) -> int:
    """Return the index in the model of the mutex with a rank in the profile, from 1, or with a name
    or a site that contains `word`. mutexes: of the profile; indices: of the model's among them.
    Raises LockwrightError if there is none, or if there are several."""
    if word.isdecimal():
        rank = int(word) - 1
        if rank not in indices:
            raise LockwrightError(
                f"there is no mutex {word} that matters in the profile",
                f"give one of: {_listed([index + 1 for index in indices])}",
            )
        return list(indices).index(rank)
    names = {
        number: [mutexes[index].name, *(s.label for s in mutexes[index].sites)]
        for number, index in enumerate(indices)
    }
    exact = [number for number, texts in names.items() if texts[0] == word]
    found = exact or [number for number, texts in names.items() if any(word in t for t in texts)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise LockwrightError(
            f"no mutex of the profile has '{word}' in its name or sites",
            "'lockwright profile' and 'lockwright advise' name them",
        )
    ranks = _listed([indices[number] + 1 for number in found])
    raise LockwrightError(f"'{word}' matches the mutexes {ranks}", "give one of these numbers")


def _listed(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:20]))
    return shown if len(ranks) <= 20 else f"{shown} and {len(ranks) - 20} more"


def section(number: int, name: str, factor: float, moved: bool) -> Change:
    """Return the change of a mutex's sections to `factor` of their length. moved: the threads do
    the remaining work outside, instead of never."""

    def apply(model: Model) -> Model:
        shorter = _with_mutex(
            model, number, lambda each: replace(each, section=scaled(each.section, factor))
        )
        if not moved:
            return shorter
        outside = mean(model.mutexes[number].section) * (1 - factor)
        roles = []
        for role in model.roles:
            total = sum(share for _, share in role.takes)
            share = sum(part for index, part in role.takes if index == number) / total
            roles.append(replace(role, gap=_longer(role.gap, share * outside)))
        return replace(shorter, roles=tuple(roles))

    what = f"sections of {name} {factor:g} times as long"
    return Change(f"{what}, the rest of the work outside" if moved else what, apply)


def shards(number: int, name: str, count: int) -> Change:
    """Return the division of a mutex into `count`, which are taken equally often."""
    return Change(
        f"{count} mutexes instead of {name}, taken equally often",
        lambda model: _with_mutex(
            model, number, lambda each: replace(each, instances=each.instances * count)
        ),
    )


def lock_of(number: int, name: str, lock: str) -> Change:
    """Return the replacement of one mutex's algorithm."""
    return Change(
        f"{lock} for {name}",
        lambda model: _with_mutex(model, number, lambda each: replace(each, lock=lock)),
    )


def lock_of_all(lock: str) -> Change:
    """Return the replacement of all mutexes' algorithm."""
    return Change(f"{lock} for all mutexes", lambda model: model, lock=lock)


def thread_count(threads: int) -> Change:
    """Return another number of threads."""
    return Change(f"{threads} threads", lambda model: model, threads=threads)


def atomic(number: int, name: str) -> Change:
    """Return the replacement of a mutex and its sections by an atomic variable."""
    return Change(
        f"an atomic variable instead of {name} and its sections",
        lambda model: _with_mutex(model, number, lambda each: replace(each, is_atomic=True)),
    )


def batch(count: int) -> Change:
    """Return one acquisition of a mutex for `count` sections that follow each other, of all
    mutexes; the work between them is done between the acquisitions."""

    def apply(model: Model) -> Model:
        mutexes = tuple(
            replace(each, section=scaled(each.section, count)) for each in model.mutexes
        )
        roles = tuple(replace(role, gap=scaled(role.gap, count)) for role in model.roles)
        return replace(model, mutexes=mutexes, roles=roles)

    return Change(f"one acquisition for {count} sections", apply, sections=count)


def waits(number: int, name: str) -> Change:
    """Return the change of threads that poll a mutex by trylock to threads that lock it."""
    return Change(
        f"locking {name} instead of trying it",
        lambda model: _with_mutex(model, number, lambda each: replace(each, polls=False)),
    )


def rwlock(number: int, name: str, reads: float) -> Change:
    """Return the replacement of a mutex by the C library's reader-writer lock. reads: the share of
    sections that only read."""
    return Change(
        f"a reader-writer lock instead of {name}, {reads:g} of the sections reading",
        lambda model: _with_mutex(model, number, lambda each: replace(each, reads=reads)),
    )


def _with_mutex(model: Model, number: int, change: Callable[[ModelMutex], ModelMutex]) -> Model:
    mutexes = list(model.mutexes)
    mutexes[number] = change(mutexes[number])
    return replace(model, mutexes=tuple(mutexes))


def _longer(buckets: Buckets, ns: float) -> Buckets:
    if ns <= 0:
        return buckets
    return tuple((low + ns, high + ns, weight) for low, high, weight in buckets) or ((ns, ns, 1.0),)
