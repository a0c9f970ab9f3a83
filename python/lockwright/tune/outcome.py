"""The outcome of a race: a table of its locks, a sentence, and the command that uses the best."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lockwright.base import numbers, wording
from lockwright.compare import safest, verdict
from lockwright.compare.experiment import ranking
from lockwright.compare.plan import Plan, at_threads
from lockwright.compare.verdict import Verdict
from lockwright.experiment import Run, Summary
from lockwright.experiment.summary import ranked
from lockwright.preload.locks import BASELINE
from lockwright.stats.inference import Ratio
from lockwright.tune import race
from lockwright.tune.preparation import Preparation
from lockwright.tune.race import Exit, RaceRuns, Standing
from lockwright.tune.search import Search


@dataclass(frozen=True)
class Outcome:
    """The outcome at one number of threads. ending: of the race; rows: the best lock first; bound:
    the largest ratio to the reference that any lock may have, None where unknown. reference: the
    lock that ratios are relative to; aside: the number of locks that a search set aside, run or
    not."""

    threads: int
    standing: Standing
    ending: int
    rows: Sequence[Summary]
    bound: float | None = None
    reference: str = BASELINE
    aside: int = 0

    @property
    def best(self) -> Summary | None:
        """The row of the winning or leading lock; None if no lock is left."""
        return next((row for row in self.rows if row.contender == self.standing.best), None)

    def row(self, lock: str) -> Summary:
        return next(row for row in self.rows if row.contender == lock)


def outcome(
    plan: Plan, runs: Iterable[Run], threads: int, ending: int, search: Search | None = None
) -> Outcome:
    """Return the outcome of the race at that number of threads. search: that chose its locks."""
    runs = list(runs)
    race_runs = RaceRuns(plan, threads, runs)
    searched = () if search is None else search.locks
    finalists = () if search is None else search.view(plan, threads, runs).finalists
    standing = race_runs.standing(searched, finalists)
    rows = []
    for row in ranking(plan, runs, threads):
        if not race_runs.has_entered(row.contender):
            continue
        dropped_out = standing.dropped.get(row.contender)
        killed = race_runs.killed(row.contender)
        complete = dropped_out is None or dropped_out.how not in (race.SLOW, race.FAILED)
        rows.append(
            replace(
                row,
                wanted=len(row.values) if complete and row.values else plan.runs,
                ratio=_ratio(race_runs, row, plan.reference),
                fate=_fate(plan, killed, dropped_out),
                limit=round(max(killed), 2) if killed else None,
            )
        )
    ordered = _ranked(standing, ranked(rows, plan.lower_is_better, standing.best))
    bound = _bound(race_runs, standing, plan.reference)
    aside = len({*searched} - {*standing.remaining, *finalists, plan.reference})
    return Outcome(threads, standing, ending, ordered, bound, plan.reference, aside)


def _bound(race_runs: RaceRuns, standing: Standing, reference: str) -> float | None:
    """Return the largest ratio to the reference that a lock may have. Locks that are shown to be
    worse than another, or too slow, cannot have it."""
    behind = [
        lock for lock, out in standing.dropped.items() if out.how in (race.BEHIND, race.NO_GAIN)
    ]
    ends = [
        race_runs.lead(lock, reference, shared=True).high
        for lock in (*standing.remaining, *behind)
        if lock != reference
    ]
    highest = max(ends, default=0.0)
    return math.exp(highest) if highest < 1 else None


def _ratio(race_runs: RaceRuns, row: Summary, reference: str) -> Ratio | None:
    """Return the ratio to the reference with the interval that the race uses: that of the lock's
    own runs or, where these are too few, that by the deviation of all locks."""
    lead = race_runs.lead(row.contender, reference)
    if math.isinf(lead.low):
        lead = race_runs.lead(row.contender, reference, shared=True)
    if row.ratio is None or not lead.number:
        return None
    if math.isinf(lead.low):
        return replace(row.ratio, low=None, high=None, shown=False)
    low, high = (math.exp(max(-300.0, min(300.0, end))) for end in (lead.low, lead.high))
    return Ratio(
        math.exp(lead.mean), low, high, row.ratio.deviation, lead.number, not low <= 1 <= high
    )


def _ranked(standing: Standing, rows: Sequence[Summary]) -> list[Summary]:
    """Return the remaining locks in their order, then the others. Those that were set aside have no
    mark, since their medians are of fewer rounds."""
    ranks = {lock: number for number, lock in enumerate(standing.remaining)}
    aside = {
        lock for lock, out in standing.dropped.items() if out.how in (race.BEHIND, race.SEARCHED)
    }
    ordered = sorted(rows, key=lambda row: ranks.get(row.contender, len(ranks)))
    return [replace(row, mark="") if row.contender in aside else row for row in ordered]


def _fate(plan: Plan, killed: Sequence[float], out: Exit | None) -> str:
    """Return why a lock dropped out or had runs killed, or "". killed: the seconds after which
    they were."""
    if out is not None and out.how == race.WORSE:
        rounds = f"{out.after} round{'' if out.after == 1 else 's'}"
        return f"dropped after {rounds}: shown to be worse than {out.than}"
    if out is not None and out.how == race.NO_GAIN:
        return (
            f"dropped after {out.after} rounds: shown to be no better than {plan.reference} by more"
            f" than {numbers.percent(plan.margin)}"
        )
    if out is not None and out.how == race.SEARCHED:
        return f"set aside by the search after {out.after} run{'' if out.after == 1 else 's'}"
    if out is not None and out.how == race.BEHIND:
        return "set aside for want of time: behind, though not shown to be worse"
    if out is not None and out.how == race.FAILED:
        return f"dropped: a run failed ({out.note[:120]})"
    if not killed:
        return ""
    if max(killed) >= plan.timeout:
        limit = f"{plan.timeout:g} s (--timeout)"
    else:
        limit = f"{race.TOO_SLOW:g} times the best lock's time"
    if out is not None:
        return f"dropped: did not finish within {limit}"
    return f"{len(killed)} run{'' if len(killed) == 1 else 's'} killed after {limit}"


def interim_sentence(plan: Plan, result: Outcome) -> str:
    """Return the result so far of a race that still runs; empty if there is none."""
    best = result.best
    if best is None:
        return ""
    if gained(result):
        if best.ratio is None or not result.row(result.reference).values:
            return f"{best.contender} leads, and {result.reference} finished no run"
        return f"{best.contender} leads: {verdict.measure(plan, best)}"
    if result.bound is not None:
        rivals = len(_proven(result))
        most = numbers.percent(result.bound - 1)
        return f"of {rivals} locks none is better than {result.reference} by more than {most}"
    return _few_runs_text(plan, result)


def decide(plan: Plan, outcomes: Sequence[Outcome], preparation: Preparation) -> Verdict:
    """Return the verdict on all numbers of threads. preparation: of the race, with the advice."""
    texts = [_sentence(plan, result, preparation) for result in outcomes] or [
        f"the budget ended before the first run; {plan.precision_advice} can tell"
    ]
    if not preparation.sensitive:
        texts.insert(0, preparation.sentence.rstrip("."))
    gains = [result for result in outcomes if gained(result)]
    chosen = max(
        gains or [result for result in outcomes if _is_promising(plan, result, preparation)],
        key=lambda result: result.threads,
        default=None,
    )
    use = None
    if chosen is not None and chosen.best is not None:
        known = safest.known_locks()
        tied = _tied(chosen, chosen.best)
        candidate = safest.safest(chosen.best, tied, known)
        texts.append(safest.reason(candidate, chosen.best, tied, known))
        texts.append(safest.caution(candidate, known))
        command = verdict.run_command if gains else verdict.settling_command
        use = command(plan, candidate)
    names = {row.contender for result in outcomes for row in result.rows}
    sentences = [wording.sentence(text, names) for text in texts if text]
    return Verdict(" ".join(sentences), use, bool(gains))


def _tied(result: Outcome, best: Summary) -> list[Summary]:
    """Return the remaining locks, which are not shown to be worse than the best, that are near
    it."""
    remaining = result.standing.remaining
    return [
        row
        for row in result.rows
        if row.contender in remaining
        and row.contender not in (result.reference, best.contender)
        and safest.is_near(row, best)
    ]


def gained(result: Outcome) -> bool:
    """Return whether the best lock is shown to be better than the reference."""
    best = result.best
    if best is None or best.contender == result.reference:
        return False
    return (best.ratio is not None and best.ratio.better) or not result.row(result.reference).values


def no_gain(plan: Plan, result: Outcome) -> bool:
    """Return whether it is shown that no lock beats the reference by more than the margin."""
    return not gained(result) and result.bound is not None and result.bound <= 1 + plan.margin


def _is_promising(plan: Plan, result: Outcome, preparation: Preparation) -> bool:
    """Return whether more runs might show a relevant gain. Where the profile shows that locks can
    change little, the lead of a few runs does not count."""
    best = result.best
    if (
        best is None
        or best.contender == result.reference
        or result.ending == race.ALL_NEAR
        or not preparation.sensitive
    ):
        return False
    return best.ratio is not None and best.ratio.value > 1 + plan.margin


def _sentence(plan: Plan, result: Outcome, preparation: Preparation) -> str:
    where, best = at_threads(result.threads), result.best
    if best is None:
        return f"no lock finished its runs{where}"
    if gained(result):
        if best.ratio is None or not result.row(result.reference).values:
            text = f"{best.contender} is best{where}, and {result.reference} finished no run"
        else:
            text = f"{best.contender} is best{where}: {verdict.measure(plan, best)}"
        return text + _rivals(plan, result)
    rivals = _proven(result)
    none = f"of {len(rivals)} locks none is" if len(rivals) > 1 else f"{' '.join(rivals)} is not"
    bound = result.bound
    by = "" if bound is None or bound < 1.0005 else f" by more than {_excess(result, bound)}"
    worse = verdict.worse(plan, result.rows)
    if no_gain(plan, result):
        return f"no gain{where}: {none} better than {result.reference}{by}{worse}{_aside(result)}"
    if not preparation.sensitive and (few_runs := _few_runs_text(plan, result)):
        return few_runs + where
    text = f"no lock is shown to be better than {result.reference}{where}"
    if by:
        text += f", and {none} better{by}"
    text += worse + _aside(result)
    if _is_promising(plan, result, preparation):
        text += f"; the most promising is {best.contender}: {verdict.measure(plan, best)}"
    if result.ending in (race.TIME_UP, race.ROUNDS_UP):
        text += f"; {plan.precision_advice} can tell"
    return text


def _proven(result: Outcome) -> list[str]:
    """Return the locks other than the reference that a bound is about."""
    aside = {k for k, out in result.standing.dropped.items() if out.how == race.SEARCHED}
    names = [row.contender for row in result.rows]
    return [lock for lock in names if lock != result.reference and lock not in aside]


def _aside(result: Outcome) -> str:
    """Return the part of the sentence on the locks that a search set aside."""
    if not result.aside:
        return ""
    return f"; the search set the other {result.aside} aside, by what it expects of them"


def _excess(result: Outcome, bound: float) -> str:
    """Return a bound of ratios as text, and where it comes from if the table seems to contradict
    it."""
    ends = [row.ratio.high for row in result.rows if row.ratio is not None]
    text = numbers.percent(bound - 1, 1)
    if all(end is None or end <= bound for end in ends):
        return text
    return (
        f"{text} (from the scatter of all locks' runs; an interval in the table is from the runs of"
        " its lock alone)"
    )


def _few_runs_text(plan: Plan, result: Outcome) -> str:
    """Return the ratios of runs that are too few for intervals; empty if they are enough."""
    rivals = [
        row for row in result.rows if row.contender != result.reference and row.ratio is not None
    ]
    values = [row.ratio.value for row in rivals if row.ratio is not None]
    if not values:
        return "the budget ended before another lock was tried, so no run proves it"
    if any(row.ratio is not None and row.ratio.low is not None for row in rivals):
        return ""
    runs = max(len(row.values) for row in rivals)
    names = wording.together([row.contender for row in rivals])
    ends = " to ".join(dict.fromkeys(numbers.ratio(end) for end in (min(values), max(values))))
    runs_text = "one run" if runs == 1 else f"{runs} runs"
    good = "fast" if plan.metric is None else "good"
    was = "was" if len(rivals) == 1 else "were"
    times = f"{names} {was} {ends} times as {good} as {result.reference}"
    return f"in {runs_text} each, {times}: too few to decide"


def _rivals(plan: Plan, result: Outcome) -> str:
    """Return the part of the sentence on the other remaining locks."""
    others = [lock for lock in result.standing.remaining[1:] if lock != result.reference]
    if not others:
        return ""
    names = wording.either(others)
    if result.ending == race.ALL_NEAR:
        return f"; it is not better than {names} by more than {numbers.percent(plan.margin)}"
    return f"; {plan.precision_advice} can tell whether it is better than {names}"
