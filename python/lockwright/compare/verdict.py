"""The verdict of a comparison in two sentences, and a command that runs the best lock, or that
decides whether it is better."""

import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from lockwright.base import numbers, wording
from lockwright.compare import safest
from lockwright.compare.arms import lock_of, settings_of
from lockwright.compare.plan import UNSPECIFIED, Plan, at_threads, threads_of
from lockwright.compare.probe import FIXED_TIME_ADVICE, FIXED_TIME_TEXT
from lockwright.experiment import Summary
from lockwright.preload.locks import BASELINE, options_of, preload
from lockwright.preload.rwlocks import compare_options, run_options

ALIKE = 1.10
"""Limit of the ratios of a program that is not lock-sensitive: every lock's confidence interval is
within 10 % of the baseline."""

_NAMED = 4
"""Most locks that a sentence names."""

Table = Sequence[Summary]


@dataclass(frozen=True)
class Verdict:
    """The verdict. sentence: the conclusion; command: a shell line that runs the winner, or, if no
    lock is shown to be better, one that decides whether the most promising is."""

    sentence: str
    command: str | None
    is_shown: bool = True

    @property
    def heading(self) -> str:
        """The words above the command."""
        return "Use it:" if self.is_shown else "To settle it:"


FIXED_TIME = Verdict(
    " ".join(wording.sentence(each, ()) for each in (FIXED_TIME_TEXT, FIXED_TIME_ADVICE)),
    None,
    is_shown=False,
)
"""The verdict on a program that seems to run for a fixed time."""


def decide(plan: Plan, tables: Sequence[Table]) -> Verdict:
    """Return the verdict. tables: summaries at each number of threads, the best first."""
    gains: list[tuple[Table, Summary]] = []
    threads_by_text: dict[str, list[int]] = {}
    for table in tables:
        best = winner(table)
        if best is None:
            threads_by_text.setdefault(_without_winner(plan, table), []).append(
                threads_of(table[0])
            )
        else:
            gains.append((table, best))
    sentences = []
    if gains:
        sentences.append("; ".join(_gain(plan, best) for _, best in gains))
    others = [f"{_where(threads)}{what}" for what, threads in threads_by_text.items()]
    command = None
    if gains:
        # Locks differ most at the largest number of threads.
        table, best = max(gains, key=lambda gain: threads_of(gain[0][0]))
        chosen, reasons = _safest(plan, best, table)
        command = run_command(plan, chosen)
        sentences += reasons
        others += _caution(
            plan, chosen.contender, [other for other in tables if other is not table]
        )
    if others:
        sentences.append("; ".join(others))
    if not gains and (promising := _most_promising(tables)) is not None:
        sentences.append(
            f"The most promising is {promising.contender}{at_threads(threads_of(promising))}: "
            f"{measure(plan, promising)}, which may be chance"
        )
        table = next(table for table in tables if promising in table)
        chosen, reasons = _safest(plan, promising, table)
        command = settling_command(plan, chosen)
        sentences += reasons
    names = {row.contender for table in tables for row in table}
    parts = [wording.sentence(text, names) for text in sentences if text]
    return Verdict(" ".join(parts), command, bool(gains))


def _safest(plan: Plan, best: Summary, table: Table) -> tuple[Summary, list[str]]:
    """Return the safest of the best lock of a table and those tied with it, and the sentences that
    say why, some of them empty."""
    known = safest.known_locks()
    tied = safest.tied_with(best, table, plan.lower_is_better)
    chosen = safest.safest(best, tied, known)
    return chosen, [safest.reason(chosen, best, tied, known), safest.caution(chosen, known)]


def run_command(plan: Plan, lock: Summary) -> str:
    """Return the shell line that runs the program under that lock, with the environment's options
    for other kinds of locks."""
    words = shlex.join(plan.argv(threads_of(lock)))
    library = plan.other_library(lock.contender)
    if library is not None:
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        set_ = dict(preload(library.path, environment).items() - environment.items())
        return f"env {shlex.join(f'{name}={value}' for name, value in set_.items())} {words}"
    own = [*run_options(lock_of(lock.contender)), *settings_of(lock.contender).options]
    options = " ".join([*own, *options_of(os.environ)])
    return f"lockwright run {options} -- {words}"


def settling_command(plan: Plan, lock: Summary) -> str:
    """Return the shell line that compares that lock alone with the baseline, by more runs."""
    library = plan.other_library(lock.contender)
    words = ["lockwright", "compare", "--runs", str(_settling_runs(lock))]
    if library is not None:
        words += ["--locks", BASELINE, "--preload", f"{library.name}={library.path}"]
    elif settings := settings_of(lock.contender):
        words = ["lockwright", "tune", "--with", ",".join(settings.values)]
        words += ["--budget", f"{2 * (plan.budget or 0):g}"]
        words += compare_options([BASELINE, lock_of(lock.contender)])
    else:
        words += compare_options([BASELINE, lock.contender])
    if threads_of(lock) != UNSPECIFIED:
        words += ["--threads", str(threads_of(lock))]
    if plan.metric is not None:
        words += ["--metric", plan.metric, "--unit", plan.unit]
        words += ["--lower-is-better"] if plan.lower_is_better else []
    if plan.prepare is not None:
        words += ["--prepare", plan.prepare]
    words += options_of(os.environ)
    return shlex.join([*words, "--timeout", f"{plan.timeout:g}", "--", *plan.command])


_FEWEST_SETTLING, _MOST_SETTLING = 10, 100


def _settling_runs(lock: Summary) -> int:
    """Return the number of runs after which the interval of the present ratio leaves out 1, with
    half as many again: its width is proportional to one over the root of the number."""
    ratio = lock.ratio
    if ratio is None or ratio.low is None or ratio.value == 1:
        return _FEWEST_SETTLING
    half_width = math.log(ratio.value / ratio.low)
    needed = 1.5 * ratio.rounds * (half_width / math.log(ratio.value)) ** 2
    least = max(_FEWEST_SETTLING, 2 * ratio.rounds)
    return max(least, min(_MOST_SETTLING, math.ceil(needed)))


def winner(table: Table) -> Summary | None:
    """Return the first lock that finished every run and is shown to be better than the baseline."""
    baseline = _baseline(table)
    for summary in table:
        if not summary.complete or summary.contender == BASELINE:
            continue
        if not baseline.values or (summary.ratio is not None and summary.ratio.better):
            return summary
    return None


def _baseline(table: Table) -> Summary:
    return next(summary for summary in table if summary.contender == BASELINE)


def _most_promising(tables: Sequence[Table]) -> Summary | None:
    """Return the lock with the best ratio to the baseline, if it is above ALIKE."""
    candidates = [
        (summary.ratio.value, summary)
        for table in tables
        for summary in table
        if summary.complete
        and summary.contender != BASELINE
        and summary.ratio is not None
        and summary.ratio.value > ALIKE
    ]
    return max(candidates, key=lambda candidate: candidate[0])[1] if candidates else None


def _gain(plan: Plan, best: Summary) -> str:
    # The best median may be of a lock whose runs vary too much for a conclusion.
    what = "is best" if best.mark == "*" else "is shown to be better"
    text = f"{best.contender} {what}{at_threads(threads_of(best))}"
    if best.ratio is None:
        return f"{text}, and {BASELINE} finished no run"
    return f"{text}: {measure(plan, best)}"


def measure(plan: Plan, lock: Summary) -> str:
    """Return the ratio of a lock to the baseline in words."""
    assert lock.ratio is not None
    good = "fast" if plan.metric is None else "good"
    text = f"{numbers.ratio(lock.ratio.value)} times as {good} as {plan.reference}"
    if lock.ratio.low is None:
        return text
    return f"{text} (95 % CI {numbers.interval(lock.ratio.low, lock.ratio.high)})"


def _without_winner(plan: Plan, table: Table) -> str:
    others = [s for s in table if s.contender != BASELINE]
    ratios = [s.ratio for s in others if s.ratio is not None]
    if not any(summary.complete for summary in table):
        return "no lock finished all of its runs"
    if ratios and all(ratio.low is None for ratio in ratios):
        return "a single round cannot distinguish the locks; use more --runs"
    if all(s.complete for s in table) and len(ratios) == len(others):
        ends = [end for ratio in ratios for end in (ratio.low, ratio.high) if end is not None]
        if all(1 / ALIKE <= end <= ALIKE for end in ends):
            near = f"every lock is within {numbers.percent(ALIKE - 1)} of {BASELINE}"
            return f"the program is not lock-sensitive: {near}"
        if not any(ratio.shown for ratio in ratios):
            return f"no lock is shown to differ from {BASELINE}"
    return f"no lock is shown to be better than {BASELINE}{worse(plan, table)}"


def worse(plan: Plan, table: Table) -> str:
    """Return the end of a sentence that names the locks shown to be worse than the baseline; "" if
    there are none."""
    shown = [(row.ratio.value, row.contender) for row in table if row.ratio and row.ratio.worse]
    if not shown:
        return ""
    ends = [numbers.ratio(end) for end, _ in (min(shown), max(shown))]
    good = "fast" if plan.metric is None else "good"
    by = f"{' to '.join(dict.fromkeys(ends))} times as {good}"
    if len(shown) > _NAMED:
        return f", and {len(shown)} are shown to be worse ({by}, {min(shown)[1]} the worst)"
    names = wording.together([lock for _, lock in shown])
    return f", and {names} {'is' if len(shown) == 1 else 'are'} shown to be worse ({by})"


def _caution(plan: Plan, lock: str, tables: Sequence[Table]) -> list[str]:
    """Return the results against the winner at other numbers of threads."""
    hung: list[int] = []
    worse: list[str] = []
    for table in tables:
        summary = next(summary for summary in table if summary.contender == lock)
        if not summary.complete:
            hung.append(threads_of(summary))
        elif summary.ratio is not None and summary.ratio.worse:
            worse.append(
                f"{_where([threads_of(summary)])}{lock} is worse: {measure(plan, summary)}"
            )
    incomplete = [f"{_where(hung)}{lock} does not finish its runs"] if hung else []
    return incomplete + worse


def _where(threads: Sequence[int]) -> str:
    """Return `at 1 and 16 threads `, or "" for a command without a number of threads."""
    if UNSPECIFIED in threads:
        return ""
    where = wording.together([str(number) for number in threads])
    return f"at {where} thread{'' if where == '1' else 's'} "


def heading(plan: Plan, threads: int) -> str:
    """Return the title of the table for a number of threads."""
    if threads == UNSPECIFIED:
        return shlex.join(plan.command)
    return at_threads(threads).strip().removeprefix("at ")
