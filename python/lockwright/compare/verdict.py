"""What a comparison found, in a sentence per number of threads, and the command that uses it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.compare.plan import AS_IT_IS, Plan
from lockwright.compare.stats import Summary
from lockwright.compare.warnings import at
from lockwright.locks import BASELINE


@dataclass(frozen=True)
class Verdict:
    """sentence: what was found; command: a shell line that runs the program with the winner."""

    sentence: str
    command: str | None


def decide(plan: Plan, tables: Sequence[Sequence[Summary]]) -> Verdict:
    """The verdict on one list of summaries per number of threads, best first."""
    found: dict[str, list[int]] = {}
    for table in tables:
        found.setdefault(_sentence(table), []).append(table[0].threads)
    sentences = [_placed(sentence, threads) for sentence, threads in found.items()]
    command = None
    # The largest number of threads is where locks differ most, and where it matters which is used.
    for table in sorted(tables, key=lambda table: -table[0].threads):
        winner = _winner(table)
        if winner and winner.lock != BASELINE and _beats(winner):
            words = shlex.join(plan.argv(table[0].threads))
            command = f"lockwright run --lock {winner.lock} -- {words}"
            break
    return Verdict(" ".join(sentences), command)


def _winner(table: Sequence[Summary]) -> Summary | None:
    return next((summary for summary in table if summary.mark == "*"), None)


def _beats(summary: Summary) -> bool:
    """Whether it is better than the baseline by more than chance, or the baseline has no value."""
    ratio = summary.ratio
    return ratio is None or (ratio.differs and ratio.value > 1)


def _placed(sentence: str, threads: Sequence[int]) -> str:
    """The sentence, headed by the numbers of threads that it is true of."""
    if AS_IT_IS in threads:
        return f"For this command: {sentence}"
    *most, last = map(str, threads)
    where = f"{', '.join(most)} and {last}" if most else last
    return f"At {where} thread{'' if where == '1' else 's'}: {sentence}"


def _sentence(table: Sequence[Summary]) -> str:
    winner = _winner(table)
    others = [s for s in table if s.lock != BASELINE and s.ratio is not None]
    baseline = next(s for s in table if s.lock == BASELINE)
    if winner is None:
        return "no lock finished all of its runs."
    if not baseline.values:
        return f"{winner.lock} is best; {BASELINE} finished no run, so there is no ratio."
    if winner.lock != BASELINE and winner.ratio is None:
        return f"{winner.lock} is best; it has no ratio to {BASELINE}."
    if all(s.ratio is not None and s.ratio.low is None for s in others) and others:
        return f"{winner.lock} has the best median; one round cannot tell it from chance."
    if winner.lock != BASELINE and winner.ratio is not None and _beats(winner):
        ratio = winner.ratio
        return (
            f"{winner.lock} is best, {ratio.value:.2f} times as good as {BASELINE} "
            f"({ratio.low:.2f} to {ratio.high:.2f})."
        )
    unfinished = any(not s.complete for s in table)
    if unfinished or any(s.ratio is not None and s.ratio.differs for s in others):
        return f"no lock is better than {BASELINE} beyond the confidence interval."
    return f"not lock-sensitive: no lock differs from {BASELINE} beyond the confidence interval."


def heading(plan: Plan, threads: int) -> str:
    """Title of the table for a number of threads."""
    if threads == AS_IT_IS:
        return shlex.join(plan.command)
    return at(threads).strip().removeprefix("at ")
