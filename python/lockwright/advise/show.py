"""All of the advice as text in a terminal."""

import shlex
from collections.abc import Iterable

from rich.console import Console

from lockwright.advise.advice import Advice, Diagnosis, Evidence, Gain, Step
from lockwright.advise.measured import is_nothing
from lockwright.advise.steps import lacking_text
from lockwright.base import numbers
from lockwright.base.numbers import with_short_unit, with_unit
from lockwright.base.terminal import print_wrapped
from lockwright.preload import locks
from lockwright.preload.rwlocks import DEFAULT, compare_options, pair_name
from lockwright.profile.record import Profile

_FEW = 12
"""Largest number of names in a list; others are counted."""


def show(console: Console, profile: Profile, advice: Advice) -> None:
    """Print the sentence, then its reasons with all evidence."""
    print_wrapped(console, "", advice.sentence, "bold")
    for evidence in advice.sensitivity:
        print_wrapped(console, "  ", evidence_text(evidence), "dim")
    _head(console, "The nine bottlenecks")
    width = max(len(evidence.title) for evidence in advice.diagnoses)
    for diagnosis in advice.diagnoses:
        _show_diagnosis(console, profile, diagnosis, width)
    _head(console, "The six questions")
    for step in advice.steps:
        _show_step(console, step)
    for conflict in advice.conflicts:
        print_wrapped(console, "  conflict: ", conflict, "yellow")
    if advice.shortlist:
        _head(console, f"Locks to try, beside {advice.baseline}")
    for candidate in advice.shortlist:
        print_wrapped(console, f"  {candidate.lock:<16}", candidate.reason, "default")
    if advice.rwlocks:
        _head(console, "Reader-writer locks to try, beside the C library's")
    for candidate in advice.rwlocks:
        print_wrapped(console, f"  {candidate.lock:<16}", candidate.reason, "default")
    if advice.changes:
        _head(console, "What to change in the program")
    for index, change in enumerate(advice.changes):
        print_wrapped(console, "  ", change_text(profile, advice, index), "default")
        for evidence in change.evidence:
            print_wrapped(console, "      ", evidence_text(evidence), "dim")
    for text in unpredicted(advice):
        print_wrapped(console, "  ", text, "default")
    for text in of_experiments(advice):
        print_wrapped(console, "  measured ", text, "default")
    for text in advice.predicted.notes if advice.predicted is not None else ():
        print_wrapped(console, "  ", text, "dim")
    _head(console, "Tail latency")
    print_wrapped(console, "  ", advice.tail_latency.text, "default")
    if advice.remarks or cautions(advice, len(advice.shortlist)):
        _head(console, "Remarks")
    for remark in advice.remarks:
        print_wrapped(console, "  ", remark[:1].upper() + remark[1:] + ".", "default")
    for caution in cautions(advice, len(advice.shortlist)):
        print_wrapped(console, "  ", f"{caution}.", "default")
    for command in comparisons(profile, advice, len(advice.shortlist)):
        console.print(f"\nMeasure them: {command}", soft_wrap=True)
    for command in run_of_default(profile, advice):
        console.print(f"\nRun the default: {command}", soft_wrap=True)


def change_text(profile: Profile, advice: Advice, index: int) -> str:
    """Return a change with its predicted gain and the lock that it is for."""
    change, name = advice.changes[index], ""
    if change.mutex is not None:
        name = f"{profile.mutexes[change.mutex].name}: "
    elif change.wait is not None:
        name = f"{profile.waits[change.wait].name}: "
    return gain_text(advice, index) + name + change.text


def gain_text(advice: Advice, index: int) -> str:
    """Return the beginning of the text of a change: its measured and predicted gain; empty without
    one."""
    gains = advice.predicted.gains if advice.predicted is not None else ()
    texts = [
        f"{how} {_times(found[0])} {found[0].text}"
        for how, of in (("measured", advice.measured), ("predicted", gains))
        if (found := [each for each in of if each.change == index and each.throughput is not None])
    ]
    return f"{'; '.join(texts)}: " if texts else ""


def of_experiments(advice: Advice) -> list[str]:
    """Return a line for each measured gain that no change has, or that is none."""
    return [
        f"{each.text}: " + ("nothing is gained, " if is_nothing(each) else "") + _times(each)
        for each in advice.measured
        if each.change is None or is_nothing(each)
    ]


def _times(gain: Gain) -> str:
    """Return a predicted gain with its range."""
    assert gain.throughput is not None
    text = f"{numbers.ratio(gain.throughput)} times"
    low, high = (numbers.ratio(each or gain.throughput) for each in (gain.low, gain.high))
    return text if low == high else f"{text} ({low} to {high})"


def unpredicted(advice: Advice) -> list[str]:
    """Return a line that states why no gain is predicted; nothing if there are gains, none were
    asked for, or the sentence states it."""
    reason = advice.predicted.reason if advice.predicted is not None else ""
    if not reason or reason in advice.sentence:
        return []
    return [f"no gain is predicted: {reason}"]


def doubts(profile: Profile, advice: Advice) -> list[str]:
    """Return the warnings of the predictions; without any, a line on lacking processors."""
    if advice.predicted is not None and advice.predicted.warnings:
        return list(advice.predicted.warnings)
    lacking = lacking_text(profile.process)
    return [f"It ran on {profile.process.processors} processors{lacking}."] if lacking else []


def cautions(advice: Advice, size: int) -> list[str]:
    """Return a line on those of the first `size` locks whose waiters spin while the holder has no
    processor; nothing if there are none."""
    names = [
        candidate.lock
        for candidate in advice.shortlist[:size]
        if not candidate.survives_oversubscription
    ]
    if not names:
        return []
    return [
        f"With more threads than processors {' and '.join(names)} may lose most of the throughput:"
        " waiters spin while the holder has no processor"
    ]


def comparisons(profile: Profile, advice: Advice, size: int) -> list[str]:
    """Return the shell lines that measure the program under `size` locks beside the baseline, and
    under the reader-writer locks beside the C library's."""
    names = [candidate.lock for candidate in advice.shortlist[:size]]
    rwlocks = [
        each.lock if each.lock == DEFAULT else pair_name(locks.BASELINE, each.lock)
        for each in advice.rwlocks
    ]
    commands = []
    if names:
        options = ["--locks", ",".join([locks.BASELINE, *names])]
        commands.append([*options, *locks.options_of({locks.RWLOCK: profile.rwlock})])
    if rwlocks:
        commands.append(compare_options([locks.BASELINE, *rwlocks]))
    return [
        shlex.join(["lockwright", "compare", *options, "--", *profile.command])
        for options in commands
    ]


def run_of_default(profile: Profile, advice: Advice) -> list[str]:
    """Return the shell line that runs the program under DEFAULT, if that is named."""
    if DEFAULT not in [each.lock for each in (*advice.shortlist, *advice.rwlocks)]:
        return []
    return [shlex.join(["lockwright", "run", "--", *profile.command])]


def _head(console: Console, text: str) -> None:
    console.print(f"\n{text}", style="bold")


def _show_diagnosis(console: Console, profile: Profile, diagnosis: Diagnosis, width: int) -> None:
    if diagnosis.fired:
        names = [profile.mutexes[index].name for index in diagnosis.mutexes]
        text = f"{diagnosis.advice}{_at_mutexes(names)}"
        print_wrapped(console, f"  yes  {diagnosis.title:<{width}}  ", text, "yellow")
    else:
        word = "no " if diagnosis.measurable else " ? "
        print_wrapped(console, f"  {word}  {diagnosis.title:<{width}}  ", "", "default")
    for evidence in diagnosis.evidence:
        print_wrapped(console, " " * 7, evidence_text(evidence), "dim")


def _at_mutexes(names: list[str]) -> str:
    return f", at {listed(names)}" if names else ""


def listed(names: Iterable[str]) -> str:
    """Return the distinct names as one text; all beyond _FEW are only counted."""
    names = list(dict.fromkeys(names))
    if len(names) > _FEW:
        return f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
    return ", ".join(names)


_FROM = {"at least": "from", "at most": "up to", "above": "above"}


def figure_text(evidence: Evidence) -> str:
    """Return the figure and its threshold."""
    text = f"{evidence.quantity}: {with_unit(evidence.value, evidence.unit)}"
    if evidence.threshold is None or evidence.value is None:
        return text
    limit = with_short_unit(evidence.threshold, evidence.unit)
    return f"{text}; relevant {_FROM[evidence.sense]} {limit}"


def evidence_text(evidence: Evidence) -> str:
    """Return the figure, its threshold and the source of the threshold."""
    text = figure_text(evidence)
    return text if evidence.threshold is None else f"{text} ({evidence.source})"


def _show_step(console: Console, step: Step) -> None:
    print_wrapped(console, f"  {step.number}  ", f"{step.question} {step.answer}.", "default")
    print_wrapped(console, "     ", step.reason[:1].upper() + step.reason[1:] + ".", "dim")
    if step.set_aside:
        print_wrapped(console, "     ", "set aside: no lock is left that answers it", "yellow")
    elif step.rule:
        out = f"; out: {listed(step.excluded)}" if step.excluded else ""
        print_wrapped(console, "     ", f"{step.rule}: {len(step.remaining)} locks{out}", "dim")
