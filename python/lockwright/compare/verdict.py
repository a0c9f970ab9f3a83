"""What a comparison found, in two sentences, and the command that uses it."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.base import numbers
from lockwright.compare.plan import AS_IT_IS, Plan
from lockwright.compare.stats import Summary
from lockwright.compare.warnings import at
from lockwright.preload.locks import BASELINE, options_of

ALIKE = 1.10
"""A program whose every lock is surely within 10 % of the baseline is called not lock-sensitive."""

Table = Sequence[Summary]


@dataclass(frozen=True)
class Verdict:
    """sentence: what was found; command: a shell line that runs the program with the winner."""

    sentence: str
    command: str | None


def decide(plan: Plan, tables: Sequence[Table]) -> Verdict:
    """Return the verdict on one list of summaries per number of threads, best first."""
    gains: list[tuple[Table, Summary]] = []
    rest: dict[str, list[int]] = {}
    for table in tables:
        best = winner(table)
        if best is None:
            rest.setdefault(_without_winner(table), []).append(table[0].threads)
        else:
            gains.append((table, best))
    sentences = []
    if gains:
        sentences.append("; ".join(_gain(plan, best) for _, best in gains))
    others = [f"{_where(threads)}{what}" for what, threads in rest.items()]
    command = None
    if gains:
        # The largest number of threads is where locks differ most, and where it matters which is
        # used.
        table, best = max(gains, key=lambda gain: gain[0][0].threads)
        command = use(plan, best)
        others += _caution(best.lock, [each for each in tables if each is not table])
    if others:
        text = "; ".join(others)
        sentences.append(text[:1].upper() + text[1:])
    if not gains and (hope := _most_promising(tables)) is not None:
        sentences.append(
            f"The most promising is {hope.lock}{at(hope.threads)}: {measure(plan, hope)},"
            " which chance may explain; more --runs can tell"
        )
        command = use(plan, hope)
    return Verdict(" ".join(f"{text}." for text in sentences), command)


def use(plan: Plan, lock: Summary) -> str:
    """Return the line that runs the program under that lock, by itself, with other locks as they
    are in our own environment."""
    words = shlex.join(plan.argv(lock.threads))
    library = plan.other_library(lock.lock)
    if library is not None:
        return f"env LD_PRELOAD={shlex.quote(str(library.path))} {words}"
    options = " ".join(["--lock", lock.lock, *options_of(os.environ)])
    return f"lockwright run {options} -- {words}"


def winner(table: Table) -> Summary | None:
    """Return the first lock that finished every run and is shown to be better than the baseline."""
    baseline = _baseline(table)
    for summary in table:
        if not summary.complete or summary.lock == BASELINE:
            continue
        if not baseline.values or (summary.ratio is not None and summary.ratio.better):
            return summary
    return None


def _baseline(table: Table) -> Summary:
    return next(summary for summary in table if summary.lock == BASELINE)


def _most_promising(tables: Sequence[Table]) -> Summary | None:
    """Return the lock with the best ratio to the baseline, if that is worth another look."""
    hopes = [
        (summary.ratio.value, summary)
        for table in tables
        for summary in table
        if summary.complete
        and summary.lock != BASELINE
        and summary.ratio is not None
        and summary.ratio.value > ALIKE
    ]
    return max(hopes, key=lambda hope: hope[0])[1] if hopes else None


def _gain(plan: Plan, best: Summary) -> str:
    # The best median may be that of a lock whose runs vary too much to be sure of.
    what = "is best" if best.mark == "*" else "is shown to be better"
    text = f"{best.lock} {what}{at(best.threads)}"
    if best.ratio is None:
        return f"{text}, where {BASELINE} finished no run"
    return f"{text}: {measure(plan, best)}"


def measure(plan: Plan, lock: Summary) -> str:
    """Return how much better than the baseline a lock is, in words."""
    assert lock.ratio is not None
    good = "fast" if plan.metric is None else "good"
    text = f"{numbers.ratio(lock.ratio.value)} times as {good} as {BASELINE}"
    if lock.ratio.low is None:
        return text
    return f"{text} (95 % CI {numbers.interval(lock.ratio.low, lock.ratio.high)})"


def _without_winner(table: Table) -> str:
    others = [s for s in table if s.lock != BASELINE]
    ratios = [s.ratio for s in others if s.ratio is not None]
    if not any(summary.complete for summary in table):
        return "no lock finished all of its runs"
    if ratios and all(ratio.low is None for ratio in ratios):
        return "a single round cannot tell the locks apart; more --runs can"
    if all(s.complete for s in table) and len(ratios) == len(others):
        ends = [end for ratio in ratios for end in (ratio.low, ratio.high) if end is not None]
        if all(1 / ALIKE <= end <= ALIKE for end in ends):
            near = f"every lock is within {numbers.percent(ALIKE - 1)} of {BASELINE}"
            return f"the program is not lock-sensitive: {near}"
        if not any(ratio.shown for ratio in ratios):
            return f"no lock is shown to differ from {BASELINE}"
    return f"no lock is shown to be better than {BASELINE}"


def _caution(lock: str, tables: Sequence[Table]) -> list[str]:
    """What speaks against the winner at other numbers of threads."""
    hung: list[int] = []
    worse: list[str] = []
    for table in tables:
        mine = next(summary for summary in table if summary.lock == lock)
        if not mine.complete:
            hung.append(mine.threads)
        elif mine.ratio is not None and mine.ratio.worse:
            worse.append(
                f"{_where([mine.threads])}{lock} is worse ({numbers.ratio(mine.ratio.value)})"
            )
    found = [f"{_where(hung)}{lock} does not finish its runs"] if hung else []
    return found + worse


def _where(threads: Sequence[int]) -> str:
    """Return `at 1 and 16 threads `, or nothing where the command names no number of threads."""
    if AS_IT_IS in threads:
        return ""
    *most, last = map(str, threads)
    where = f"{', '.join(most)} and {last}" if most else last
    return f"at {where} thread{'' if where == '1' else 's'} "


def heading(plan: Plan, threads: int) -> str:
    """Title of the table for a number of threads."""
    if threads == AS_IT_IS:
        return shlex.join(plan.command)
    return at(threads).strip().removeprefix("at ")
