"""What a race came to: a table of its locks, a sentence, and the line that makes use of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockwright.base import numbers
from lockwright.compare import stats, verdict
from lockwright.compare.plan import Plan
from lockwright.compare.stats import Summary
from lockwright.compare.verdict import Verdict
from lockwright.compare.warnings import at
from lockwright.preload.locks import BASELINE
from lockwright.run.record import Record
from lockwright.stats.inference import Ratio
from lockwright.tune import race
from lockwright.tune.entry import Entry
from lockwright.tune.race import Exit, Field, State


@dataclass(frozen=True)
class Outcome:
    """At one number of threads. ending: why the race ended; rows: the best lock first; bound: the
    largest ratio to the baseline that any lock may have, None where that is not known."""

    threads: int
    state: State
    ending: int
    rows: Sequence[Summary]
    bound: float | None = None

    @property
    def best(self) -> Summary | None:
        """The lock that won, or leads; None if none is left."""
        return next((row for row in self.rows if row.lock == self.state.best), None)

    def row(self, lock: str) -> Summary:
        """The one of a lock."""
        return next(row for row in self.rows if row.lock == lock)


def outcome(plan: Plan, records: Sequence[Record], threads: int, ending: int) -> Outcome:
    """What came of the race at that number of threads."""
    field = Field(plan, threads, records)
    state = field.state()
    rows = []
    for row in stats.summarise(plan, records, threads):
        if not field.has_entered(row.lock):
            continue
        gone = state.out.get(row.lock)
        killed = field.killed(row.lock)
        complete = gone is None or gone.how in (race.WORSE, race.BEHIND, race.NO_GAIN)
        rows.append(
            replace(
                row,
                wanted=len(row.values) if complete and row.values else plan.runs,
                ratio=_ratio(field, row),
                fate=_fate(plan, killed, gone),
                limit=round(max(killed), 2) if killed else None,
                mark="",
            )
        )
    ranked = _ranked(plan, state, stats.marked(rows, plan.lower_is_better))
    return Outcome(threads, state, ending, ranked, _bound(field, state))


def _bound(field: Field, state: State) -> float | None:
    """A lock that is shown to be worse than another, or too slow, cannot have the largest."""
    behind = [lock for lock, gone in state.out.items() if gone.how in (race.BEHIND, race.NO_GAIN)]
    ends = [
        field.lead(lock, BASELINE, shared=True).high
        for lock in (*state.left, *behind)
        if lock != BASELINE
    ]
    highest = max(ends, default=0.0)
    return math.exp(highest) if highest < 1 else None


def _ratio(field: Field, row: Summary) -> Ratio | None:
    """To the baseline, with the interval that the race goes by. It is that of the lock's own runs,
    but where they are too few for one the deviation of all locks counts."""
    lead = field.lead(row.lock, BASELINE)
    if math.isinf(lead.low):
        lead = field.lead(row.lock, BASELINE, shared=True)
    if row.ratio is None or not lead.number:
        return None
    if math.isinf(lead.low):
        return replace(row.ratio, low=None, high=None, shown=False)
    low, high = (math.exp(max(-300.0, min(300.0, end))) for end in (lead.low, lead.high))
    return Ratio(
        math.exp(lead.mean), low, high, row.ratio.deviation, lead.number, not low <= 1 <= high
    )


def _ranked(plan: Plan, state: State, rows: Sequence[Summary]) -> list[Summary]:
    """Those left, in their order, before the others; the leader has the star."""
    place = {lock: number for number, lock in enumerate(state.left)}
    best = state.best
    ranked = sorted(rows, key=lambda row: place.get(row.lock, len(place)))
    return [
        replace(row, mark="*" if row.lock == best else row.mark.replace("*", "=")) for row in ranked
    ]


def _fate(plan: Plan, killed: Sequence[float], gone: Exit | None) -> str:
    """killed: the seconds after which runs of the lock were killed."""
    if gone is not None and gone.how == race.WORSE:
        rounds = f"{gone.after} round{'' if gone.after == 1 else 's'}"
        return f"dropped after {rounds}: shown to be worse than {gone.than}"
    if gone is not None and gone.how == race.NO_GAIN:
        return (
            f"dropped after {gone.after} rounds: shown to be no better than {BASELINE} by more than"
            f" {numbers.percent(plan.margin)}"
        )
    if gone is not None and gone.how == race.BEHIND:
        return "set aside for want of time: behind, though not shown to be worse"
    if gone is not None and gone.how == race.FAILED:
        return f"dropped: a run failed ({gone.note[:120]})"
    if not killed:
        return ""
    if max(killed) >= plan.timeout:
        limit = f"{plan.timeout:g} s (--timeout)"
    else:
        limit = f"{race.TOO_SLOW:g} times the best lock's time"
    if gone is not None:
        return f"dropped: did not finish within {limit}"
    return f"{len(killed)} run{'' if len(killed) == 1 else 's'} killed after {limit}"


def so_far(plan: Plan, one: Outcome) -> str:
    """What is known while the race goes on; empty if that is nothing."""
    best = one.best
    if best is None:
        return ""
    if gained(one):
        if best.ratio is None or not one.row(BASELINE).values:
            return f"{best.lock} leads, and {BASELINE} finished no run"
        return f"{best.lock} leads: {verdict.measure(plan, best)}"
    if one.bound is not None:
        rivals = sum(row.lock != BASELINE for row in one.rows)
        most = numbers.percent(one.bound - 1)
        return f"of {rivals} locks none is better than {BASELINE} by more than {most}"
    return _few(plan, one)


def decide(plan: Plan, outcomes: Sequence[Outcome], entry: Entry) -> Verdict:
    """The verdict on all numbers of threads. entry: what the profile said before."""
    said = [_sentence(plan, each, entry) for each in outcomes]
    if not entry.sensitive:
        said.insert(0, entry.sentence.rstrip("."))
    gains = [each for each in outcomes if gained(each)]
    chosen = max(
        gains or [each for each in outcomes if _hope(plan, each, entry)],
        key=_threads,
        default=None,
    )
    use = None
    if chosen is not None and chosen.best is not None:
        use = verdict.use(plan, chosen.best)
    sentences = [
        f"{text[:1].upper()}{text[1:]}." if place else f"{text}." for place, text in enumerate(said)
    ]
    return Verdict(" ".join(sentences), use)


def _threads(one: Outcome) -> int:
    return one.threads


def gained(one: Outcome) -> bool:
    """Whether the best lock is shown to be better than the baseline."""
    best = one.best
    if best is None or best.lock == BASELINE:
        return False
    return (best.ratio is not None and best.ratio.better) or not one.row(BASELINE).values


def no_gain(plan: Plan, one: Outcome) -> bool:
    """Whether it is shown that no lock is better than the baseline by more than the margin."""
    return not gained(one) and one.bound is not None and one.bound <= 1 + plan.margin


def _hope(plan: Plan, one: Outcome, entry: Entry) -> bool:
    """Whether more runs might show a gain that is of account. Where the profile shows that locks
    can change little, the lead of a few runs is nothing that a user should go by."""
    best = one.best
    if best is None or best.lock == BASELINE or one.ending == race.ALL_NEAR or not entry.sensitive:
        return False
    return best.ratio is not None and best.ratio.value > 1 + plan.margin


def _sentence(plan: Plan, one: Outcome, entry: Entry) -> str:
    where, best = at(one.threads), one.best
    if best is None:
        return f"no lock finished its runs{where}"
    if gained(one):
        if best.ratio is None or not one.row(BASELINE).values:
            text = f"{best.lock} is best{where}, where {BASELINE} finished no run"
        else:
            text = f"{best.lock} is best{where}: {verdict.measure(plan, best)}"
        return text + _rivals(plan, one)
    rivals = [row.lock for row in one.rows if row.lock != BASELINE]
    none = f"of {len(rivals)} locks none is" if len(rivals) > 1 else f"{' '.join(rivals)} is not"
    bound = one.bound
    by = "" if bound is None or bound < 1.0005 else f" by more than {numbers.percent(bound - 1, 1)}"
    if no_gain(plan, one):
        return f"no gain{where}: {none} better than {BASELINE}{by}"
    if not entry.sensitive and (few := _few(plan, one)):
        return few + where
    text = f"no lock is shown to be better than {BASELINE}{where}"
    if by:
        text += f", and {none} better{by}"
    if _hope(plan, one, entry):
        text += f"; the most promising is {best.lock}: {verdict.measure(plan, best)}"
    if one.ending in (race.TIME_UP, race.ROUNDS_UP):
        text += f"; {plan.more} can tell"
    return text


def _few(plan: Plan, one: Outcome) -> str:
    """What runs show that are too few for intervals; empty if they are not."""
    rivals = [row for row in one.rows if row.lock != BASELINE and row.ratio is not None]
    values = [row.ratio.value for row in rivals if row.ratio is not None]
    if not values:
        return "the budget ended before another lock was tried, so no run proves it"
    if any(row.ratio is not None and row.ratio.low is not None for row in rivals):
        return ""
    runs = max(len(row.values) for row in rivals)
    names = ", ".join(row.lock for row in rivals)
    ends = " to ".join(dict.fromkeys(numbers.ratio(end) for end in (min(values), max(values))))
    each = "one run" if runs == 1 else f"{runs} runs"
    good = "fast" if plan.metric is None else "good"
    return f"in {each} each, {names} were {ends} times as {good} as {BASELINE}: too few to say more"


def _rivals(plan: Plan, one: Outcome) -> str:
    """What is to be said of the other locks that are left."""
    others = [lock for lock in one.state.left[1:] if lock != BASELINE]
    if not others:
        return ""
    named = ", ".join(others)
    if one.ending == race.ALL_NEAR:
        return f"; not better by more than {numbers.percent(plan.margin)}: {named}"
    return f"; {plan.more} can tell whether it is better than {named}"
