"""What a joint search found: the combination to use, and the worth of each part of it."""

import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockwright.base import numbers, wording
from lockwright.compare import safest
from lockwright.compare.plan import Plan
from lockwright.compare.verdict import Verdict
from lockwright.preload.locks import BASELINE, options_of
from lockwright.preload.rwlocks import parts_of, run_options
from lockwright.run.settings import BATCH, SMALL
from lockwright.stats.near import NEAR
from lockwright.stats.sequential import Interval
from lockwright.tune.joint.arm import Arm
from lockwright.tune.joint.search import LOCKS, PAIRS, PROOF, SINGLES, Result, Search

Ratio = tuple[float, float | None, float | None]
"""A ratio and the ends of its interval; None without one."""


@dataclass(frozen=True)
class Worth:
    """The worth of a part of a combination. alone: its ratio to the program as it is; beside: its
    ratio to the best lock alone; None if it was not measured so. source: the race."""

    part: str
    alone: Ratio | None
    beside: Ratio | None
    source: str

    def as_json(self) -> dict[str, Any]:
        """Return the fields, intervals as lists of ratio, low and high."""
        return {
            "part": self.part,
            "alone": None if self.alone is None else list(self.alone),
            "beside_best_lock": None if self.beside is None else list(self.beside),
            "race": self.source,
        }


def shown(search: Search) -> list[Arm]:
    """Return the combinations that the proof shows to be better than each lock alone, the best
    first."""
    result = search.result(PROOF)
    if result is None:
        return []
    plain = [arm for arm in result.stage.arms if not arm.settings]
    finished = [arm for arm in plain if result.runs.rounds_of(arm.name)]
    return [
        arm
        for arm in result.combinations()
        if finished and all(result.lead(arm, other).low > 0 for other in finished)
    ]


def recommended(search: Search) -> Arm | None:
    """Return the combination to use: of those that are shown to be better than the best lock alone
    and are tied with the best of them, the one with the fewest changes, then that with the safest
    lock; None if none is shown."""
    found = shown(search)
    tied = _tied(search, found)
    known = safest.known_locks()
    order = [arm.lock for arm in tied]
    return min(
        tied,
        key=lambda arm: (
            arm.changes,
            safest.rank(known.get(parts_of(arm.lock)[0])),
            order.index(arm.lock),
        ),
        default=None,
    )


def _tied(search: Search, found: Sequence[Arm]) -> list[Arm]:
    """Return the best combination, and those that are near it and not shown to be worse."""
    result = search.result(PROOF)
    if result is None or not found:
        return []
    best = found[0]
    near = math.log(NEAR)
    return [
        arm
        for arm in found
        if arm == best
        or (
            result.gain(arm) >= result.gain(best) + near
            and result.runs.lead(best.name, arm.name, shared=True).low <= 0
        )
    ]


def worth(search: Search, locks: Result) -> list[Worth]:
    """Return the worth of the best lock, of the best value of each dimension, and of the first
    finalist or the recommended combination as a whole. locks: the race of locks."""
    base, nothing = search.base, Arm()
    results = [each for each in (search.result(n) for n in (PROOF, PAIRS, SINGLES)) if each]
    rows = []

    def measured(arm: Arm, other: Arm) -> tuple[Ratio | None, str]:
        leads = [(result.lead(arm, other), result.stage.name) for result in results]
        # The proof's runs were not chosen for what they showed; otherwise more of them say more.
        lead, source = max(
            leads,
            key=lambda each: (each[1] == PROOF and math.isfinite(each[0].low), each[0].number),
            default=(locks.lead(arm, other), LOCKS),
        )
        return _ratio(lead), source if lead.number else ""

    def row(part: str, arm: Arm) -> None:
        beside, source = measured(arm, base)
        alone, other_source = measured(arm.under(BASELINE), nothing)
        if beside is not None or alone is not None:
            rows.append(Worth(part, alone, beside, source or other_source))

    if base != nothing:
        ratio, source = measured(base, nothing)
        if ratio is None:
            lead = locks.lead(base, nothing)
            ratio, source = _ratio(lead), LOCKS
        rows.append(Worth(base.lock, ratio, None, source))
    chosen = recommended(search) or _first_finalist(search)
    for name, words in search.values.items():
        value = chosen.settings.values.get(name) if chosen else None
        for word in [value] if value else _best_value(search, name, words):
            row(f"{name} {word}", base.with_setting(name, word))
    if chosen is not None and len(chosen.settings.values) > 1:
        row(
            "these together: " + ", ".join(chosen.settings.values.values()), chosen.under(base.lock)
        )
    if chosen is not None and chosen.lock != BASELINE:
        whole, source = measured(chosen, nothing)
        beside, _ = measured(chosen, base)
        rows.append(Worth(f"all: {chosen.name}", whole, beside, source))
    return rows


def _first_finalist(search: Search) -> Arm | None:
    result = search.result(PROOF)
    return next((arm for arm in result.stage.arms if arm.settings), None) if result else None


def _best_value(search: Search, name: str, words: Sequence[str]) -> list[str]:
    result = search.result(SINGLES)
    if result is None:
        return []
    return sorted(words, key=lambda word: -result.gain(search.base.with_setting(name, word)))[:1]


def _ratio(lead: Interval) -> Ratio | None:
    if not lead.number:
        return None
    if not math.isfinite(lead.low):
        return math.exp(lead.mean), None, None
    low, high = (math.exp(max(-300.0, min(300.0, end))) for end in (lead.low, lead.high))
    return math.exp(lead.mean), low, high


def decide(plan: Plan, search: Search, lock_verdict: Verdict) -> Verdict:
    """Return the verdict. plan: of the race of locks; lock_verdict: on that race, whose command is
    used if no combination is shown to be better."""
    best = f"the best lock alone ({search.base.lock})"
    result = search.result(PROOF)
    chosen = recommended(search)
    if result is None or chosen is None:
        sentences = [f"no combination is shown to be better than {best}"]
        sentences += _doubts(plan, search)
        command = lock_verdict.command if lock_verdict.is_shown else None
        return Verdict(_text(sentences, search), command, lock_verdict.is_shown)
    sentences = [
        f"{chosen.name} is shown to be better than {best}: "
        + _times(plan, result.lead(chosen, search.base), search.base.lock)
    ]
    if search.base.lock != BASELINE:
        sentences[0] += f", and {_times(plan, result.lead(chosen, Arm()), BASELINE)}"
    others = [arm for arm in _tied(search, shown(search)) if arm != chosen]
    if others:
        named = wording.together([arm.name for arm in others])
        other = f"others are {named}" if len(others) > 1 else f"other is {named}"
        sentences.append(f"of the combinations that are tied, it changes the least; the {other}")
    known = safest.known_locks()
    row = next(each for each in result.outcome.rows if each.lock == chosen.name)
    if parts_of(chosen.lock)[0] in known:
        sentences.append(safest.caution(replace(row, lock=chosen.lock), known))
    if chosen.settings.pinning:
        count = len(chosen.settings.processors)
        sentences.append(
            f"It uses {count} processor{'' if count == 1 else 's'} only, so measure again if the"
            " program is to do more work at once"
        )
    command = run_command(plan, chosen, result.outcome.threads)
    return Verdict(_text(sentences, search), command, True)


def _doubts(plan: Plan, search: Search) -> list[str]:
    """Return what is known of the combinations that are not shown to be better."""
    last = search.results[-1] if search.results else None
    if last is None:
        return ["the budget ended before a combination was tried"]
    texts = []
    bounds = [each.outcome.bound for each in search.results]
    known = [bound for bound in bounds if bound is not None]
    highest = max(known) if len(known) == len(bounds) else math.inf
    if highest < math.inf:
        texts.append(
            "none of the combinations that were tried is better by more than "
            f"{numbers.percent(max(0, highest - 1), 1)}"
        )
    promising = last.combinations()
    if highest <= 1 + plan.margin:
        return texts
    if not promising or last.gain(promising[0]) <= math.log1p(plan.margin):
        if highest == math.inf:
            texts.append(f"the runs are too few for a bound; {plan.precision_advice} can tell")
    else:
        lead = last.lead(promising[0], search.base)
        texts.append(
            f"the most promising is {promising[0].name}: {_times(plan, lead, search.base.lock)};"
            f" {plan.precision_advice} can tell"
        )
    return texts


def _text(sentences: Sequence[str], search: Search) -> str:
    names = {arm.name for result in search.results for arm in result.stage.arms}
    return " ".join(wording.sentence(text, names) for text in sentences if text)


def _times(plan: Plan, lead: Interval, other: str) -> str:
    good = "fast" if plan.metric is None else "good"
    ratio = _ratio(lead)
    if ratio is None:
        return f"not measured beside {other}"
    value, low, high = ratio
    text = f"{numbers.ratio(value)} times as {good} as {other}"
    return text if low is None else f"{text} (95 % CI {numbers.interval(low, high)})"


def run_command(plan: Plan, arm: Arm, threads: int) -> str:
    """Return the shell line that runs the program with a lock and its settings."""
    words = [*run_options(arm.lock), *options_of(os.environ), *arm.settings.options]
    return f"lockwright run {shlex.join(words)} -- {shlex.join(plan.argv(threads))}"


def line_without_lockwright(plan: Plan, arm: Arm, threads: int) -> str | None:
    """Return a shell line with the same settings that needs no Lockwright; None if the arm has a
    lock, or a setting for which there is no tool."""
    if arm.lock != BASELINE or arm.settings.pages == SMALL or options_of(os.environ):
        return None
    words = []
    if arm.settings.pinning:
        words += ["taskset", "-c", ",".join(map(str, arm.settings.processors))]
    if arm.settings.scheduler == BATCH:
        words += ["chrt", "--batch", "0"]
    environment = arm.settings.environment(os.environ)
    changed = [
        f"{name}={value}" for name, value in environment.items() if os.environ.get(name) != value
    ]
    return shlex.join([*words, *(["env", *changed] if changed else []), *plan.argv(threads)])
