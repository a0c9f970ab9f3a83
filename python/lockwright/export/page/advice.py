"""What the profile says: the bottlenecks, the questions, the locks to try, what to change."""

import shlex
from collections.abc import Iterable, Sequence
from html import escape

from lockwright.advise.advice import Advice, Change, Diagnosis, Evidence, Step
from lockwright.advise.show import listed, said
from lockwright.export.page import mutexes
from lockwright.page import lists
from lockwright.profile.record import Profile

_MARKS = {True: "met", False: "unmet", None: "informs"}


def section(profile: Profile, advice: Advice) -> str:
    """All but the sentence."""
    changes = "".join(_change(profile, each) for each in advice.changes)
    return "".join(
        (
            _evidence(advice.sensitivity),
            "<h3>The nine bottlenecks</h3>",
            *(_diagnosis(profile, each) for each in advice.diagnoses),
            "<h3>The six questions that choose a lock</h3>",
            f'<ol class="steps">{"".join(map(_step, advice.steps))}</ol>',
            *(f'<p class="absent">Conflict: {escape(each)}</p>' for each in advice.conflicts),
            f"<h3>Locks to try, beside {escape(advice.baseline)}</h3>",
            _shortlist(profile, advice),
            f"<h3>What to change in the program</h3><ul>{changes}</ul>" if changes else "",
            f"<h3>Tail latency</h3><p>{escape(advice.tail_latency.text)}</p>",
            _evidence(advice.tail_latency.evidence),
            f"<h3>Remarks</h3>{lists.points(advice.remarks)}" if advice.remarks else "",
        )
    )


def _diagnosis(profile: Profile, found: Diagnosis) -> str:
    if found.fired:
        at = [_name(profile, place) for place in dict.fromkeys(found.mutexes)]
        text = escape(found.advice) + (f", at {_some(at)}" if at else "")
    else:
        against = next((each for each in found.evidence if each.met is False), None)
        text = escape(said(against)) if against else ""
    answer = "yes" if found.fired else "no" if found.measurable else "not measurable here"
    return (
        f'<details class="diagnosis{" fired" if found.fired else ""}"'
        f"{' open' if found.fired else ''}><summary><b>{escape(found.title)}</b>: {answer}."
        f' <span class="quiet">{text}</span></summary>{_evidence(found.evidence)}</details>'
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[: mutexes.WORST])
    left = len(names) - mutexes.WORST
    return f"{shown} and {left} more" if left > 0 else shown


def _name(profile: Profile, place: int) -> str:
    name = escape(profile.mutexes[place].name)
    return f'<a href="#mutex-{place}">{name}</a>' if place < mutexes.SECTIONS else name


def _evidence(found: Iterable[Evidence]) -> str:
    items = "".join(f'<li class="{_MARKS[each.met]}">{escape(said(each))}</li>' for each in found)
    return f'<ul class="evidence">{items}</ul>' if items else ""


def _step(step: Step) -> str:
    if step.set_aside:
        kept = f"Set aside: {step.set_aside}."
    elif step.rule:
        kept = f"Wanted: {step.rule}; {len(step.kept)} locks."
        if step.dropped:
            kept += f" Out: {listed(step.dropped)}."
    else:
        kept = ""
    reason = step.reason[:1].upper() + step.reason[1:]
    return (
        f"<li>{escape(step.question)} <b>{escape(step.answer)}</b>."
        f' <span class="quiet">{escape(reason)}. {escape(kept)}</span></li>'
    )


def _shortlist(profile: Profile, advice: Advice) -> str:
    if not advice.shortlist:
        return "<p>None.</p>"
    names = [advice.baseline, *(each.lock for each in advice.shortlist)]
    command = f"lockwright compare --locks {','.join(names)} -- {shlex.join(profile.command)}"
    return (
        lists.terms({each.lock: each.reason for each in advice.shortlist})
        + f'<p class="quiet">This measures them:</p><pre class="command"><code>{escape(command)}'
        + "</code></pre>"
    )


def _change(profile: Profile, change: Change) -> str:
    at = "" if change.mutex is None else f"{_name(profile, change.mutex)}: "
    return f"<li>{at}{escape(change.text)}{_evidence(change.evidence)}</li>"
