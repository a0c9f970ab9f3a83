"""The advice in half a screen: the verdict, its evidence, the locks to try and the changes."""

import shlex
import textwrap
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from lockwright.advise.advice import NAMED, Advice, Evidence
from lockwright.advise.measured import is_nothing
from lockwright.advise.show import (
    cautions,
    change_text,
    comparisons,
    doubts,
    figure_text,
    of_experiments,
    run_of_default,
    unpredicted,
)
from lockwright.base.terminal import print_wrapped
from lockwright.profile.record import Profile

_EVIDENCE = 5
"""Most figures."""

_CHANGES = 2
"""Most changes to the program."""

_LONGEST = 84
"""Most characters of a lock's reason, so that it fits on a line with the lock."""

_WIDTH = 9
"""Columns of the words at the left."""


def show(
    console: Console, profile: Profile, advice: Advice, path: Path, size: int | None = None
) -> None:
    """Print the advice. path: of the profile; size: number of locks, by default up to three."""
    print_wrapped(console, "", advice.sentence, "bold")
    _print_part(console, "because", map(figure_text, _decisive(advice)))
    candidates = advice.shortlist[: NAMED if size is None else size]
    width = max((len(candidate.lock) for candidate in candidates), default=0)
    _print_part(
        console,
        "try",
        (f"{each.lock:<{width}}  {_in_a_line(each.reason)}" for each in candidates),
    )
    width = max((len(candidate.lock) for candidate in advice.rwlocks), default=0)
    _print_part(
        console,
        "rwlock",
        (f"{each.lock:<{width}}  {_in_a_line(each.reason)}" for each in advice.rwlocks[:NAMED]),
    )
    _print_part(
        console,
        "change",
        (change_text(profile, advice, index) for index in _worth_it(advice)[:_CHANGES]),
    )
    _print_part(console, "measured", of_experiments(advice))
    notes = [*unpredicted(advice), *doubts(profile, advice), *cautions(advice, len(candidates))]
    if profile.partial:
        notes.append(f"the profile is not of a whole run: {profile.partial}")
    _print_part(console, "note", notes)
    for command in comparisons(profile, advice, len(candidates)):
        console.print(f"{'measure':<{_WIDTH}}{command}", soft_wrap=True)
    for command in run_of_default(profile, advice):
        console.print(f"{'run':<{_WIDTH}}{command}", soft_wrap=True)
    rest = shlex.join(["lockwright", "advise", "--all", str(path)])
    console.print(f"{'more':<{_WIDTH}}{rest}", style="dim", soft_wrap=True)


def _worth_it(advice: Advice) -> list[int]:
    """Return the indices of the changes that are not predicted to cost more than they gain, nor
    measured to gain nothing."""
    gains = advice.predicted.gains if advice.predicted is not None else ()
    harmful = {each.change for each in gains if each.throughput is not None and each.throughput < 1}
    harmful |= {each.change for each in advice.measured if is_nothing(each)}
    return [index for index in range(len(advice.changes)) if index not in harmful]


def _in_a_line(reason: str) -> str:
    return textwrap.shorten(reason, _LONGEST, placeholder=" …")


def _print_part(console: Console, word: str, texts: Iterable[str]) -> None:
    for number, text in enumerate(texts):
        start = f"{word if number == 0 else '':<{_WIDTH}}"
        print_wrapped(console, start, text, "default")


def _decisive(advice: Advice) -> list[Evidence]:
    """Return the evidence that decided: on the time lost, and of the bottlenecks that the program
    has. Where there is too much, the first of each bottleneck precedes the second of any."""
    figures = [
        [each for each in diagnosis.evidence if each.met is not None] for diagnosis in advice.fired
    ]
    longest = max(map(len, figures), default=0)
    in_turn = [part[rank] for rank in range(longest) for part in figures if rank < len(part)]
    # Where another lock may help although little time is lost, the bottleneck is the reason.
    names_locks = bool(advice.shortlist or advice.rwlocks)
    of_loss = [each for each in advice.sensitivity if each.met or not names_locks]
    chosen = list({each.quantity: each for each in (*of_loss, *in_turn)}.values())[:_EVIDENCE]
    in_order = [*of_loss, *(each for part in figures for each in part)]
    return [each for each in in_order if any(each is one for one in chosen)]
